/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "shm/arena.h"

#define CHUNK_BYTES	16384u

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	uint64_t pad0;			/* data stays aligned to 16 */
	uint8_t data[];
};

static struct arena_chunk *add_chunk(struct arena *a, size_t bytes)
{
	size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct arena_chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		return NULL;
	c->size = size;
	c->used = 0;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	struct arena_chunk *c = a->chunks;
	void *p;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > a->limit - a->used)
		return NULL;
	if (!c || c->size - c->used < bytes)
		c = add_chunk(a, bytes);
	if (!c)
		return NULL;
	p = c->data + c->used;
	c->used += bytes;
	a->used += bytes;
	return p;
}

void arena_reset(struct arena *a)
{
	struct arena_chunk *c;

	while (a->chunks && a->chunks->next) {
		c = a->chunks;
		a->chunks = c->next;
		free(c);
	}
	if (a->chunks)
		a->chunks->used = 0;
	a->used = 0;
}

void arena_fini(struct arena *a)
{
	arena_reset(a);
	free(a->chunks);
	a->chunks = NULL;
}
