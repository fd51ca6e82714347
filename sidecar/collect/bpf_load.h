/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the programs and attaches those that need no CPU.  What stays afterwards are
 * descriptors and two mappings: libbpf's own objects (with the kernel's types, megabytes)
 * are freed at once.
 */
#ifndef RINGSIDE_BPF_LOAD_H
#define RINGSIDE_BPF_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"

struct collect_options;

#define BPF_LINKS	3		/* fork, exec, exit */

/* A CPU's line in the mapped array. */
struct bpf_cpu_stats {
	uint64_t	 slot[EV_STAT_MAX];
};

struct bpf_parts {
	int		 tick_fd;	/* program, for perf_open_tick() */
	int		 events_fd, scope_pids_fd, context_plans_fd;
	int		 link_fds[BPF_LINKS];
	int		 context_fd;	/* the event that runs the context hook; -1: there is none */
	const struct bpf_cpu_stats *stats;	/* ncpu lines, read-only */
	volatile uint32_t *paused;
	void		*bss;
	size_t		 stats_bytes, bss_bytes;
	size_t		 ring_bytes;
	uint64_t	 map_bytes;	/* what the kernel accounts for all maps */
	unsigned	 ncpu;		/* possible CPUs: highest number + 1 */
};

/*
 * ring_bytes: a power of two.  cgroup_fd: of EV_SCOPE_CGROUP, else -1.  Returns 0 or -errno
 * with the cause in `why`; libbpf's lines go to the log at debug level.
 */
int	 bpf_load(struct bpf_parts *p, const struct collect_options *opt, size_t ring_bytes,
		  unsigned ncpu,
		  int cgroup_fd, char *why, size_t n);
void	 bpf_unload(struct bpf_parts *p);	/* fine after a failed load, and on a zeroed one */

/*
 * Two drain intervals of the largest sample on each of ncpu CPUs, a power of two, at least
 * 256 KiB.  Thread contexts are not reckoned in: stacks as deep as may be are rarer than they.
 */
size_t	 bpf_ring_bytes(const struct collect_options *opt, unsigned ncpu);

#endif
