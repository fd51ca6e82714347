/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_uffd SECONDS: a target that never answers.  The pages that hold its environment,
 * and a page of an executable mapping, are given to a userfaultfd that nobody serves:
 * whoever reads them and is willing to wait, waits for ever.  It burns CPU meanwhile, so
 * that it is sampled and somebody wants to know who it is.  Prints "unserved" when the
 * pages are in place.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static void burn_unreadable(double seconds)
{
	struct timespec ts;

	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	} while ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9 < seconds);
}

/* Throws the pages away; the next touch of them waits for the userfaultfd. */
static int withhold(int uffd, void *addr, size_t len)
{
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)addr, .len = len },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (ioctl(uffd, UFFDIO_REGISTER, &reg))
		return -1;
	return madvise(addr, len, MADV_DONTNEED);
}

/* An environment of several pages, padding first: some of them hold nothing that we need.
 */
static int exec_padded(char **argv)
{
	static char padding[5 * 4096], name[] = "OTEL_SERVICE_NAME=unreadable";
	char *env[] = { padding, name, NULL };

	memset(padding, 'x', sizeof(padding) - 1);
	memcpy(padding, "PADDING=", 8);
	execve("/proc/self/exe", argv, env);
	perror("work_uffd: exec");
	return 1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	struct uffdio_api api = { .api = UFFD_API };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t first, last = 0;
	char *anon;
	int uffd;

	if (!getenv("PADDING"))
		return exec_padded(argv);
	/* Our own frames may share a page with the lowest strings: take the whole pages
	 * above. */
	first = ((uintptr_t)getenv("PADDING") | (page - 1)) + 1;
	for (char **e = environ; *e; e++)
		last = (uintptr_t)*e > last ? (uintptr_t)*e : last;
	anon = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (anon == MAP_FAILED || uffd < 0 || ioctl(uffd, UFFDIO_API, &api)) {
		perror("work_uffd: userfaultfd");
		return 77;
	}
	if (withhold(uffd, anon, page) ||
	    withhold(uffd, (void *)first, ((last | (page - 1)) + 1) - first)) {
		perror("work_uffd: register");
		return 77;
	}
	if (write(STDOUT_FILENO, "unserved\n", 9) != 9)
		return 1;
	burn_unreadable(seconds);
	_exit(0);
}
