/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/value_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/context/protobuf.h"
#include "sidecar/labels/text.h"

/* Text of bounded length; err is set once and then nothing more is written. */
struct json { char *buf; size_t n, max; int err; };

static void put(struct json *j, const char *s, size_t n)
{
	if (!j->err && n > j->max - j->n)
		j->err = -EMSGSIZE;
	if (j->err)
		return;
	memcpy(j->buf + j->n, s, n);
	j->n += n;
}

static void put_words(struct json *j, const char *s)
{
	put(j, s, strlen(s));
}

static void put_escaped(struct json *j, char c)
{
	char code[8];

	if (c == '"' || c == '\\')
		snprintf(code, sizeof(code), "\\%c", c);
	else
		snprintf(code, sizeof(code), "\\u%04x", (unsigned char)c);
	put_words(j, code);
}

static void put_string(struct json *j, const uint8_t *p, size_t n)
{
	char *text;

	/* Three bytes for every bad one; beyond that it cannot fit anyway. */
	if (!j->err)
		j->err = text_valid_utf8((const char *)p, n, 3 * j->max, &text);
	if (j->err)
		return;
	put(j, "\"", 1);
	for (const char *s = text; *s && !j->err; s++) {
		if ((unsigned char)*s < 0x20 || *s == '"' || *s == '\\' || *s == 0x7f)
			put_escaped(j, *s);
		else
			put(j, s, 1);
	}
	put(j, "\"", 1);
	free(text);
}

static void put_base64(struct json *j, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	put(j, "\"", 1);
	for (size_t i = 0; i < n && !j->err; i += 3) {
		size_t have = n - i < 3 ? n - i : 3;
		uint32_t v = (uint32_t)p[i] << 16 | (have > 1 ? p[i + 1] << 8 : 0) |
			     (have > 2 ? p[i + 2] : 0);
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63],
				 have > 1 ? digits[v >> 6 & 63] : '=',
				 have > 2 ? digits[v & 63] : '=' };

		put(j, four, 4);
	}
	put(j, "\"", 1);
}

static void put_double(struct json *j, double v)
{
	const char *quote = isfinite(v) ? "" : "\"";
	char digits[LABEL_DOUBLE_MAX];

	label_double(v, digits);
	put_words(j, quote);
	put_words(j, digits);
	put_words(j, quote);
}

static void put_value(struct json *j, const struct any_value *v);

/* Its depth was bounded when it was checked. */
static void put_elements(struct json *j, const struct any_value *v)
{
	struct pb_reader r = pb_reader(v->p, v->n);
	bool list = v->kind == ANY_LIST, first = true;
	struct pb_field f;

	put(j, list ? "{" : "[", 1);
	while (!j->err && pb_next(&r, &f) > 0) {
		struct key_value e = { .key = NULL };

		if (f.number != 1 || f.wire != PB_BYTES)
			continue;
		if (!first)
			put(j, ",", 1);
		first = false;
		if (list) {
			key_value_read(f.p, f.n, &e);
			put_string(j, e.key, e.key_len);
			put(j, ":", 1);
		} else {
			any_value_read(f.p, f.n, &e.value);
		}
		put_value(j, &e.value);
	}
	put(j, list ? "}" : "]", 1);
}

static void put_value(struct json *j, const struct any_value *v)
{
	char number[32];

	switch (v->kind) {
	case ANY_STRING:
		put_string(j, v->p, v->n);
		break;
	case ANY_BOOL:
		put_words(j, v->number ? "true" : "false");
		break;
	case ANY_INT:
		snprintf(number, sizeof(number), "%" PRId64, v->number);
		put_words(j, number);
		break;
	case ANY_DOUBLE:
		put_double(j, v->real);
		break;
	case ANY_BYTES:
		put_base64(j, v->p, v->n);
		break;
	case ANY_ARRAY:
	case ANY_LIST:
		put_elements(j, v);
		break;
	default:
		put_words(j, "null");
		break;
	}
}

int any_value_json(const struct any_value *v, size_t max, char **out)
{
	struct json j = { .buf = malloc(max + 1), .max = max };

	if (!j.buf)
		return -ENOMEM;
	put_value(&j, v);
	if (j.err) {
		free(j.buf);
		return j.err;
	}
	j.buf[j.n] = 0;
	*out = j.buf;
	return 0;
}
