/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records into bytes.  A sample whose stacks and resource are interned and that has no
 * attributes is fixed: it is put in one piece.  Everything else is built in w->scratch,
 * part by part, inside a budget.
 */
#include <errno.h>
#include <string.h>

#include "shm/ring_atomic.h"
#include "shm/writer_state.h"

#define MAX_MAPPINGS	64		/* per self-contained stack */

struct encoder {
	struct ring_writer *w;
	uint8_t		*buf;
	uint32_t	 len, cap;
	uint16_t	 flags;		/* RING_F_* */
	bool		 refs;		/* something refers to the dictionary */
};

static uint32_t up4(uint32_t n)
{
	return (n + 3) & ~3u;
}

static uint32_t room(const struct encoder *e)
{
	return e->cap - e->len;
}

/* The caller has checked for room.  Without a source: zeroes. */
static void add(struct encoder *e, const void *data, uint32_t len)
{
	if (data)
		memcpy(e->buf + e->len, data, len);
	else
		memset(e->buf + e->len, 0, len);
	e->len += len;
}

static void add_align(struct encoder *e)
{
	add(e, NULL, up4(e->len) - e->len);
}

static uint32_t bounded(const char *s)
{
	return s ? (uint32_t)strnlen(s, RING_MAX_STRING) : 0;
}

static void put64(uint32_t out[2], uint64_t v)
{
	out[0] = (uint32_t)v;
	out[1] = (uint32_t)(v >> 32);
}

static struct ring_stamp_wire stamp_wire(const struct ring_stamp *s, uint32_t u)
{
	return (struct ring_stamp_wire){
		.boot_ns = s->boot_ns,
		.real_ns = s->wall_ns,
		.clock_error_ns = s->clock_error_ns,
		.clock_epoch = s->clock_epoch,
		.u = u,
	};
}

/* --- attributes and resources ------------------------------------------------------- */

static uint32_t value_bytes(const struct ringside_attribute *a, const void **value,
			    int64_t *number)
{
	switch (a->type) {
	case RINGSIDE_INT:
	case RINGSIDE_BOOL:
		*number = a->number;
		*value = number;
		return 8;
	case RINGSIDE_DOUBLE:
		memcpy(number, &a->real, sizeof(*number));
		*value = number;
		return 8;
	default:
		*value = a->string;
		if (!a->string)
			return 0;
		return a->len < RING_MAX_STRING ? a->len : RING_MAX_STRING;
	}
}

/* False: no room.  key: a unit of the dictionary, or 0 for the key in words. */
static bool add_attribute(struct encoder *e, uint32_t key,
			  const struct ringside_attribute *a)
{
	struct ring_attr_inline head = { .key = key, .type = a->type };
	const void *value;
	int64_t number;

	head.key_len = key ? 0 : (uint16_t)bounded(a->key);
	head.value_len = value_bytes(a, &value, &number);
	if (room(e) < sizeof(head) + up4(head.key_len + head.value_len))
		return false;
	add(e, &head, sizeof(head));
	add(e, a->key, head.key_len);
	add(e, value, head.value_len);
	add_align(e);
	if (key)
		e->refs = true;
	return true;
}

/* As many attributes as fit below limit. */
static void add_resource(struct encoder *e, const struct ringside_resource *r,
			 uint32_t limit)
{
	struct ring_resource_inline head = { .schema_len = bounded(r->schema_url) };
	uint32_t at = e->len, cap = e->cap;

	if (!r->n || sizeof(head) + up4(head.schema_len) > limit || limit > room(e))
		return;
	e->cap = e->len + limit;
	add(e, &head, sizeof(head));
	add(e, r->schema_url, head.schema_len);
	add_align(e);
	while (head.n < r->n && head.n < RING_MAX_ATTRIBUTES &&
	       add_attribute(e, 0, &r->attributes[head.n]))
		head.n++;
	memcpy(e->buf + at, &head, sizeof(head));
	e->cap = cap;
	e->flags |= RING_F_RESOURCE;
	if (head.n < r->n)
		e->flags |= RING_F_CUT;
}

