/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON object a line.  The keys are documented in ringside(1) and never change their
 * meaning. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/format.h"
#include "client/frame.h"
#include "client/time.h"

static void put_value(struct json *j, const struct ringside_attribute *a)
{
	const char *s = a->string ? a->string : "";
	size_t len = a->string ? a->len : 0;

	switch (a->type) {
	case RINGSIDE_INT:
		json_i64(j, a->number);
		break;
	case RINGSIDE_BOOL:
		json_bool(j, a->number != 0);
		break;
	case RINGSIDE_DOUBLE:
		json_double(j, a->real);
		break;
	case RINGSIDE_BYTES:
		json_base64(j, s, len);
		break;
	case RINGSIDE_JSON:
		json_embed(j, s, len);
		break;
	default:
		json_string_n(j, s, len);
	}
}

void format_json_attributes(struct json *j, const struct ringside_attribute *a,
			    uint32_t n)
{
	json_open(j, '{');
	for (uint32_t i = 0; i < n; i++) {
		if (!a[i].key)
			continue;
		json_key(j, a[i].key);
		put_value(j, &a[i]);
	}
	json_close(j, '}');
}

static void put_name(struct json *j, const char *key, const char *name, uint32_t value)
{
	char buf[NAME_BUF];

	json_put_string(j, key, name_or_number(name, value, buf));
}

static void put_frame(struct json *j, const struct ringside_frame *f)
{
	char address[24];

	json_open(j, '{');
	json_put_string(j, "function", f->function);
	json_put_string(j, "system_name", f->system_name);
	json_put_string(j, "file", f->file);
	if (f->line)
		json_put_u64(j, "line", f->line);
	if (f->function)
		json_put_u64(j, "offset", f->offset);
	json_put_bool(j, "inlined", f->inlined);
	put_name(j, "type", ringside_frame_type_name(f->type), f->type);
	snprintf(address, sizeof(address), "0x%" PRIx64, f->address);
	json_put_string(j, "address", address);
	if (f->mapping) {
		json_put_string(j, "mapping", f->mapping->path);
		json_put_string(j, "build_id", f->mapping->build_id);
		if (f->mapping->build_id)
			put_name(j, "build_id_kind",
				 ringside_build_id_kind_name(f->mapping->build_id_kind),
				 f->mapping->build_id_kind);
	}
	if (f->cut)
		json_put_bool(j, "cut", true);
	json_close(j, '}');
}

static void put_comm(struct json *j, const char comm[16])
{
	json_key(j, "comm");
	json_string_n(j, comm, strnlen(comm, 16));
}

static void put_resource(struct json *j, const struct ringside_resource *r)
{
	if (!r->n)
		return;
	json_key(j, "resource");
	format_json_attributes(j, r->attributes, r->n);
}

static void put_stack(struct json *j, const struct format *f,
		      const struct ringside_sample *s)
{
	uint32_t depth = stack_depth(s), n = depth < f->frames ? depth : f->frames;

	if (!n)
		return;
	json_key(j, "stack");
	json_open(j, '[');
	for (uint32_t i = 0; i < n; i++)
		put_frame(j, stack_frame(s, i));
	json_close(j, ']');
}

static void put_identity(struct json *j, uint32_t pid, uint64_t start_ns)
{
	json_put_u64(j, "pid", pid);
	if (start_ns)
		json_put_u64_string(j, "process_start_boot_nano", start_ns);
}

