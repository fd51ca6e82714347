/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a stranger as a process context: its payload, its header, the maps that lead to it. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/context/context.h"
#include "sidecar/context/read.h"
#include "sidecar/process/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_label(const struct label *l)
{
	json_t *v;

	if (!l->key[0] || strlen(l->key) > LABEL_KEY_MAX || label_len(l) > LABEL_VALUE_MAX ||
	    !strncmp(l->key, "threadlocal.", 12) || !strcmp(l->key, KEY_SERVICE_NAME) ||
	    (label_is_text(l) && !label_len(l)))
		abort();
	if (l->type != LABEL_JSON)
		return;
	/* Deeper than its own limit or not: what we write is JSON. */
	v = json_loads(l->string, 0, NULL);
	if (!v)
		abort();
	json_decref(v);
}

static void check_payload(const uint8_t *data, size_t n)
{
	struct process_context *c, *again;
	const struct otel_env *e;
	int err = process_context_parse(&c, data, n, 1);

	if (err && err != -EBADMSG)
		abort();
	if (err)
		return;
	e = &c->resource;
	if (e->n > LABELS_MAX || c->n_keys > 256 || (e->service_name && !e->service_name[0]) ||
	    (c->schema != CONTEXT_SCHEMA_ABSENT) != (c->schema_name != NULL))
		abort();
	for (uint32_t i = 0; i < e->n; i++) {
		check_label(&e->attributes[i]);
		if (i && strcmp(e->attributes[i - 1].key, e->attributes[i].key) >= 0)
			abort();
	}
	if (process_context_parse(&again, data, n, 2) || !process_context_same(c, again))
		abort();
	process_context_put(again);
	process_context_put(c);
}

/* --- memory: the input, repeated, at a place of its own --- */

struct input { const uint8_t *p; size_t n; };
#define BASE 0x10000

static int read_input(void *arg, uint64_t address, void *buf, size_t n)
{
	const struct input *in = arg;

	if (address < BASE || address - BASE > in->n || n > in->n - (address - BASE))
		return -EFAULT;
	memcpy(buf, in->p + (address - BASE), n);
	return 0;
}

static void check_memory(const uint8_t *data, size_t n)
{
	static uint8_t payload[CONTEXT_PAYLOAD_MAX + 1];
	struct input in = { data, n };
	struct context_memory m = { .read = read_input, .arg = &in };
	struct context_reading r;

	payload[CONTEXT_PAYLOAD_MAX] = 0x77;
	context_read(&m, BASE, 0, payload, &r);
	if (payload[CONTEXT_PAYLOAD_MAX] != 0x77 || r.attempts > CONTEXT_ATTEMPTS ||
	    r.verdict >= CONTEXT_VERDICTS)
		abort();
	if (r.verdict == CONTEXT_PAYLOAD) {
		if (!r.payload_size || r.payload_size > CONTEXT_PAYLOAD_MAX ||
		    !r.published_ns)
			abort();
		check_payload(payload, r.payload_size);
	}
}

static void on_line(void *arg, const struct maps_line *l)
{
	context_places_add(arg, l->start, l->exec, l->path, l->path_len);
}

static void check_maps(const uint8_t *data, size_t n)
{
	static char buf[MAPS_LINE_MAX];
	struct context_places p = { .hint = BASE };
	struct maps_stream s = { .every = on_line, .arg = &p, .buf = buf };
	struct input in = { data, n };
	struct context_memory m = { .read = read_input, .arg = &in };
	static uint8_t payload[CONTEXT_PAYLOAD_MAX];
	struct context_reading r;

	maps_stream_feed(&s, (const char *)data, n);
	maps_stream_end(&s);
	if (p.n_exact > CONTEXT_PLACES_MAX || p.n_longer > CONTEXT_PLACES_MAX)
		abort();
	context_read_places(&m, &p, 0, 0, payload, &r);
	if (r.verdict == CONTEXT_NONE ? r.address != 0 : r.address == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	check_payload(data, n);
	check_memory(data, n);
	check_maps(data, n);
	return 0;
}
