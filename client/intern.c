/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client/intern.h"

#define KEYS_MAX (1u << 28)

void intern_init(struct intern *t, size_t max_bytes)
{
	memset(t, 0, sizeof(*t));
	t->max = max_bytes;
}

void intern_fini(struct intern *t)
{
	free(t->bytes);
	free(t->ends);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

const void *intern_get(const struct intern *t, uint32_t id, size_t *len)
{
	size_t start = id > 1 ? t->ends[id - 2] : 0;

	*len = t->ends[id - 1] - start;
	return t->bytes + start;
}

static uint32_t hash(const unsigned char *p, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);	/* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t *find(const struct intern *t, const void *key, size_t len)
{
	uint32_t i = hash(key, len) & (t->nslots - 1);

	for (;; i = (i + 1) & (t->nslots - 1)) {
		const void *held;
		size_t held_len;

		if (!t->slots[i])
			return &t->slots[i];
		held = intern_get(t, t->slots[i], &held_len);
		if (held_len == len && !memcmp(held, key, len))
			return &t->slots[i];
	}
}

static int rehash(struct intern *t)
{
	uint32_t nslots = t->nslots ? t->nslots * 2 : 64;
	uint32_t *slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return -1;
	free(t->slots);
	t->slots = slots;
	t->nslots = nslots;
	for (uint32_t id = 1; id <= t->n; id++) {
		size_t len;
		const void *key = intern_get(t, id, &len);

		*find(t, key, len) = id;
	}
	return 0;
}

static int make_room(struct intern *t, size_t len)
{
	size_t cap = t->cap ? t->cap : 4096;
	void *p;

	if (len > t->max - t->len || t->n >= KEYS_MAX)
		return -1;
	while (cap < t->len + len)
		cap *= 2;
	if (cap != t->cap) {
		p = realloc(t->bytes, cap);
		if (!p)
			return -1;
		t->bytes = p;
		t->cap = cap;
	}
	if (t->n == t->ends_cap) {
		uint32_t ends_cap = t->ends_cap ? t->ends_cap * 2 : 64;

		p = realloc(t->ends, ends_cap * sizeof(*t->ends));
		if (!p)
			return -1;
		t->ends = p;
		t->ends_cap = ends_cap;
	}
	return 0;
}

uint32_t intern_add(struct intern *t, const void *key, size_t len)
{
	uint32_t *slot;

	if (t->n >= t->nslots / 2 && rehash(t))
		return 0;
	slot = find(t, key, len);
	if (*slot)
		return *slot;
	if (make_room(t, len))
		return 0;
	if (len)
		memcpy(t->bytes + t->len, key, len);
	t->len += len;
	t->ends[t->n++] = t->len;
	*slot = t->n;
	return t->n;
}
