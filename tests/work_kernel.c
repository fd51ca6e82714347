/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_kernel SECONDS: nearly all of its time is spent in the kernel, filling a buffer
 * from /dev/urandom.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* read() leaves no frame of its own: its caller is lost to a walk by frame pointers, this
 * one's is not. */
__attribute__((noinline)) static int fill_from_kernel(int fd, char *buf, size_t len)
{
	for (int i = 0; i < 16; i++) {
		if (read(fd, buf, len) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	static char buf[1 << 16];
	struct timespec ts;
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror("work_kernel: /dev/urandom");
		return 1;
	}
	do {
		if (fill_from_kernel(fd, buf, sizeof(buf)))
			return 1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	} while ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9 < seconds);
	return 0;
}
