/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of /proc/PID: first byte chooses the parser, the rest is the file's text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/process/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen { uint64_t sum; uint32_t n; };

static int see(void *arg, const struct maps_line *l)
{
	struct seen *s = arg;

	if (l->start >= l->end || (l->path && l->path_len > MAPS_LINE_MAX))
		abort();
	s->sum = s->sum * 31 + l->start + l->end + l->offset + l->inode + l->path_len;
	s->n++;
	return 0;
}

static struct seen run_maps(const char *text, size_t n, size_t step)
{
	static char buf[MAPS_LINE_MAX];
	struct seen got = { 0 };
	struct maps_stream s = { .fn = see, .arg = &got, .buf = buf };

	for (size_t at = 0; at < n; at += step)
		maps_stream_feed(&s, text + at, n - at < step ? n - at : step);
	maps_stream_end(&s);
	return got;
}

/* The result does not depend on how the reads cut the text. */
static void fuzz_maps(const char *text, size_t n)
{
	struct seen whole = run_maps(text, n, n ? n : 1), cut = run_maps(text, n, 7);

	if (n < MAPS_LINE_MAX && (whole.n != cut.n || whole.sum != cut.sum))
		abort();
}

static void fuzz_environ(const char *text, size_t n)
{
	static const char *const names[] = { "OTEL_SERVICE_NAME", "A", "" };
	struct env_filter f = { names, 3 };
	char out[512];
	int got = environ_filter(text, n, &f, out, sizeof(out));

	if (got > 0 && out[got - 1] != 0)
		abort();
	if (got > 0)
		environ_get(out, got, "A");
	environ_get(text, n, "A");
}

static void fuzz_paths(const char *text, size_t n)
{
	char *copy = malloc(n + 1);
	const char *path;
	size_t len;

	memcpy(copy, text, n);
	if (maps_unescape(copy, n) > n)
		abort();
	path_has_deleted_mark(text, n);
	path_is_anonymous(text, n);
	free(copy);
	if (cgroup_choose(text, n, &path, &len) && (path < text || path + len > text + n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct proc_status status;
	struct proc_stat st;

	if (!size)
		return 0;
	switch (data[0] % 5) {
	case 0:
		if (!stat_parse(text, size - 1, &st) &&
		    strnlen(st.comm, COMM_MAX) == COMM_MAX)
			abort();
		break;
	case 1:
		fuzz_maps(text, size - 1);
		break;
	case 2:
		fuzz_environ(text, size - 1);
		break;
	case 3:
		fuzz_paths(text, size - 1);
		break;
	default:
		status_parse(text, size - 1, &status);
		break;
	}
	return 0;
}
