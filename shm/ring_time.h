/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two clocks of shm/.  Every stamp in a ring file is the host's CLOCK_BOOTTIME;
 * inside a time namespace our own reading is shifted, and the namespace's offset must
 * come off it.
 */
#ifndef RING_TIME_H
#define RING_TIME_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t ring_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds that our CLOCK_BOOTTIME is ahead of the host's; 0 without time
 * namespaces. */
static inline int64_t ring_timens_offset(void)
{
	char buf[256], *line;
	long long sec, ns;
	ssize_t n;
	int fd;

	fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	buf[n] = 0;
	line = strstr(buf, "boottime");
	if (!line || sscanf(line, "boottime %lld %lld", &sec, &ns) != 2)
		return 0;
	return (int64_t)(sec * 1000000000ll + ns);
}

static inline uint64_t ring_host_boot_ns(int64_t timens_offset)
{
	return ring_clock_ns(CLOCK_BOOTTIME) - (uint64_t)timens_offset;
}

#endif
