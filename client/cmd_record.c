/* SPDX-License-Identifier: Apache-2.0 */
/* ringside record: adds samples up and writes them as a profile. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "client/ancestry.h"
#include "client/command.h"
#include "client/complain.h"
#include "client/family.h"
#include "client/follow.h"
#include "client/frame.h"
#include "client/gzip.h"
#include "client/interrupt.h"
#include "client/profile.h"
#include "client/save.h"
#include "client/target.h"
#include "client/time.h"

/* After the command's end: a drain (50 ms), a name look-up, and a busy machine. */
#define LINGER_NS	(400 * INT64_C(1000000))

enum form { FORM_PPROF, FORM_FOLDED, FORM_LATER, FORM_UNKNOWN };	/* first two: --format's words */

struct record {
	const struct options *o;
	const struct selection *selection;
	enum form	 form;
	struct profile	*profile;
	struct save	 save;
	struct target	 target;	/* pid 0: no command */
	struct family	 family;
	struct ring	 ring;
	struct follow	 follow;
	uint64_t	 left_out, other_events;
};

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && !strcmp(s + n - m, suffix);
}

static enum form form_of(const char *file)
{
	static const struct { const char *suffix; enum form form;
	} suffixes[] = {
		{ ".pprof", FORM_PPROF },	    { ".pb.gz", FORM_PPROF },
		{ ".folded", FORM_FOLDED },	    { ".svg", FORM_LATER },
		{ ".speedscope.json", FORM_LATER }, { ".perf.txt", FORM_LATER },
		{ ".otlp.pb", FORM_LATER },	    { ".otlp.json", FORM_LATER },
	};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (has_suffix(file, suffixes[i].suffix))
			return suffixes[i].form;
	return FORM_UNKNOWN;
}

/* 0 or CLIENT_USAGE. */
static int choose_form(struct record *r, const char *file)
{
	if (!file || !*file) {
		complain(
			"record: needs --output FILE; the suffix chooses the form: .pprof, .pb.gz, "
			".folded");
		return CLIENT_USAGE;
	}
	if (option_given(r->o, OPTION_FORMAT)) {
		r->form = (enum form)r->o->value[OPTION_FORMAT].number;
		return 0;
	}
	r->form = form_of(file);
	if (r->form == FORM_LATER)
		complain(
			"--output %s: this form comes with a later version; there are .pprof, "
			".pb.gz, .folded",
			file);
	else if (r->form == FORM_UNKNOWN && !strcmp(file, "-"))
		complain("--output -: needs --format pprof or --format folded");
	else if (r->form == FORM_UNKNOWN)
		complain(
			"--output %s: the suffix tells no form; use .pprof, .pb.gz or .folded, or "
			"--format",
			file);
	return r->form >= FORM_LATER ? CLIENT_USAGE : 0;
}

static bool wanted(struct record *r, const struct ringside_record *rec)
{
	if (rec->kind != RINGSIDE_SAMPLE)
		return false;
	if (r->target.pid &&
	    !family_has(&r->family, rec->sample.pid, rec->sample.process_start_ns))
		return false;
	if (!selection_matches(r->selection, rec))
		return false;
	/* Both forms count samples of the CPU clock; adding up other things would mix
	 * units. */
	if (rec->sample.event != RINGSIDE_EVENT_CPU ||
	    rec->sample.unit != RINGSIDE_UNIT_NANOSECONDS) {
		r->other_events++;
		return false;
	}
	return true;
}

static int record_one(void *arg, const struct ringside_record *rec)
{
	struct record *r = arg;

	if (rec->kind == RINGSIDE_PROCESS && r->target.pid)
		return family_learn(&r->family, &rec->process);
	if (!wanted(r, rec))
		return 0;
	if (!profile_add(r->profile, rec))
		return 1;
	/* Full: what is there stays, the rest is counted. */
	r->left_out++;
	return 0;
}

static int record_idle(void *arg)
{
	struct record *r = arg;

	if (!r->target.pid || !target_poll(&r->target))
		return 0;
	return time_monotonic() - r->target.ended_ns >= LINGER_NS;
}

static void comment(struct record *r, const char *what, uint64_t n)
{
	char line[192];

	snprintf(line, sizeof(line), "%s: %" PRIu64, what, n);
	profile_comment(r->profile, line);
}

/* What the file's reader should know about how it came to be. */
static void add_comments(struct record *r)
{
	char line[128], buf[NAME_BUF];

	snprintf(line, sizeof(line), "ringside %s", ringside_version());
	profile_comment(r->profile, line);
	for (uint32_t i = 0; i < RINGSIDE_LOST_MAX; i++) {
		if (!r->follow.counts.lost[i])
			continue;
		snprintf(line, sizeof(line), "lost %s",
			 name_or_number(ringside_cause_name(i), i, buf));
		comment(r, line, r->follow.counts.lost[i]);
	}
	if (r->left_out)
		comment(r, "left out, the profile was full", r->left_out);
}

