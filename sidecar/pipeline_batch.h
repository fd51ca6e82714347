/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A drained batch on its way through the pipeline: its events, copied out of the source's buffers, and
 * one item for each that becomes a record.  Used by pipeline.c alone.
 */
#ifndef RINGSIDE_PIPELINE_BATCH_H
#define RINGSIDE_PIPELINE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"

struct image;

struct batch_item {
	const struct ev_head *ev;	/* in the batch's arena */
	struct image	*image;		/* held; NULL for some process events */
	bool		 waiting;	/* an answer is outstanding */
};

struct batch_chunk;
struct event_batch {
	struct batch_chunk	*chunks, *current;
	const struct ev_head	**events;	/* as they came; sorted by event_batch_sort() */
	uint32_t		 n_events, cap_events;
	struct batch_item	*items;
	uint32_t		 n_items, cap_items;
	uint32_t		 n_waiting;
	uint32_t		 first_waiting;	/* no item before it waits */
	uint32_t		 credit;	/* items that may be looked at again */
	size_t			 bytes;
};

void	event_batch_init(struct event_batch *b);
void	event_batch_fini(struct event_batch *b);
/* Forgets everything, keeps the memory for the next one (but no more than a usual batch needs). */
void	event_batch_reset(struct event_batch *b);
int	event_batch_add(struct event_batch *b, const struct ev_head *e);	/* copies; 0 or -ENOMEM */
/* By boot time, stable.  Nearly sorted already: each drain was. */
void	event_batch_sort(struct event_batch *b);
struct batch_item *event_batch_item(struct event_batch *b, const struct ev_head *e, struct image *held);	/* NULL: no memory */

#endif
