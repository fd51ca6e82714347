/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressing table of pointers.  Entries are freed in place by a second-chance
 * hand; what a freed slot leaves behind is repaired by rebuilding the table, which
 * happens once per eviction, not once per entry.
 */
#include "sidecar/publish/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/publish/spans.h"
#include "sidecar/symbols/symbols.h"

#define NAMES_MIN_SLOTS 1024u
#define NAMES_MAX_LEVELS 64u
#define NAMES_TALLIES 4096u		/* power of two */

struct names {
	struct named	**slots;
	uint32_t	 n_slots;	/* power of two */
	uint32_t	 n;
	size_t		 bytes, limit;
	struct spans	 spans;
	uint32_t	 tally[NAMES_TALLIES];	/* entries of all files of that residue */
};

static uint32_t *tally_of(struct names *t, uint32_t file_id)
{
	return &t->tally[file_id & (NAMES_TALLIES - 1)];
}

static uint32_t slot_of(const struct names *t, uint32_t file_id, uint64_t address)
{
	uint64_t h = (address ^ ((uint64_t)file_id << 40)) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32) & (t->n_slots - 1);
}

static void insert(struct names *t, struct named *e)
{
	uint32_t i = slot_of(t, e->file_id, e->address);

	while (t->slots[i])
		i = (i + 1) & (t->n_slots - 1);
	t->slots[i] = e;
	t->n++;
}

/* Moves all entries into a table of n_slots. */
static int rebuild(struct names *t, uint32_t n_slots)
{
	struct named **old = t->slots;
	uint32_t n_old = t->n_slots;

	t->slots = calloc(n_slots, sizeof(*t->slots));
	if (!t->slots) {
		t->slots = old;
		return -ENOMEM;
	}
	t->n_slots = n_slots;
	t->n = 0;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i])
			insert(t, old[i]);
	free(old);
	return 0;
}

static size_t entry_bytes(const struct named *e)
{
	return sizeof(*e) + sizeof(e) * 2 + e->bytes;
}

static void entry_free(struct names *t, struct named *e)
{
	t->bytes -= entry_bytes(e);
	--*tally_of(t, e->file_id);
	free(e->names);
	free(e);
}

