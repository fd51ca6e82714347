/* SPDX-License-Identifier: Apache-2.0 */
/* Writes protobuf for tests: right, or wrong in a chosen place. */
#ifndef RINGSIDE_TESTS_CONTEXT_BYTES_H
#define RINGSIDE_TESTS_CONTEXT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes { uint8_t b[160000]; size_t n; };

static inline void put_raw(struct bytes *o, const void *p, size_t n)
{
	if (n > sizeof(o->b) - o->n)
		__builtin_trap();
	if (n)
		memcpy(o->b + o->n, p, n);
	o->n += n;
}

static inline void put_varint(struct bytes *o, uint64_t v)
{
	do {
		uint8_t b = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));

		put_raw(o, &b, 1);
		v >>= 7;
	} while (v);
}

static inline void put_tag(struct bytes *o, uint32_t number, unsigned wire)
{
	put_varint(o, (uint64_t)number << 3 | wire);
}

static inline void put_bytes(struct bytes *o, uint32_t number, const void *p, size_t n)
{
	put_tag(o, number, 2);
	put_varint(o, n);
	put_raw(o, p, n);
}

static inline void put_message(struct bytes *o, uint32_t number, const struct bytes *m)
{
	put_bytes(o, number, m->b, m->n);
}

static inline void put_text(struct bytes *o, uint32_t number, const char *s)
{
	put_bytes(o, number, s, strlen(s));
}

static inline void put_double(struct bytes *o, uint32_t number, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put_tag(o, number, 1);
	for (int i = 0; i < 8; i++) {
		uint8_t b = (uint8_t)(bits >> (8 * i));

		put_raw(o, &b, 1);
	}
}

/* KeyValue { key, value } as field number of o. */
static inline void put_pair(struct bytes *o, uint32_t number, const char *key,
			    const struct bytes *value)
{
	static struct bytes pair;

	pair.n = 0;
	put_text(&pair, 1, key);
	put_message(&pair, 2, value);
	put_message(o, number, &pair);
}

static inline void put_string(struct bytes *o, uint32_t number, const char *key,
			      const char *value)
{
	static struct bytes v;

	v.n = 0;
	put_text(&v, 1, value);
	put_pair(o, number, key, &v);
}

static inline void put_int(struct bytes *o, uint32_t number, const char *key, int64_t value)
{
	static struct bytes v;

	v.n = 0;
	put_tag(&v, 3, 0);
	put_varint(&v, (uint64_t)value);
	put_pair(o, number, key, &v);
}

/* An array of strings. */
static inline void put_strings(struct bytes *o, uint32_t number, const char *key,
			       const char *const *s, size_t n)
{
	static struct bytes value, array, element;

	value.n = array.n = 0;
	for (size_t i = 0; i < n; i++) {
		element.n = 0;
		put_text(&element, 1, s[i]);
		put_message(&array, 1, &element);
	}
	put_message(&value, 5, &array);
	put_pair(o, number, key, &value);
}

#endif
