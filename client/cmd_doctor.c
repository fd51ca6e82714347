/* SPDX-License-Identifier: Apache-2.0 */
/* ringside doctor: what works here, what does not, and what to do about it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "client/command.h"
#include "client/complain.h"
#include "client/escape.h"
#include "client/interrupt.h"
#include "client/json.h"
#include "client/output.h"
#include "client/private_writer.h"
#include "client/selfcheck.h"
#include "client/status_view.h"

enum { FORM_TEXT, FORM_JSON };	/* order of --output's words */

/* Fields of a probe row, separated by 0x1f. */
enum { PROBE_NAME, PROBE_OK, PROBE_NEED, PROBE_EFFECT, PROBE_REMEDY, PROBE_FIELDS };
#define PROBE_SEPARATOR 0x1f

struct doctor {
	bool		 as_json;
	struct text	 t;
	struct json	 j;
};

struct field { const char *s; size_t len; };

static void split(const char *row, struct field fields[PROBE_FIELDS])
{
	for (int i = 0; i < PROBE_FIELDS; i++) {
		const char *end = strchr(row, PROBE_SEPARATOR);

		if (i == PROBE_FIELDS - 1 || !end)
			end = row + strlen(row);
		fields[i].s = row;
		fields[i].len = (size_t)(end - row);
		row = *end ? end + 1 : end;
	}
}

static bool field_ok(const struct field *f)
{
	return f->len == 1 && *f->s == '1';
}

static void put_text_probe(struct text *t, const struct field f[PROBE_FIELDS])
{
	static const struct { int field; const char *title; } parts[] = {
		{ PROBE_NEED, "needs: " }, { PROBE_EFFECT, "without it: " },
		{ PROBE_REMEDY, "what to do: " },
	};
	bool ok = field_ok(&f[PROBE_OK]);

	text_puts(t, ok ? "  ok       " : "  MISSING  ");
	escape_terminal(t, f[PROBE_NAME].s, f[PROBE_NAME].len);
	text_putc(t, '\n');
	for (size_t i = 0; !ok && i < sizeof(parts) / sizeof(*parts); i++) {
		if (!f[parts[i].field].len)
			continue;
		text_printf(t, "           %s", parts[i].title);
		escape_terminal(t, f[parts[i].field].s, f[parts[i].field].len);
		text_putc(t, '\n');
	}
}

static void put_json_probe(struct json *j, const struct field f[PROBE_FIELDS])
{
	static const char *const keys[PROBE_FIELDS] = { "name", "ok", "need", "effect",
							"remedy" };

	json_open(j, '{');
	for (int i = 0; i < PROBE_FIELDS; i++) {
		if (i == PROBE_OK) {
			json_put_bool(j, keys[i], field_ok(&f[i]));
			continue;
		}
		json_key(j, keys[i]);
		json_string_n(j, f[i].s, f[i].len);
	}
	json_close(j, '}');
}

/* The rows that the writer put on the status page when it started. */
static void put_probe(struct doctor *d, const struct status_view *v)
{
	struct field fields[PROBE_FIELDS];
	const char *row;

	if (d->as_json) {
		json_key(&d->j, "probe");
		json_open(&d->j, '[');
	} else {
		text_printf(&d->t,
			    "What this kernel and ringsided's rights allow (pid %" PRIu32
			    "):\n",
			    v->liveness.writer_pid);
	}
	for (uint32_t i = 0; (row = status_view_text(v, RINGSIDE_T_PROBE, i)); i++) {
		split(row, fields);
		if (d->as_json)
			put_json_probe(&d->j, fields);
		else
			put_text_probe(&d->t, fields);
	}
	if (d->as_json)
		json_close(&d->j, ']');
	else if (!status_view_text(v, RINGSIDE_T_PROBE, 0))
		text_puts(&d->t, "  the writer has not said\n");
}

/* What the writer complains about by itself. */
static void put_warnings(struct doctor *d, const struct status_view *v)
{
	const char *s;

	if (d->as_json) {
		json_key(&d->j, "warnings");
		json_open(&d->j, '[');
	}
	for (uint32_t i = 0; (s = status_view_text(v, RINGSIDE_T_WARNING, i)); i++) {
		if (d->as_json) {
			json_string_n(&d->j, s, strlen(s));
			continue;
		}
		text_puts(&d->t, "  WARNING  ");
		escape_terminal_string(&d->t, s);
		text_putc(&d->t, '\n');
	}
	if (d->as_json)
		json_close(&d->j, ']');
}

static void put_check(void *arg, const char *name, bool ok, const char *detail)
{
	struct doctor *d = arg;

	if (!d->as_json) {
		text_printf(&d->t, "  %s %-12s ", ok ? "ok      " : "FAILED  ", name);
		escape_terminal_string(&d->t, detail);
		text_putc(&d->t, '\n');
		return;
	}
	json_open(&d->j, '{');
	json_put_string(&d->j, "name", name);
	json_put_bool(&d->j, "ok", ok);
	json_put_string(&d->j, "detail", detail);
	json_close(&d->j, '}');
}

