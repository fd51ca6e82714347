/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary: immutable entries, appended to the current one of two halves, found
 * again by content.
 *
 * A half is recycled only when intent - last_ref >= N: every record that refers to it
 * then stands in a block that is announced as overwritten, so the one intent check of a
 * reader covers the record and all its entries.  The recycling stores come after that
 * announcement's release fence, as ordinary records do.  Nothing outside
 * dict_flip_if_due() changes the generation, so references obtained since the last safe
 * point always belong to the half that a record put now keeps alive.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shm/ring_atomic.h"
#include "shm/ring_testpoint.h"
#include "shm/writer_state.h"

/* --- hash: not for the file, only for the private index ----------------------------- */

static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t hash_bytes(const struct dict *d, uint32_t kind, const void *data,
			   size_t len)
{
	const uint8_t *p = data;
	uint64_t h = d->seed[0] ^ (uint64_t)kind << 56 ^ len, a = 0, b = 0;

	for (; len > 16; len -= 16, p += 16)
		h = fold(word_at(p) ^ d->seed[1], word_at(p + 8) ^ h);
	memcpy(&a, p, len < 8 ? len : 8);
	if (len > 8)
		memcpy(&b, p + 8, len - 8);
	h = fold(a ^ d->seed[1], b ^ h);
	h = fold(h ^ d->seed[0], 0x9e3779b97f4a7c15u);
	return (uint32_t)(h ^ h >> 32);
}

/* --- life --------------------------------------------------------------------------- */

static void start_half(struct dict *d, uint32_t half, uint32_t generation)
{
	uint64_t *words = (uint64_t *)(void *)(d->base + half * d->half_bytes);

	d->half[half] =
		(struct dict_half){ .generation = generation, .used = RING_ALIGN };
	d->current = half;
	d->word = generation << 8 | half;
	d->full = false;
	RING_TESTPOINT("recycle.before");
	ring_relaxed_store(words, (uint64_t)RING_D_HALF << 32);
	RING_TESTPOINT("recycle.word0");
	ring_relaxed_store(words + 1, (uint64_t)generation);
	RING_TESTPOINT("recycle.word1");
	memset(d->index, 0, ((size_t)d->index_mask + 1) * sizeof(*d->index));
	d->index_used = 0;
}

static int make_index(struct dict *d, uint8_t *base, uint64_t half_bytes)
{
	size_t slots = 1024;

	while (slots < half_bytes / 32)
		slots *= 2;
	d->base = base;
	d->half_bytes = half_bytes;
	d->index = calloc(slots, sizeof(*d->index));
	if (!d->index)
		return -ENOMEM;
	d->index_mask = (uint32_t)slots - 1;
	if (getrandom(d->seed, sizeof(d->seed), GRND_NONBLOCK) != sizeof(d->seed))
		d->seed[0] = (uintptr_t)d->index ^ (uint64_t)(uintptr_t)&slots << 32;
	d->seed[1] |= 1;
	return 0;
}

int dict_init(struct dict *d, uint8_t *base, uint64_t half_bytes)
{
	int err = make_index(d, base, half_bytes);

	if (!err)
		start_half(d, 0, 1);
	return err;
}

/* --- a life after another ----------------------------------------------------------- */

#define LONGEST_ENTRY	(RING_MAX_FRAMES * 4u)

static const uint64_t *entry_at(const struct dict *d, uint32_t half, uint64_t at)
{
	return (const uint64_t *)(const void *)(d->base + half * d->half_bytes + at);
}

/* The head of a half is stored last when it is recycled, so it says what the half is. */
static uint32_t generation_of(const struct dict *d, uint32_t half)
{
	const uint64_t *words = entry_at(d, half, 0);

	if (words[0] != (uint64_t)RING_D_HALF << 32 || words[1] > RING_MAX_GENERATION)
		return 0;
	return (uint32_t)words[1];
}

/* Behind everything that a published record can refer to: entries are whole before they
 * are referred to, so the first that is not whole ends them. */
static uint64_t end_of_entries(const struct dict *d, uint32_t half, uint32_t generation)
{
	uint64_t at = RING_ALIGN, left;

	while ((left = d->half_bytes - at) >= RING_ALIGN) {
		const uint64_t *words = entry_at(d, half, at);
		uint64_t kind = words[0] >> 32, need;

		need = RING_ENTRY_BYTES((uint32_t)words[0]);
		if (words[1] != generation || kind < RING_D_STRING ||
		    kind > RING_D_RESOURCE || (uint32_t)words[0] > LONGEST_ENTRY ||
		    need > left)
			break;
		at += need;
	}
	return at;
}

