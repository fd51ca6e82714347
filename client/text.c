/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/text.h"

void text_init(struct text *t, size_t max)
{
	memset(t, 0, sizeof(*t));
	t->max = max;
}

void text_fini(struct text *t)
{
	free(t->p);
	memset(t, 0, sizeof(*t));
}

void text_clear(struct text *t)
{
	t->len = 0;
	t->failed = false;
	if (t->p)
		t->p[0] = '\0';
}

bool text_failed(const struct text *t)
{
	return t->failed;
}

const char *text_string(const struct text *t)
{
	return t->p ? t->p : "";
}

/* Makes room for len more bytes and the NUL. */
static bool text_reserve(struct text *t, size_t len)
{
	size_t cap = t->cap ? t->cap : 256;
	char *p;

	if (t->failed || len > t->max || t->len > t->max - len) {
		t->failed = true;
		return false;
	}
	while (cap < t->len + len + 1)
		cap *= 2;
	if (cap == t->cap)
		return true;
	p = realloc(t->p, cap);
	if (!p) {
		t->failed = true;
		return false;
	}
	t->p = p;
	t->cap = cap;
	return true;
}

void text_add(struct text *t, const void *bytes, size_t len)
{
	if (!text_reserve(t, len))
		return;
	if (len)
		memcpy(t->p + t->len, bytes, len);
	t->len += len;
	t->p[t->len] = '\0';
}

void text_puts(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_putc(struct text *t, char c)
{
	text_add(t, &c, 1);
}

void text_printf(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0 || !text_reserve(t, n)) {
		t->failed = true;
		return;
	}
	va_start(ap, format);
	vsnprintf(t->p + t->len, n + 1, format, ap);
	va_end(ap);
	t->len += n;
}

void text_double(struct text *t, double v)
{
	char s[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(s, sizeof(s), "%.*g", digits, v);
		if (strtod(s, NULL) == v)
			break;
	}
	text_puts(t, s);
}

void text_pad(struct text *t, size_t start, size_t width)
{
	while (!t->failed && t->len < start + width)
		text_putc(t, ' ');
}
