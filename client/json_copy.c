/* SPDX-License-Identifier: Apache-2.0 */
/* Re-writes JSON text that came from a tenant.  Bounded: one pass, depth capped. */
#include <string.h>

#include "client/escape.h"
#include "client/json_copy.h"

#define DEPTH_MAX 32

struct copy {
	struct text	*t;
	const char	*p, *end;
	unsigned	 depth;
};

static bool copy_value(struct copy *c);

static void skip_blank(struct copy *c)
{
	while (c->p < c->end && memchr(" \t\r\n", *c->p, 4))
		c->p++;
}

/* Takes one byte when it is the expected one, and copies it. */
static bool take(struct copy *c, char want)
{
	if (c->p == c->end || *c->p != want)
		return false;
	text_putc(c->t, want);
	c->p++;
	return true;
}

static int hex_digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	if (ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	return -1;
}

/* Four hex digits at p. */
static bool hex4(const char *p, const char *end, uint32_t *out)
{
	*out = 0;
	if (end - p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return false;
		*out = *out << 4 | (uint32_t)d;
	}
	return true;
}

/* After "\u": one escape, or a surrogate pair; an unpaired surrogate becomes U+FFFD. */
static bool copy_unicode_escape(struct copy *c)
{
	uint32_t hi, lo;

	if (!hex4(c->p, c->end, &hi))
		return false;
	c->p += 4;
	if (hi < 0xd800 || hi > 0xdfff) {
		text_printf(c->t, "\\u%04x", (unsigned)hi);
		return true;
	}
	if (hi < 0xdc00 && c->end - c->p >= 6 && c->p[0] == '\\' && c->p[1] == 'u' &&
	    hex4(c->p + 2, c->end, &lo) && lo >= 0xdc00 && lo <= 0xdfff) {
		c->p += 6;
		text_printf(c->t, "\\u%04x\\u%04x", (unsigned)hi, (unsigned)lo);
		return true;
	}
	text_puts(c->t, "\\ufffd");
	return true;
}

static bool copy_escape(struct copy *c)
{
	if (c->p == c->end)
		return false;
	if (*c->p == 'u') {
		c->p++;
		return copy_unicode_escape(c);
	}
	if (!memchr("\"\\/bfnrt", *c->p, 8))
		return false;
	text_putc(c->t, '\\');
	text_putc(c->t, *c->p++);
	return true;
}

static bool copy_string(struct copy *c)
{
	const char *run;

	if (!take(c, '"'))
		return false;
	while (c->p < c->end && *c->p != '"') {
		if (*c->p == '\\') {
			c->p++;
			if (!copy_escape(c))
				return false;
			continue;
		}
		for (run = c->p; c->p < c->end && *c->p != '"' && *c->p != '\\'; c->p++)
			if ((unsigned char)*c->p < 0x20)
				return false;
		escape_json(c->t, run, c->p - run);
	}
	return take(c, '"');
}

static size_t copy_digits(struct copy *c)
{
	size_t n = 0;

	for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; n++)
		text_putc(c->t, *c->p++);
	return n;
}

static bool copy_number(struct copy *c)
{
	take(c, '-');
	if (!take(c, '0') && !copy_digits(c))
		return false;
	if (take(c, '.') && !copy_digits(c))
		return false;
	if (take(c, 'e') || take(c, 'E')) {
		if (!take(c, '+'))
			take(c, '-');
		return copy_digits(c) > 0;
	}
	return true;
}

static bool copy_word(struct copy *c, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n))
		return false;
	text_add(c->t, word, n);
	c->p += n;
	return true;
}

/* Members of an array, or of an object (each after its key). */
static bool copy_members(struct copy *c, bool object)
{
	char closing = object ? '}' : ']';

	c->p++;
	text_putc(c->t, object ? '{' : '[');
	skip_blank(c);
	if (take(c, closing))
		return true;
	for (;;) {
		if (object) {
			skip_blank(c);
			if (!copy_string(c))
				return false;
			skip_blank(c);
			if (!take(c, ':'))
				return false;
		}
		if (!copy_value(c))
			return false;
		if (take(c, closing))
			return true;
		if (!take(c, ','))
			return false;
	}
}

/* A value with the blanks around it. */
static bool copy_value(struct copy *c)
{
	bool ok = false;

	skip_blank(c);
	if (c->p == c->end || c->depth >= DEPTH_MAX || text_failed(c->t))
		return false;
	c->depth++;
	switch (*c->p) {
	case '{':
	case '[':
		ok = copy_members(c, *c->p == '{');
		break;
	case '"':
		ok = copy_string(c);
		break;
	case 't':
		ok = copy_word(c, "true");
		break;
	case 'f':
		ok = copy_word(c, "false");
		break;
	case 'n':
		ok = copy_word(c, "null");
		break;
	default:
		ok = copy_number(c);
	}
	c->depth--;
	skip_blank(c);
	return ok;
}

bool json_copy(struct text *t, const char *s, size_t len)
{
	struct copy c = { .t = t, .p = s, .end = s + len };

	return copy_value(&c) && c.p == c.end && !text_failed(t);
}