static int encode(struct record *r, struct text *out)
{
	struct text plain;
	int err;

	/* Without memory for it, frames stay as unnamed as they came. */
	profile_resolve(r->profile);
	if (r->form == FORM_FOLDED)
		return folded_encode(out, r->profile);
	add_comments(r);
	text_init(out, (size_t)1 << 30);
	err = pprof_encode(&plain, r->profile);
	if (!err)
		err = gzip_write(out, text_string(&plain), plain.len);
	text_fini(&plain);
	return err;
}

/* Exit code. */
static int write_file(struct record *r)
{
	struct text out;
	int err = encode(r, &out);

	if (!err)
		err = save_commit(&r->save, text_string(&out), out.len);
	text_fini(&out);
	if (err == -EPIPE)
		return CLIENT_OK;
	if (err)
		complain("writing: %s: %s", r->save.path, strerror(-err));
	return err ? CLIENT_FAILED : CLIENT_OK;
}

/* What the recording does not show by itself. */
static void remarks(const struct record *r)
{
	if (r->left_out)
		complain("record: %" PRIu64
			 " samples were left out: out of memory; select less, or "
			 "record for a shorter time",
			 r->left_out);
	if (r->other_events)
		complain_note("record: %" PRIu64
			      " samples of other events than cpu were skipped",
			      r->other_events);
	if (r->target.pid && !r->family.seen_root)
		complain(
			"record: no record names process %d: it ended before a tick could meet it, "
			"or it is out of ringsided's scope ('ringside status'), or ringsided sees "
			"another pid namespace and other numbers; then record without a command "
			"and select by --comm or --service",
			(int)r->target.pid);
	else if (!r->follow.counts.shown)
		complain_note("record: no sample was selected; the file is empty");
}

/* Follows until the end and writes.  Exit code. */
static int record_run(struct record *r)
{
	int64_t start = time_now();
	int err = follow_start(&r->follow), saved;

	if (r->target.pid) {
		if (err)
			target_abandon(&r->target);
		else
			target_go(&r->target);
	}
	if (!err)
		err = follow_run(&r->follow);
	if (!option_given(r->o, OPTION_SINCE) &&
	    !option_given(r->o, OPTION_NO_FOLLOW))
		profile_span(r->profile, start, time_now());
	if (!err && target_not_run(&r->target))
		return CLIENT_OK;	/* the child has said why, and its exit code tells */
	/* What there is is kept, whatever ended it. */
	saved = write_file(r);
	if (err)
		err = ring_complain(&r->ring, err);
	follow_summary(&r->follow, "recorded");
	remarks(r);
	return err ? err : saved;
}

/* The command's own end decides, when there is one. */
static int finish_target(struct record *r, int err)
{
	if (!r->target.pid)
		return interrupt_exit(err);
	if (interrupt_signal() == SIGTERM && !target_poll(&r->target))
		kill(r->target.pid, SIGTERM);
	target_wait(&r->target);
	return err ? err : r->target.status;
}

static int record_open(struct record *r)
{
	struct ring_flags flags = { .no_follow = option_given(r->o, OPTION_NO_FOLLOW) };
	const char *file = r->o->value[OPTION_FILE].text;
	int err = ring_open(&r->ring, r->o, &flags);

	if (err)
		return err;
	err = save_open(&r->save, file);
	if (err) {
		complain("creating: %s: %s", file, strerror(-err));
		return CLIENT_FAILED;
	}
	if (profile_create(&r->profile)) {
		complain("record: out of memory");
		return CLIENT_FAILED;
	}
	if (!r->o->noperands)
		return 0;
	err = target_start(&r->target, r->o->operands);
	if (err) {
		complain("starting: %s: %s", r->o->operands[0], strerror(-err));
		return CLIENT_FAILED;
	}
	family_init(&r->family, (uint32_t)r->target.pid);
	r->family.is = ancestry_is;
	r->family.descends = ancestry_descends;
	return 0;
}

static void record_close(struct record *r)
{
	save_close(&r->save);
	profile_destroy(r->profile);
	family_fini(&r->family);
	ring_close(&r->ring);
}

int cmd_record(const struct command *c, const struct options *o)
{
	struct selection *selection;
	struct record r;
	int err;

	(void)c;
	memset(&r, 0, sizeof(r));
	r.o = o;
	r.save.fd = -1;
	err = choose_form(&r, o->value[OPTION_FILE].text);
	if (err)
		return err;
	if (o->noperands && option_given(o, OPTION_NO_FOLLOW)) {
		complain(
			"record: --no-follow reads the past, where a new COMMAND is not");
		return CLIENT_USAGE;
	}
	err = selection_create(&selection, o);
	if (err)
		return err;
	r.selection = selection;
	err = record_open(&r);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);	/* after the command was forked: it may need more */
	r.follow = (struct follow){
		.ring = &r.ring,
		.selection = selection,
		.no_follow = option_given(o, OPTION_NO_FOLLOW),
		.has_duration = option_given(o, OPTION_FOR),
		.duration_ns = o->value[OPTION_FOR].time,
		.record = record_one,
		.idle = record_idle,
		.arg = &r,
		.slice_ms = r.target.pid ? 100 : 0,
	};
	if (!err)
		err = finish_target(&r, record_run(&r));
	record_close(&r);
	selection_destroy(selection);
	return err;
}
