/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our time namespace.  What this process reads of CLOCK_BOOTTIME and CLOCK_MONOTONIC is
 * the host's plus an offset; what BPF reads is the host's.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sidecar/clock/timens.h"
#include "sidecar/clock/anchor.h"

#define NS_PER_S 1000000000ll
#define TIMENS_INITIAL 0xeffffffaul	/* PROC_TIME_INIT_INO: inode of the host's time namespace */

static struct clock_timens own;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int parse_line(const char *line, size_t n, int64_t *monotonic_ns, int64_t *boot_ns)
{
	long long seconds, nanos;
	char buf[96], name[16];
	int64_t value;

	if (n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, line, n);
	buf[n] = '\0';
	if (sscanf(buf, "%15s %lld %lld", name, &seconds, &nanos) != 3)
		return -EINVAL;
	if (nanos < 0 || nanos >= NS_PER_S ||
	    __builtin_mul_overflow(seconds, NS_PER_S, &value) ||
	    __builtin_add_overflow(value, nanos, &value))
		return -EINVAL;
	/* Old kernels write the clock's number. */
	if (!strcmp(name, "monotonic") || !strcmp(name, "1"))
		*monotonic_ns = value;
	else if (!strcmp(name, "boottime") || !strcmp(name, "7"))
		*boot_ns = value;
	return 0;
}

int clock_parse_timens(const char *text, int64_t *monotonic_ns, int64_t *boot_ns)
{
	size_t n;
	int err;

	*monotonic_ns = *boot_ns = 0;
	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (!n)
			continue;
		err = parse_line(text, n, monotonic_ns, boot_ns);
		if (err)
			return err;
	}
	return 0;
}

/* Bytes read, NUL-terminated, or -errno. */
static ssize_t read_text(const char *path, char *buf, size_t cap)
{
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, cap - 1);
	if (n < 0)
		n = -errno;
	else
		buf[n] = '\0';
	close(fd);
	return n;
}

static void read_own(void)
{
	struct stat mine, children;
	char text[256];

	if (stat("/proc/self/ns/time", &mine) || mine.st_ino == TIMENS_INITIAL)
		return;
	/*
	 * The offsets file tells of the namespace that our children get.  It is ours too
	 * unless this process called unshare(CLONE_NEWTIME) and did not fork; then
	 * nothing tells our offset.
	 */
	if (stat("/proc/self/ns/time_for_children", &children) ||
	    mine.st_ino != children.st_ino) {
		own.error = -EXDEV;
		return;
	}
	if (read_text("/proc/self/timens_offsets", text, sizeof(text)) <= 0 ||
	    clock_parse_timens(text, &own.monotonic_ns, &own.boot_ns))
		own.error = -EXDEV;
}

const struct clock_timens *clock_timens(void)
{
	pthread_once(&once, read_own);
	return &own;
}

int64_t clock_timens_boot_offset(void)
{
	return clock_timens()->boot_ns;
}
