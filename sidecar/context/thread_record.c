/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/thread_record.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"

#define ROOT_SPAN_KEY "datadog.local_root_span_id"
#define ROOT_SPAN_NONE "0000000000000000"

static_assert(sizeof(((struct thread_record *)0)->text) >=
		      OTEL_THREAD_CTX_ATTRS_MAX + THREAD_RECORD_KEYS,
	      "every value and its NUL fit");

struct entry { const uint8_t *value; uint8_t key, len; };

/* The next complete entry; false: none is left. */
static bool next_entry(const uint8_t **at, const uint8_t *end, struct entry *e)
{
	const uint8_t *p = *at;

	if (end - p < 2 || p[1] > end - p - 2)
		return false;
	*e = (struct entry){ .key = p[0], .len = p[1], .value = p + 2 };
	*at = p + 2 + p[1];
	return true;
}

/* The attributes of a record: what its size says, or as much of it as there is. */
static const uint8_t *attributes_of(const uint8_t *record, size_t n, const uint8_t **end)
{
	size_t room = n - OTEL_THREAD_CTX_HEADER_SIZE;
	struct otel_thread_ctx head;

	memcpy(&head, record, OTEL_THREAD_CTX_HEADER_SIZE);
	if (head.attrs_size < room)
		room = head.attrs_size;
	if (room > OTEL_THREAD_CTX_ATTRS_MAX)
		room = OTEL_THREAD_CTX_ATTRS_MAX;
	*end = record + OTEL_THREAD_CTX_HEADER_SIZE + room;
	return record + OTEL_THREAD_CTX_HEADER_SIZE;
}

bool thread_record_unknown_key(const void *record, size_t n, uint32_t n_keys)
{
	const uint8_t *at, *end;
	struct entry e;

	if (n < OTEL_THREAD_CTX_HEADER_SIZE)
		return false;
	at = attributes_of(record, n, &end);
	while (next_entry(&at, end, &e)) {
		if (e.key >= n_keys)
			return true;
	}
	return false;
}

static bool any_set(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i])
			return true;
	}
	return false;
}

/* Bytes that a code point which begins with this byte has; 1 where none can begin. */
static uint32_t sequence(uint8_t lead)
{
	return lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 :
	       lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
}

/* Length without a code point that was cut at the longest length that there is. */
static uint32_t without_tail(const uint8_t *value, uint32_t len)
{
	uint32_t at = len;

	if (len != OTEL_THREAD_CTX_VALUE_MAX)
		return len;
	while (at > 0 && len - at < 3 && (value[at - 1] & 0xc0) == 0x80)
		at--;
	if (at > 0 && sequence(value[at - 1]) > len - at + 1)
		return at - 1;
	return len;
}

/* A trace's own root: zeroes stand for none. */
static bool is_no_root(const char *key, const struct entry *e)
{
	return e->len == sizeof(ROOT_SPAN_NONE) - 1 &&
	       !memcmp(e->value, ROOT_SPAN_NONE, e->len) && !strcmp(key, ROOT_SPAN_KEY);
}

static size_t add(struct thread_record *out, size_t used, const char *key,
		  const struct entry *e)
{
	uint32_t len = without_tail(e->value, e->len);
	char *to = out->text + used;

	memcpy(to, e->value, len);
	to[len] = 0;
	out->attributes[out->n++] = (struct ringside_attribute){
		.key = key, .string = to, .len = len,
		.type = memchr(e->value, 0, len) ? RINGSIDE_BYTES : RINGSIDE_STRING,
	};
	return used + len + 1;
}

int thread_record_read(struct thread_record *out, const void *record, size_t n,
		       char *const *keys, uint32_t n_keys)
{
	struct entry last[THREAD_RECORD_KEYS], e;
	struct otel_thread_ctx head;
	const uint8_t *at, *end;
	size_t used = 0;

	out->n = 0;
	out->has_link = out->unknown_key = false;
	if (n < OTEL_THREAD_CTX_HEADER_SIZE)
		return -EBADMSG;
	memcpy(&head, record, OTEL_THREAD_CTX_HEADER_SIZE);
	if (head.valid != 1)
		return -EBADMSG;
	memcpy(out->trace_id, head.trace_id, sizeof(out->trace_id));
	memcpy(out->span_id, head.span_id, sizeof(out->span_id));
	out->trace_flags = head.trace_flags;
	out->has_link = any_set(head.trace_id, sizeof(head.trace_id)) &&
			any_set(head.span_id, sizeof(head.span_id));
	memset(last, 0, sizeof(last));
	at = attributes_of(record, n, &end);
	while (next_entry(&at, end, &e)) {
		last[e.key] = e;
		out->unknown_key |= e.key >= n_keys;
	}
	for (uint32_t i = 0; i < THREAD_RECORD_KEYS && i < n_keys; i++) {
		if (last[i].value && keys[i] && !is_no_root(keys[i], &last[i]))
			used = add(out, used, keys[i], &last[i]);
	}
	return 0;
}
