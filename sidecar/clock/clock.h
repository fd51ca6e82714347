/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boot clock to wall clock.  Takes paired readings of the clocks (anchors), gives wall time for a boot
 * stamp.  Two halves: anchor.c reads clocks and is the only code that does; convert.c is pure.
 *
 * BPF stamps events with the host's CLOCK_BOOTTIME.  A process in a time namespace sees a shifted
 * CLOCK_BOOTTIME: clock_boot_now() subtracts the shift, so every boot time in this program is the host's.
 */
#ifndef RINGSIDE_CLOCK_H
#define RINGSIDE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum clock_source { CLOCK_PAIRED = 1, CLOCK_BTIME = 2, CLOCK_ESTIMATED = 3 };	/* = enum ringside_clock_source */

/* One paired reading; wall = boot + offset_ns.  A plain value: it is journaled and replayed. */
struct clock_anchor {
	uint64_t	boot_ns;	/* host CLOCK_BOOTTIME of the reading; the clock epoch begins here */
	int64_t		real_ns;	/* CLOCK_REALTIME then */
	int64_t		offset_ns;
	uint64_t	bound_ns;	/* half-width of the bracket: the error bound */
	uint64_t	monotonic_ns;	/* CLOCK_MONOTONIC then: boot - monotonic grows in suspend */
	uint32_t	source;		/* enum clock_source */
	uint32_t	pad0;
};

/* Clock epochs, oldest first.  The last few are kept: an event is converted with the epoch that its
 * boot stamp falls into, whenever it is drained. */
#define CLOCK_EPOCHS 16
struct clock_converter {
	struct { struct clock_anchor anchor; uint32_t epoch; } epochs[CLOCK_EPOCHS];
	uint32_t n, next_epoch;	/* epochs are numbered from 1 */
	uint32_t dropped;	/* old epochs forgotten: more than CLOCK_EPOCHS steps */
};

struct clock_stamp { int64_t wall_ns; uint64_t boot_ns; uint32_t epoch; uint64_t error_ns; };

/* --- pure (convert.c) --- */
void	clock_converter_init(struct clock_converter *c);
enum clock_change { CLOCK_SAME, CLOCK_FIRST, CLOCK_STEPPED };
/*
 * Feeds a reading.  Within the old epoch's bounds (plus its own) it only narrows the bound; beyond them,
 * or when stepped says that the kernel told of a step, or when the source is of a better kind, a new clock
 * epoch begins at a->boot_ns and *step_ns is the jump.  Readings older than the current epoch are ignored.
 */
enum clock_change clock_converter_feed(struct clock_converter *c, const struct clock_anchor *a, bool stepped,
				       int64_t *step_ns);
/*
 * 0; -ERANGE (counted clock_refused) when the result would lie before 2000 or after 2200 or overflow, or when
 * the event is older than every epoch still kept; -ENODATA without an anchor.
 */
int	clock_convert(const struct clock_converter *c, uint64_t boot_ns, struct clock_stamp *out);
/* The original's shape: a converter over one offset. */
int	clock_boot_to_wall(const struct clock_anchor *a, uint64_t boot_ns, int64_t *wall_ns);
/* NULL without an anchor. */
const struct clock_anchor *clock_current(const struct clock_converter *c, uint32_t *epoch);
/* How long the machine slept between two paired readings, in ns; 0 when it did not. */
#define CLOCK_SUSPEND_MIN_NS 100000000ll
uint64_t clock_suspended_between(const struct clock_anchor *before, const struct clock_anchor *after);

/* --- reads clocks (anchor.c) --- */
/*
 * Best of several triples; falls back to /proc/stat btime, then to an estimate, flagged in source.
 * -EXDEV: our time namespace's offset cannot be known (unshare without a fork); -ENODATA: no clock at all.
 */
int	clock_take_anchor(struct clock_anchor *out);
uint64_t clock_boot_now(void);		/* host CLOCK_BOOTTIME, ns */
int64_t	clock_real_now(void);
/* Offset of our time namespace in ns (0 in the host's), read once from /proc/self/timens_offsets. */
int64_t	clock_timens_boot_offset(void);

/* --- steps (step.c): a timerfd on CLOCK_REALTIME with cancel-on-set --- */
struct clock_step_watch;
int	clock_step_open(struct clock_step_watch **out);		/* fd becomes readable on a step */
int	clock_step_fd(const struct clock_step_watch *w);
bool	clock_step_take(struct clock_step_watch *w);		/* true: the clock was set; re-armed */
void	clock_step_close(struct clock_step_watch *w);

#endif
