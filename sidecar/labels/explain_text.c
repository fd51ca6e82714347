/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/explain_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/text.h"

/* Controls, and what makes a terminal show other text than what is there. */
static bool is_deceptive(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

void explain_text(FILE *out, const char *s, size_t n)
{
	char *valid = NULL;
	size_t len;

	if (text_valid_utf8(s, n, n * 3, &valid))
		return;
	for (const char *p = valid; *p; p += len) {
		uint32_t c = text_code_point(p, &len);

		if (is_deceptive(c))
			fprintf(out, c < 0x80 ? "\\x%02x" : "\\u{%x}", (unsigned)c);
		else
			fwrite(p, 1, len, out);
	}
	free(valid);
}

json_t *explain_text_json(const char *s, size_t n)
{
	char *valid = NULL;
	json_t *v;

	if (text_valid_utf8(s, n, n * 3, &valid))
		return NULL;
	v = json_string(valid);
	free(valid);
	return v;
}

json_t *explain_value_json(const struct label *l)
{
	char words[2 * LABEL_VALUE_MAX + 1];
	const char *text;
	json_t *list;

	switch (l->type) {
	case LABEL_INT:
		return json_integer(l->number);
	case LABEL_BOOL:
		return json_boolean(l->number);
	case LABEL_DOUBLE:
		if (isfinite(l->real))
			return json_real(l->real);
		break;
	case LABEL_JSON:
		list = json_loads(l->string, 0, NULL);
		if (list)
			return list;
		break;
	default:
		break;
	}
	text = label_words(l, words, sizeof(words));
	return explain_text_json(text, strlen(text));
}

void explain_label(FILE *out, const struct label *l)
{
	char words[2 * LABEL_VALUE_MAX + 1];
	const char *text = label_words(l, words, sizeof(words));

	fputs("  ", out);
	explain_text(out, l->key, strlen(l->key));
	fputs(" = ", out);
	explain_text(out, text, strlen(text));
	fputc('\n', out);
}