/* --- stacks ------------------------------------------------------------------------- */

/* Which frames of a stack fit: the first `leaf` and the last `root`. */
struct choice {
	uint32_t leaf, root, bytes;
	uint32_t nmappings;
	const struct ringside_mapping *mappings[MAX_MAPPINGS];
};

static uint32_t find_mapping(const struct choice *c, const struct ringside_mapping *m)
{
	uint32_t i;

	for (i = 0; i < c->nmappings; i++)
		if (c->mappings[i] == m)
			return i;
	return i;
}

static uint32_t build_id_len(const struct ringside_mapping *m)
{
	return m->build_id ? (uint32_t)strnlen(m->build_id, 255) : 0;
}

/* Takes the frame when it, and its mapping if that is new, stay within limit. */
static bool choose(struct choice *c, const struct ringside_frame *f, uint32_t limit)
{
	uint32_t cost = sizeof(struct ring_frame_inline), i = 0;

	cost += up4(bounded(f->function) + bounded(f->system_name) + bounded(f->file));
	if (f->mapping) {
		i = find_mapping(c, f->mapping);
		if (i == MAX_MAPPINGS)
			return false;
		if (i == c->nmappings)
			cost += sizeof(struct ring_mapping_inline) +
				up4(bounded(f->mapping->path) + build_id_len(f->mapping));
	}
	if (cost > limit - c->bytes)
		return false;
	if (f->mapping && i == c->nmappings)
		c->mappings[c->nmappings++] = f->mapping;
	c->bytes += cost;
	return true;
}

/* Leaf and root by turns, so that what is left out is the middle. */
static void choose_frames(struct choice *c, const struct ringside_stack *s,
			  uint32_t limit)
{
	uint32_t n = s->n;
	bool leaf = true;

	c->bytes = sizeof(struct ring_stack_inline);
	while (c->leaf + c->root < n && c->leaf + c->root < RING_MAX_FRAMES) {
		uint32_t i = leaf ? c->leaf : n - 1 - c->root;

		if (!choose(c, s->frames[i], limit))
			break;
		if (leaf)
			c->leaf++;
		else
			c->root++;
		leaf = !leaf;
	}
}

static void add_mapping(struct encoder *e, const struct ringside_mapping *m)
{
	struct ring_mapping_inline head = {
		.path_len = (uint16_t)bounded(m->path),
		.build_id_len = (uint8_t)build_id_len(m),
		.build_id_kind = m->build_id_kind,
	};

	put64(head.start, m->start);
	put64(head.end, m->end);
	put64(head.file_offset, m->file_offset);
	add(e, &head, sizeof(head));
	add(e, m->path, head.path_len);
	add(e, m->build_id, head.build_id_len);
	add_align(e);
}

static void add_frame(struct encoder *e, const struct choice *c,
		      const struct ringside_frame *f, bool cut)
{
	struct ring_frame_inline head = {
		.line = f->line,
		.type = f->type,
		.mapping = f->mapping ? (uint16_t)find_mapping(c, f->mapping)
				      : RING_NO_MAPPING,
		.function_len = (uint16_t)bounded(f->function),
		.system_len = (uint16_t)bounded(f->system_name),
		.file_len = (uint16_t)bounded(f->file),
	};

	head.flags = (f->inlined ? RING_FRAME_INLINED : 0) |
		     (cut || f->cut ? RING_FRAME_CUT : 0);
	put64(head.address, f->address);
	put64(head.offset, f->offset);
	add(e, &head, sizeof(head));
	add(e, f->function, head.function_len);
	add(e, f->system_name, head.system_len);
	add(e, f->file, head.file_len);
	add_align(e);
}

