/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.  key=value pairs between commas; blanks
 * are trimmed, then both sides are percent-decoded.  Strictly, one error drops the whole
 * list, as the specification has it since 2026; leniently, only the bad pair.
 */
#include "sidecar/labels/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/text.h"

#define SERVICE_NAME "service.name"
#define ATTRIBUTES_MAX 128

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* Decodes in place of to (same size at most); -1 on a bad escape. */
static int percent_decode(const char *s, size_t n, char *to)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (c == '%') {
			int high = i + 1 < n ? hex_value(s[i + 1]) : -1;
			int low = i + 2 < n ? hex_value(s[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -1;
			c = high << 4 | low;
			i += 2;
		}
		to[used++] = c;
	}
	return used;
}

/* Trimmed, decoded, valid UTF-8, at most max bytes.  0, -EBADMSG or -ENOMEM. */
static int decode(const char *s, size_t n, size_t max, char **out)
{
	char *raw;
	int used, err = 0;

	text_trim(&s, &n);
	raw = malloc(n + 1);
	if (!raw)
		return -ENOMEM;
	used = percent_decode(s, n, raw);
	if (used < 0)
		err = -EBADMSG;
	else
		err = text_valid_utf8(raw, used, max, out);
	free(raw);
	return err;
}

static struct label *find(struct otel_env *e, const char *key)
{
	for (uint32_t i = 0; i < e->n; i++) {
		if (!strcmp(e->attributes[i].key, key))
			return &e->attributes[i];
	}
	return NULL;
}

/* Takes over key and value.  A duplicate keeps the first one's place and the last one's
 * value. */
static int add(struct otel_env *e, char *key, char *value)
{
	struct label *l = find(e, key);

	if (l) {
		free((char *)l->string);
		l->string = value;
		free(key);
		return 0;
	}
	if (e->n == ATTRIBUTES_MAX) {
		free(key);
		free(value);
		return -EBADMSG;
	}
	if (!e->attributes) {
		e->attributes = calloc(ATTRIBUTES_MAX, sizeof(*e->attributes));
		if (!e->attributes) {
			free(key);
			free(value);
			return -ENOMEM;
		}
	}
	e->attributes[e->n++] = (struct label){ .key = key, .string = value };
	return 0;
}

static int parse_pair(const char *s, size_t n, struct otel_env *e, char **service_name)
{
	const char *eq = memchr(s, '=', n);
	char *key = NULL, *value = NULL;
	int err;

	if (!eq)
		return -EBADMSG;
	err = decode(s, eq - s, LABEL_KEY_MAX + 1, &key);
	if (!err && (!key[0] || strlen(key) > LABEL_KEY_MAX))
		err = -EBADMSG;
	if (!err)
		err = decode(eq + 1, s + n - eq - 1, LABEL_VALUE_MAX, &value);
	if (err) {
		free(key);
		free(value);
		return err;
	}
	if (!strcmp(key, SERVICE_NAME)) {
		free(*service_name);
		*service_name = value;
		free(key);
		return 0;
	}
	return add(e, key, value);
}

static int parse_list(const char *s, bool lenient, struct otel_env *e,
		      char **service_name)
{
	for (;;) {
		size_t len = strcspn(s, ",");
		int err = parse_pair(s, len, e, service_name);

		if (err == -ENOMEM)
			return err;
		if (err) {
			e->error = true;
			if (!lenient)
				return 0;
		}
		if (!s[len])
			return 0;
		s += len + 1;
	}
}

static void drop_attributes(struct otel_env *e)
{
	for (uint32_t i = 0; i < e->n; i++) {
		free((char *)e->attributes[i].key);
		free((char *)e->attributes[i].string);
	}
	free(e->attributes);
	e->attributes = NULL;
	e->n = 0;
}

/* Gives back what the list did not need of its room. */
static void shrink(struct otel_env *e)
{
	struct label *fit = e->n ? realloc(e->attributes, e->n * sizeof(*fit)) : NULL;

	if (!e->n)
		drop_attributes(e);
	else if (fit)
		e->attributes = fit;
}

static bool is_blank(const char *s)
{
	size_t n = strlen(s);

	text_trim(&s, &n);
	return n == 0;
}

int otel_env_parse(const char *resource_attributes, const char *service_name,
		   bool lenient, struct otel_env *out)
{
	char *listed = NULL;
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (resource_attributes && resource_attributes[0])
		err = parse_list(resource_attributes, lenient, out, &listed);
	if (err || (out->error && !lenient)) {
		drop_attributes(out);
		free(listed);
		listed = NULL;
	}
	shrink(out);
	if (!err && service_name && !is_blank(service_name)) {
		out->service_name = strndup(service_name, LABEL_VALUE_MAX);
		err = out->service_name ? 0 : -ENOMEM;
	} else if (listed && listed[0]) {
		out->service_name = listed;
		listed = NULL;
	}
	free(listed);
	if (err)
		otel_env_free(out);
	return err;
}

void otel_env_free(struct otel_env *e)
{
	if (!e)
		return;
	drop_attributes(e);
	free(e->service_name);
	e->service_name = NULL;
}
