/* SPDX-License-Identifier: Apache-2.0 */
/* ringside tail: shows records as they come. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/colour.h"
#include "client/command.h"
#include "client/complain.h"
#include "client/follow.h"
#include "client/format.h"
#include "client/interrupt.h"
#include "client/output.h"

#define SHORT_FRAMES 8

/* Order of --output's words. */
enum form { FORM_SHORT, FORM_FULL, FORM_JSON, FORM_FOLDED };
/* Order of --kind's words. */
enum { KIND_SAMPLE, KIND_PROCESS, KIND_LOST, KIND_CLOCK, KIND_INCARNATION, KIND_ALL };

struct tail {
	const struct selection *selection;
	void		(*write)(struct text *t, const struct format *f,
				 const struct ringside_record *rec);
	enum form	 form;
	struct format	 format;
	struct regexes	 highlight;
	uint64_t	 kinds;		/* bits by KIND_* */
	struct text	 line;
	struct output	 output;
};

static bool kind_wanted(const struct tail *t, uint32_t kind)
{
	static const uint8_t bit[] = {
		[RINGSIDE_SAMPLE] = KIND_SAMPLE, [RINGSIDE_PROCESS] = KIND_PROCESS,
		[RINGSIDE_LOST] = KIND_LOST, [RINGSIDE_CLOCK] = KIND_CLOCK,
		[RINGSIDE_INCARNATION] = KIND_INCARNATION,
	};

	if (kind == 0 || kind >= sizeof(bit))
		return t->kinds >> KIND_ALL & 1;
	return (t->kinds >> bit[kind] | t->kinds >> KIND_ALL) & 1;
}

static bool tail_wants(void *arg, const struct ringside_record *rec)
{
	const struct tail *t = arg;

	if (t->form == FORM_FOLDED && rec->kind != RINGSIDE_SAMPLE)
		return false;
	return kind_wanted(t, rec->kind) && selection_matches(t->selection, rec);
}

/* Folded lines have no room for anything but samples: what is not one goes to stderr. */
static void tell_beside(const struct tail *t, const struct ringside_record *rec)
{
	struct text line;

	if (rec->kind == RINGSIDE_SAMPLE || rec->kind == RINGSIDE_PROCESS ||
	    !kind_wanted(t, rec->kind))
		return;
	text_init(&line, TEXT_LINE_MAX);
	format_other(&line, rec);
	complain_note("%s", text_string(&line));
	text_fini(&line);
}

static int tail_record(void *arg, const struct ringside_record *rec)
{
	struct tail *t = arg;
	int err;

	if (t->form == FORM_FOLDED)
		tell_beside(t, rec);
	if (!tail_wants(t, rec))
		return 0;
	text_clear(&t->line);
	t->write(&t->line, &t->format, rec);
	err = output_lines(&t->output, &t->line);
	return err ? err : 1;
}

static int tail_idle(void *arg)
{
	struct tail *t = arg;

	return output_flush(&t->output);
}

static uint32_t frames_wanted(const struct options *o, enum form form)
{
	if (option_given(o, OPTION_NO_STACK))
		return 0;
	if (o->value[OPTION_STACK].number)
		return o->value[OPTION_STACK].number < UINT32_MAX ?
		       (uint32_t)o->value[OPTION_STACK].number : UINT32_MAX;
	if (option_given(o, OPTION_STACK) || form != FORM_SHORT)
		return UINT32_MAX;
	return SHORT_FRAMES;
}

/* 0 or CLIENT_USAGE. */
static int check_usage(const struct options *o)
{
	if (o->noperands) {
		complain("tail: %s: takes no operand; see 'ringside tail --help'",
			 o->operands[0]);
		return CLIENT_USAGE;
	}
	if (option_given(o, OPTION_FOLLOW) && option_given(o, OPTION_NO_FOLLOW)) {
		complain("--follow and --no-follow exclude each other");
		return CLIENT_USAGE;
	}
	if (option_given(o, OPTION_STACK) && option_given(o, OPTION_NO_STACK)) {
		complain("--stack and --no-stack exclude each other");
		return CLIENT_USAGE;
	}
	return 0;
}

static int tail_init(struct tail *t, const struct options *o,
		     const struct selection *selection)
{
	static void (*const writers[])(struct text *, const struct format *,
				       const struct ringside_record *) = {
		[FORM_SHORT] = format_short,
		[FORM_FULL] = format_full,
		[FORM_JSON] = format_json,
		[FORM_FOLDED] = format_folded,
	};

	memset(t, 0, sizeof(*t));
	t->selection = selection;
	t->form = (enum form)o->value[OPTION_OUTPUT].number;
	t->write = writers[t->form];
	t->kinds = option_given(o, OPTION_KIND)
			   ? o->value[OPTION_KIND].number
			   : 1 << KIND_SAMPLE | 1 << KIND_LOST | 1 << KIND_CLOCK |
				     1 << KIND_INCARNATION;
	t->format.utc = option_given(o, OPTION_UTC);
	t->format.root_first = option_given(o, OPTION_ROOT_FIRST);
	t->format.colour = colour_wanted((enum colour_when)o->value[OPTION_COLOR].number,
					 STDOUT_FILENO);
	t->format.frames = frames_wanted(o, t->form);
	t->format.highlight = option_given(o, OPTION_HIGHLIGHT) ? &t->highlight : NULL;
	text_init(&t->line, TEXT_LINE_MAX);
	output_init(&t->output, STDOUT_FILENO);
	return regexes_init(&t->highlight, o, OPTION_HIGHLIGHT);
}

static void tail_fini(struct tail *t)
{
	output_fini(&t->output);
	text_fini(&t->line);
	regexes_fini(&t->highlight);
}

/* Exit code. */
static int tail_follow(struct tail *t, const struct options *o)
{
	struct ring ring;
	struct ring_flags flags = { .no_follow = option_given(o, OPTION_NO_FOLLOW) };
	struct follow f = {
		.ring = &ring,
		.selection = t->selection,
		.no_follow = flags.no_follow,
		.has_duration = option_given(o, OPTION_FOR),
		.duration_ns = o->value[OPTION_FOR].time,
		.lines = o->value[OPTION_LINES].number,
		.record = tail_record,
		.wants = tail_wants,
		.idle = tail_idle,
		.arg = t,
	};
	int err = ring_open(&ring, o, &flags);

	if (err)
		return err;
	err = follow_start(&f);
	if (!err)
		err = follow_run(&f);
	/* A reader of our output that has seen enough is no error, and wants no summary.
	 */
	if (t->output.error == EPIPE) {
		ring_close(&ring);
		return CLIENT_OK;
	}
	output_flush(&t->output);
	if (t->output.error) {
		complain("writing: standard output: %s", strerror(t->output.error));
		err = CLIENT_FAILED;
	} else if (err) {
		err = ring_complain(&ring, err);
	}
	follow_summary(&f, "shown");
	ring_close(&ring);
	return err ? err : interrupt_exit(CLIENT_OK);
}

int cmd_tail(const struct command *c, const struct options *o)
{
	struct selection *selection;
	struct tail t;
	int err = check_usage(o);

	(void)c;
	if (err)
		return err;
	err = selection_create(&selection, o);
	if (err)
		return err;
	err = tail_init(&t, o, selection);
	if (!err)
		err = tail_follow(&t, o);
	tail_fini(&t);
	selection_destroy(selection);
	return err;
}