int names_create(struct names **out, size_t limit_bytes)
{
	struct names *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->limit = limit_bytes;
	if (rebuild(t, NAMES_MIN_SLOTS)) {
		free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void names_destroy(struct names *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_slots; i++)
		if (t->slots[i])
			entry_free(t, t->slots[i]);
	spans_fini(&t->spans);
	free(t->slots);
	free(t);
}

static struct named *find(const struct names *t, uint32_t file_id, uint64_t address)
{
	uint32_t i = slot_of(t, file_id, address);

	for (; t->slots[i]; i = (i + 1) & (t->n_slots - 1))
		if (t->slots[i]->address == address && t->slots[i]->file_id == file_id)
			return t->slots[i];
	return NULL;
}

static struct named *obtain(struct names *t, uint32_t file_id, uint64_t address)
{
	struct named *e = find(t, file_id, address);

	if (e) {
		e->used = true;
		return e;
	}
	/* Kept at most half full, so that probing stays short. */
	if (t->n * 2 >= t->n_slots && rebuild(t, t->n_slots * 2))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->file_id = file_id;
	e->address = address;
	e->used = true;
	t->bytes += entry_bytes(e);
	insert(t, e);
	++*tally_of(t, file_id);
	return e;
}

/* Copies s behind *at and moves *at on; NULL stays NULL. */
static const char *keep(char **at, const char *s)
{
	size_t n;
	char *to = *at;

	if (!s)
		return NULL;
	n = strlen(s) + 1;
	memcpy(to, s, n);
	*at += n;
	return to;
}

static size_t kept(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

static int fill(struct names *t, struct named *e, const struct sym_name *levels, uint32_t n)
{
	struct name *names = NULL;
	size_t bytes;
	char *at;

	if (n > NAMES_MAX_LEVELS)
		n = NAMES_MAX_LEVELS;
	bytes = n * sizeof(*names);
	for (uint32_t i = 0; i < n; i++)
		bytes += kept(levels[i].function) + kept(levels[i].system_name) +
			 kept(levels[i].file);
	if (n) {
		names = calloc(1, bytes);
		if (!names)
			return -ENOMEM;
		at = (char *)(names + n);
		for (uint32_t i = 0; i < n; i++) {
			names[i] = (struct name){
				.function = keep(&at, levels[i].function),
				.system_name = keep(&at, levels[i].system_name),
				.file = keep(&at, levels[i].file),
				.line = levels[i].line,
				.offset = levels[i].offset,
				.inlined = levels[i].inlined && i + 1 < n,
				.type = levels[i].type,
			};
		}
	}
	t->bytes -= entry_bytes(e);
	free(e->names);
	e->names = names;
	e->n = (uint16_t)n;
	e->bytes = (uint32_t)bytes;
	e->generation = 0;
	e->bare = 0;
	e->state = NAMED_READY;
	t->bytes += entry_bytes(e);
	return 0;
}

/* Answers for an address whose function is known. */
static void fill_by_span(struct names *t, struct named *e)
{
	const struct span *s = spans_find(&t->spans, e->file_id, e->address);
	const struct named *known = s ? find(t, e->file_id, s->known) : NULL;
	struct sym_name level;

	/* Evicted, or in doubt: the question that follows puts a new one. */
	if (!known || known->state != NAMED_READY || known->n != 1)
		return;
	level = (struct sym_name){
		.function = known->names[0].function,
		.system_name = known->names[0].system_name,
		.offset = known->names[0].offset + (e->address - known->address),
		.type = known->names[0].type,
	};
	fill(t, e, &level, 1);
}

struct named *names_get(struct names *t, uint32_t file_id, uint64_t address)
{
	struct named *e = obtain(t, file_id, address);

	if (e && e->state == NAMED_NEW && t->spans.n)
		fill_by_span(t, e);
	return e;
}

int names_put(struct names *t, uint32_t file_id, uint64_t address,
	      const struct sym_name *levels, uint32_t n)
{
	struct named *e = obtain(t, file_id, address);
	struct span span;

	if (!e)
		return -ENOMEM;
	if (n == 1 && levels->same && levels->function) {
		span = (struct span){ .first = address - levels->offset,
				      .last = address + (levels->same - 1),
				      .known = address,
				      .file_id = file_id };
		spans_put(&t->spans, &span);
	}
	return fill(t, e, levels, n);
}

void names_forget(struct names *t, uint32_t file_id)
{
	names_forget_range(t, file_id, 0, UINT64_MAX);
}

void names_forget_range(struct names *t, uint32_t file_id, uint64_t first, uint64_t last)
{
	uint32_t left = *tally_of(t, file_id);

	spans_forget(&t->spans, file_id, first, last);
	/* Called for every file that comes and goes: most have no entry, the others few.
	 */
	for (uint32_t i = 0; i < t->n_slots && left; i++) {
		struct named *e = t->slots[i];

		if (!e || tally_of(t, e->file_id) != tally_of(t, file_id))
			continue;
		left--;
		if (e->file_id == file_id && e->address >= first && e->address <= last)
			e->state = NAMED_NEW;
	}
}

static void evict_to(struct names *t, size_t target)
{
	/* Two rounds at most: the first takes the unused and clears the marks, the second
	 * takes the rest. */
	for (int round = 0; round < 2 && t->bytes > target; round++) {
		for (uint32_t i = 0; i < t->n_slots && t->bytes > target; i++) {
			struct named *e = t->slots[i];

			if (!e)
				continue;
			if (e->used && round == 0) {
				e->used = false;
				continue;
			}
			t->slots[i] = NULL;
			entry_free(t, e);
		}
	}
	/* Probing relies on unbroken runs.  Without memory for it, find() may miss and
	 * ask again. */
	rebuild(t, t->n_slots);
}

void names_evict(struct names *t)
{
	if (t->bytes > t->limit)
		evict_to(t, t->limit - t->limit / 8);
}

void names_trim(struct names *t)
{
	evict_to(t, t->bytes / 2);
}

size_t names_bytes(const struct names *t)
{
	return t->bytes + t->n_slots * sizeof(*t->slots) + t->spans.room * sizeof(struct span);
}
