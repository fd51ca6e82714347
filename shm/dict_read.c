/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References into things.  Each entry is decoded once and found again by its offset;
 * equal references mean equal bytes, so it stays good for as long as its half keeps its
 * generation.
 *
 * Kinds are layered, each function below asks only for smaller ones, so a file cannot
 * make us go in circles.  What a record put in is taken out again when the record turns
 * out not to be intact.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shm/reader_state.h"

#define FIRST_FRESH	256
#define PEEK_WORDS	16

/* Every cached thing begins so. */
struct cached { uint8_t kind; };

struct cached_string { struct cached c; uint32_t len; char s[]; };
struct cached_mapping { struct cached c; struct ringside_mapping m; };
struct cached_frame { struct cached c; struct ringside_frame f; };
struct cached_stack {
	struct cached c;
	uint32_t n;
	const struct ringside_frame *frames[];
};
struct cached_attribute { struct cached c; struct ringside_attribute a; };
struct cached_resource {
	struct cached c;
	struct ringside_resource r;
	struct ringside_attribute a[];
};

/* An entry on its way in. */
struct entry {
	struct ringside *r;
	struct dict_cache *cache;
	uint32_t dict, half, generation, unit;
	uint32_t len;
	uint64_t at;			/* of the payload, in the file */
	uint32_t npeek; /* pread costs by the call: the head comes with what follows it */
	uint64_t peek[PEEK_WORDS];	/* head, payload */
};

/* --- the cache ---------------------------------------------------------------------- */

