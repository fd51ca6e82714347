/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/publish/stacks.h"

#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define WAYS 4u

struct stacks {
	struct stack_entry *entries;
	uint32_t	 n_sets;	/* power of two */
	uint32_t	 clock;
	uint64_t	 seed;		/* random: a tenant must not be able to aim at one set */
};

int stacks_create(struct stacks **out, uint32_t entries, uint64_t seed)
{
	struct stacks *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->n_sets = 1;
	while (c->n_sets * WAYS < entries && c->n_sets < (1u << 20))
		c->n_sets *= 2;
	c->seed = seed;
	c->entries = calloc((size_t)c->n_sets * WAYS, sizeof(*c->entries));
	if (!c->entries) {
		free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void stacks_destroy(struct stacks *c)
{
	if (!c)
		return;
	free(c->entries);
	free(c);
}

struct stack_key stacks_key(const struct stacks *c, uint64_t owner, const void *addr,
			    uint32_t n)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(addr, n * sizeof(uint64_t),
						c->seed + owner * 0x9e3779b97f4a7c15ull);

	/* The owner stands in the key itself too: an equal hash must never show another's
	 * stack. */
	return (struct stack_key){ .low = h.low64 | 1, .high = (h.high64 << 24) ^ owner };
}

static struct stack_entry *set_of(struct stacks *c, struct stack_key key)
{
	return c->entries + (size_t)((key.low >> 20) & (c->n_sets - 1)) * WAYS;
}

struct stack_entry *stacks_find(struct stacks *c, struct stack_key key)
{
	struct stack_entry *e = set_of(c, key);

	for (uint32_t i = 0; i < WAYS; i++, e++) {
		if (e->key.low == key.low && e->key.high == key.high) {
			e->used = ++c->clock;
			return e;
		}
	}
	return NULL;
}

struct stack_entry *stacks_take(struct stacks *c, struct stack_key key)
{
	struct stack_entry *set = set_of(c, key), *victim = set;
	struct stack_entry *found = stacks_find(c, key);

	if (found)
		return found;
	for (uint32_t i = 1; i < WAYS; i++)
		if ((int32_t)(set[i].used - victim->used) < 0)
			victim = set + i;
	*victim = (struct stack_entry){ .key = key, .used = ++c->clock };
	return victim;
}

size_t stacks_bytes(const struct stacks *c)
{
	return sizeof(*c) + (size_t)c->n_sets * WAYS * sizeof(*c->entries);
}
