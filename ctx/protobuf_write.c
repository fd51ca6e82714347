/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "ctx/protobuf_write.h"

#define VARINT(field)	((uint8_t)((field) << 3))
#define FIXED64(field)	((uint8_t)((field) << 3 | 1))

/* Fields of AnyValue and KeyValue, opentelemetry/proto/common/v1/common.proto. */
enum {
	ANY_STRING = 1, ANY_BOOL = 2, ANY_INT = 3, ANY_DOUBLE = 4, ANY_ARRAY = 5,
	ANY_KVLIST = 6, ANY_BYTES = 7,
	KV_KEY = 1, KV_VALUE = 2,
	LIST_ITEM = 1,		/* of ArrayValue and KeyValueList */
};

void protobuf_init(struct protobuf *p, void *buf, size_t n)
{
	p->buf = buf;
	p->at = n;
	p->err = 0;
}

static void fail(struct protobuf *p, int err)
{
	if (!p->err)
		p->err = err;
}

void protobuf_raw(struct protobuf *p, const void *bytes, size_t n)
{
	if (n > p->at)
		fail(p, -E2BIG);
	if (p->err || !n)
		return;
	p->at -= n;
	memcpy(p->buf + p->at, bytes, n);
}

static void put_byte(struct protobuf *p, uint8_t byte)
{
	protobuf_raw(p, &byte, 1);
}

static void put_varint(struct protobuf *p, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	protobuf_raw(p, bytes, n);
}

static void put_fixed64(struct protobuf *p, double number)
{
	uint8_t bytes[8];
	uint64_t v;

	memcpy(&v, &number, sizeof(v));
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	protobuf_raw(p, bytes, sizeof(bytes));
}

void protobuf_wrap(struct protobuf *p, uint8_t tag, size_t end)
{
	put_varint(p, end - p->at);
	put_byte(p, tag);
}

/* The continuation bytes of a sequence whose first is c; -1: no first byte. */
static int utf8_more(uint8_t c)
{
	if (c < 0x80)
		return 0;
	if (c >= 0xc2 && c < 0xe0)
		return 1;
	if (c >= 0xe0 && c < 0xf0)
		return 2;
	return c >= 0xf0 && c < 0xf5 ? 3 : -1;
}

/* Overlong forms, surrogates, what is beyond U+10FFFF: the second byte tells. */
static int utf8_second(uint8_t c, uint8_t second)
{
	switch (c) {
	case 0xe0: return second >= 0xa0;
	case 0xed: return second < 0xa0;
	case 0xf0: return second >= 0x90;
	case 0xf4: return second < 0x90;
	default: return 1;
	}
}

int utf8_check(const void *string, size_t n)
{
	const uint8_t *s = string;

	for (size_t i = 0; i < n; i++) {
		uint8_t c = s[i];
		int more = utf8_more(c);

		if (more < 0 || (size_t)more >= n - i)
			return -EILSEQ;
		if (more >= 2 && !utf8_second(c, s[i + 1]))
			return -EILSEQ;
		for (; more; more--)
			if ((s[++i] & 0xc0) != 0x80)
				return -EILSEQ;
	}
	return 0;
}

static void put_string(struct protobuf *p, uint8_t tag, const void *s, size_t n)
{
	size_t end = p->at;

	if (!s && n)
		return fail(p, -EINVAL);
	if (n > p->at)
		fail(p, -E2BIG);
	else if (utf8_check(s, n))
		fail(p, -EILSEQ);
	protobuf_raw(p, s, n);
	protobuf_wrap(p, tag, end);
}

static void put_attribute(struct protobuf *p, uint8_t tag,
			  const struct otelctx_attribute *a, unsigned int depth);

static int takes_memory(uint32_t type)
{
	return type == OTELCTX_STRING || type >= OTELCTX_BYTES;
}

/* An AnyValue, without what is around it. */
static void put_value(struct protobuf *p, const struct otelctx_value *v,
		      unsigned int depth)
{
	size_t end = p->at, item;

	if (depth > OTELCTX_DEPTH_MAX ||
	    (v->type >= OTELCTX_ARRAY && v->n == OTELCTX_NUL) ||	/* no string, so no NUL */
	    (takes_memory(v->type) && !v->u.data && v->n))
		return fail(p, -EINVAL);
	switch (v->type) {
	case OTELCTX_NONE:
		break;
	case OTELCTX_STRING:
		put_string(p, PROTOBUF_LEN(ANY_STRING), v->u.data,
			   v->n == OTELCTX_NUL ? strlen(v->u.data) : v->n);
		break;
	case OTELCTX_BOOL:
		put_varint(p, v->u.integer != 0);
		put_byte(p, VARINT(ANY_BOOL));
		break;
	case OTELCTX_INT:
		put_varint(p, (uint64_t)v->u.integer);
		put_byte(p, VARINT(ANY_INT));
		break;
	case OTELCTX_DOUBLE:
		put_fixed64(p, v->u.number);
		put_byte(p, FIXED64(ANY_DOUBLE));
		break;
	case OTELCTX_BYTES:
		protobuf_raw(p, v->u.data, v->n);
		protobuf_wrap(p, PROTOBUF_LEN(ANY_BYTES), end);
		break;
	case OTELCTX_ARRAY:
		for (size_t i = v->n; i-- && !p->err;) {
			item = p->at;
			put_value(p, &v->u.values[i], depth + 1);
			protobuf_wrap(p, PROTOBUF_LEN(LIST_ITEM), item);
		}
		protobuf_wrap(p, PROTOBUF_LEN(ANY_ARRAY), end);
		break;
	case OTELCTX_KVLIST:
		for (size_t i = v->n; i-- && !p->err;)
			put_attribute(p, PROTOBUF_LEN(LIST_ITEM), &v->u.attributes[i],
				      depth + 1);
		protobuf_wrap(p, PROTOBUF_LEN(ANY_KVLIST), end);
		break;
	default:
		fail(p, -EINVAL);
	}
}

static void put_attribute(struct protobuf *p, uint8_t tag,
			  const struct otelctx_attribute *a, unsigned int depth)
{
	size_t end = p->at;

	if (!a->key || !a->key[0])
		return fail(p, -EINVAL);
	put_value(p, &a->value, depth);
	protobuf_wrap(p, PROTOBUF_LEN(KV_VALUE), end);
	put_string(p, PROTOBUF_LEN(KV_KEY), a->key, strlen(a->key));
	protobuf_wrap(p, tag, end);
}

void protobuf_attributes(struct protobuf *p, uint8_t tag,
			 const struct otelctx_attribute *a, size_t n)
{
	for (size_t i = n; i-- && !p->err;)
		put_attribute(p, tag, &a[i], 0);
}
