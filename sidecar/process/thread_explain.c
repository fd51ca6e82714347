/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/process/thread_explain.h"

#include <inttypes.h>
#include <string.h>

#include "sidecar/context/context.h"
#include "sidecar/context/thread_record.h"
#include "sidecar/labels/explain_text.h"
#include "sidecar/process/table.h"

/* --- how they are reached ---------------------------------------------------------------- */

static const char *libc_name(const struct thread_plan *p)
{
	return p->target.libc == TLS_LIBC_MUSL ? "musl" : "glibc";
}

/* Why there is no way; NULL: there is one. */
static const char *why_not(const struct thread_plan *p)
{
	if (p->state == THREAD_PLAN_FILES)
		return "its files are still being looked into";
	if (p->state == THREAD_PLAN_WORDS)
		return "its memory is still being read";
	return p->plan.n_ways ? NULL : tls_why_text(p->plan.why);
}

static void way_words(const struct thread_plan *p, uint32_t i, char *to, size_t n)
{
	const struct ev_context_way *w = &p->plan.way[i];
	char generation[40] = "";

	if (w->kind == EV_WAY_STATIC) {
		snprintf(to, n, "thread pointer %+" PRId64, (int64_t)w->offset);
		return;
	}
	if (w->generation)
		snprintf(generation, sizeof(generation), ", generation %" PRIu64,
			 (uint64_t)w->generation);
	snprintf(to, n, "module %" PRIu64 " of the DTV (%s%s), offset %" PRId64,
		 (uint64_t)w->module, libc_name(p), generation, (int64_t)w->offset);
}

static const char *way_access(const struct thread_plan *p, uint32_t i)
{
	return p->plan.access[i] ? tls_access_name(p->plan.access[i]) : "local exec";
}

static void definer_text(const struct thread_plan *p, uint32_t i, FILE *out)
{
	const struct tls_module *m = &p->target.modules[i];
	const struct tls_facts *f = m->facts;

	fputs("  defined by ", out);
	explain_text(out, p->files[i]->path, strlen(p->files[i]->path));
	fprintf(out, ", loaded at 0x%" PRIx64 ", value 0x%" PRIx64 "%s\n", m->bias, f->st_value,
		f->from_symtab ? ", by .symtab" : "");
	for (uint16_t k = 0; k < f->n_relocs; k++)
		fprintf(out, "    relocation %s at 0x%" PRIx64 "%s\n",
			tls_access_name(f->relocs[k].access), f->relocs[k].at,
			f->relocs[k].by_addend ? ", without a symbol" : "");
	if (!f->n_relocs)
		fputs("    no relocation\n", out);
}

static void plan_text(const struct thread_plan *p, FILE *out)
{
	const char *why = why_not(p);
	char words[128];

	fprintf(out, "  variable  %s\n", OTEL_THREAD_CTX_SYMBOL);
	for (uint32_t i = 0; i < p->target.n_modules; i++)
		definer_text(p, i, out);
	if (why)
		fprintf(out, "  not reached: %s\n", why);
	for (uint32_t i = 0; i < p->plan.n_ways; i++) {
		way_words(p, i, words, sizeof(words));
		fprintf(out, "  reached by %s: %s\n", way_access(p, i), words);
	}
}

/* --- what they have ---------------------------------------------------------------------- */

/* As `ringside` calls them. */
static const char *state_name(const struct explained_thread *t)
{
	static const char *const names[] = {
		[EV_CONTEXT_ABSENT] = "absent", [EV_CONTEXT_OK] = "ok",
		[EV_CONTEXT_NONE] = "none", [EV_CONTEXT_UNALLOCATED] = "unallocated",
		[EV_CONTEXT_FAULT] = "fault", [EV_CONTEXT_INVALID] = "invalid",
	};

	return t->error ? strerror(-t->error) : names[t->state];
}

