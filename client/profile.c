/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/escape.h"
#include "client/frame.h"
#include "client/profile.h"
#include "client/selection.h"

#define TABLE_MAX	((size_t)512 << 20)
#define COMMENTS_MAX	32

int profile_create(struct profile **out)
{
	struct profile *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return -ENOMEM;
	intern_init(&p->strings, TABLE_MAX);
	intern_init(&p->functions, TABLE_MAX);
	intern_init(&p->mappings, TABLE_MAX);
	intern_init(&p->locations, TABLE_MAX);
	intern_init(&p->stacks, TABLE_MAX);
	intern_init(&p->ranges, TABLE_MAX);
	text_init(&p->scratch, TEXT_LINE_MAX);
	text_init(&p->key, TEXT_LINE_MAX);
	return 0;
}

void profile_destroy(struct profile *p)
{
	if (!p)
		return;
	intern_fini(&p->strings);
	intern_fini(&p->functions);
	intern_fini(&p->mappings);
	intern_fini(&p->locations);
	intern_fini(&p->stacks);
	intern_fini(&p->ranges);
	text_fini(&p->scratch);
	text_fini(&p->key);
	free(p->values);
	free(p->main_samples);
	free(p->limit);
	free(p->comments);
	free(p->range_last);
	free(p->alias);
	free(p);
}

uint64_t profile_samples(const struct profile *p)
{
	return p->samples;
}

void profile_span(struct profile *p, int64_t start_ns, int64_t end_ns)
{
	if (!p->start_ns || start_ns < p->start_ns)
		p->start_ns = start_ns;
	if (end_ns > p->end_ns)
		p->end_ns = end_ns;
}

/* Protobuf strings are UTF-8; names need not be.  0 for NULL; *failed when it did not
 * fit. */
static uint32_t add_string(struct profile *p, const char *s, size_t len, bool *failed)
{
	uint32_t id;

	if (!s || !len)
		return 0;
	text_clear(&p->scratch);
	escape_utf8(&p->scratch, s, len);
	id = text_failed(&p->scratch) ? 0 :
	     intern_add(&p->strings, text_string(&p->scratch), p->scratch.len);
	*failed |= !id;
	return id;
}

static uint32_t add_cstring(struct profile *p, const char *s, bool *failed)
{
	return s ? add_string(p, s, strlen(s), failed) : 0;
}

void profile_comment(struct profile *p, const char *comment)
{
	bool failed = false;
	uint32_t id = add_cstring(p, comment, &failed);
	uint32_t *list;

	if (!id || p->ncomments >= COMMENTS_MAX)
		return;
	list = realloc(p->comments, (p->ncomments + 1) * sizeof(*list));
	if (!list)
		return;
	p->comments = list;
	list[p->ncomments++] = id;
}

static uint32_t add_function(struct profile *p, const struct ringside_frame *f,
			     bool *failed)
{
	struct profile_function key = { 0 };
	struct text name;
	uint32_t id;

	/* Viewers drop locations without a function: an unnamed frame gets a made-up one.
	 */
	text_init(&name, TEXT_LINE_MAX);
	frame_name(&name, f);
	key.name = add_string(p, text_string(&name), name.len, failed);
	text_fini(&name);
	key.system_name = f->system_name ? add_cstring(p, f->system_name, failed)
					 : key.name;
	key.file = add_cstring(p, f->file, failed);
	id = intern_add(&p->functions, &key, sizeof(key));
	*failed |= !id;
	return id;
}

/* Room for element id - 1 of an array that grows with a table; new elements are 0. */
static int grow_by_id(uint64_t **array, uint32_t *cap, uint32_t id)
{
	uint32_t wanted = *cap ? *cap : 64;
	uint64_t *grown;

	while (wanted < id)
		wanted *= 2;
	if (wanted == *cap)
		return 0;
	grown = realloc(*array, wanted * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + *cap, 0, (wanted - *cap) * sizeof(*grown));
	*array = grown;
	*cap = wanted;
	return 0;
}

/* What is kept by mapping: two arrays of one size. */
static int grow_mappings(struct profile *p, uint32_t id)
{
	uint32_t cap = p->mappings_cap;

	if (grow_by_id(&p->main_samples, &cap, id))
		return -ENOMEM;
	return grow_by_id(&p->limit, &p->mappings_cap, id);
}

static uint32_t add_mapping(struct profile *p, const char *path, const char *build_id,
			    bool *failed)
{
	struct profile_mapping key = { 0 };
	uint32_t id;

	/* Never an empty name: pprof would merge such a mapping with its neighbour. */
	key.path = add_cstring(p, path && *path ? path : "[unknown]", failed);
	key.build_id = add_cstring(p, build_id, failed);
	id = intern_add(&p->mappings, &key, sizeof(key));
	if (id && grow_mappings(p, id))
		id = 0;
	*failed |= !id;
	return id;
}

static uint32_t add_frame_mapping(struct profile *p, const struct ringside_frame *f,
				  bool *failed)
{
	uint32_t id;

	if (!f->mapping)
		return 0;
	id = add_mapping(p, f->mapping->path, f->mapping->build_id, failed);
	if (id && f->address >= p->limit[id - 1])
		p->limit[id - 1] = f->address + 1;
	return id;
}

/* Remembers that the address lies in that function, which starts where the frame's offset
 * says. */
static void add_range(struct profile *p, const struct ringside_frame *f, uint32_t mapping,
		      uint32_t function)
{
	struct profile_range key = { .start = f->address - f->offset, .mapping = mapping,
				     .function = function };
	uint32_t id;

	if (!mapping || !function || f->offset > f->address)
		return;
	id = intern_add(&p->ranges, &key, sizeof(key));
	/* Without memory for it some frames stay unnamed: no harm. */
	if (!id || grow_by_id(&p->range_last, &p->ranges_cap, id))
		return;
	if (f->address > p->range_last[id - 1])
		p->range_last[id - 1] = f->address;
}

