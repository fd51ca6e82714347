/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/complain.h"
#include "client/follow.h"
#include "client/frame.h"
#include "client/interrupt.h"
#include "client/time.h"

#define SLICE_MS	500		/* longest wait: how late a deadline or a dead writer is noticed */
#define CHECK_RECORDS	256		/* records between looks at the clock while none is waited for */
#define LINES_MAX	(1u << 20)
/* A record stamped before --until may be published a drain (50 ms) and a name look-up
 * later. */
#define LATE_NS		(NS_PER_SEC / 4)

static void look_at_writer(struct follow *f)
{
	struct ringside_liveness l;
	int64_t now = time_monotonic();
	struct text age;

	if (f->quiet_liveness || now < f->liveness_ns)
		return;
	f->liveness_ns = now + NS_PER_SEC;
	if (ring_liveness(f->ring, &l) || l.alive == f->was_alive)
		return;
	f->was_alive = l.alive;
	if (l.alive) {
		complain_note("%s: ringsided is back (pid %" PRIu32 ")", f->ring->path,
			      l.writer_pid);
		return;
	}
	text_init(&age, 64);
	duration_print(&age, (int64_t)l.heartbeat_age_ns);
	complain_note("%s: ringsided (pid %" PRIu32 ") %s, last sign of life %s ago; %s",
		      f->ring->path, l.writer_pid,
		      l.closed ? "has ended" : "is gone without a word",
		      text_string(&age),
		      f->no_follow ? "reading what it left"
				   : "waiting for a new one (what it left: --no-follow)");
	text_fini(&age);
}

/* Whether the record counts, and belongs to the time range. */
static bool in_range(const struct follow *f, const struct ringside_record *rec)
{
	return selection_in_time(f->selection, rec);
}

/*
 * Positions at the last n records that record() would take, by reading all that is held
 * once: the ring is small and a selection can not be found otherwise.
 */
static int start_at_last(struct follow *f, const struct ringside_geometry *g)
{
	uint64_t n = f->lines < LINES_MAX ? f->lines : LINES_MAX;
	uint64_t *seqs = calloc(n, sizeof(*seqs));
	uint64_t found = 0, first;
	struct ringside_record rec;
	int rc;

	if (!seqs)
		return -ENOMEM;
	rc = ring_seek_oldest(f->ring);
	while (rc >= 0 && (rc = ring_next(f->ring, &rec)) == 1) {
		if (rec.kind == RINGSIDE_LOST && rec.lost.by_reader)
			continue;
		if (rec.seq >= g->next_seq)
			break;
		if (in_range(f, &rec) && f->wants(f->arg, &rec))
			seqs[found++ % n] = rec.seq;
	}
	first = found < n ? (found ? seqs[0] : g->next_seq) : seqs[found % n];
	free(seqs);
	if (rc < 0)
		return rc;
	return ring_seek_seq(f->ring, first);
}

/* What is asked for may be overwritten already: that is no loss of ours, but worth a
 * word. */
static void remark_on_since(const struct follow *f, const struct ringside_geometry *g,
			    int64_t since)
{
	struct text t;

	if (!g->oldest_ns || since >= g->oldest_ns || g->first_seq <= 1)
		return;
	text_init(&t, 64);
	time_print(&t, g->oldest_ns, false);
	complain_note("%s: the ring holds nothing older than %s", f->ring->path,
		      text_string(&t));
	text_fini(&t);
}

int follow_start(struct follow *f)
{
	struct ringside_geometry g;
	struct ringside_liveness l;
	int64_t since;
	int err;

	err = ring_geometry(f->ring, &g);
	if (err)
		return err;
	f->end_seq = g.next_seq;
	err = ring_liveness(f->ring, &l);
	if (err)
		return err;
	f->was_alive = true;	/* so that a dead writer is news */
	look_at_writer(f);
	if (selection_since(f->selection, &since))
		remark_on_since(f, &g, since);
	if (f->lines)
		return start_at_last(f, &g);
	if (selection_since(f->selection, &since))
		return ring_seek_time(f->ring, since);
	return f->no_follow ? ring_seek_oldest(f->ring) : 0;
}

static bool past_until(const struct follow *f)
{
	int64_t until;

	return selection_until(f->selection, &until) && time_now() >= until + LATE_NS;
}

