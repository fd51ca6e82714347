/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/pipeline_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64u << 10)		/* the largest event is 4 KiB of path and a head */
#define CHUNKS_KEPT 2u

struct batch_chunk {
	struct batch_chunk *next;
	size_t		 used, size;
	_Alignas(8) char data[];
};

void event_batch_init(struct event_batch *b)
{
	memset(b, 0, sizeof(*b));
}

static void free_chunks(struct batch_chunk *c)
{
	while (c) {
		struct batch_chunk *next = c->next;

		free(c);
		c = next;
	}
}

void event_batch_fini(struct event_batch *b)
{
	free_chunks(b->chunks);
	free(b->events);
	free(b->items);
	event_batch_init(b);
}

void event_batch_reset(struct event_batch *b)
{
	struct batch_chunk *c = b->chunks;

	for (uint32_t i = 1; c && i < CHUNKS_KEPT; i++)
		c = c->next;
	if (c) {
		free_chunks(c->next);
		c->next = NULL;
	}
	for (c = b->chunks; c; c = c->next)
		c->used = 0;
	b->current = b->chunks;
	b->n_events = b->n_items = b->n_waiting = b->first_waiting = b->credit = 0;
	b->bytes = 0;
}

/* Room for n bytes, aligned to 8. */
static void *room(struct event_batch *b, size_t n)
{
	struct batch_chunk *c = b->current;
	void *at;

	n = (n + 7) & ~(size_t)7;
	if (c && c->size - c->used < n && c->next) {
		c = b->current = c->next;
		c->used = 0;
	}
	if (!c || c->size - c->used < n) {
		struct batch_chunk *fresh =
			malloc(sizeof(*fresh) + (n > CHUNK_BYTES ? n : CHUNK_BYTES));

		if (!fresh)
			return NULL;
		fresh->size = n > CHUNK_BYTES ? n : CHUNK_BYTES;
		fresh->used = 0;
		fresh->next = c ? c->next : NULL;
		if (c)
			c->next = fresh;
		else
			b->chunks = fresh;
		c = b->current = fresh;
	}
	at = c->data + c->used;
	c->used += n;
	b->bytes += n;
	return at;
}

static int grow(void **array, uint32_t *cap, uint32_t n, size_t size)
{
	uint32_t want = *cap ? *cap * 2 : 256;
	void *p;

	if (n < *cap)
		return 0;
	p = realloc(*array, want * size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = want;
	return 0;
}

int event_batch_add(struct event_batch *b, const struct ev_head *e)
{
	void *copy;

	if (grow((void **)&b->events, &b->cap_events, b->n_events, sizeof(*b->events)))
		return -ENOMEM;
	copy = room(b, e->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, e, e->size);
	b->events[b->n_events++] = copy;
	return 0;
}

void event_batch_sort(struct event_batch *b)
{
	for (uint32_t i = 1; i < b->n_events; i++) {
		const struct ev_head *e = b->events[i];
		uint32_t j = i;

		for (; j > 0 && b->events[j - 1]->boot_ns > e->boot_ns; j--)
			b->events[j] = b->events[j - 1];
		b->events[j] = e;
	}
}

struct batch_item *event_batch_item(struct event_batch *b, const struct ev_head *e,
				    struct image *held)
{
	struct batch_item *item;

	if (grow((void **)&b->items, &b->cap_items, b->n_items, sizeof(*b->items)))
		return NULL;
	item = &b->items[b->n_items++];
	*item = (struct batch_item){ .ev = e, .image = held };
	return item;
}
