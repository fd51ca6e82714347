/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run-cases cgroup|otelenv|relabel FILE: runs every row of a table through the code that
 * ringsided runs. The table is a JSON array, or one object a line.  A line `ok NAME` or
 * `not ok NAME: expected ... got ...` for each row; exit 1 when a row failed, 2 on wrong
 * usage.
 */
#include <err.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/labels.h"
#include "sidecar/options.h"

#define LINE_MAX_BYTES (1 << 20)

static int failed;

static void verdict(const char *name, const char *variant, bool ok, const char *want,
		    const char *got)
{
	if (ok) {
		printf("ok %s%s\n", name, variant);
	} else {
		printf("not ok %s%s: expected %s got %s\n", name, variant, want, got);
		failed = 1;
	}
}

static const char *text(json_t *v)
{
	return json_is_string(v) ? json_string_value(v) : NULL;
}

static bool same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static void run_cgroup(const char *name, json_t *row)
{
	const char *id = text(json_object_get(row, "container_id"));
	const char *pod = text(json_object_get(row, "pod_uid"));
	const char *runtime = text(json_object_get(row, "runtime"));
	char file[65536], want[512], got[512];
	struct cgroup_identity out;
	size_t i, n = 0;
	json_t *line;

	json_array_foreach(json_object_get(row, "lines"), i, line) n +=
		snprintf(file + n, sizeof(file) - n, "%s\n", json_string_value(line));
	cgroup_identify(file, n, &out);
	snprintf(want, sizeof(want), "%s/%s/%s", id ? id : "none", pod ? pod : "none",
		 runtime ? runtime : "any");
	snprintf(got, sizeof(got), "%s/%s/%s",
		 out.container_id[0] ? out.container_id : "none",
		 out.pod_uid[0] ? out.pod_uid : "none", out.runtime);
	verdict(name, "", same(id, out.container_id) && same(pod, out.pod_uid) &&
		(!runtime || same(runtime, out.runtime)), want, got);
}

/* The environment's half as JSON: compared and printed in one form. */
static json_t *env_as_json(const struct otel_env *e)
{
	json_t *attributes = json_array();

	for (uint32_t i = 0; i < e->n; i++)
		json_array_append_new(attributes, json_pack("[ss]", e->attributes[i].key,
							     e->attributes[i].string));
	return json_pack("{sos:s?}", "attributes", attributes, "service_name",
			 e->service_name);
}

static void check_env(const char *name, const char *variant, json_t *row, json_t *expect,
		      bool lenient)
{
	const char *list = text(json_object_get(row, "OTEL_RESOURCE_ATTRIBUTES"));
	const char *service = text(json_object_get(row, "OTEL_SERVICE_NAME"));
	bool error = json_is_true(json_object_get(row, "error"));
	json_t *want = json_pack("{sOsO}", "attributes",
				 json_object_get(expect, "attributes"), "service_name",
				 json_object_get(expect, "service_name"));
	struct otel_env out;
	json_t *got;
	char *a, *b;

	if (otel_env_parse(list, service, lenient, &out))
		errx(1, "out of memory");
	got = env_as_json(&out);
	a = json_dumps(want, JSON_COMPACT);
	b = json_dumps(got, JSON_COMPACT);
	verdict(name, variant, json_equal(want, got) && out.error == error, a, b);
	free(a);
	free(b);
	json_decref(want);
	json_decref(got);
	otel_env_free(&out);
}

static void run_otelenv(const char *name, json_t *row)
{
	json_t *lenient = json_object_get(row, "lenient");

	check_env(name, "", row, row, false);
	check_env(name, " (lenient)", row, lenient ? lenient : row, true);
}

/* jansson's numbers end at 2^63; a longer one goes through it as a text, and becomes a
 * number again. */
#define QUOTED_NUMBER "\"u64:"

static json_t *parse(const char *json, json_error_t *e)
{
	char *copy = malloc(strlen(json) * 2 + 1), *to = copy;
	json_t *v;

	if (!copy)
		errx(1, "out of memory");
	for (bool string = false; *json; ) {
		size_t digits = string ? 0 : strspn(json, "0123456789");

		if (digits > 18) {
			to = mempcpy(to, QUOTED_NUMBER, sizeof(QUOTED_NUMBER) - 1);
			to = mempcpy(to, json, digits);
			*to++ = '"';
			json += digits;
			continue;
		}
		if (*json == '"')
			string = !string;
		else if (*json == '\\')
			*to++ = *json++;
		*to++ = *json++;
	}
	*to = 0;
	v = json_loads(copy, JSON_ALLOW_NUL, e);
	free(copy);
	return v;
}

/*
 * The rules as ringside.yaml has them: JSON is YAML, so that a row goes through the
 * loader with all its types. Only libyaml takes no surrogates: \\ud83d\\ude00 becomes
 * \\U0001f600.
 */
