/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run-cases cgroup|otelenv|relabel FILE: runs every row of a table through the code that ringsided runs.
 * The table is a JSON array, or one object a line.  A line `ok NAME` or `not ok NAME: expected ... got ...`
 * for each row; exit 1 when a row failed, 2 on wrong usage.
 */
#include <err.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/labels.h"

#define LINE_MAX_BYTES (1 << 20)

static int failed;

static void verdict(const char *name, const char *variant, bool ok, const char *want, const char *got)
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

	json_array_foreach(json_object_get(row, "lines"), i, line)
		n += snprintf(file + n, sizeof(file) - n, "%s\n", json_string_value(line));
	cgroup_identify(file, n, &out);
	snprintf(want, sizeof(want), "%s/%s/%s", id ? id : "none", pod ? pod : "none",
		 runtime ? runtime : "any");
	snprintf(got, sizeof(got), "%s/%s/%s", out.container_id[0] ? out.container_id : "none",
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
	return json_pack("{sos:s?}", "attributes", attributes, "service_name", e->service_name);
}

static void check_env(const char *name, const char *variant, json_t *row, json_t *expect, bool lenient)
{
	const char *list = text(json_object_get(row, "OTEL_RESOURCE_ATTRIBUTES"));
	const char *service = text(json_object_get(row, "OTEL_SERVICE_NAME"));
	bool error = json_is_true(json_object_get(row, "error"));
	json_t *want = json_pack("{sOsO}", "attributes", json_object_get(expect, "attributes"),
				 "service_name", json_object_get(expect, "service_name"));
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
		json_t *row = json_loads(line, JSON_ALLOW_NUL, &e);

		if (!row)
			errx(2, "%s: %s", path, e.text);
		run_row(run, row);
		json_decref(row);
	}
	fclose(f);
	free(line);
}

int main(int argc, char **argv)
{
	json_error_t e;
	void (*run)(const char *name, json_t *row);
	json_t *rows;

	if (argc != 3)
		errx(2, "usage: run-cases cgroup|otelenv|relabel FILE");
	if (!strcmp(argv[1], "relabel"))
		errx(2, "relabel: the rules come with a later version");
	if (!strcmp(argv[1], "cgroup"))
		run = run_cgroup;
	else if (!strcmp(argv[1], "otelenv"))
		run = run_otelenv;
	else
		errx(2, "%s: no such table; cgroup, otelenv or relabel", argv[1]);
	rows = json_load_file(argv[2], JSON_ALLOW_NUL, &e);
	if (json_is_array(rows)) {
		run_array(run, rows);
	} else {
		json_decref(rows);
		run_lines(run, argv[2]);
	}
	return failed;
}