static void add_stack(struct encoder *e, const struct ringside_stack *s, uint32_t limit,
		      uint16_t flag)
{
	struct choice c = { 0 };
	struct ring_stack_inline head;

	if (!s->n || limit < sizeof(head) || limit > room(e))
		return;
	choose_frames(&c, s, limit);
	if (c.leaf + c.root < s->n)
		e->flags |= RING_F_CUT;
	head.n = (uint16_t)(c.leaf + c.root);
	head.nmappings = (uint16_t)c.nmappings;
	add(e, &head, sizeof(head));
	for (uint32_t i = 0; i < c.nmappings; i++)
		add_mapping(e, c.mappings[i]);
	for (uint32_t i = 0; i < c.leaf; i++)
		add_frame(e, &c, s->frames[i], i + 1 == c.leaf && c.leaf + c.root < s->n);
	for (uint32_t i = s->n - c.root; i < s->n; i++)
		add_frame(e, &c, s->frames[i], false);
	e->flags |= flag;
}

/* --- records ------------------------------------------------------------------------ */

static int put_encoded(struct encoder *e, uint16_t type, const struct ring_stamp *stamp)
{
	int err = ring_put(e->w, type, e->flags, e->buf, e->len, stamp);

	/* After the put: it may have opened the block that the reference stands in. */
	if (!err && e->refs)
		dict_referenced(e->w);
	return err;
}

static void count_fallback(struct ring_writer *w)
{
	ring_relaxed_store(&w->hdr->dict_fallbacks, ++w->fallbacks);
}

static int fill_sample(struct ring_writer *w, const struct ring_sample *s,
		       struct ring_sample_wire *out)
{
	const struct dict *d = &w->dict;

	*out = (struct ring_sample_wire){
		.stamp = stamp_wire(&s->stamp, d->word),
		.start_ns = s->process_start_ns, .weight = s->weight,
		.pid = s->pid, .tid = s->tid, .cpu = s->cpu,
		.event = s->event, .unit = s->unit,
		.ends = (uint8_t)((s->user_end & 15) | s->kernel_end << 4),
		.context_state = s->context_state, .trace_flags = s->trace_flags,
		.nattributes = (uint16_t)s->nattributes,
	};
	memcpy(out->comm, s->comm, sizeof(out->comm));
	if (dict_unit(d, s->resource, &out->resource) ||
	    dict_unit(d, s->kernel_stack, &out->kernel) ||
	    dict_unit(d, s->user_stack, &out->user))
		return -ESTALE;
	return s->nattributes > RING_MAX_ATTRIBUTES ? -EMSGSIZE : 0;
}

/* Thread-context attributes.  They are small, and come last: what is before them leaves
 * room. */
static int add_attributes(struct encoder *e, const struct ring_sample *s)
{
	uint32_t key;

	for (uint32_t i = 0; i < s->nattributes; i++) {
		key = 0;
		if (s->attributes && dict_unit(&e->w->dict, s->attributes[i].key, &key))
			return -ESTALE;
		if (!add_attribute(e, key, &s->attribute_values[i]))
			return -EMSGSIZE;
	}
	return 0;
}

static uint32_t attributes_bytes(const struct ring_sample *s)
{
	uint32_t sum = 0;
	const void *value;
	int64_t number;

	for (uint32_t i = 0; i < s->nattributes; i++)
		sum += sizeof(struct ring_attr_inline) +
			up4(bounded(s->attribute_values[i].key) +
			    value_bytes(&s->attribute_values[i], &value, &number));
	return sum;
}

/* The rare parts.  Attributes have the first claim on room, then half of what is left is
 * the resource's, half of that the kernel stack's, and the user stack has the rest. */
static int add_variable(struct encoder *e, const struct ring_sample *s)
{
	const struct ringside_resource *resource = s->resource ? NULL
							       : s->inline_resource;
	const struct ringside_stack *kernel = s->kernel_stack ? NULL : s->inline_kernel;
	const struct ringside_stack *user = s->user_stack ? NULL : s->inline_user;
	uint32_t reserved = attributes_bytes(s), link = s->has_link ? 24 : 0;

	if (room(e) < link + reserved)
		return -EMSGSIZE;
	e->cap -= reserved;
	if (s->has_link) {
		add(e, s->trace_id, sizeof(s->trace_id));
		add(e, s->span_id, sizeof(s->span_id));
		e->flags |= RING_F_LINK;
	}
	if (resource)
		add_resource(e, resource, kernel || user ? room(e) / 2 : room(e));
	if (kernel)
		add_stack(e, kernel, user ? room(e) / 2 : room(e), RING_F_KERNEL);
	if (user)
		add_stack(e, user, room(e), RING_F_USER);
	e->cap += reserved;
	return add_attributes(e, s);
}