int dict_cache_init(struct dict_cache *c, uint64_t half_bytes)
{
	void *p;

	c->slots_bytes = half_bytes / RING_ALIGN * sizeof(*c->slots);
	p = mmap(NULL, c->slots_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	c->slots = p;
	/* A sound half decodes to less than three times its size. */
	c->arena.limit = half_bytes * 4 + (1u << 20);
	return 0;
}

void dict_cache_fini(struct dict_cache *c)
{
	if (c->slots)
		munmap(c->slots, c->slots_bytes);
	arena_fini(&c->arena);
	free(c->fresh);
	*c = (struct dict_cache){ 0 };
}

void dict_drop(struct dict_cache *c)
{
	if (c->generation)
		madvise(c->slots, c->slots_bytes,
			MADV_DONTNEED); /* private: reads as zero again */
	arena_reset(&c->arena);
	c->generation = 0;
	c->nfresh = 0;
}

void dict_keep(struct ringside *r)
{
	r->cache[0].nfresh = r->cache[1].nfresh = 0;
}

void dict_forget_fresh(struct ringside *r)
{
	for (int half = 0; half < 2; half++) {
		struct dict_cache *c = &r->cache[half];

		while (c->nfresh)
			c->slots[c->fresh[--c->nfresh]] = NULL;
	}
}

static int remember(const struct entry *e, void *thing)
{
	struct dict_cache *c = e->cache;

	if (c->nfresh == c->fresh_cap) {
		uint32_t cap = c->fresh_cap ? c->fresh_cap * 2 : FIRST_FRESH;
		uint32_t *p = realloc(c->fresh, cap * sizeof(*p));

		if (!p)
			return -ENOMEM;
		c->fresh = p;
		c->fresh_cap = cap;
	}
	c->fresh[c->nfresh++] = e->unit;
	c->slots[e->unit] = thing;
	return 0;
}

static void *allocate(const struct entry *e, uint8_t kind, size_t bytes)
{
	struct cached *c = arena_alloc(&e->cache->arena, bytes);

	if (c) {
		memset(c, 0, bytes < 256 ? bytes : 256);
		c->kind = kind;
	}
	return c;
}

/* --- entries ------------------------------------------------------------------------ */

/* Head of the entry at unit, judged: inside the half, of this kind and generation, len in
 * bounds. */
static int enter(struct entry *e, uint8_t kind, uint32_t min, uint32_t max)
{
	const struct ring_file *f = &e->r->f;
	uint64_t off = (uint64_t)e->unit * RING_ALIGN, bytes = RING_ALIGN;
	int err;

	e->r->touched = true;
	if (off + RING_ALIGN > f->half_bytes)
		return -EBADMSG;
	if (f->paranoid)
		bytes = f->half_bytes - off < sizeof(e->peek) ? f->half_bytes - off
							      : sizeof(e->peek);
	e->at = f->dict_off + e->half * f->half_bytes + off;
	err = ring_file_read(f, e->at, e->peek, bytes);
	if (err)
		return err;
	e->npeek = (uint32_t)bytes - RING_ALIGN;
	e->at += RING_ALIGN;
	e->len = (uint32_t)e->peek[0];
	if (e->peek[0] >> 32 != kind || e->peek[1] != e->generation || e->len < min ||
	    e->len > max || e->len > f->half_bytes - off - RING_ALIGN)
		return -EBADMSG;
	return 0;
}

static int payload(const struct entry *e, void *dst)
{
	if (e->len > e->npeek)
		return ring_file_read(&e->r->f, e->at, dst, e->len);
	memcpy(dst, &e->peek[2], e->len);
	return 0;
}

/* 1: found, *thing; 0: to be decoded by the caller; -EBADMSG. */
static int look_up(struct entry *e, struct ringside *r, uint32_t dict, uint32_t unit,
		   uint8_t kind, void *thing)
{
	struct cached *c;

	e->r = r; /* not cleared: peek would cost more than the look-up */
	e->dict = dict;
	e->half = dict & 0xff;
	e->generation = dict >> 8;
	e->unit = unit;
	if (e->half > 1 || !e->generation || !unit ||
	    unit >= r->f.half_bytes / RING_ALIGN)
		return -EBADMSG;
	e->cache = &r->cache[e->half];
	if (e->cache->generation != e->generation) {
		dict_drop(e->cache);
		e->cache->generation = e->generation;
	}
	c = e->cache->slots[unit];
	if (!c)
		return 0;
	if (c->kind != kind)
		return -EBADMSG;
	memcpy(thing, &c, sizeof(c));
	return 1;
}

static int load_string(struct entry *e, struct cached_string **out)
{
	struct cached_string *s;
	int err = enter(e, RING_D_STRING, 0, RING_MAX_STRING);

	if (err)
		return err;
	s = allocate(e, RING_D_STRING, sizeof(*s) + e->len + 1);
	if (!s)
		return -ENOBUFS;
	err = payload(e, s->s);
	if (err)
		return err;
	s->len = e->len;
	s->s[s->len] = 0;
	*out = s;
	return remember(e, s);
}

static int get_string(struct ringside *r, uint32_t dict, uint32_t unit,
		      const struct cached_string **out)
{
	struct cached_string *s = NULL;
	struct entry e;
	int n;

	*out = NULL;
	if (!unit)
		return 0;
	n = look_up(&e, r, dict, unit, RING_D_STRING, &s);
	if (!n)
		n = load_string(&e, &s);
	*out = s;
	return n < 0 ? n : 0;
}

int dict_string(struct ringside *r, uint32_t dict, uint32_t unit, const char **out)
{
	const struct cached_string *s;
	int err = get_string(r, dict, unit, &s);

	*out = s ? s->s : NULL;
	return err;
}

static int load_mapping(struct entry *e, struct cached_mapping **out)
{
	struct ring_dict_mapping w;
	struct cached_mapping *m;
	int err = enter(e, RING_D_MAPPING, sizeof(w), sizeof(w));

	if (err || (err = payload(e, &w)))
		return err;
	m = allocate(e, RING_D_MAPPING, sizeof(*m));
	if (!m)
		return -ENOBUFS;
	m->m = (struct ringside_mapping){
		.build_id_kind = w.build_id_kind, .start = w.start, .end = w.end,
		.file_offset = w.file_offset,
	};
	if ((err = dict_string(e->r, e->dict, w.path, &m->m.path)) ||
	    (err = dict_string(e->r, e->dict, w.build_id, &m->m.build_id)))
		return err;
	*out = m;
	return remember(e, m);
}

static int get_mapping(struct ringside *r, uint32_t dict, uint32_t unit,
		       const struct ringside_mapping **out)
{
	struct cached_mapping *m = NULL;
	struct entry e;
	int n;

	*out = NULL;
	if (!unit)
		return 0;
	n = look_up(&e, r, dict, unit, RING_D_MAPPING, &m);
	if (!n)
		n = load_mapping(&e, &m);
	if (n < 0)
		return n;
	*out = &m->m;
	return 0;
}

static int load_frame(struct entry *e, struct cached_frame **out)
{
	struct ring_dict_frame w;
	struct cached_frame *f;
	int err = enter(e, RING_D_FRAME, sizeof(w), sizeof(w));

	if (err || (err = payload(e, &w)))
		return err;
	f = allocate(e, RING_D_FRAME, sizeof(*f));
	if (!f)
		return -ENOBUFS;
	f->f = (struct ringside_frame){
		.ref = ring_ref(e->generation, e->half, e->unit),
		.type = w.type,
		.inlined = w.flags & RING_FRAME_INLINED,
		.cut = w.flags & RING_FRAME_CUT,
		.address = w.address,
		.offset = w.offset,
		.line = w.line,
	};
	if ((err = dict_string(e->r, e->dict, w.function, &f->f.function)) ||
	    (err = dict_string(e->r, e->dict, w.system_name, &f->f.system_name)) ||
	    (err = dict_string(e->r, e->dict, w.file, &f->f.file)) ||
	    (err = get_mapping(e->r, e->dict, w.mapping, &f->f.mapping)))
		return err;
	*out = f;
	return remember(e, f);
}

static int get_frame(struct ringside *r, uint32_t dict, uint32_t unit,
		     const struct ringside_frame **out)
{
	struct cached_frame *f = NULL;
	struct entry e;
	int n = look_up(&e, r, dict, unit, RING_D_FRAME, &f);

	if (!n)
		n = load_frame(&e, &f);
	if (n < 0)
		return n;
	*out = &f->f;
	return 0;
}

static int load_stack(struct entry *e, struct cached_stack **out)
{
	uint32_t *units = e->r->stack_units;
	struct cached_stack *s;
	int err = enter(e, RING_D_STACK, 4, RING_MAX_FRAMES * 4);

	if (err || (err = e->len % 4 ? -EBADMSG : 0) ||
	    (err = payload(e, units)))
		return err;
	s = allocate(e, RING_D_STACK, sizeof(*s) + e->len / 4 * sizeof(s->frames[0]));
	if (!s)
		return -ENOBUFS;
	s->n = e->len / 4;
	for (uint32_t i = 0; i < s->n; i++) {
		err = get_frame(e->r, e->dict, units[i], &s->frames[i]);
		if (err)
			return err;
	}
	*out = s;
	return remember(e, s);
}

int dict_stack(struct ringside *r, uint32_t dict, uint32_t unit,
	       struct ringside_stack *out)
{
	struct cached_stack *s = NULL;
	struct entry e;
	int n = look_up(&e, r, dict, unit, RING_D_STACK, &s);

	if (!n)
		n = load_stack(&e, &s);
	if (n < 0)
		return n;
	*out = (struct ringside_stack){
		.ref = ring_ref(e.generation, e.half, unit),
		.n = s->n,
		.frames = s->frames,
	};
	return 0;
}

static int fill_value(const struct entry *e, const struct ring_dict_attribute *w,
		      struct ringside_attribute *a)
{
	const struct cached_string *s;
	int err;

	switch (w->type) {
	case RINGSIDE_INT:
	case RINGSIDE_BOOL:
		a->number = (int64_t)w->value;
		return 0;
	case RINGSIDE_DOUBLE:
		memcpy(&a->real, &w->value, sizeof(a->real));
		return 0;
	case RINGSIDE_STRING:
	case RINGSIDE_BYTES:
	case RINGSIDE_JSON:
		err = w->value > UINT32_MAX ? -EBADMSG :
			get_string(e->r, e->dict, (uint32_t)w->value, &s);
		if (err)
			return err;
		a->string = s ? s->s : "";
		a->len = s ? s->len : 0;
		return 0;
	default:
		return -EBADMSG;
	}
}

static int load_attribute(struct entry *e, struct cached_attribute **out)
{
	struct ring_dict_attribute w;
	struct cached_attribute *a;
	int err = enter(e, RING_D_ATTRIBUTE, sizeof(w), sizeof(w));

	if (err || (err = payload(e, &w)))
		return err;
	a = allocate(e, RING_D_ATTRIBUTE, sizeof(*a));
	if (!a)
		return -ENOBUFS;
	a->a.type = w.type;
	if (!w.key || (err = dict_string(e->r, e->dict, w.key, &a->a.key)) ||
	    (err = fill_value(e, &w, &a->a)))
		return err ? err : -EBADMSG;
	*out = a;
	return remember(e, a);
}

static int get_attribute(struct ringside *r, uint32_t dict, uint32_t unit,
			 struct ringside_attribute *out)
{
	struct cached_attribute *a = NULL;
	struct entry e;
	int n = look_up(&e, r, dict, unit, RING_D_ATTRIBUTE, &a);

	if (!n)
		n = load_attribute(&e, &a);
	if (n < 0)
		return n;
	*out = a->a;
	return 0;
}

static int load_resource(struct entry *e, struct cached_resource **out)
{
	uint32_t *units = e->r->resource_units;
	struct cached_resource *c;
	int err = enter(e, RING_D_RESOURCE, 4, (RING_MAX_ATTRIBUTES + 1) * 4);

	if (err || (err = e->len % 4 ? -EBADMSG : 0) ||
	    (err = payload(e, units)))
		return err;
	c = allocate(e, RING_D_RESOURCE, sizeof(*c) + (e->len / 4 - 1) * sizeof(c->a[0]));
	if (!c)
		return -ENOBUFS;
	c->r = (struct ringside_resource){
		.ref = ring_ref(e->generation, e->half, e->unit),
		.n = e->len / 4 - 1,
		.attributes = c->a,
	};
	err = dict_string(e->r, e->dict, units[0], &c->r.schema_url);
	for (uint32_t i = 0; i < c->r.n && !err; i++)
		err = get_attribute(e->r, e->dict, units[1 + i], &c->a[i]);
	if (err)
		return err;
	*out = c;
	return remember(e, c);
}

int dict_resource(struct ringside *r, uint32_t dict, uint32_t unit,
		  struct ringside_resource *out)
{
	struct cached_resource *c = NULL;
	struct entry e;
	int n = look_up(&e, r, dict, unit, RING_D_RESOURCE, &c);

	if (!n)
		n = load_resource(&e, &c);
	if (n < 0)
		return n;
	*out = c->r;
	return 0;
}