static char *as_yaml(json_t *rules)
{
	char *json = json_dumps(rules, JSON_ENSURE_ASCII), *yaml = NULL, *to, *from;
	unsigned high, low;

	if (!json || asprintf(&yaml, "relabel_configs: %s\n", json) < 0)
		errx(1, "out of memory");
	free(json);
	for (from = to = yaml; *from; ) {
		if (!strncmp(from, QUOTED_NUMBER, sizeof(QUOTED_NUMBER) - 1)) {
			for (from += sizeof(QUOTED_NUMBER) - 1; *from != '"'; )
				*to++ = *from++;
			from++;
			continue;
		}
		if (from[0] == '\\' && from[1] != 'u') {
			*to++ = *from++;
		} else if (sscanf(from, "\\u%4x\\u%4x", &high, &low) == 2 &&
			   high >= 0xd800 && high < 0xdc00) {
			/* Shorter than what it stands for. */
			snprintf(to, 11, "\\U%08x",
				 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
			to += 10;
			from += 12;
			continue;
		}
		*to++ = *from++;
	}
	*to = 0;
	return yaml;
}

static json_t *labels_as_json(const struct label_builder *b)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < b->n; i++) {
		const struct builder_label *l = &b->labels[i];

		json_object_setn_new(o, l->name.p, l->name.n,
				     json_stringn(l->value.p, l->value.n));
	}
	return o;
}

static json_t *relabelled(struct config *c, json_t *input)
{
	struct label_builder b = { .n = 0 };
	const char *key;
	size_t key_len;
	json_t *value, *got = NULL;

	json_object_keylen_foreach(input, key, key_len, value)
		label_builder_set(&b, (struct text_span){ key, key_len },
				  (struct text_span){ json_string_value(value),
						      json_string_length(value) });
	label_builder_begin_rules(&b);
	got = relabel_run(&c->relabel, &b, NULL) ? labels_as_json(&b) : json_null();
	label_builder_fini(&b);
	return got;
}

/*
 * Rows that are marked unsure are decided as the tables say: what parca does is what an
 * operator who brings rules along expects.  labelmap may make a label without a name; it
 * is left out when attributes are made.
 */
static void run_relabel(const char *name, json_t *row)
{
	struct config c = { .relabel.legacy_names = same(
				    text(json_object_get(row, "scheme")), "legacy") };
	json_t *want = json_object_get(row, "output"), *got;
	char *yaml = as_yaml(json_object_get(row, "config")), *a, *b, *said = NULL;
	bool error = json_object_get(row, "error") != NULL;
	struct yaml_result result = { 0 };
	size_t n_said;
	FILE *out = open_memstream(&said, &n_said);

	yaml_config_parse(&c, "rules", yaml, strlen(yaml), out, &result);
	fclose(out);
	got = result.errors ? json_string("error")
			    : relabelled(&c, json_object_get(row, "input"));
	a = error ? strdup("\"error\"")
		  : json_dumps(want, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	b = json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	verdict(name, "",
		error ? result.errors != 0 : !result.errors && json_equal(want, got), a,
		result.errors ? said : b);
	free(a);
	free(b);
	free(said);
	free(yaml);
	json_decref(got);
	config_free(&c);
}

static void run_row(void (*run)(const char *, json_t *), json_t *row)
{
	const char *name = text(json_object_get(row, "name"));

	if (!name)
		errx(2, "a row without a name");
	run(name, row);
}

static void run_array(void (*run)(const char *, json_t *), json_t *rows)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
		run_row(run, row);
	json_decref(rows);
}

static void run_lines(void (*run)(const char *, json_t *), const char *path)
{
	char *line = malloc(LINE_MAX_BYTES);
	FILE *f = fopen(path, "r");
	json_error_t e;

	if (!f || !line)
		err(2, "%s", path);
	while (fgets(line, LINE_MAX_BYTES, f)) {
		json_t *row = parse(line, &e);

		if (!row)
			errx(2, "%s: %s", path, e.text);
		run_row(run, row);
		json_decref(row);
	}
	fclose(f);
	free(line);
}

static json_t *load(const char *path, json_error_t *e)
{
	char *text = NULL;
	size_t cap = 0;
	FILE *f = fopen(path, "r");
	json_t *v;

	if (!f || getdelim(&text, &cap, 0, f) < 0)
		err(2, "%s", path);
	v = parse(text, e);
	free(text);
	fclose(f);
	return v;
}

int main(int argc, char **argv)
{
	json_error_t e;
	void (*run)(const char *name, json_t *row);
	json_t *rows;

	if (argc != 3)
		errx(2, "usage: run-cases cgroup|otelenv|relabel FILE");
	if (!strcmp(argv[1], "cgroup"))
		run = run_cgroup;
	else if (!strcmp(argv[1], "otelenv"))
		run = run_otelenv;
	else if (!strcmp(argv[1], "relabel"))
		run = run_relabel;
	else
		errx(2, "%s: no such table; cgroup, otelenv or relabel", argv[1]);
	rows = load(argv[2], &e);
	if (json_is_array(rows)) {
		run_array(run, rows);
	} else {
		json_decref(rows);
		run_lines(run, argv[2]);
	}
	return failed;
}
