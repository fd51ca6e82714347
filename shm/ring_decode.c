/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload bytes, already copied, into a record.  Every length is checked against what is
 * left of the payload before it is used; whatever does not add up makes the record
 * corrupt.
 */
#include <errno.h>
#include <string.h>

#include "shm/reader_state.h"

struct cursor {
	struct ringside	*r;
	const uint8_t	*p;
	uint32_t	 left;
	uint32_t	 at;		/* bytes from the start of the payload */
	uint32_t	 dict;
};

static const void *take(struct cursor *c, uint32_t len)
{
	const void *p = c->p;

	if (len > c->left)
		return NULL;
	c->p += len;
	c->left -= len;
	c->at += len;
	return p;
}

static int get(struct cursor *c, void *out, uint32_t len)
{
	const void *p = take(c, len);

	if (!p)
		return -EBADMSG;
	memcpy(out, p, len);
	return 0;
}

static int align(struct cursor *c)
{
	return take(c, -c->at & 3) ? 0 : -EBADMSG;
}

static void *allocate(struct cursor *c, size_t bytes)
{
	void *p = arena_alloc(&c->r->arena, bytes);

	if (p)
		memset(p, 0, bytes);
	return p;
}

char *ring_string(struct arena *a, const void *bytes, size_t len)
{
	char *s = arena_alloc(a, len + 1);

	if (s) {
		memcpy(s, bytes, len);
		s[len] = 0;
	}
	return s;
}

/* len 0: NULL, an unknown string. */
static int get_string(struct cursor *c, uint32_t len, const char **out)
{
	const void *p;

	*out = NULL;
	if (!len)
		return 0;
	p = len <= RING_MAX_STRING ? take(c, len) : NULL;
	if (!p)
		return -EBADMSG;
	*out = ring_string(&c->r->arena, p, len);
	return *out ? 0 : -ENOMEM;
}

static uint64_t u64(const uint32_t v[2])
{
	return v[0] | (uint64_t)v[1] << 32;
}

/* --- attributes, resource ----------------------------------------------------------- */

static int get_value(struct cursor *c, uint32_t len, struct ringside_attribute *a)
{
	const void *p = len <= RING_MAX_STRING ? take(c, len) : NULL;

	if (!p)
		return -EBADMSG;
	switch (a->type) {
	case RINGSIDE_INT:
	case RINGSIDE_BOOL:
		return len == 8 ? (memcpy(&a->number, p, 8), 0) : -EBADMSG;
	case RINGSIDE_DOUBLE:
		return len == 8 ? (memcpy(&a->real, p, 8), 0) : -EBADMSG;
	case RINGSIDE_STRING:
	case RINGSIDE_BYTES:
	case RINGSIDE_JSON:
		a->string = ring_string(&c->r->arena, p, len);
		a->len = len;
		return a->string ? 0 : -ENOMEM;
	default:
		return -EBADMSG;
	}
}

static int get_attribute(struct cursor *c, struct ringside_attribute *a)
{
	struct ring_attr_inline head;
	int err = get(c, &head, sizeof(head));

	if (err)
		return err;
	a->type = head.type;
	err = get_string(c, head.key_len, &a->key);
	if (!err && head.key) {
		if (head.key_len)
			return -EBADMSG;
		if (!c->r->options.no_resolve)
			err = dict_string(c->r, c->dict, head.key, &a->key);
	}
	if (!err && !a->key)
		a->key = "";
	if (!err)
		err = get_value(c, head.value_len, a);
	return err ? err : align(c);
}

static int get_attributes(struct cursor *c, uint32_t n,
			  const struct ringside_attribute **out)
{
	struct ringside_attribute *a;
	int err = 0;

	*out = NULL;
	if (!n)
		return 0;
	if (n > RING_MAX_ATTRIBUTES)
		return -EBADMSG;
	a = allocate(c, n * sizeof(*a));
	if (!a)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		err = get_attribute(c, &a[i]);
	*out = a;
	return err;
}

static int get_resource(struct cursor *c, struct ringside_resource *out)
{
	struct ring_resource_inline head;
	int err;

	if ((err = get(c, &head, sizeof(head))) ||
	    (err = get_string(c, head.schema_len, &out->schema_url)) || (err = align(c)))
		return err;
	err = get_attributes(c, head.n, &out->attributes);
	out->n = head.n;
	return err;
}

/* --- stacks ------------------------------------------------------------------------- */

static int get_mapping(struct cursor *c, struct ringside_mapping *m)
{
	struct ring_mapping_inline head;
	int err = get(c, &head, sizeof(head));

	if (err)
		return err;
	m->start = u64(head.start);
	m->end = u64(head.end);
	m->file_offset = u64(head.file_offset);
	m->build_id_kind = head.build_id_kind;
	if ((err = get_string(c, head.path_len, &m->path)) ||
	    (err = get_string(c, head.build_id_len, &m->build_id)))
		return err;
	return align(c);
}

