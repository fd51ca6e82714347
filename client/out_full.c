/* SPDX-License-Identifier: Apache-2.0 */
/* All that a record holds, for people: one headline, indented details, a blank line. */
#include <inttypes.h>
#include <string.h>

#include "client/colour.h"
#include "client/escape.h"
#include "client/format.h"
#include "client/frame.h"
#include "client/time.h"

static void put_hex(struct text *t, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text_printf(t, "%02x", bytes[i]);
}

/* One attribute a line: values may be long. */
static void put_attributes(struct text *t, const char *title,
			   const struct ringside_attribute *a, uint32_t n)
{
	if (n)
		text_printf(t, "    %s\n", title);
	for (uint32_t i = 0; i < n; i++) {
		text_puts(t, "        ");
		attribute_print(t, &a[i]);
		text_putc(t, '\n');
	}
}

static void put_mapping(struct text *t, const struct ringside_mapping *m)
{
	if (m->path) {
		text_puts(t, " in ");
		escape_terminal_string(t, m->path);
	}
	if (m->build_id) {
		char buf[NAME_BUF];

		text_printf(t, " (%s ",
			    name_or_number(ringside_build_id_kind_name(m->build_id_kind),
					   m->build_id_kind, buf));
		escape_terminal_string(t, m->build_id);
		text_putc(t, ')');
	}
}

static void put_gap(struct text *t, const struct ringside_frame *frame)
{
	if (frame->cut)
		text_puts(t, "    ...  " FRAME_CUT_NAME "\n");
}

static void put_frame(struct text *t, const struct format *f, uint32_t i,
		      const struct ringside_frame *frame)
{
	char buf[NAME_BUF];

	if (f->root_first)
		put_gap(t, frame);
	text_printf(
		t, "    #%-3" PRIu32 " %-7s 0x%" PRIx64 " ", i,
		name_or_number(ringside_frame_type_name(frame->type), frame->type, buf),
		frame->address);
	format_frame(t, f, frame);
	if (frame->function)
		text_printf(t, "+0x%" PRIx64, frame->offset);
	if (frame->inlined)
		text_puts(t, " (inlined)");
	if (frame->file) {
		text_puts(t, " at ");
		escape_terminal_string(t, frame->file);
		if (frame->line)
			text_printf(t, ":%" PRIu32, frame->line);
	}
	if (frame->mapping)
		put_mapping(t, frame->mapping);
	text_putc(t, '\n');
	if (!f->root_first)
		put_gap(t, frame);
}

static void put_stack(struct text *t, const struct format *f,
		      const struct ringside_sample *s)
{
	uint32_t depth = stack_depth(s), n = depth < f->frames ? depth : f->frames;
	char user[NAME_BUF], kernel[NAME_BUF];

	text_printf(
		t, "    stack, %s first: user part %s, kernel part %s\n",
		f->root_first ? "root" : "leaf",
		name_or_number(ringside_stack_end_name(s->user_end), s->user_end, user),
		name_or_number(ringside_stack_end_name(s->kernel_end), s->kernel_end,
			       kernel));
	if (n < depth && f->root_first)
		text_printf(t, "    ...  %" PRIu32 " more\n", depth - n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = f->root_first ? n - 1 - i : i;

		put_frame(t, f, at, stack_frame(s, at));
	}
	if (n < depth && !f->root_first)
		text_printf(t, "    ...  %" PRIu32 " more\n", depth - n);
}

static void put_sample(struct text *t, const struct format *f,
		       const struct ringside_sample *s)
{
	char event[NAME_BUF], unit[NAME_BUF], state[NAME_BUF];

	escape_terminal(t, s->comm, strnlen(s->comm, sizeof(s->comm)));
	text_printf(t,
		    " pid %" PRIu32 " tid %" PRIu32 " cpu %" PRIu32 ", event %s %" PRIu64
		    " %s\n",
		    s->pid, s->tid, s->cpu,
		    name_or_number(ringside_event_name(s->event), s->event, event),
		    s->weight,
		    name_or_number(ringside_unit_name(s->unit), s->unit, unit));
	put_attributes(t, "resource", s->resource.attributes, s->resource.n);
	if (s->has_link) {
		text_puts(t, "    trace ");
		put_hex(t, s->trace_id, sizeof(s->trace_id));
		text_puts(t, " span ");
		put_hex(t, s->span_id, sizeof(s->span_id));
		text_printf(t, " flags %02x\n", s->trace_flags);
	}
	if (s->context_state != RINGSIDE_CONTEXT_ABSENT)
		text_printf(t, "    context %s\n",
			    name_or_number(ringside_context_state_name(s->context_state),
					   s->context_state, state));
	put_attributes(t, "attributes", s->attributes, s->nattributes);
	if (f->frames)
		put_stack(t, f, s);
}

void format_full(struct text *t, const struct format *f,
		 const struct ringside_record *rec)
{
	time_print(t, rec->time_ns, f->utc);
	if (!(rec->kind == RINGSIDE_LOST && rec->lost.by_reader))
		text_printf(t, " #%" PRIu64, rec->seq);
	text_putc(t, ' ');
	if (rec->kind == RINGSIDE_SAMPLE) {
		put_sample(t, f, &rec->sample);
		text_puts(t, "    clock ");
	} else {
		colour_start(t, f->colour,
			     rec->kind == RINGSIDE_LOST ? COLOUR_ALARM : COLOUR_REMARK);
		format_other(t, rec);
		colour_end(t, f->colour);
		text_putc(t, '\n');
		if (rec->kind == RINGSIDE_PROCESS)
			put_attributes(t, "resource", rec->process.resource.attributes,
				       rec->process.resource.n);
		text_puts(t, "    clock ");
	}
	text_printf(t, "boot %" PRIu64 " ns, epoch %" PRIu32 ", error +-", rec->boot_ns,
		    rec->clock_epoch);
	duration_print(t, (int64_t)rec->clock_error_ns);
	text_puts(t, "\n\n");
}