/*
 * One location: frames inlined into each other, innermost first, up to and with the
 * function that holds the code.  Returns its number and sets *used.
 */
static uint32_t add_location(struct profile *p, const struct ringside_sample *s,
			     uint32_t at, uint32_t *used, bool *failed)
{
	struct profile_location key = { 0 };
	uint32_t depth = stack_depth(s), last = at, id;
	const struct ringside_frame *f;
	struct profile_line line = { 0 };

	while (stack_frame(s, last)->inlined && last + 1 < depth)
		last++;
	*used = last - at + 1;
	f = stack_frame(s, last);
	key.address = f->address;
	key.mapping = add_frame_mapping(p, f, failed);
	key.nlines = *used;
	key.named = f->function && *f->function;
	text_clear(&p->key);
	text_add(&p->key, &key, sizeof(key));
	for (uint32_t i = at; i <= last; i++) {
		line.function = add_function(p, stack_frame(s, i), failed);
		line.line = stack_frame(s, i)->line;
		text_add(&p->key, &line, sizeof(line));
	}
	if (key.named)
		add_range(p, f, key.mapping, line.function);
	id = text_failed(&p->key) ? 0 :
	     intern_add(&p->locations, text_string(&p->key), p->key.len);
	*failed |= !id;
	return id;
}

/* The frame that stands for those that were left out. */
static uint32_t add_gap(struct profile *p, bool *failed)
{
	struct { struct profile_location l; struct profile_line line; } key;
	struct ringside_frame gap = { .function = FRAME_CUT_NAME };
	uint32_t id;

	memset(&key, 0, sizeof(key));
	key.l.nlines = 1;
	key.l.named = 1;
	key.line.function = add_function(p, &gap, failed);
	id = intern_add(&p->locations, &key, sizeof(key));
	*failed |= !id;
	return id;
}

static uint32_t add_hex(struct profile *p, const uint8_t *bytes, size_t n, bool *failed)
{
	char hex[33];

	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	return add_string(p, hex, 2 * n, failed);
}

static void add_labels(struct profile *p, const struct ringside_sample *s,
		       struct profile_key *key, bool *failed)
{
	key->pid = s->pid;
	key->comm = add_string(p, s->comm, strnlen(s->comm, sizeof(s->comm)), failed);
	key->service =
		add_cstring(p, resource_string(&s->resource, "service.name"), failed);
	key->container =
		add_cstring(p, resource_string(&s->resource, "container.id"), failed);
	if (s->has_link) {
		key->trace_id = add_hex(p, s->trace_id, sizeof(s->trace_id), failed);
		key->span_id = add_hex(p, s->span_id, sizeof(s->span_id), failed);
	}
}

/*
 * pprof names a profile after its first mapping: count for whose executable each sample
 * is.  Many a stack does not reach the executable itself; then it gets a mapping that no
 * location refers to.
 */
static void count_main(struct profile *p, const struct ringside_sample *s)
{
	const char *exe = resource_string(&s->resource, "process.executable.path"),
		   *build_id = NULL;
	bool failed = false;
	uint32_t id;

	if (!exe)
		return;
	for (uint32_t i = s->user.n; i && !build_id; i--) {
		const struct ringside_mapping *m = s->user.frames[i - 1]->mapping;

		if (m && m->path && !strcmp(m->path, exe))
			build_id = m->build_id;
	}
	id = add_mapping(p, exe, build_id, &failed);
	if (id)
		p->main_samples[id - 1]++;
}

static struct profile_value *value_of(struct profile *p, uint32_t id)
{
	if (id > p->values_cap) {
		uint32_t cap = p->values_cap ? p->values_cap * 2 : 256;
		struct profile_value *grown = realloc(p->values, cap * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + p->values_cap, 0, (cap - p->values_cap) * sizeof(*grown));
		p->values = grown;
		p->values_cap = cap;
	}
	return &p->values[id - 1];
}

/* The stack's key in p->scratch's place: labels, then locations. */
static uint32_t add_stack(struct profile *p, const struct ringside_sample *s)
{
	struct profile_key key = { 0 };
	uint32_t *locations, n = 0, used, id = 0;
	bool failed = false;
	struct text t;

	/* A gap may stand after every frame. */
	locations = calloc(2 * (size_t)stack_depth(s) + 1, sizeof(*locations));
	if (!locations)
		return 0;
	for (uint32_t i = 0; i < stack_depth(s); i += used) {
		locations[n++] = add_location(p, s, i, &used, &failed);
		if (stack_frame(s, i + used - 1)->cut)
			locations[n++] = add_gap(p, &failed);
	}
	add_labels(p, s, &key, &failed);
	key.nlocations = n;
	text_init(&t, TEXT_LINE_MAX);
	text_add(&t, &key, sizeof(key));
	text_add(&t, locations, n * sizeof(*locations));
	if (!failed && !text_failed(&t))
		id = intern_add(&p->stacks, text_string(&t), t.len);
	text_fini(&t);
	free(locations);
	return id;
}

int profile_add(struct profile *p, const struct ringside_record *rec)
{
	const struct ringside_sample *s = &rec->sample;
	uint32_t id = add_stack(p, s);
	struct profile_value *v = id ? value_of(p, id) : NULL;

	if (!v)
		return -ENOMEM;
	count_main(p, s);
	v->count++;
	v->ns += s->weight;
	p->samples++;
	if (!p->period_ns)
		p->period_ns = s->weight;
	profile_span(p, rec->time_ns, rec->time_ns + 1);
	return 0;
}