static int get_frame(struct cursor *c, const struct ringside_mapping *mappings,
		     uint32_t nmappings, struct ringside_frame *f)
{
	struct ring_frame_inline head;
	int err = get(c, &head, sizeof(head));

	if (err)
		return err;
	if (head.mapping != RING_NO_MAPPING && head.mapping >= nmappings)
		return -EBADMSG;
	f->type = head.type;
	f->inlined = head.flags & RING_FRAME_INLINED;
	f->cut = head.flags & RING_FRAME_CUT;
	f->address = u64(head.address);
	f->offset = u64(head.offset);
	f->line = head.line;
	f->mapping = head.mapping == RING_NO_MAPPING ? NULL : &mappings[head.mapping];
	if ((err = get_string(c, head.function_len, &f->function)) ||
	    (err = get_string(c, head.system_len, &f->system_name)) ||
	    (err = get_string(c, head.file_len, &f->file)))
		return err;
	return align(c);
}

/* Counts are checked against what is left before anything of that size is allocated. */
static int get_stack(struct cursor *c, struct ringside_stack *out)
{
	struct ring_stack_inline head;
	struct ringside_mapping *m;
	struct ringside_frame *f;
	const struct ringside_frame **list;
	int err = get(c, &head, sizeof(head));

	if (err)
		return err;
	if (head.n > RING_MAX_FRAMES ||
	    head.n > c->left / sizeof(struct ring_frame_inline) ||
	    head.nmappings > c->left / sizeof(struct ring_mapping_inline))
		return -EBADMSG;
	m = allocate(c, head.nmappings * sizeof(*m));
	f = allocate(c, head.n * sizeof(*f));
	list = allocate(c, head.n * sizeof(*list));
	if (!m || !f || !list)
		return -ENOMEM;
	for (uint32_t i = 0; i < head.nmappings && !err; i++)
		err = get_mapping(c, &m[i]);
	for (uint32_t i = 0; i < head.n && !err; i++) {
		err = get_frame(c, m, head.nmappings, &f[i]);
		list[i] = &f[i];
	}
	*out = (struct ringside_stack){ .n = head.n, .frames = list };
	return err;
}

/* --- records ------------------------------------------------------------------------ */

static void get_stamp(const struct ring_stamp_wire *w, struct ringside_record *rec)
{
	rec->boot_ns = w->boot_ns;
	rec->time_ns = w->real_ns;
	rec->clock_error_ns = w->clock_error_ns;
	rec->clock_epoch = w->clock_epoch;
}

static int refer_resource(struct cursor *c, uint32_t unit, struct ringside_resource *out)
{
	if (!unit)
		return 0;
	if (c->r->options.no_resolve) {
		out->ref = (uint64_t)c->dict << 32 | unit;
		return 0;
	}
	return dict_resource(c->r, c->dict, unit, out);
}

static int refer_stack(struct cursor *c, uint32_t unit, struct ringside_stack *out)
{
	if (!unit)
		return 0;
	if (c->r->options.no_resolve) {
		out->ref = (uint64_t)c->dict << 32 | unit;
		return 0;
	}
	return dict_stack(c->r, c->dict, unit, out);
}

static int get_link(struct cursor *c, struct ringside_sample *s)
{
	int err;

	if ((err = get(c, s->trace_id, sizeof(s->trace_id))) ||
	    (err = get(c, s->span_id, sizeof(s->span_id))))
		return err;
	s->has_link = true;
	return 0;
}

/* A part is referred to or stands here, never both. */
static int get_parts(struct cursor *c, const struct ring_sample_wire *w, uint16_t flags,
		     struct ringside_sample *s)
{
	int err = 0;

	if ((flags & RING_F_RESOURCE && w->resource) ||
	    (flags & RING_F_KERNEL && w->kernel) || (flags & RING_F_USER && w->user))
		return -EBADMSG;
	if (flags & RING_F_LINK)
		err = get_link(c, s);
	if (!err)
		err = flags & RING_F_RESOURCE ? get_resource(c, &s->resource) :
			refer_resource(c, w->resource, &s->resource);
	if (!err)
		err = flags & RING_F_KERNEL ? get_stack(c, &s->kernel)
					    : refer_stack(c, w->kernel, &s->kernel);
	if (!err)
		err = flags & RING_F_USER ? get_stack(c, &s->user)
					  : refer_stack(c, w->user, &s->user);
	if (!err)
		err = get_attributes(c, w->nattributes, &s->attributes);
	return err;
}

/* The length is hidden from the compiler, which would make it a rep stos: a third of
 * what a record costs. */
