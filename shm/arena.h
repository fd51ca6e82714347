/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for what a reader hands out: grows in chunks, so that pointers stay, is bounded,
 * and is forgotten as a whole.
 */
#ifndef RING_ARENA_H
#define RING_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;	/* newest first */
	size_t used, limit;		/* bytes, over all chunks */
};

/* Aligned to 16; NULL when the limit or the memory is reached.  Not cleared. */
void	*arena_alloc(struct arena *a, size_t bytes);
/* Forgets everything, keeps one chunk. */
void	 arena_reset(struct arena *a);
void	 arena_fini(struct arena *a);

#endif
