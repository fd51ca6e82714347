/* SPDX-License-Identifier: Apache-2.0 */
/* HH:MM:SS.uuuuuu comm pid/tid cpu service [trace/span key=value] leaf < caller < ... */
#include <inttypes.h>
#include <string.h>

#include "client/colour.h"
#include "client/escape.h"
#include "client/format.h"
#include "client/frame.h"
#include "client/selection.h"
#include "client/time.h"

void format_frame(struct text *t, const struct format *f,
		  const struct ringside_frame *frame)
{
	bool marked = f->highlight && regexes_match(f->highlight, frame->function);

	if (marked)
		colour_start(t, f->colour, COLOUR_MARK);
	else if (frame->type == RINGSIDE_FRAME_KERNEL)
		colour_start(t, f->colour, COLOUR_KERNEL);
	if (marked && !f->colour)
		text_puts(t, ">>");
	frame_name_escaped(t, frame, "");
	if (marked && !f->colour)
		text_puts(t, "<<");
	if (marked || frame->type == RINGSIDE_FRAME_KERNEL)
		colour_end(t, f->colour);
}

/* Leaf first joined by " < ", or root first joined by " > "; "..." stands for what is not
 * shown. */
static void put_stack(struct text *t, const struct format *f,
		      const struct ringside_sample *s)
{
	uint32_t depth = stack_depth(s), n = depth < f->frames ? depth : f->frames;
	const char *joint = f->root_first ? " > " : " < ";
	bool more = n < depth;

	if (more && f->root_first)
		text_printf(t, "...%s", joint);
	for (uint32_t i = 0; i < n; i++) {
		const struct ringside_frame *frame =
			stack_frame(s, f->root_first ? n - 1 - i : i);

		if (i)
			text_puts(t, joint);
		if (frame->cut && f->root_first && (i || !more))
			text_printf(t, "...%s", joint);
		format_frame(t, f, frame);
		if (frame->cut && !f->root_first)
			text_printf(t, "%s...", joint);
	}
	if (more && !f->root_first && !stack_frame(s, n - 1)->cut)
		text_printf(t, "%s...", joint);
	if (!depth)
		text_puts(t, "[no stack]");
}

static void put_comm(struct text *t, const char comm[16])
{
	escape_terminal(t, comm, strnlen(comm, 16));
}

static void put_hex(struct text *t, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text_printf(t, "%02x", bytes[i]);
}

/* What its thread worked for; nothing when nothing was attached. */
static void put_context(struct text *t, const struct ringside_sample *s)
{
	const char *gap = "";

	if (!s->has_link && !s->nattributes)
		return;
	text_puts(t, " [");
	if (s->has_link) {
		put_hex(t, s->trace_id, sizeof(s->trace_id));
		text_putc(t, '/');
		put_hex(t, s->span_id, sizeof(s->span_id));
		gap = " ";
	}
	for (uint32_t i = 0; i < s->nattributes; i++, gap = " ") {
		text_puts(t, gap);
		attribute_print(t, &s->attributes[i]);
	}
	text_putc(t, ']');
}

static void put_sample(struct text *t, const struct format *f,
		       const struct ringside_sample *s)
{
	const char *service = resource_string(&s->resource, "service.name");
	const char *container = resource_string(&s->resource, "container.id");
	size_t start;

	colour_start_for(t, f->colour, container ? container : service ? service : "-");
	start = t->len;
	put_comm(t, s->comm);
	text_pad(t, start, 15);
	start = t->len + 1;
	text_printf(t, " %" PRIu32 "/%" PRIu32, s->pid, s->tid);
	text_pad(t, start, 11);
	text_printf(t, " %2" PRIu32 " ", s->cpu);
	start = t->len;
	if (service && *service)
		escape_terminal_string(t, service);
	else
		text_putc(t, '-');
	if (f->frames)
		text_pad(t, start, 12);
	colour_end(t, f->colour);
	if (s->event != RINGSIDE_EVENT_CPU) {
		char buf[NAME_BUF];

		text_printf(t, " [%s]",
			    name_or_number(ringside_event_name(s->event), s->event, buf));
	}
	put_context(t, s);
	if (f->frames) {
		text_putc(t, ' ');
		put_stack(t, f, s);
	}
}

static void put_process(struct text *t, const struct ringside_process *p)
{
	char buf[NAME_BUF];

	text_printf(t, "PROCESS %s %" PRIu32 " ",
		    name_or_number(ringside_action_name(p->action), p->action, buf),
		    p->pid);
	put_comm(t, p->comm);
	if (p->parent_pid)
		text_printf(t, " parent %" PRIu32, p->parent_pid);
	if (p->action == RINGSIDE_EXIT && p->exit_signal)
		text_printf(t, " signal %" PRIu32, p->exit_signal);
	else if (p->action == RINGSIDE_EXIT)
		text_printf(t, " status %" PRIu32, p->exit_code);
	if (p->command) {
		text_puts(t, " command ");
		escape_terminal_string(t, p->command);
	}
}

static void put_lost(struct text *t, const struct ringside_lost *l)
{
	char buf[NAME_BUF];

	text_puts(t, "LOST ");
	/* A reader that was overtaken knows the number once it stands on firm ground
	 * again. */
	if (l->count)
		text_printf(t, "%" PRIu64, l->count);
	else
		text_puts(t, "some, the number follows");
	/* The one cause that loses no sample. */
	if (l->cause == RINGSIDE_LOST_PROCESS_BURST)
		text_puts(t, " process records");
	text_printf(t, ": %s (counted by the %s)",
		    name_or_number(ringside_cause_name(l->cause), l->cause, buf),
		    l->by_reader ? "reader" : "writer");
}

static void put_clock(struct text *t, const struct ringside_record *rec)
{
	char buf[NAME_BUF];

	text_puts(t, "CLOCK step ");
	seconds_print(t, rec->clock.step_ns);
	text_printf(t, ", epoch %" PRIu32 ", %s, error +-", rec->clock_epoch,
		    name_or_number(ringside_clock_source_name(rec->clock.source),
				   rec->clock.source, buf));
	duration_print(t, (int64_t)rec->clock_error_ns);
	if (rec->clock.suspended_ns) {
		text_puts(t, ", the machine slept for ");
		duration_print(t, (int64_t)rec->clock.suspended_ns);
	}
}

void format_other(struct text *t, const struct ringside_record *rec)
{
	switch (rec->kind) {
	case RINGSIDE_PROCESS:
		put_process(t, &rec->process);
		break;
	case RINGSIDE_LOST:
		put_lost(t, &rec->lost);
		break;
	case RINGSIDE_CLOCK:
		put_clock(t, rec);
		break;
	case RINGSIDE_INCARNATION:
		text_printf(t, "WRITER pid %" PRIu32 ", incarnation %" PRIu32,
			    rec->incarnation.writer_pid, rec->incarnation.incarnation);
		break;
	default:
		text_printf(t, "RECORD of unknown kind %" PRIu32, rec->kind);
	}
}

void format_short(struct text *t, const struct format *f,
		  const struct ringside_record *rec)
{
	time_print_short(t, rec->time_ns, f->utc);
	text_putc(t, ' ');
	if (rec->kind == RINGSIDE_SAMPLE) {
		put_sample(t, f, &rec->sample);
	} else {
		colour_start(t, f->colour,
			     rec->kind == RINGSIDE_LOST ? COLOUR_ALARM : COLOUR_REMARK);
		format_other(t, rec);
		colour_end(t, f->colour);
	}
	text_putc(t, '\n');
}
