/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPU numbers, as the kernel prints them: `0,3-7`. */
#ifndef RINGSIDE_CPUS_H
#define RINGSIDE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS_MAX	8192		/* CONFIG_NR_CPUS goes no higher */

struct cpu_set {
	uint64_t	 bits[CPUS_MAX / 64];
	unsigned	 count;
	unsigned	 end;		/* highest member + 1; 0 when empty */
};

/* 0, -EINVAL (not a list of ascending numbers and ranges), -ERANGE (beyond CPUS_MAX).  Trailing newline
 * is fine; an empty list is an empty set. */
int	 cpus_parse(struct cpu_set *set, const char *text, size_t len);

/* Reads `online` or `possible` of /sys/devices/system/cpu. */
int	 cpus_read(struct cpu_set *set, const char *name);

bool	 cpus_has(const struct cpu_set *set, unsigned cpu);

#endif
