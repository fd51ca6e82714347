/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/escape.h"

#define REPLACEMENT "\xef\xbf\xbd"	/* U+FFFD */

/* Nearly all names are plain: length of what needs no look at single characters. */
static size_t plain_run(const unsigned char *p, size_t len, const char *also)
{
	size_t n = 0;

	while (n < len && p[n] >= 0x20 && p[n] < 0x7f && p[n] != '\\' && p[n] != '"' &&
	       !(*also && strchr(also, p[n])))
		n++;
	return n;
}

unsigned utf8_decode(const unsigned char *s, size_t len, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n, i;
	uint32_t c;

	if (s[0] < 0x80) {
		*cp = s[0];
		return 1;
	}
	if ((s[0] & 0xe0) == 0xc0)
		n = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		n = 3;
	else if ((s[0] & 0xf8) == 0xf0)
		n = 4;
	else
		return 0;
	if (len < n)
		return 0;
	c = s[0] & (0x7f >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return n;
}

/* Controls, and what makes a terminal show other text than what is there. */
static bool is_deceptive(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

static void put_escape(struct text *t, uint32_t c)
{
	switch (c) {
	case '\n':
		text_puts(t, "\\n");
		break;
	case '\t':
		text_puts(t, "\\t");
		break;
	case '\r':
		text_puts(t, "\\r");
		break;
	default:
		text_printf(t, c < 0x80 ? "\\x%02x" : "\\u{%x}", (unsigned)c);
	}
}

void escape_terminal_except(struct text *t, const char *s, size_t len, const char *also)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c;
	size_t n;

	for (; len; p += n, len -= n) {
		n = plain_run(p, len, also);
		if (n) {
			text_add(t, p, n);
			continue;
		}
		n = utf8_decode(p, len, &c);
		if (!n) {
			text_printf(t, "\\x%02x", p[0]);
			n = 1;
		} else if (c == '\\') {
			text_puts(t, "\\\\");
		} else if (is_deceptive(c)) {
			put_escape(t, c);
		} else if (n == 1 && c && strchr(also, (int)c)) {
			text_printf(t, "\\x%02x", (unsigned)c);
		} else {
			text_add(t, p, n);
		}
	}
}

void escape_terminal(struct text *t, const char *s, size_t len)
{
	escape_terminal_except(t, s, len, "");
}

void escape_terminal_string(struct text *t, const char *s)
{
	if (s)
		escape_terminal(t, s, strlen(s));
}

/* JSON's own escapes, and \u for what would act on a terminal that shows the JSON text.
 */
static void put_json_escape(struct text *t, uint32_t c)
{
	switch (c) {
	case '"':
		text_puts(t, "\\\"");
		break;
	case '\\':
		text_puts(t, "\\\\");
		break;
	case '\n':
		text_puts(t, "\\n");
		break;
	case '\t':
		text_puts(t, "\\t");
		break;
	case '\r':
		text_puts(t, "\\r");
		break;
	default:
		if (c >= 0x10000)	/* a surrogate pair */
			text_printf(t, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)),
				    (unsigned)(0xdc00 + (c & 0x3ff)));
		else
			text_printf(t, "\\u%04x", (unsigned)c);
	}
}

void escape_json(struct text *t, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c;
	size_t n;

	for (; len; p += n, len -= n) {
		n = plain_run(p, len, "");
		if (n) {
			text_add(t, p, n);
			continue;
		}
		n = utf8_decode(p, len, &c);
		if (!n) {
			text_puts(t, REPLACEMENT);
			n = 1;
		} else if (c == '"' || c == '\\' || is_deceptive(c)) {
			put_json_escape(t, c);
		} else {
			text_add(t, p, n);
		}
	}
}

void escape_utf8(struct text *t, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c;
	size_t n;

	for (; len; p += n, len -= n) {
		n = plain_run(p, len, "");
		if (n) {
			text_add(t, p, n);
			continue;
		}
		n = utf8_decode(p, len, &c);
		if (!n) {
			text_puts(t, REPLACEMENT);
			n = 1;
		} else if (is_deceptive(c)) {
			put_escape(t, c);
		} else {
			text_add(t, p, n);
		}
	}
}
