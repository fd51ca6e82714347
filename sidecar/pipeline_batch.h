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
struct batch {
	struct batch_chunk	*chunks, *current;
	const struct ev_head	**events;	/* as they came; sorted by batch_sort() */
	uint32_t		 n_events, cap_events;
	struct batch_item	*items;
	uint32_t		 n_items, cap_items;
	uint32_t		 n_waiting;
	size_t			 bytes;
};

void	batch_init(struct batch *b);
void	batch_fini(struct batch *b);
/* Forgets everything, keeps the memory for the next one (but no more than a usual batch needs). */
void	batch_reset(struct batch *b);
int	batch_add(struct batch *b, const struct ev_head *e);	/* copies; 0 or -ENOMEM */
/* By boot time, stable.  Nearly sorted already: each drain was. */
void	batch_sort(struct batch *b);
struct batch_item *batch_item(struct batch *b, const struct ev_head *e, struct image *held);	/* NULL: no memory */

#endif