/* Looks at clocks and signals.  caught_up: the ring had nothing more. */
static bool over(struct follow *f, bool caught_up)
{
	int64_t now = time_monotonic();

	if (interrupt_signal())
		return true;
	if (f->no_follow)
		return caught_up;
	if (!f->deadline_ns && f->has_duration &&
	    (caught_up || ringside_position(f->ring->reader) >= f->end_seq))
		f->deadline_ns = now + f->duration_ns;
	if (f->deadline_ns && now >= f->deadline_ns)
		return true;
	return caught_up && past_until(f);
}

/* A loss that the reader found has no time of its own: it was noticed now. */
static void stamp_lost(struct ringside_record *rec)
{
	struct timespec ts;

	if (rec->time_ns)
		return;
	rec->time_ns = time_now();
	clock_gettime(CLOCK_BOOTTIME, &ts);
	rec->boot_ns = (uint64_t)ts.tv_sec * (uint64_t)NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static int take(struct follow *f, struct ringside_record *rec)
{
	uint64_t max = selection_max_events(f->selection);
	bool counted = rec->kind == RINGSIDE_SAMPLE || rec->kind == RINGSIDE_PROCESS;
	int rc;

	if (rec->kind == RINGSIDE_LOST && rec->lost.by_reader)
		stamp_lost(rec);
	else if (f->no_follow && rec->seq >= f->end_seq)
		f->ending = true;
	if (f->ending || !in_range(f, rec))
		return 0;
	if (rec->kind == RINGSIDE_LOST && rec->lost.cause < RINGSIDE_LOST_MAX)
		f->counts.lost[rec->lost.cause] += rec->lost.count;
	f->counts.seen += counted;
	rc = f->record(f->arg, rec);
	if (rc < 0)
		return rc;
	f->counts.shown += counted && rc;
	if (max && f->counts.shown >= max)
		f->ending = true;
	return 0;
}

static int wait_ms(const struct follow *f)
{
	int64_t left, until;

	left = (f->slice_ms ? f->slice_ms : SLICE_MS) * INT64_C(1000000);
	if (f->deadline_ns && f->deadline_ns - time_monotonic() < left)
		left = f->deadline_ns - time_monotonic();
	if (selection_until(f->selection, &until) && until + LATE_NS - time_now() < left)
		left = until + LATE_NS - time_now();
	return left <= 0 ? 0 : (int)(left / 1000000) + 1;
}

static int wait_for_more(struct follow *f)
{
	int rc = f->idle ? f->idle(f->arg) : 0;

	if (rc > 0)
		f->ending = true;
	if (rc)
		return rc < 0 ? rc : 0;
	if (over(f, true)) {
		f->ending = true;
		return 0;
	}
	look_at_writer(f);
	rc = ring_wait(f->ring, wait_ms(f));
	return rc == -EINTR || rc > 0 ? 0 : rc;
}

int follow_run(struct follow *f)
{
	struct ringside_record rec;
	int rc = 0;

	while (!f->ending && rc >= 0) {
		rc = ring_next(f->ring, &rec);
		if (rc == 0) {
			rc = wait_for_more(f);
		} else if (rc > 0) {
			rc = take(f, &rec);
			if (++f->checked % CHECK_RECORDS == 0 && over(f, false))
				break;
		}
	}
	if (f->idle && rc >= 0) {
		rc = f->idle(f->arg);
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

void follow_summary(const struct follow *f, const char *shown_word)
{
	const struct follow_counts *c = &f->counts;
	uint64_t lost = 0;
	struct text causes;
	char buf[NAME_BUF];

	text_init(&causes, 1024);
	for (uint32_t i = 0; i < RINGSIDE_LOST_MAX; i++) {
		if (!c->lost[i])
			continue;
		text_printf(&causes, "%s%s %" PRIu64, lost ? ", " : " (",
			    name_or_number(ringside_cause_name(i), i, buf), c->lost[i]);
		lost += c->lost[i];
	}
	if (lost)
		text_putc(&causes, ')');
	complain_note("%" PRIu64 " seen, %" PRIu64 " %s, %" PRIu64 " lost%s, %" PRIu64
		      " skipped",
		      c->seen, c->shown, shown_word, lost, text_string(&causes),
		      c->seen - c->shown);
	text_fini(&causes);
}
