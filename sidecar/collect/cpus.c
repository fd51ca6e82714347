/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void set_add(struct cpu_set *set, unsigned cpu)
{
	set->bits[cpu / 64] |= 1ULL << (cpu % 64);
	set->count++;
	set->end = cpu + 1;
}

/* A decimal number at *p; moves *p behind it. */
static int take_number(const char **p, const char *end, unsigned *out)
{
	const char *s = *p;
	unsigned v = 0;

	if (s == end || *s < '0' || *s > '9')
		return -EINVAL;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (unsigned)(*s - '0');
		if (v >= CPUS_MAX)
			return -ERANGE;
	}
	*p = s;
	*out = v;
	return 0;
}

int cpus_parse(struct cpu_set *set, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	unsigned from, to;
	int err;

	memset(set, 0, sizeof(*set));
	if (len && end[-1] == '\n')
		end--;
	while (p < end) {
		err = take_number(&p, end, &from);
		to = from;
		if (!err && p < end && *p == '-') {
			p++;
			err = take_number(&p, end, &to);
		}
		if (err)
			return err;
		if (from < set->end || to < from)
			return -EINVAL;
		for (; from <= to; from++)
			set_add(set, from);
		if (p < end && (*p++ != ',' || p == end))
			return -EINVAL;
	}
	return 0;
}

int cpus_read(struct cpu_set *set, const char *name)
{
	char path[128], text[4096];
	ssize_t n;
	int fd, err;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	err = n < 0 ? -errno : cpus_parse(set, text, (size_t)n);
	close(fd);
	return err;
}

bool cpus_has(const struct cpu_set *set, unsigned cpu)
{
	return cpu < CPUS_MAX && set->bits[cpu / 64] >> (cpu % 64) & 1;
}
