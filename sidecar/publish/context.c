/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/publish/context.h"

#include <string.h>

#include "bpf/event.h"
#include "sidecar/context/context.h"
#include "sidecar/process/process.h"

static const void *record_of(const struct ev_sample *s)
{
	return s->frames + s->kernel_frames + s->user_frames;
}

static bool has_record(const struct ev_sample *s, const struct image *image)
{
	return s->context == EV_CONTEXT_OK && image->context &&
	       image->context->schema == CONTEXT_SCHEMA_TLS;
}

bool context_unknown_key(const struct ev_sample *s, const struct image *image)
{
	return has_record(s, image) &&
	       thread_record_unknown_key(record_of(s), s->context_bytes,
					 image->context->n_keys);
}

/* Keys are few and come again: by reference, and in words when the dictionary is full. */
static void intern_keys(struct context_part *c, struct ring_writer *w)
{
	for (uint32_t i = 0; i < c->record.n; i++) {
		const struct ringside_attribute *a = &c->record.attributes[i];

		c->attributes[i] = (struct ring_attribute){ .type = a->type };
		if (ring_intern_string(w, a->key, strlen(a->key), &c->attributes[i].key))
			c->attributes[i].key = 0;
	}
}

void context_fill(struct context_part *c, struct ring_writer *w,
		  const struct ev_sample *s, const struct image *image,
		  struct ring_sample *r)
{
	const struct process_context *context = image->context;

	/*
	 * Without a process context of its own a process has no thread contexts: a fork
	 * has a copy of its parent's memory.  Without a plan in the kernel it is what the
	 * plan lacks that counts.
	 */
	if (!context || context->schema != CONTEXT_SCHEMA_TLS ||
	    s->context == EV_CONTEXT_ABSENT) {
		r->context_state = s->head.flags & EV_F_KTHREAD ? RINGSIDE_CONTEXT_ABSENT
								: image->context_state;
		return;
	}
	r->context_state = s->context;
	if (s->context != EV_CONTEXT_OK)
		return;
	if (thread_record_read(&c->record, record_of(s), s->context_bytes, context->keys,
			       context->n_keys)) {
		r->context_state = RINGSIDE_CONTEXT_INVALID;
		return;
	}
	r->has_link = c->record.has_link;
	if (r->has_link) {
		memcpy(r->trace_id, c->record.trace_id, sizeof(r->trace_id));
		memcpy(r->span_id, c->record.span_id, sizeof(r->span_id));
		r->trace_flags = c->record.trace_flags;
	}
	intern_keys(c, w);
	r->nattributes = c->record.n;
	r->attributes = c->attributes;
	r->attribute_values = c->record.attributes;
}
