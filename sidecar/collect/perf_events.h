/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two events of a CPU: the clock whose ticks run BPF, and the dummy that tells of
 * mappings.
 */
#ifndef RINGSIDE_PERF_EVENTS_H
#define RINGSIDE_PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's kernel.perf_event_max_sample_rate, and kernel.perf_event_max_stack. */
unsigned perf_max_sample_rate(void);
unsigned perf_max_stack(void);

/*
 * Software cpu-clock on one CPU, disabled, running prog_fd at each tick.  cgroup_fd >= 0
 * lets the kernel stop the clock outside that cgroup.  Returns a descriptor or -errno
 * (-ENODEV: CPU is offline).
 */
int	 perf_open_tick(unsigned cpu, uint64_t period_ns, int prog_fd, int cgroup_fd);
int	 perf_enable(int fd, bool on);

/* What the event's own clock counted while it was enabled, in nanoseconds. */
int	 perf_count(int fd, uint64_t *ns);

/*
 * How long a side-band event was enabled.  It stands still when the event died with its
 * CPU.
 */
int	 perf_enabled_time(int fd, uint64_t *ns);

/*
 * Dummy software event on one CPU, enabled, that writes executable mappings, comm of exec,
 * and kernel symbols into its own ring.  *build_id: ask for build ids (5.12); false
 * afterwards: this kernel has none.
 */
int	 perf_open_sideband(unsigned cpu, uint32_t wakeup_bytes, bool *build_id);

#endif
