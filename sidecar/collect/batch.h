/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts events of several rings into one order.  Per drain: batch_begin(), batch_reserve() and
 * batch_commit() for everything that the rings hold, batch_finish().
 *
 * The rings agree on the clock, but an event is stamped a little before it can be seen:
 * what came in the last BATCH_HOLD_NS before the drain began may still be overtaken, and
 * is kept for the next drain. When a ring was not emptied, everything newer than its newest
 * event waits too.
 */
#ifndef RINGSIDE_BATCH_H
#define RINGSIDE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"

#define BATCH_HOLD_NS	200000

struct batch_slot {
	uint64_t	 boot_ns;
	uint64_t	 arrival;	/* equal stamps keep their order */
	struct ev_head	*event;
};

struct batch {
	uint8_t		*arena;		/* the events' bytes; pages are touched as needed */
	size_t		 size, used;
	struct batch_slot *slots;
	const struct ev_head **events;	/* what the batch gives: pointers into the arena */
	size_t		 slots_max;
	size_t		 n;		/* slots in use, held ones included */
	size_t		 given;		/* of the last finish; the others are held */
	uint64_t	 arrivals;
	uint64_t	 newest_ns;	/* of all events ever added */
	uint64_t	 before_ns;	/* newest_ns as it was when this drain began */
	uint64_t	 now_ns;	/* when it began; 0: not known */
	uint64_t	 limit_ns;	/* a ring was left with events newer than that */
};

int	 batch_init(struct batch *b, size_t arena_bytes);
void	 batch_fini(struct batch *b);			/* fine on a zeroed batch */

/*
 * Forgets what the last finish gave; moves what it held to the front.  now_ns: boot time, read
 * before the rings are; 0: not known, the newest stamp takes its place.
 */
void	 batch_begin(struct batch *b, uint64_t now_ns);

/*
 * Room for one event of `size` bytes (a multiple of 8), or NULL: full, stop reading the
 * rings.
 */
void	*batch_reserve(struct batch *b, size_t size);

/* Adds the event that was written to the last reservation; size may have become smaller. */
void	 batch_commit(struct batch *b, struct ev_head *event);

/* The ring whose newest event read has this stamp holds more. */
void	 batch_limit(struct batch *b, uint64_t boot_ns);

/* Sorts.  b->events[0..given) is the batch. */
void	 batch_finish(struct batch *b);

#endif
