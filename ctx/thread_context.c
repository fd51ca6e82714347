/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of OTEP 4947.  A record never shrinks and never loses what it had: attributes
 * are written behind those that it has, then its size grows.  One that is full moves to
 * a block of twice the room; the old one stays as it was until destroy, for whoever is
 * reading it at this moment.
 *
 * 	handle -> record  [ids|valid|flags|size| key len bytes | key len bytes |   room   ]
 * 	slot ----^			         <------ attrs_size ----------->
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/otelctx.h"
#include "ctx/thread_slot.h"

#define ROOM_MIN 36u		/* with the header one cache line */

_Static_assert(offsetof(struct otel_ctx_header, signature) == 0, "OTEP 4719");
_Static_assert(offsetof(struct otel_ctx_header, version) == 8, "OTEP 4719");
_Static_assert(offsetof(struct otel_ctx_header, payload_size) == 12, "OTEP 4719");
_Static_assert(offsetof(struct otel_ctx_header, published_ns) == 16, "OTEP 4719");
_Static_assert(offsetof(struct otel_ctx_header, payload) == 24, "OTEP 4719");
_Static_assert(sizeof(struct otel_ctx_header) == OTEL_CTX_HEADER_SIZE, "OTEP 4719");
_Static_assert(sizeof(OTEL_CTX_SIGNATURE) - 1 == OTEL_CTX_SIGNATURE_LEN, "OTEP 4719");
_Static_assert(offsetof(struct otel_thread_ctx, trace_id) == 0, "OTEP 4947");
_Static_assert(offsetof(struct otel_thread_ctx, span_id) == 16, "OTEP 4947");
_Static_assert(offsetof(struct otel_thread_ctx, valid) == 24, "OTEP 4947");
_Static_assert(offsetof(struct otel_thread_ctx, trace_flags) == 25, "OTEP 4947");
_Static_assert(offsetof(struct otel_thread_ctx, attrs_size) == 26, "OTEP 4947");
_Static_assert(offsetof(struct otel_thread_ctx, attrs) == 28, "OTEP 4947");
_Static_assert(sizeof(struct otel_thread_ctx) == OTEL_THREAD_CTX_HEADER_SIZE,
	       "OTEP 4947");
_Static_assert(ROOM_MIN + OTEL_THREAD_CTX_HEADER_SIZE == 64, "a cache line");
_Static_assert(sizeof(void *) == 8, "the formats are of 64 bits");

struct record_block {
	struct record_block	*next;
	struct otel_thread_ctx	 record;
};

static size_t length_of(const void *value, size_t n)
{
	return n == OTELCTX_NUL ? value ? strlen(value) : 0 : n;
}

/* At most 255 bytes, without the beginning of a code point whose rest is cut off. */
static size_t cut(const unsigned char *value, size_t n)
{
	size_t at = OTELCTX_VALUE_MAX;

	if (n <= OTELCTX_VALUE_MAX)
		return n;
	while (at > OTELCTX_VALUE_MAX - 3 && (value[at] & 0xc0) == 0x80)
		at--;
	/* Four continuation bytes in a row are no UTF-8: then any place is as good. */
	return (value[at] & 0xc0) == 0x80 ? OTELCTX_VALUE_MAX : at;
}

static bool is_zero(const uint8_t *id, size_t n)
{
	unsigned int any = 0;

	for (size_t i = 0; id && i < n; i++)
		any |= id[i];
	return !any;
}

static int check_ids(const uint8_t *trace_id, const uint8_t *span_id)
{
	return is_zero(trace_id, 16) == is_zero(span_id, 8) ? 0 : -EINVAL;
}

static void set_ids(struct otel_thread_ctx *r, const uint8_t *trace_id,
		    const uint8_t *span_id, uint8_t flags)
{
	memset(r->trace_id, 0, sizeof(r->trace_id));
	memset(r->span_id, 0, sizeof(r->span_id));
	if (trace_id)
		memcpy(r->trace_id, trace_id, sizeof(r->trace_id));
	if (span_id)
		memcpy(r->span_id, span_id, sizeof(r->span_id));
	r->trace_flags = flags;
}

/*
 * One store of two bytes, which a record's alignment allows; behind everything that it
 * counts.
 */
static void set_size(struct otel_thread_ctx *r, uint16_t size)
{
	void *at = (unsigned char *)r + offsetof(struct otel_thread_ctx, attrs_size);

	__atomic_store_n((uint16_t *)at, size, __ATOMIC_RELEASE);
}