int dict_resume(struct dict *d, uint8_t *base, uint64_t half_bytes, uint64_t block)
{
	int err = make_index(d, base, half_bytes);

	if (err)
		return err;
	for (uint32_t half = 0; half < 2; half++) {
		uint32_t generation = generation_of(d, half);

		d->half[half] = (struct dict_half){
			.generation = generation,
			.referenced = generation != 0,
			.used = generation ? end_of_entries(d, half, generation) : 0,
			.last_ref = block,
		};
	}
	d->current = d->half[1].generation > d->half[0].generation;
	d->word = d->half[d->current].generation << 8 | d->current;
	return d->half[d->current].generation ? 0 : -EBADMSG;
}

void dict_fini(struct dict *d)
{
	free(d->index);
	d->index = NULL;
}

static void show_meta(struct ring_writer *w, uint32_t half)
{
	struct ring_half_meta *m = &w->hdr->half[half];
	const struct dict_half *h = &w->dict.half[half];

	ring_relaxed_store(&m->generation, h->generation);
	RING_TESTPOINT("meta.generation");
	ring_relaxed_store(&m->used, h->used);
	RING_TESTPOINT("meta.used");
	ring_relaxed_store(&m->last_ref_block, h->last_ref);
	RING_TESTPOINT("meta.last_ref");
}

static bool half_dead(const struct ring_writer *w, const struct dict_half *h)
{
	return !h->referenced || w->block - h->last_ref >= w->nblocks;
}

/* Nearly full counts as full: a flip between records beats a fallback in the middle of
 * one. */
static bool half_full(const struct dict *d)
{
	uint64_t slack = d->half_bytes / 16 < 65536 ? d->half_bytes / 16 : 65536;

	return d->full || d->half[d->current].used + slack > d->half_bytes;
}

void dict_flip_if_due(struct ring_writer *w)
{
	struct dict *d = &w->dict;
	uint32_t other = !d->current, generation = d->half[d->current].generation + 1;

	if (!half_full(d) || !half_dead(w, &d->half[other]) ||
	    generation > RING_MAX_GENERATION)
		return;
	start_half(d, other, generation);
	show_meta(w, 0);
	show_meta(w, 1);
}

uint32_t ring_writer_generation(const struct ring_writer *w)
{
	return w->dict.half[w->dict.current].generation;
}

uint64_t ring_writer_dict_used(const struct ring_writer *w)
{
	return w->dict.half[0].used + w->dict.half[1].used;
}

int dict_unit(const struct dict *d, ringside_ref ref, uint32_t *unit)
{
	*unit = (uint32_t)ref;
	if (!ref)
		return 0;
	return (uint32_t)(ref >> 32) == d->word && *unit ? 0 : -ESTALE;
}

void dict_referenced(struct ring_writer *w)
{
	struct dict_half *h = &w->dict.half[w->dict.current];

	if (h->referenced && h->last_ref == w->block)
		return;
	h->referenced = true;
	h->last_ref = w->block;
	show_meta(w, w->dict.current);
}

/* --- entries ------------------------------------------------------------------------ */

static bool entry_is(const uint64_t *words, uint32_t kind, const void *data, uint32_t len)
{
	return words[0] == (len | (uint64_t)kind << 32) && !memcmp(words + 2, data, len);
}

/* Appends; the index slot is the caller's.  0 when there is no room. */
static uint32_t append(struct dict *d, uint32_t kind, const void *data, uint32_t len)
{
	struct dict_half *h = &d->half[d->current];
	uint64_t need = RING_ENTRY_BYTES(len), at = h->used;
	uint64_t *words = (uint64_t *)(void *)(d->base + d->current * d->half_bytes + at);

	if (h->used + need > d->half_bytes ||
	    d->index_used >= d->index_mask - d->index_mask / 8)
		return 0;
	if (len & 15) {
		ring_relaxed_store(words + need / 8 - 2, 0);
		ring_relaxed_store(words + need / 8 - 1, 0);
	}
	RING_TESTPOINT("intern.before");
	ring_copy_in(words + 2, data, len);
	RING_TESTPOINT("intern.payload");
	ring_relaxed_store(words + 1, (uint64_t)h->generation);
	RING_TESTPOINT("intern.word1");
	ring_relaxed_store(words, len | (uint64_t)kind << 32);
	RING_TESTPOINT("intern.word0");
	h->used += need;
	return (uint32_t)(at / RING_ALIGN);
}

static int intern(struct ring_writer *w, uint32_t kind, const void *data, uint32_t len,
		  ringside_ref *ref)
{
	struct dict *d = &w->dict;
	uint32_t hash = hash_bytes(d, kind, data, len), i = hash & d->index_mask;
	const uint8_t *half = d->base + d->current * d->half_bytes;
	struct dict_slot *s;

	*ref = 0;
	for (;; i = (i + 1) & d->index_mask) {
		s = &d->index[i];
		if (!s->unit)
			break;
		if (s->hash == hash && entry_is((const uint64_t *)(const void *)
				(half + (uint64_t)s->unit * RING_ALIGN), kind, data, len))
			goto found;
	}
	s->unit = append(d, kind, data, len);
	if (!s->unit) {
		d->full = true;
		return -ENOSPC;
	}
	s->hash = hash;
	d->index_used++;
found:
	*ref = (uint64_t)d->word << 32 | s->unit;
	return 0;
}

