/* SPDX-License-Identifier: Apache-2.0 */
/* Names that came late, given to the samples that came before them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/profile.h"

struct range {
	struct profile_range key;
	uint64_t	 last;
};

uint32_t profile_location_of(const struct profile *p, uint32_t id)
{
	return id <= p->naliases ? p->alias[id - 1] : id;
}

static int by_place(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->key.mapping != y->key.mapping)
		return x->key.mapping < y->key.mapping ? -1 : 1;
	if (x->key.start != y->key.start)
		return x->key.start < y->key.start ? -1 : 1;
	/* Of several names for one start, the one that is known to reach farthest comes
	 * last. */
	return x->last < y->last ? -1 : x->last > y->last;
}

/* All ranges, sorted; NULL without memory. */
static struct range *sorted_ranges(const struct profile *p)
{
	struct range *r = calloc(p->ranges.n + 1, sizeof(*r));
	size_t len;

	for (uint32_t i = 0; r && i < p->ranges.n; i++) {
		memcpy(&r[i].key, intern_get(&p->ranges, i + 1, &len), sizeof(r[i].key));
		r[i].last = i < p->ranges_cap ? p->range_last[i] : 0;
	}
	if (r)
		qsort(r, p->ranges.n, sizeof(*r), by_place);
	return r;
}

/* The function that holds the address for certain, or NULL. */
static const struct range *find(const struct range *r, uint32_t n, uint32_t mapping,
				uint64_t address)
{
	uint32_t low = 0, high = n;

	/* The first range that begins behind the address. */
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (r[mid].key.mapping < mapping ||
		    (r[mid].key.mapping == mapping && r[mid].key.start <= address))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || r[low - 1].key.mapping != mapping || address > r[low - 1].last)
		return NULL;
	return &r[low - 1];
}

/* Without a build id the same path may be another file: nothing is concluded then. */
static bool is_one_file(const struct profile *p, uint32_t mapping)
{
	struct profile_mapping key;
	size_t len;

	if (!mapping)
		return false;
	memcpy(&key, intern_get(&p->mappings, mapping, &len), sizeof(key));
	return key.build_id != 0;
}

/* The same address with the function's name: another location, or 0. */
static uint32_t named_location(struct profile *p, const struct profile_location *unnamed,
			       uint32_t function)
{
	struct { struct profile_location l; struct profile_line line; } key;

	memset(&key, 0, sizeof(key));
	key.l = *unnamed;
	key.l.nlines = 1;
	key.l.named = 1;
	key.line.function = function;
	return intern_add(&p->locations, &key, sizeof(key));
}

int profile_resolve(struct profile *p)
{
	struct range *ranges = sorted_ranges(p);
	struct profile_location l;
	uint32_t n = p->locations.n;
	size_t len;

	free(p->alias);
	p->naliases = 0;
	p->alias = calloc(n ? n : 1, sizeof(*p->alias));
	if (!p->alias || !ranges) {
		free(ranges);
		return -ENOMEM;
	}
	for (uint32_t id = 1; id <= n; id++) {
		const struct range *r = NULL;
		uint32_t better = 0;

		memcpy(&l, intern_get(&p->locations, id, &len), sizeof(l));
		if (!l.named && is_one_file(p, l.mapping))
			r = find(ranges, p->ranges.n, l.mapping, l.address);
		if (r)
			better = named_location(p, &l, r->key.function);
		p->alias[id - 1] = better ? better : id;
	}
	p->naliases = n;
	free(ranges);
	return 0;
}