static void checks_open(struct doctor *d)
{
	if (d->as_json) {
		json_key(&d->j, "checks");
		json_open(&d->j, '[');
	} else {
		text_puts(&d->t, "Self-check:\n");
	}
}

static void finish(struct doctor *d, bool ok)
{
	if (d->as_json) {
		json_close(&d->j, ']');
		json_put_bool(&d->j, "ok", ok);
		json_close(&d->j, '}');
		text_putc(&d->t, '\n');
		return;
	}
	text_puts(&d->t, ok ? "The main job works here.\n" :
			      "The main job does not work here as it should.\n");
}

static void begin(struct doctor *d, const char *ring, bool own)
{
	if (d->as_json) {
		json_open(&d->j, '{');
		json_put_string(&d->j, "ring", ring);
		json_put_bool(&d->j, "private", own);
		return;
	}
	text_puts(&d->t,
		  own ? "No live writer: checked with a ringsided of doctor's own.\n"
		      : "Ring ");
	if (own)
		return;
	escape_terminal_string(&d->t, ring);
	text_puts(&d->t, " has a live writer.\n");
}

/* Probe and self-check on an open ring.  The child is burning already.  Whether all is
 * well. */
static bool examine(struct doctor *d, struct ring *r, struct selfcheck *s, bool own)
{
	struct status_view v;
	bool ok = false;
	int err = selfcheck_look(s, r);

	/* After the look: a new writer has put its page by now. */
	if (!err)
		err = status_view_read(&v, r);
	if (err) {
		ring_complain(r, err);
		return false;
	}
	begin(d, r->path, own);
	put_probe(d, &v);
	put_warnings(d, &v);
	checks_open(d);
	ok = selfcheck_judge(s, put_check, d);
	finish(d, ok);
	return ok;
}

/* On the ring that is there. */
static bool examine_live(struct doctor *d, struct ring *r)
{
	struct selfcheck s;
	bool ok = false;
	int err = selfcheck_start(&s);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (err)
		complain("doctor: fork: %s", strerror(-err));
	else
		ok = examine(d, r, &s, false);
	selfcheck_stop(&s);
	return ok;
}

/* On a ring of our own, for which the child must be there first: it is the scope. */
static bool examine_private(struct doctor *d, const struct options *o)
{
	struct ring_flags flags = { .from_oldest = true };
	struct private_writer w;
	struct selfcheck s;
	struct ring r;
	bool ok = false;
	int err = selfcheck_start(&s);

	if (err) {
		complain("doctor: fork: %s", strerror(-err));
		return false;
	}
	err = private_writer_start(&w, s.child);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (err) {
		complain(
			"doctor: no live writer, and one of doctor's own did not start: %s; "
			"'ringsided --probe' names what is missing",
			w.why);
	} else {
		flags.path = w.ring;
		if (!ring_open(&r, o, &flags)) {
			ok = examine(d, &r, &s, true);
			ring_close(&r);
		}
	}
	selfcheck_stop(&s);
	private_writer_stop(&w);
	return ok;
}

/* A live ring that we can read; else false with *hopeless when a private one is no
 * substitute. */
static bool find_live(struct ring *r, const struct options *o, bool *hopeless)
{
	struct ring_flags flags = { .quiet = true };
	struct ringside_liveness l;

	*hopeless = false;
	if (ring_open(r, o, &flags)) {
		/* Somebody else's ring that we may not read: say so, and do not look
		 * elsewhere. */
		if (r->open_error != -ENOENT)
			complain("doctor: %s", ringside_open_error());
		*hopeless = r->open_error == -EACCES || r->open_error == -EPERM;
		return false;
	}
	if (!ring_liveness(r, &l) && l.alive)
		return true;
	complain_note("doctor: %s: no live writer holds this ring", r->path);
	ring_close(r);
	return false;
}

int cmd_doctor(const struct command *c, const struct options *o)
{
	struct doctor d = { .as_json = o->value[OPTION_FORM].number == FORM_JSON };
	bool ok = false, hopeless;
	struct ring r;

	if (o->noperands) {
		complain("doctor: %s: takes no operand; see 'ringside %s --help'",
			 o->operands[0], c->name);
		return CLIENT_USAGE;
	}
	text_init(&d.t, TEXT_LINE_MAX);
	json_init(&d.j, &d.t);
	if (find_live(&r, o, &hopeless)) {
		ok = examine_live(&d, &r);
		ring_close(&r);
	} else if (!hopeless && private_writer_allowed()) {
		ok = examine_private(&d, o);
	} else if (!hopeless) {
		complain(
			"doctor: %s: no live writer, and no right to start one: start ringsided "
			"(systemctl start ringsided), or run 'ringside doctor' as root",
			r.path);
	}
	write_all(STDOUT_FILENO, text_string(&d.t), d.t.len);
	text_fini(&d.t);
	return interrupt_exit(ok ? CLIENT_OK : CLIENT_FAILED);
}