static void put_sample(struct json *j, const struct format *f,
		       const struct ringside_sample *s)
{
	put_name(j, "event", ringside_event_name(s->event), s->event);
	json_put_u64_string(j, "weight", s->weight);
	put_name(j, "unit", ringside_unit_name(s->unit), s->unit);
	put_identity(j, s->pid, s->process_start_ns);
	json_put_u64(j, "tid", s->tid);
	json_put_u64(j, "cpu", s->cpu);
	put_comm(j, s->comm);
	put_resource(j, &s->resource);
	if (s->has_link) {
		json_put_hex(j, "trace_id", s->trace_id, sizeof(s->trace_id));
		json_put_hex(j, "span_id", s->span_id, sizeof(s->span_id));
		json_put_u64(j, "trace_flags", s->trace_flags);
	}
	if (s->nattributes) {
		json_key(j, "attributes");
		format_json_attributes(j, s->attributes, s->nattributes);
	}
	put_name(j, "stack_end", ringside_stack_end_name(s->user_end), s->user_end);
	put_name(j, "kernel_stack_end", ringside_stack_end_name(s->kernel_end),
		 s->kernel_end);
	if (s->context_state != RINGSIDE_CONTEXT_ABSENT)
		put_name(j, "context_state",
			 ringside_context_state_name(s->context_state), s->context_state);
	put_stack(j, f, s);
}

static void put_process(struct json *j, const struct ringside_process *p)
{
	put_name(j, "action", ringside_action_name(p->action), p->action);
	put_identity(j, p->pid, p->process_start_ns);
	if (p->parent_pid)
		json_put_u64(j, "parent_pid", p->parent_pid);
	put_comm(j, p->comm);
	if (p->action == RINGSIDE_EXIT) {
		json_put_u64(j, "exit_code", p->exit_code);
		json_put_u64(j, "exit_signal", p->exit_signal);
	}
	json_put_string(j, "command", p->command);
	put_resource(j, &p->resource);
}

static void put_lost(struct json *j, const struct ringside_lost *l)
{
	json_put_u64_string(j, "count", l->count);
	put_name(j, "cause", ringside_cause_name(l->cause), l->cause);
	json_put_string(j, "by", l->by_reader ? "reader" : "writer");
}

/* Keys that records of several kinds share. */
static void put_head(struct json *j, const struct ringside_record *rec)
{
	struct text time;

	put_name(j, "kind", ringside_kind_name(rec->kind), rec->kind);
	if (!(rec->kind == RINGSIDE_LOST && rec->lost.by_reader))
		json_put_u64_string(j, "seq", rec->seq);
	text_init(&time, 64);
	time_print(&time, rec->time_ns, true);
	json_put_string(j, "time", text_string(&time));
	text_fini(&time);
	json_put_i64_string(j, "time_unix_nano", rec->time_ns);
	json_put_u64_string(j, "boot_nano", rec->boot_ns);
	if (rec->kind == RINGSIDE_SAMPLE || rec->kind == RINGSIDE_PROCESS ||
	    rec->kind == RINGSIDE_CLOCK) {
		json_put_u64(j, "clock_epoch", rec->clock_epoch);
		json_put_u64(j, "clock_error_nano", rec->clock_error_ns);
	}
}

void format_json(struct text *t, const struct format *f,
		 const struct ringside_record *rec)
{
	struct json j;

	json_init(&j, t);
	json_open(&j, '{');
	put_head(&j, rec);
	switch (rec->kind) {
	case RINGSIDE_SAMPLE:
		put_sample(&j, f, &rec->sample);
		break;
	case RINGSIDE_PROCESS:
		put_process(&j, &rec->process);
		break;
	case RINGSIDE_LOST:
		put_lost(&j, &rec->lost);
		break;
	case RINGSIDE_CLOCK:
		json_put_i64_string(&j, "offset_nano", rec->clock.offset_ns);
		put_name(&j, "source", ringside_clock_source_name(rec->clock.source),
			 rec->clock.source);
		json_put_i64_string(&j, "step_nano", rec->clock.step_ns);
		if (rec->clock.suspended_ns)
			json_put_u64_string(&j, "suspended_nano",
					    rec->clock.suspended_ns);
		break;
	case RINGSIDE_INCARNATION:
		json_put_u64(&j, "incarnation", rec->incarnation.incarnation);
		json_put_u64(&j, "writer_pid", rec->incarnation.writer_pid);
		break;
	}
	json_close(&j, '}');
	text_putc(t, '\n');
}
