/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx_payload types: publishes a value of every type.
 * ctx_payload string N: one value of N bytes, under a key of N bytes.
 * ctx_payload names N: a key map of N names.
 * Writes to standard output what a reader would find.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/ctx_reader.h"

#define N(a)		(sizeof(a) / sizeof((a)[0]))
#define STR(s)		{ .type = OTELCTX_STRING, .n = OTELCTX_NUL, .u.data = (s) }
#define INT(i)		{ .type = OTELCTX_INT, .u.integer = (i) }
#define NUMBER(d)	{ .type = OTELCTX_DOUBLE, .u.number = (d) }
#define BOOL(b)		{ .type = OTELCTX_BOOL, .u.integer = (b) }
#define BYTES(s)	{ .type = OTELCTX_BYTES, .n = sizeof(s) - 1, .u.data = (s) }
#define ARRAY(a)	{ .type = OTELCTX_ARRAY, .n = N(a), .u.values = (a) }
#define LIST(a)		{ .type = OTELCTX_KVLIST, .n = N(a), .u.attributes = (a) }

static const struct otelctx_value ints[] = {
	INT(1), INT(-1), INT(INT64_MIN), INT(INT64_MAX), STR("mixed"), { .type = OTELCTX_NONE },
};
static const struct otelctx_attribute inner[] = {
	{ "deep", ARRAY(ints) }, { "flag", BOOL(0) },
};
static const struct otelctx_attribute list[] = { { "list", LIST(inner) }, { "n", INT(300) } };

static const struct otelctx_attribute resource[] = {
	{ "string", STR("caf\xc3\xa9") }, { "empty", STR("") }, { "true", BOOL(5) },
	{ "zero", INT(0) }, { "double", NUMBER(-0.5) }, { "bytes", BYTES("\0\xff") },
};
static const struct otelctx_attribute attributes[] = {
	{ "array", ARRAY(ints) }, { "nested", LIST(list) }, { "none", { .type = OTELCTX_NONE } },
	{ "empty array", { .type = OTELCTX_ARRAY } },
};

static int publish_types(void)
{
	const struct otelctx_process p = {
		.size = sizeof(p), .resource = resource, .n_resource = N(resource),
		.attributes = attributes, .n_attributes = N(attributes),
	};

	return otelctx_process_publish(&p);
}

static int publish_string(size_t n)
{
	char *s = malloc(n + 1);
	int error;
	struct otelctx_attribute a = { .key = s, .value = STR(s) };
	const struct otelctx_process p = {
		.size = sizeof(p), .resource = &a, .n_resource = 1,
	};

	if (!s)
		return -1;
	memset(s, 'x', n);
	s[n] = '\0';
	error = otelctx_process_publish(&p);
	free(s);		/* published is a copy */
	return error;
}

static int publish_names(size_t n)
{
	struct otelctx_process p = { .size = sizeof(p) };
	char name[32];
	int error = otelctx_names_create(&p.names, NULL, 0);

	if (!error)
		error = otelctx_process_publish(&p);
	for (size_t i = 0; i < n && error >= 0; i++) {
		snprintf(name, sizeof(name), "name.%zu", i);
		error = otelctx_names_add(p.names, name);
	}
	return error < 0 ? error : 0;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	const struct otel_ctx_header *h;
	int error;

	if (argc < 2)
		errx(2, "usage: ctx_payload types | string N | names N");
	if (!strcmp(argv[1], "types"))
		error = publish_types();
	else
		error = !strcmp(argv[1], "names") ? publish_names(n) : publish_string(n);
	if (error)
		errx(1, "%s", strerror(-error));
	h = ctx_own();
	if (!h)
		errx(1, "no mapping");
	return fwrite((const void *)(uintptr_t)h->payload, h->payload_size, 1, stdout) != 1;
}