static void clear(void *p, size_t len)
{
	__asm__("" : "+r"(len));
	memset(p, 0, len);
}

static int get_sample(struct cursor *c, uint16_t flags, struct ringside_record *rec)
{
	struct ring_sample_wire w;
	struct ringside_sample *s = &rec->sample;
	int err = get(c, &w, sizeof(w));

	if (err)
		return err;
	get_stamp(&w.stamp, rec);
	c->dict = w.stamp.u;
	rec->kind = RINGSIDE_SAMPLE;
	clear(s, sizeof(*s));
	s->pid = w.pid;
	s->tid = w.tid;
	s->cpu = w.cpu;
	s->process_start_ns = w.start_ns;
	memcpy(s->comm, w.comm, sizeof(s->comm));
	s->comm[sizeof(s->comm) - 1] = 0;
	s->event = w.event;
	s->unit = w.unit;
	s->user_end = w.ends & 15;
	s->kernel_end = w.ends >> 4;
	s->context_state = w.context_state;
	s->trace_flags = w.trace_flags;
	s->weight = w.weight;
	s->nattributes = w.nattributes;
	return get_parts(c, &w, flags, s);
}

static int get_process(struct cursor *c, uint16_t flags, struct ringside_record *rec)
{
	struct ring_process_wire w;
	struct ringside_process *p = &rec->process;
	int err = get(c, &w, sizeof(w));

	if (err)
		return err;
	get_stamp(&w.stamp, rec);
	c->dict = w.stamp.u;
	rec->kind = RINGSIDE_PROCESS;
	clear(p, sizeof(*p));
	p->pid = w.pid;
	p->parent_pid = w.parent_pid;
	p->process_start_ns = w.start_ns;
	p->action = w.action;
	p->exit_code = w.exit_code;
	p->exit_signal = w.exit_signal;
	memcpy(p->comm, w.comm, sizeof(p->comm));
	p->comm[sizeof(p->comm) - 1] = 0;
	if ((err = get_string(c, w.command_len, &p->command)) || (err = align(c)))
		return err;
	if (flags & RING_F_RESOURCE)
		return w.resource ? -EBADMSG : get_resource(c, &p->resource);
	return refer_resource(c, w.resource, &p->resource);
}

static int get_lost(struct cursor *c, struct ringside_record *rec)
{
	struct ring_lost_wire w;
	int err = get(c, &w, sizeof(w));

	if (err)
		return err;
	get_stamp(&w.stamp, rec);
	rec->kind = RINGSIDE_LOST;
	rec->lost =
		(struct ringside_lost){ .count = w.count, .cause = (uint8_t)w.stamp.u };
	return w.stamp.u && w.stamp.u <= UINT8_MAX ? 0 : -EBADMSG;
}

static int get_clock(struct cursor *c, struct ringside_record *rec)
{
	struct ring_clock_wire w;
	int err = get(c, &w, sizeof(w));

	if (err)
		return err;
	get_stamp(&w.stamp, rec);
	rec->kind = RINGSIDE_CLOCK;
	rec->clock = (struct ringside_clock){
		.offset_ns = w.offset_ns,
		.step_ns = w.step_ns,
		.suspended_ns = w.suspended_ns,
		.source = (uint8_t)w.stamp.u,
	};
	return 0;
}

static int get_incarnation(struct cursor *c, struct ringside_record *rec)
{
	struct ring_incarnation_wire w;
	int err = get(c, &w, sizeof(w));

	if (err)
		return err;
	get_stamp(&w.stamp, rec);
	rec->kind = RINGSIDE_INCARNATION;
	rec->incarnation = (struct ringside_incarnation){
		.incarnation = w.stamp.u, .writer_pid = w.writer_pid,
	};
	return 0;
}

/* Of a later minor version: dated, and passed on under its type's number. */
static int get_unknown(struct cursor *c, uint16_t type, struct ringside_record *rec)
{
	struct ring_stamp_wire w;
	int err = get(c, &w, sizeof(w));

	if (err)
		return err;
	get_stamp(&w, rec);
	rec->kind = 0x10000u | type;
	return 0;
}

int ring_decode(struct ringside *r, uint16_t type, uint16_t flags, uint32_t len,
		struct ringside_record *rec)
{
	struct cursor c = { .r = r, .p = r->payload, .left = len };

	switch (type) {
	case RING_T_SAMPLE:
		return get_sample(&c, flags, rec);
	case RING_T_PROCESS:
		return get_process(&c, flags, rec);
	case RING_T_SOURCE_LOST:
		return get_lost(&c, rec);
	case RING_T_CLOCK:
		return get_clock(&c, rec);
	case RING_T_INCARNATION:
		return get_incarnation(&c, rec);
	default:
		return get_unknown(&c, type, rec);
	}
}
