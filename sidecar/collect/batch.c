/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int batch_init(struct batch *b, size_t arena_bytes)
{
	void *p;

	memset(b, 0, sizeof(*b));
	b->limit_ns = UINT64_MAX;
	/* Mapped and not malloc'ed: pages that no burst ever needed are never touched. */
	p = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	b->arena = p;
	b->size = arena_bytes;
	b->slots_max = arena_bytes / sizeof(struct ev_head);
	b->slots = malloc(b->slots_max * sizeof(*b->slots));
	b->events = malloc(b->slots_max * sizeof(*b->events));
	if (!b->slots || !b->events) {
		batch_fini(b);
		return -ENOMEM;
	}
	return 0;
}

void batch_fini(struct batch *b)
{
	if (b->arena)
		munmap(b->arena, b->size);
	free(b->slots);
	free(b->events);
	memset(b, 0, sizeof(*b));
}

static int by_address(const void *a, const void *b)
{
	const struct batch_slot *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

static int by_time(const void *a, const void *b)
{
	const struct batch_slot *x = a, *y = b;

	if (x->boot_ns != y->boot_ns)
		return x->boot_ns < y->boot_ns ? -1 : 1;
	return x->arrival < y->arrival ? -1 : x->arrival > y->arrival;
}

/* Most drains need none: one ring, one order. */
static void sort_slots(struct batch_slot *slots, size_t n,
		       int (*compare)(const void *, const void *))
{
	for (size_t i = 1; i < n; i++) {
		if (compare(&slots[i - 1], &slots[i]) > 0) {
			qsort(slots, n, sizeof(*slots), compare);
			return;
		}
	}
}

void batch_begin(struct batch *b, uint64_t now_ns)
{
	size_t held = b->n - b->given;

	memmove(b->slots, b->slots + b->given, held * sizeof(*b->slots));
	/*
	 * In the order of their addresses a move forward never runs over one that is yet
	 * to move.
	 */
	sort_slots(b->slots, held, by_address);
	b->used = 0;
	for (size_t i = 0; i < held; i++) {
		struct ev_head *e = b->slots[i].event;
		size_t size = e->size;

		b->slots[i].event = (struct ev_head *)(b->arena + b->used);
		memmove(b->slots[i].event, e, size);
		b->used += size;
	}
	b->n = held;
	b->given = 0;
	b->before_ns = b->newest_ns;
	b->now_ns = now_ns;
	b->limit_ns = UINT64_MAX;
}

void *batch_reserve(struct batch *b, size_t size)
{
	if (size > b->size - b->used || b->n == b->slots_max)
		return NULL;
	return b->arena + b->used;
}

void batch_commit(struct batch *b, struct ev_head *event)
{
	struct batch_slot *slot = &b->slots[b->n++];

	slot->boot_ns = event->boot_ns;
	slot->arrival = b->arrivals++;
	slot->event = event;
	b->used += event->size;
	if (event->boot_ns > b->newest_ns)
		b->newest_ns = event->boot_ns;
}

void batch_limit(struct batch *b, uint64_t boot_ns)
{
	if (boot_ns < b->limit_ns)
		b->limit_ns = boot_ns;
}

/* Up to which stamp the order is settled. */
static uint64_t settled_ns(const struct batch *b)
{
	uint64_t now = b->now_ns ? b->now_ns : b->newest_ns;
	uint64_t ns = now > BATCH_HOLD_NS ? now - BATCH_HOLD_NS : 0;

	if (ns > b->limit_ns)
		ns = b->limit_ns;
	/*
	 * What an earlier drain held has had a whole drain's time to be overtaken.  Last,
	 * so that held events cannot fill the arena for ever.
	 */
	return ns > b->before_ns ? ns : b->before_ns;
}

void batch_finish(struct batch *b)
{
	uint64_t settled = settled_ns(b);

	sort_slots(b->slots, b->n, by_time);
	for (b->given = 0; b->given < b->n && b->slots[b->given].boot_ns <= settled;
	     b->given++)
		b->events[b->given] = b->slots[b->given].event;
}