int ring_put_sample(struct ring_writer *w, const struct ring_sample *s)
{
	struct encoder e = { .w = w, .buf = w->scratch, .cap = w->max_payload };
	struct ring_sample_wire fixed;
	int err = fill_sample(w, s, &fixed);

	if (err)
		return err;
	e.refs = s->resource || s->kernel_stack || s->user_stack;
	if (!s->has_link && !s->nattributes && !s->inline_resource && !s->inline_kernel &&
	    !s->inline_user) {
		e.buf = (uint8_t *)&fixed;
		e.len = sizeof(fixed);
		return put_encoded(&e, RING_T_SAMPLE, &s->stamp);
	}
	add(&e, &fixed, sizeof(fixed));
	err = add_variable(&e, s);
	if (err)
		return err;
	err = put_encoded(&e, RING_T_SAMPLE, &s->stamp);
	if (!err && (e.flags & (RING_F_RESOURCE | RING_F_KERNEL | RING_F_USER)))
		count_fallback(w);
	return err;
}

static int build_process(struct encoder *e, const struct ring_process *p)
{
	struct ring_process_wire fixed = {
		.stamp = stamp_wire(&p->stamp, e->w->dict.word),
		.start_ns = p->process_start_ns,
		.pid = p->pid,
		.parent_pid = p->parent_pid,
		.exit_code = p->exit_code,
		.exit_signal = p->exit_signal,
		.action = p->action,
	};
	uint32_t len = bounded(p->command), most = e->cap - sizeof(fixed) - 4;

	memcpy(fixed.comm, p->comm, sizeof(fixed.comm));
	if (dict_unit(&e->w->dict, p->resource, &fixed.resource))
		return -ESTALE;
	fixed.command_len = (uint16_t)(len < most ? len : most);
	add(e, &fixed, sizeof(fixed));
	add(e, p->command, fixed.command_len);
	add_align(e);
	e->refs = p->resource;
	if (!p->resource && p->inline_resource)
		add_resource(e, p->inline_resource, room(e));
	return 0;
}

/*
 * Process records have a tenth of a block: a fork storm must not flush the flight
 * recorder.  The account starts anew with each block, so one that would open the next
 * block is judged there.
 */
int ring_put_process(struct ring_writer *w, const struct ring_process *p)
{
	struct encoder e = { .w = w, .buf = w->scratch, .cap = w->max_payload };
	uint64_t bytes;
	int err;

	if (e.cap > w->process_limit - 16)
		e.cap = w->process_limit - 16;
	err = build_process(&e, p);
	if (err)
		return err;
	bytes = RING_RECORD_BYTES(e.len);
	if (w->process_bytes + bytes > w->process_limit && w->block_end - w->pos >= bytes)
		return -EDQUOT;
	err = put_encoded(&e, RING_T_PROCESS, &p->stamp);
	if (!err)
		w->process_bytes += (uint32_t)bytes;
	return err;
}

int ring_put_lost(struct ring_writer *w, const struct ring_stamp *stamp, uint32_t cause,
		  uint64_t count)
{
	struct ring_lost_wire r = { .stamp = stamp_wire(stamp, cause), .count = count };

	if (cause == RINGSIDE_LOST_LAPPED || cause >= RINGSIDE_LOST_MAX)
		return -EINVAL;
	return ring_put(w, RING_T_SOURCE_LOST, 0, &r, sizeof(r), stamp);
}

int ring_put_clock(struct ring_writer *w, const struct ring_stamp *stamp,
		   const struct ringside_clock *c)
{
	struct ring_clock_wire r = {
		.stamp = stamp_wire(stamp, c->source),
		.offset_ns = c->offset_ns,
		.step_ns = c->step_ns,
		.suspended_ns = c->suspended_ns,
	};

	return ring_put(w, RING_T_CLOCK, 0, &r, sizeof(r), stamp);
}
