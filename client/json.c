/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "client/escape.h"
#include "client/json.h"
#include "client/json_copy.h"

void json_init(struct json *j, struct text *t)
{
	j->t = t;
	j->comma = false;
}

/* Before a value or a key. */
static void json_separate(struct json *j)
{
	if (j->comma)
		text_putc(j->t, ',');
	j->comma = true;
}

void json_open(struct json *j, char bracket)
{
	json_separate(j);
	text_putc(j->t, bracket);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	text_putc(j->t, bracket);
	j->comma = true;
}

void json_string_n(struct json *j, const char *s, size_t len)
{
	json_separate(j);
	text_putc(j->t, '"');
	escape_json(j->t, s, len);
	text_putc(j->t, '"');
}

void json_key(struct json *j, const char *key)
{
	json_string_n(j, key, strlen(key));
	text_putc(j->t, ':');
	j->comma = false;
}

void json_u64(struct json *j, uint64_t v)
{
	json_separate(j);
	text_printf(j->t, "%" PRIu64, v);
}

void json_i64(struct json *j, int64_t v)
{
	json_separate(j);
	text_printf(j->t, "%" PRId64, v);
}

void json_bool(struct json *j, bool v)
{
	json_separate(j);
	text_puts(j->t, v ? "true" : "false");
}

void json_double(struct json *j, double v)
{
	json_separate(j);
	if (isnan(v)) {
		text_puts(j->t, "\"NaN\"");
	} else if (isinf(v)) {
		text_puts(j->t, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	} else {
		text_double(j->t, v);
	}
}

void json_base64(struct json *j, const void *bytes, size_t len)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;
	char out[4];
	uint32_t v;

	json_separate(j);
	text_putc(j->t, '"');
	for (size_t i = 0; i < len; i += 3) {
		v = (uint32_t)p[i] << 16;
		if (i + 1 < len)
			v |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			v |= p[i + 2];
		out[0] = digit[v >> 18];
		out[1] = digit[v >> 12 & 63];
		out[2] = i + 1 < len ? digit[v >> 6 & 63] : '=';
		out[3] = i + 2 < len ? digit[v & 63] : '=';
		text_add(j->t, out, sizeof(out));
	}
	text_putc(j->t, '"');
}

void json_embed(struct json *j, const char *s, size_t len)
{
	size_t start;

	json_separate(j);
	start = j->t->len;
	if (json_copy(j->t, s, len) || text_failed(j->t))
		return;
	/* Not JSON after all: take back what was copied. */
	j->t->len = start;
	text_putc(j->t, '"');
	escape_json(j->t, s, len);
	text_putc(j->t, '"');
}

void json_put_string(struct json *j, const char *key, const char *s)
{
	if (!s)
		return;
	json_key(j, key);
	json_string_n(j, s, strlen(s));
}

void json_put_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_put_u64_string(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_separate(j);
	text_printf(j->t, "\"%" PRIu64 "\"", v);
}

void json_put_i64_string(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_separate(j);
	text_printf(j->t, "\"%" PRId64 "\"", v);
}

void json_put_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

void json_put_hex(struct json *j, const char *key, const uint8_t *bytes, size_t len)
{
	json_key(j, key);
	json_separate(j);
	text_putc(j->t, '"');
	for (size_t i = 0; i < len; i++)
		text_printf(j->t, "%02x", bytes[i]);
	text_putc(j->t, '"');
}