static void hex(const uint8_t *bytes, size_t n, char *to)
{
	for (size_t i = 0; i < n; i++)
		snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static void record_text(const struct explained_thread *t, const struct process_context *c,
			FILE *out)
{
	static struct thread_record r;
	char id[33];

	if (t->error || t->state != EV_CONTEXT_OK ||
	    thread_record_read(&r, t->slot.bytes, t->slot.n, c->keys, c->n_keys))
		return;
	if (r.has_link) {
		hex(r.trace_id, sizeof(r.trace_id), id);
		fprintf(out, ", trace %s", id);
		hex(r.span_id, sizeof(r.span_id), id);
		fprintf(out, ", span %s", id);
	}
	for (uint32_t i = 0; i < r.n; i++) {
		fputs(", ", out);
		explain_text(out, r.attributes[i].key, strlen(r.attributes[i].key));
		fputc('=', out);
		explain_text(out, r.attributes[i].string, r.attributes[i].len);
	}
	if (r.unknown_key)
		fputs(", and keys beyond the map", out);
}

void thread_explain_text(const struct image *i, const struct explained_threads *threads,
			 FILE *out)
{
	const struct thread_plan *p = ((const struct image_own *)i)->plan;

	if (!p)
		return;
	plan_text(p, out);
	for (uint32_t k = 0; k < threads->n; k++) {
		const struct explained_thread *t = &threads->thread[k];

		fprintf(out, "  thread %u (", t->tid);
		explain_text(out, t->comm, strnlen(t->comm, sizeof(t->comm)));
		fprintf(out, "): %s", state_name(t));
		record_text(t, i->context, out);
		fputc('\n', out);
	}
	if (threads->more)
		fprintf(out, "  and %u threads more\n", threads->more);
}

/* --- for programs -------------------------------------------------------------------------- */

static json_t *definers_json(const struct thread_plan *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->target.n_modules; i++) {
		const struct tls_facts *f = p->target.modules[i].facts;
		const char *path = p->files[i]->path;
		json_t *o = json_object(), *relocations = json_array();

		for (uint16_t k = 0; k < f->n_relocs; k++)
			json_array_append_new(
				relocations,
				json_string(tls_access_name(f->relocs[k].access)));
		json_object_set_new(o, "path", explain_text_json(path, strlen(path)));
		json_object_set_new(o, "relocations", relocations);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *ways_json(const struct thread_plan *p)
{
	json_t *list = json_array();
	char words[128];

	for (uint32_t i = 0; i < p->plan.n_ways; i++) {
		json_t *o = json_object();

		way_words(p, i, words, sizeof(words));
		json_object_set_new(o, "access", json_string(way_access(p, i)));
		json_object_set_new(o, "place", json_string(words));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *thread_json(const struct explained_thread *t, const struct process_context *c)
{
	static struct thread_record r;
	json_t *o = json_object();
	char id[33];

	json_object_set_new(o, "tid", json_integer(t->tid));
	json_object_set_new(o, "comm",
			    explain_text_json(t->comm, strnlen(t->comm, sizeof(t->comm))));
	json_object_set_new(o, "state", json_string(state_name(t)));
	if (t->error || t->state != EV_CONTEXT_OK ||
	    thread_record_read(&r, t->slot.bytes, t->slot.n, c->keys, c->n_keys))
		return o;
	if (r.has_link) {
		hex(r.trace_id, sizeof(r.trace_id), id);
		json_object_set_new(o, "trace_id", json_string(id));
		hex(r.span_id, sizeof(r.span_id), id);
		json_object_set_new(o, "span_id", json_string(id));
	}
	json_object_set_new(o, "attributes", json_integer(r.n));
	return o;
}

void thread_explain_json(const struct image *i, const struct explained_threads *threads,
			 json_t *to)
{
	const struct thread_plan *p = ((const struct image_own *)i)->plan;
	const char *why = p ? why_not(p) : "not looked for";
	json_t *list = json_array();

	json_object_set_new(to, "reached", json_boolean(!why));
	json_object_set_new(to, "why", why ? json_string(why) : json_null());
	if (p) {
		json_object_set_new(to, "definers", definers_json(p));
		json_object_set_new(to, "ways", ways_json(p));
	}
	for (uint32_t k = 0; p && k < threads->n; k++)
		json_array_append_new(list, thread_json(&threads->thread[k], i->context));
	json_object_set_new(to, "threads", list);
}