/* Cuts at NUL and at the bound, not inside a UTF-8 character. */
static uint32_t string_len(const char *s, size_t len)
{
	len = strnlen(s, len);
	if (len <= RING_MAX_STRING)
		return (uint32_t)len;
	for (len = RING_MAX_STRING; len > RING_MAX_STRING - 4; len--)
		if (((uint8_t)s[len] & 0xc0) != 0x80)
			break;
	return (uint32_t)len;
}

int ring_intern_string(struct ring_writer *w, const char *s, size_t len,
		       ringside_ref *ref)
{
	*ref = 0;
	if (!s)
		return 0;
	return intern(w, RING_D_STRING, s, string_len(s, len), ref);
}

int ring_intern_mapping(struct ring_writer *w, const struct ring_mapping *m,
			ringside_ref *ref)
{
	struct ring_dict_mapping e = {
		.start = m->start, .end = m->end, .file_offset = m->file_offset,
		.build_id_kind = m->build_id_kind,
	};

	*ref = 0;
	if (dict_unit(&w->dict, m->path, &e.path) ||
	    dict_unit(&w->dict, m->build_id, &e.build_id))
		return -ESTALE;
	return intern(w, RING_D_MAPPING, &e, sizeof(e), ref);
}

int ring_intern_frame(struct ring_writer *w, const struct ring_frame *f,
		      ringside_ref *ref)
{
	struct ring_dict_frame e = {
		.address = f->address,
		.offset = f->offset,
		.line = f->line,
		.type = f->type,
		.flags = f->inlined ? RING_FRAME_INLINED : 0,
	};
	const struct dict *d = &w->dict;

	*ref = 0;
	if (dict_unit(d, f->function, &e.function) ||
	    dict_unit(d, f->system_name, &e.system_name) ||
	    dict_unit(d, f->file, &e.file) || dict_unit(d, f->mapping, &e.mapping))
		return -ESTALE;
	return intern(w, RING_D_FRAME, &e, sizeof(e), ref);
}

int ring_intern_stack(struct ring_writer *w, const ringside_ref *frames, uint32_t n,
		      ringside_ref *ref)
{
	struct dict *d = &w->dict;

	*ref = 0;
	if (!n)
		return 0;
	if (n > RING_MAX_FRAMES || n * sizeof(*d->units) > d->half_bytes / 4)
		return -EMSGSIZE;
	for (uint32_t i = 0; i < n; i++)
		if (!frames[i] || dict_unit(d, frames[i], &d->units[i]))
			return -ESTALE;
	return intern(w, RING_D_STACK, d->units, n * (uint32_t)sizeof(*d->units), ref);
}

static int intern_attribute(struct ring_writer *w, const struct ring_attribute *a,
			    uint32_t *unit)
{
	struct ring_dict_attribute e = { .type = a->type };
	const struct dict *d = &w->dict;
	ringside_ref ref;
	uint32_t string;
	int err;

	if (!a->key || dict_unit(d, a->key, &e.key) || dict_unit(d, a->string, &string))
		return -ESTALE;
	switch (a->type) {
	case RINGSIDE_INT:
	case RINGSIDE_BOOL:
		e.value = (uint64_t)a->number;
		break;
	case RINGSIDE_DOUBLE:
		memcpy(&e.value, &a->real, sizeof(e.value));
		break;
	case RINGSIDE_STRING:
	case RINGSIDE_BYTES:
	case RINGSIDE_JSON:
		e.value = string;
		break;
	default:
		return -EINVAL;
	}
	err = intern(w, RING_D_ATTRIBUTE, &e, sizeof(e), &ref);
	*unit = (uint32_t)ref;
	return err;
}

int ring_intern_resource(struct ring_writer *w, const struct ring_attribute *a,
			 uint32_t n, ringside_ref schema_url, ringside_ref *ref)
{
	struct dict *d = &w->dict;
	int err;

	*ref = 0;
	if (n > RING_MAX_ATTRIBUTES)
		return -EMSGSIZE;
	if (dict_unit(d, schema_url, &d->units[0]))
		return -ESTALE;
	for (uint32_t i = 0; i < n; i++) {
		err = intern_attribute(w, &a[i], &d->units[1 + i]);
		if (err)
			return err;
	}
	return intern(w, RING_D_RESOURCE, d->units, (n + 1) * (uint32_t)sizeof(*d->units),
		      ref);
}
