/* SPDX-License-Identifier: Apache-2.0 */
/* One label: what its value is, compared and in words. */
#include "sidecar/labels/labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t label_len(const struct label *l)
{
	if (l->type == LABEL_BYTES)
		return l->len;
	return label_is_text(l) ? strlen(l->string) : 0;
}

bool label_same(const struct label *a, const struct label *b)
{
	size_t n = label_len(a);

	if (a->type != b->type || strcmp(a->key, b->key))
		return false;
	if (label_is_text(a))
		return n == label_len(b) && !memcmp(a->string, b->string, n);
	if (a->type == LABEL_DOUBLE)		/* as bits: what is no number equals itself */
		return !memcmp(&a->real, &b->real, sizeof(a->real));
	return a->number == b->number;
}

void label_double(double v, char buf[LABEL_DOUBLE_MAX])
{
	if (!isfinite(v)) {
		snprintf(buf, LABEL_DOUBLE_MAX, "%s",
			 isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, LABEL_DOUBLE_MAX, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
}

static const char *hex(const struct label *l, char *buf, size_t cap)
{
	size_t n = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < l->len && n + 2 < cap; i++)
		n += (size_t)snprintf(buf + n, cap - n, "%02x",
				      (unsigned char)l->string[i]);
	return buf;
}

const char *label_words(const struct label *l, char *buf, size_t cap)
{
	char number[LABEL_DOUBLE_MAX];

	switch (l->type) {
	case LABEL_INT:
		snprintf(buf, cap, "%" PRId64, l->number);
		return buf;
	case LABEL_BOOL:
		snprintf(buf, cap, "%s", l->number ? "true" : "false");
		return buf;
	case LABEL_DOUBLE:
		label_double(l->real, number);
		snprintf(buf, cap, "%s", number);
		return buf;
	case LABEL_BYTES:
		return hex(l, buf, cap);
	default:
		return l->string;
	}
}