static void set_valid(struct otel_thread_ctx *r, unsigned char valid)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&r->valid, valid, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The whole of a record's attributes, as far as they will be taken. */
static size_t room_for(const struct otelctx_thread_attribute *a, size_t n)
{
	size_t need = 0;

	for (size_t i = 0; i < n && need < OTEL_THREAD_CTX_ATTRS_MAX; i++)
		need += 2 + cut(a[i].value, length_of(a[i].value, a[i].n));
	if (need < ROOM_MIN)
		return ROOM_MIN;
	return need < OTEL_THREAD_CTX_ATTRS_MAX ? need : OTEL_THREAD_CTX_ATTRS_MAX;
}

/*
 * A copy with room for `need` bytes of attributes, which takes the old one's place in
 * every slot.
 */
static int grow(struct otelctx_thread *t, size_t need)
{
	struct otel_thread_ctx *old = t->record;
	size_t room = t->room;
	struct record_block *b;

	while (room < need)
		room *= 2;
	if (room > OTEL_THREAD_CTX_ATTRS_MAX)
		room = OTEL_THREAD_CTX_ATTRS_MAX;
	b = malloc(sizeof(*b) + room);
	if (!b)
		return -ENOMEM;
	memcpy(&b->record, old, OTEL_THREAD_CTX_HEADER_SIZE + old->attrs_size);
	b->next = t->blocks;
	t->blocks = b;
	t->room = (uint16_t)room;
	t->record = &b->record;
	otelctx_slots_replace(t, old, t->record);
	return 0;
}

static void put(struct otel_thread_ctx *r, uint32_t key, const void *value, size_t n)
{
	unsigned char *at = r->attrs + r->attrs_size;

	at[0] = (unsigned char)key;
	at[1] = (unsigned char)n;
	if (n)
		memcpy(at + 2, value, n);
	set_size(r, (uint16_t)(r->attrs_size + 2 + n));
}

int otelctx_thread_append(struct otelctx_thread *t, uint32_t key, const void *value,
			  size_t n)
{
	size_t whole = length_of(value, n), length, need;
	int err = 0;

	if (key >= OTEL_THREAD_CTX_KEYS_MAX || (!value && whole))
		return -EINVAL;
	length = cut(value, whole);
	need = t->record->attrs_size + 2u + length;
	if (need > OTEL_THREAD_CTX_ATTRS_MAX)
		err = -ENOSPC;
	else if (need > t->room)
		err = grow(t, need);
	if (err || length < whole)
		t->truncated = 1;
	if (err)
		return err;
	put(t->record, key, value, length);
	return length < whole;
}

static int check_attributes(const struct otelctx_thread_attribute *a, size_t n)
{
	if (!a && n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (a[i].key >= OTEL_THREAD_CTX_KEYS_MAX ||
		    (!a[i].value && length_of(a[i].value, a[i].n)))
			return -EINVAL;
	return 0;
}

int otelctx_thread_create(struct otelctx_thread **out, const uint8_t *trace_id,
			  const uint8_t *span_id, uint8_t flags,
			  const struct otelctx_thread_attribute *attributes, size_t n)
{
	struct otelctx_thread *t;
	size_t room;
	int err = check_ids(trace_id, span_id);

	if (!err)
		err = check_attributes(attributes, n);
	if (err)
		return err;
	room = room_for(attributes, n);
	t = malloc(sizeof(*t) + OTEL_THREAD_CTX_HEADER_SIZE + room);
	if (!t)
		return -ENOMEM;
	memset(t, 0, sizeof(*t));
	t->record = (struct otel_thread_ctx *)(t + 1);
	t->room = (uint16_t)room;
	t->record->valid = 0;
	t->record->attrs_size = 0;
	set_ids(t->record, trace_id, span_id, flags);
	for (size_t i = 0; i < n; i++)
		(void)otelctx_thread_append(t, attributes[i].key, attributes[i].value,
					    attributes[i].n);
	set_valid(t->record, 1);
	*out = t;
	return 0;
}

int otelctx_thread_reset(struct otelctx_thread *t, const uint8_t *trace_id,
			 const uint8_t *span_id, uint8_t flags)
{
	int err = check_ids(trace_id, span_id);

	if (err)
		return err;
	set_valid(t->record, 0);
	set_ids(t->record, trace_id, span_id, flags);
	set_size(t->record, 0);
	set_valid(t->record, 1);
	t->truncated = 0;
	return 0;
}

int otelctx_thread_truncated(const struct otelctx_thread *t)
{
	return t->truncated;
}

void otelctx_thread_destroy(struct otelctx_thread *t)
{
	struct record_block *b, *next;

	if (!t)
		return;
	otelctx_slots_replace(t, t->record, NULL);
	for (b = t->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t);
}
