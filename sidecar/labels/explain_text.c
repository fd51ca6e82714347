/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/explain_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/text.h"

void explain_text(FILE *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] < 0xa0))
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
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
