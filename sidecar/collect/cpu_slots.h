/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every possible CPU with its two events; which are armed, and what became of the others.
 */
#ifndef RINGSIDE_CPU_SLOTS_H
#define RINGSIDE_CPU_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/collect/bpf_load.h"
#include "sidecar/collect/cpus.h"
#include "sidecar/collect/idle_time.h"
#include "sidecar/collect/sideband.h"

struct cpu_slot {
	int		 tick_fd, side_fd;	/* -1: not open */
	struct sideband	 side;
	bool		 leaving;	/* offline: the next drain reads the rest, closes */
	int		 failed;	/* errno of the last try to open while online, 0 none */
	uint64_t	 ticks_before;	/* of this CPU when the event was opened */
	uint64_t	 idle_ticks_before, idle_ns_before;	/* when it was enabled */
	uint64_t	 enabled_ns;	/* of the side-band event, at the last look */
	uint64_t	 missed;	/* throttled ticks of this opening, as counted last */
};

struct cpu_slots {
	struct cpu_slot	*slot;
	unsigned	 n;		/* possible CPUs: highest number + 1 */
	struct cpu_set	 online;
	struct idle_time idle;
	uint64_t	 period_ns;
	int		 prog_fd, cgroup_fd, epoll_fd;
	const struct bpf_cpu_stats *stats;
	size_t		 side_bytes;
	bool		 armed;
	bool		 build_id;
	bool		 cgroup_filter;	/* the kernel filters by cgroup */
	uint64_t	 missed, lost, malformed; /* of openings that were closed since */
	unsigned	 rearmed;
	uint64_t	 looked_ns;	/* CLOCK_MONOTONIC of the last look at the events' clocks */
};

/* Takes what the caller filled in: prog_fd, cgroup_fd, epoll_fd, stats, period_ns, n. */
int	 cpu_slots_init(struct cpu_slots *s);
void	 cpu_slots_fini(struct cpu_slots *s);		/* fine on a zeroed one */

/* Opens and, when s->armed, enables the events of one online CPU.  0 or -errno. */
int	 cpu_slot_open(struct cpu_slots *s, unsigned cpu);
void	 cpu_slot_close(struct cpu_slots *s, unsigned cpu);

/* Enables what is open.  Returns how many CPUs tick now. */
unsigned cpu_slots_arm(struct cpu_slots *s);

/* Once a second.  As collect_hotplug(). */
int	 cpu_slots_check(struct cpu_slots *s, char *why, size_t n);

unsigned cpu_slots_open_count(const struct cpu_slots *s);
unsigned cpu_slots_failed_count(const struct cpu_slots *s);

#endif
