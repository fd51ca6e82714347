/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants write about themselves: first byte chooses the parser, the rest is its
 * text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/resolver.h"
#include "sidecar/labels/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_utf8(const char *s, size_t n)
{
	char *once, *twice;

	if (text_valid_utf8(s, n, 4096, &once))
		abort();
	/* What was made valid stays as it is. */
	if (text_valid_utf8(once, strlen(once), 4096, &twice) || strcmp(once, twice))
		abort();
	free(once);
	free(twice);
}

static void build(const struct otel_env *e, const char *text)
{
	struct label label = { .key = text, .string = text };
	struct label_process p = { .pid = 1,
				   .comm = text,
				   .exe_path = text,
				   .exe_name = text,
				   .env = e,
				   .environment = &label,
				   .n_environment = 1 };
	struct resolver_options o = { .config = { .node = text } };
	struct label_result *result;
	struct resolver *r;

	if (resolver_create(&r, &o) || resolver_resolve(r, &p, 1, &result))
		abort();
	for (uint32_t i = 0; i < result->attributes->n; i++) {
		const struct label *l = &result->attributes->labels[i];

		if (!l->key[0] || (label_is_text(l) && strlen(l->string) > LABEL_VALUE_MAX))
			abort();
	}
	label_result_put(result);
	resolver_destroy(r);
}

static void check_env(const char *text, bool lenient)
{
	struct otel_env e;

	if (otel_env_parse(text, text, lenient, &e))
		abort();
	if (e.error && !lenient && e.n)
		abort();
	build(&e, text);
	otel_env_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_identity id;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (data[0] % 4) {
	case 0:
		cgroup_identify((const char *)data + 1, size - 1, &id);
		if (strchr(id.container_id, '/') || strlen(id.container_id) > 128)
			abort();
		break;
	case 1:
	case 2:
		check_env(text, data[0] % 4 == 2);
		break;
	default:
		check_utf8((const char *)data + 1, size - 1);
		break;
	}
	free(text);
	return 0;
}
