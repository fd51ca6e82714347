/* SPDX-License-Identifier: Apache-2.0 */
/* What a backslash means in a regular expression. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/labels/regex_parser.h"

int regex_wrong(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, REGEX_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

bool regex_next_is(const struct parser *p, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(p->end - p->p) >= n && !memcmp(p->p, s, n);
}

int regex_take_rune(struct parser *p, uint32_t *rune)
{
	bool valid;

	p->p += unicode_decode(p->p, (size_t)(p->end - p->p), rune, &valid);
	return valid ? 0 : regex_wrong(p, "not UTF-8");
}

static int hex(uint32_t c)
{
	if (c >= '0' && c <= '9')
		return (int)c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (int)(c | 0x20) - 'a' + 10;
	return -1;
}

/* After \x. */
static int parse_hex(struct parser *p, uint32_t *rune)
{
	const char *s = p->p;
	uint32_t r = 0;

	if (s < p->end && *s == '{') {
		for (s++; s < p->end && hex((unsigned char)*s) >= 0 && r <= RUNE_MAX; s++)
			r = r * 16 + (uint32_t)hex((unsigned char)*s);
		if (s == p->end || *s != '}' || r > RUNE_MAX || s == p->p + 1)
			return regex_wrong(p,
					   "\\x{..} must hold hex digits up to 10FFFF");
		p->p = s + 1;
	} else {
		if (p->end - s < 2 || hex((unsigned char)s[0]) < 0 ||
		    hex((unsigned char)s[1]) < 0)
			return regex_wrong(p, "\\x must have two hex digits");
		r = (uint32_t)(hex((unsigned char)s[0]) * 16 + hex((unsigned char)s[1]));
		p->p += 2;
	}
	*rune = r;
	return 0;
}

static bool octal_next(const struct parser *p)
{
	return p->p < p->end && *p->p >= '0' && *p->p <= '7';
}

/* One code point that a backslash (at p->p) spells. */
int regex_take_escape(struct parser *p, uint32_t *rune)
{
	static const char letters[] = "afnrtv", meant[] = "\a\f\n\r\t\v";
	const char *at;
	uint32_t c;

	if (++p->p == p->end)
		return regex_wrong(p, "a backslash at the end");
	if (regex_take_rune(p, &c))
		return -EINVAL;
	if (c == 'x')
		return parse_hex(p, rune);
	if (c == '0' || (c >= '1' && c <= '7' && octal_next(p))) {
		*rune = c - '0';
		for (int i = 1; i < 3 && octal_next(p); i++)
			*rune = *rune * 8 + (uint32_t)(*p->p++ - '0');
		return 0;
	}
	if (c < 0x80 && c > 0 && (at = strchr(letters, (int)c))) {
		*rune = (uint32_t)meant[at - letters];
		return 0;
	}
	if (c >= 0x80 || unicode_is_letter_or_digit(c))
		return c < 0x80 ? regex_wrong(p, "\\%c: no such escape here", (int)c)
				: regex_wrong(p, "a backslash before a letter "
						 "beyond ASCII");
	*rune = c;
	return 0;
}

/* \pL, \p{Greek}, \P{^Lu}: 1 taken, 0 not one. */
static int take_property(struct parser *p, struct class_item *out)
{
	const char *name = p->p + 2, *stop;
	bool negated, valid;
	uint32_t rune;
	size_t n;

	if (!regex_next_is(p, "\\p") && !regex_next_is(p, "\\P"))
		return 0;
	negated = p->p[1] == 'P';
	if (name == p->end)
		return regex_wrong(p, "\\p without a name");
	n = unicode_decode(name, (size_t)(p->end - name), &rune, &valid);
	stop = name + n;
	if (*name == '{') {
		stop = memchr(name, '}', (size_t)(p->end - name));
		if (!stop)
			return regex_wrong(p, "\\p{ without its }");
		n = (size_t)(stop++ - ++name);
	}
	p->p = stop;
	if (n && *name == '^') {
		negated = !negated;
		name++;
		n--;
	}
	*out = (struct class_item){ .negated = negated,
				    .property = unicode_property(name, n) };
	return out->property ? 1 : regex_wrong(p, "\\p: no such class of code points");
}

/* \d, \p{..}: 1 taken. */
int regex_take_group(struct parser *p, struct class_item *out)
{
	int err = take_property(p, out);

	if (err)
		return err;
	if (p->end - p->p < 2 || *p->p != '\\' || !class_perl(p->p[1], out))
		return 0;
	p->p += 2;
	return 1;
}
