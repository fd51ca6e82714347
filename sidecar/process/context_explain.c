/* SPDX-License-Identifier: Apache-2.0 */
/* --explain-context: what a process publishes of itself, or why nothing is known of it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sidecar/context/context.h"
#include "sidecar/context/read.h"
#include "sidecar/labels/explain_text.h"
#include "sidecar/process/table.h"
#include "sidecar/process/thread_explain.h"

/* Why there is no context, in plain words; NULL: there is one. */
static const char *why_none(const struct image_own *io)
{
	const struct image_context *c = &io->context;

	if (io->i.context)
		return NULL;
	if (io->i.kthread)
		return "it is a kernel thread";
	if (c->state == CONTEXT_PAYLOAD)
		return c->malformed ? "its payload is no valid protobuf"
				    : "all contexts together are beyond the limit";
	return context_verdict_words(c->state);
}

static const char *schema_words(const struct process_context *c)
{
	static const char *const words[] = {
		[CONTEXT_SCHEMA_ABSENT] =
			"none: it declares no threadlocal.schema_version",
		[CONTEXT_SCHEMA_TLS] = "by thread-local storage",
		[CONTEXT_SCHEMA_NODEJS] = "by Node.js, which this version does not read",
		[CONTEXT_SCHEMA_GO_LABELS] =
			"by Go's profiler labels, which this version does not read",
		[CONTEXT_SCHEMA_UNKNOWN] =
			"by a schema that this version does not know",
	};

	return c ? words[c->schema] : "none: it has no process context";
}

/* --- for people --- */

static void where_text(const struct answer_context *r, FILE *out)
{
	if (!r->address)
		return;
	fprintf(out, "  mapping   %s at 0x%" PRIx64 "\n", context_name_words(r->name),
		r->address);
	if (r->places > 1)
		fprintf(out, "  mappings of that name: %u\n", r->places);
	if (r->version)
		fprintf(out, "  version   %u\n", r->version);
	if (r->published_ns)
		fprintf(out,
			"  stamp     %" PRIu64 " ns, boot clock of its time namespace\n",
			r->published_ns);
	if (r->payload_address)
		fprintf(out, "  payload   %u bytes at 0x%" PRIx64 "\n", r->payload_size,
			r->payload_address);
}

static void resource_text(const struct process_context *c, FILE *out)
{
	const struct otel_env *e = &c->resource;

	fputs("resource:\n", out);
	if (e->service_name)
		explain_label(out, &(struct label){ .key = KEY_SERVICE_NAME,
						    .string = e->service_name });
	for (uint32_t i = 0; i < e->n; i++)
		explain_label(out, &e->attributes[i]);
	if (!e->service_name && !e->n)
		fputs("  (nothing)\n", out);
	if (c->left_out)
		fprintf(out,
			"  and %u more that a label cannot hold (too long, too many, or service.name no text)\n",
			c->left_out);
}

/* What it declares of its threads, and how they are reached. */
static void threads_text(const struct process_context *c, FILE *out)
{
	fprintf(out, "thread contexts: %s\n", schema_words(c));
	if (!c || !c->schema_name)
		return;
	fputs("  schema    ", out);
	explain_text(out, c->schema_name, strlen(c->schema_name));
	if (c->keys_in_resource)
		fputs(", declared in the wrong field, the resource", out);
	fputc('\n', out);
	for (uint32_t i = 0; i < c->n_keys; i++) {
		fprintf(out, "  key %-5u ", i);
		if (c->keys[i])
			explain_text(out, c->keys[i], strlen(c->keys[i]));
		else
			fputs("(no name)", out);
		fputc('\n', out);
	}
}

static void all_text(const struct image_own *io, const struct explained_threads *threads,
		     FILE *out)
{
	const char *why = why_none(io);

	fprintf(out, "process %u (", io->i.pid);
	explain_text(out, io->i.comm, strlen(io->i.comm));
	fprintf(out, "): process context: %s\n", why ? why : "published");
	where_text(&io->context.read, out);
	if (io->i.context)
		resource_text(io->i.context, out);
	threads_text(io->i.context, out);
	thread_explain_text(&io->i, threads, out);
}

/* --- for programs --- */

static void set_address(json_t *o, const char *key, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	json_object_set_new(o, key, v ? json_string(text) : json_null());
}

static json_t *text_or_null(const char *s)
{
	return s ? explain_text_json(s, strlen(s)) : json_null();
}

static json_t *resource_json(const struct otel_env *e)
{
	json_t *o = json_object();

	if (e->service_name)
		json_object_set_new(o, KEY_SERVICE_NAME, text_or_null(e->service_name));
	for (uint32_t i = 0; i < e->n; i++)
		json_object_set_new(o, e->attributes[i].key,
				    explain_value_json(&e->attributes[i]));
	return o;
}

/* Numbers beyond 2^53 as text, as everywhere in Ringside's JSON. */
static json_t *process_json(const struct image_own *io)
{
	const struct answer_context *r = &io->context.read;
	const char *why = why_none(io);
	json_t *o = json_object();
	char stamp[32];

	snprintf(stamp, sizeof(stamp), "%" PRIu64, r->published_ns);
	json_object_set_new(o, "published", json_boolean(!why));
	json_object_set_new(o, "why", text_or_null(why));
	json_object_set_new(o, "mapping",
			    text_or_null(r->address ? context_name_words(r->name) : NULL));
	set_address(o, "address", r->address);
	json_object_set_new(o, "mappings", json_integer(r->places));
	json_object_set_new(o, "version", json_integer(r->version));
	json_object_set_new(o, "published_nano", json_string(stamp));
	json_object_set_new(o, "payload_bytes", json_integer(r->payload_size));
	set_address(o, "payload_address", r->payload_address);
	json_object_set_new(o, "resource",
			    io->i.context ? resource_json(&io->i.context->resource)
					  : json_null());
	json_object_set_new(o, "left_out",
			    json_integer(io->i.context ? io->i.context->left_out : 0));
	return o;
}

static json_t *threads_json(const struct image_own *io,
			    const struct explained_threads *threads)
{
	const struct process_context *c = io->i.context;
	json_t *o = json_object(), *keys = json_array();

	for (uint32_t i = 0; c && i < c->n_keys; i++)
		json_array_append_new(keys, text_or_null(c->keys[i]));
	json_object_set_new(o, "read", text_or_null(schema_words(c)));
	json_object_set_new(o, "schema", text_or_null(c ? c->schema_name : NULL));
	json_object_set_new(o, "keys", keys);
	json_object_set_new(o, "declared_in_resource",
			    json_boolean(c && c->keys_in_resource));
	thread_explain_json(&io->i, threads, o);
	return o;
}

static int all_json(const struct image_own *io, const struct explained_threads *threads,
		    FILE *out)
{
	json_t *o = json_object();
	int err;

	json_object_set_new(o, "pid", json_integer(io->i.pid));
	json_object_set_new(o, "comm", text_or_null(io->i.comm));
	json_object_set_new(o, "process_context", process_json(io));
	json_object_set_new(o, "thread_context", threads_json(io, threads));
	err = json_dumpf(o, out, JSON_COMPACT | JSON_ENSURE_ASCII) ? -EIO : 0;
	json_decref(o);
	fputc('\n', out);
	return err;
}

int process_explain_context(struct image *i, const struct explained_threads *threads,
			    FILE *out, bool json)
{
	if (json)
		return all_json(own(i), threads, out);
	all_text(own(i), threads, out);
	return 0;
}
