/* SPDX-License-Identifier: Apache-2.0 */
/* The converter over tables of cases; the anchor taker over clocks that fail or jump. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sidecar/clock/anchor.h"
#include "sidecar/clock/clock.h"
#include "sidecar/clock/timens.h"

#define S 1000000000ll
#define HOUR (3600 * S)
#define BORN (1700000000 * S)		/* wall time of boot in these tests */
#define N(t) (sizeof(t) / sizeof((t)[0]))

static struct clock_anchor at(uint64_t boot_ns, int64_t offset_ns, uint64_t bound_ns)
{
	return (struct clock_anchor){ .boot_ns = boot_ns,
				      .real_ns = (int64_t)(boot_ns + (uint64_t)offset_ns),
				      .offset_ns = offset_ns,
				      .bound_ns = bound_ns,
				      .source = CLOCK_PAIRED };
}

/* --- one offset: the shape of the original --- */

static const struct {
	const char *what;
	uint64_t boot;
	int64_t offset;
	int want;
	int64_t wall;
} singles[] = {
	{ "boot itself", 0, BORN, 0, BORN },
	{ "one ns later", 1, BORN, 0, BORN + 1 },
	{ "one day up", 86400ull * S, BORN, 0, BORN + 86400 * S },
	{ "first ns of 2000", 0, 946684800 * S, 0, 946684800 * S },
	{ "last ns of 1999", 0, 946684800 * S - 1, -ERANGE, 0 },
	{ "2000 by uptime", 1, 946684800 * S - 1, 0, 946684800 * S },
	{ "last ns of 2199", S - 1, 7258118399 * S, 0, 7258118399 * S + S - 1 },
	{ "first ns of 2200", S, 7258118399 * S, -ERANGE, 0 },
	{ "sum overflows", INT64_MAX, INT64_MAX, -ERANGE, 0 },
	{ "boot beyond int64", 1ull << 63, BORN, -ERANGE, 0 },
	{ "largest boot", UINT64_MAX, BORN, -ERANGE, 0 },
	{ "negative offset", BORN, -5, 0, BORN - 5 },
	{ "most negative offset", 0, INT64_MIN, -ERANGE, 0 },
};
START_TEST(one_offset_is_added_within_2000_and_2200)
{
	struct clock_anchor a = at(0, singles[_i].offset, 1);
	int64_t wall = 0;
	int got = clock_boot_to_wall(&a, singles[_i].boot, &wall);

	ck_assert_msg(got == singles[_i].want, "%s: got %d", singles[_i].what, got);
	ck_assert_msg(wall == singles[_i].wall, "%s: wall %lld", singles[_i].what,
		      (long long)wall);
}
END_TEST

/* Monotone, additive, and exact there and back, over a walk of strides that no float
 * could follow. */
START_TEST(conversion_is_monotone_additive_and_exact)
{
	struct clock_anchor a = at(0, BORN + 123456789, 1);
	uint64_t boot = 0, before = 0;
	int64_t wall, previous = INT64_MIN;

	for (uint64_t i = 1; i < 200000; i++) {
		boot += i * i % 1000003 + 1;
		ck_assert_int_eq(clock_boot_to_wall(&a, boot, &wall), 0);
		ck_assert_int_gt(wall, previous);
		if (before)
			ck_assert_int_eq(wall - previous, (int64_t)(boot - before));
		ck_assert_uint_eq((uint64_t)(wall - a.offset_ns), boot);
		previous = wall;
		before = boot;
	}
}
END_TEST

/* --- epochs --- */

enum { F, C };	/* feed, convert */
static const struct step {
	const char *what;
	int op;
	uint64_t boot;
	int64_t offset;		/* feed */
	uint64_t bound;
	bool stepped;
	int want;		/* feed: enum clock_change; convert: 0 or -errno */
	int64_t value;		/* feed: step; convert: wall */
	uint32_t epoch;		/* convert */
	uint64_t error;		/* convert; feed: bound of the current epoch afterwards */
} script[] = {
	{ "nothing fed", C, 5, 0, 0, false, -ENODATA, 0, 0, 0 },
	{ "first", F, 100 * S, BORN, 60, false, CLOCK_FIRST, 0, 0, 60 },
	{ "at the anchor", C, 100 * S, 0, 0, false, 0, BORN + 100 * S, 1, 60 },
	{ "before the first anchor", C, 7, 0, 0, false, 0, BORN + 7, 1, 60 },
	{ "same offset, narrower", F, 110 * S, BORN, 25, false, CLOCK_SAME, 0, 0, 25 },
	{ "30 ns off, wider", F, 120 * S, BORN + 30, 40, false, CLOCK_SAME, 0, 0, 25 },
	{ "10 ns off, much narrower", F, 130 * S, BORN + 10, 5, false, CLOCK_SAME, 0, 0,
	  15 },
	{ "offset was kept", C, 131 * S, 0, 0, false, 0, BORN + 131 * S, 1, 15 },
	{ "exactly both bounds off", F, 140 * S, BORN - 40, 25, false, CLOCK_SAME, 0, 0,
	  15 },
	{ "1 ns beyond both bounds", F, 150 * S, BORN - 41, 25, false, CLOCK_STEPPED, -41,
	  0, 25 },
	{ "before that", C, 150 * S - 1, 0, 0, false, 0, BORN + 150 * S - 1, 1, 15 },
	{ "from there on", C, 150 * S, 0, 0, false, 0, BORN - 41 + 150 * S, 2, 25 },
	{ "an hour forward", F, 200 * S, BORN + HOUR, 30, true, CLOCK_STEPPED, HOUR + 41,
	  0, 30 },
	{ "drained late: old epoch", C, 199 * S, 0, 0, false, 0, BORN - 41 + 199 * S, 2,
	  25 },
	{ "an hour forward: after", C, 201 * S, 0, 0, false, 0, BORN + HOUR + 201 * S, 3,
	  30 },
	{ "two hours back", F, 300 * S, BORN - HOUR, 30, true, CLOCK_STEPPED, -2 * HOUR,
	  0, 30 },
	{ "wall goes back, boot not", C, 300 * S, 0, 0, false, 0, BORN - HOUR + 300 * S,
	  4, 30 },
	{ "an old reading is ignored", F, 250 * S, BORN + HOUR, 1, true, CLOCK_SAME, 0, 0,
	  30 },
	{ "still the newest epoch", C, 301 * S, 0, 0, false, 0, BORN - HOUR + 301 * S, 4,
	  30 },
	{ "told of a step of nothing", F, 310 * S, BORN - HOUR, 30, true, CLOCK_STEPPED,
	  0, 0, 30 },
	{ "a new epoch all the same", C, 310 * S, 0, 0, false, 0, BORN - HOUR + 310 * S,
	  5, 30 },
	{ "leap second", F, 400 * S, BORN - HOUR - S, 30, false, CLOCK_STEPPED, -S, 0,
	  30 },
	{ "absurd anchor", F, 500 * S, INT64_MAX, 30, true, CLOCK_STEPPED,
	  INT64_MAX - (BORN - HOUR - S), 0, 30 },
	{ "refused, not wrapped", C, 500 * S, 0, 0, false, -ERANGE, 0, 0, 0 },
	{ "back to sense", F, 600 * S, BORN, 30, true, CLOCK_STEPPED, BORN - INT64_MAX, 0,
	  30 },
	{ "older epochs unharmed", C, 201 * S, 0, 0, false, 0, BORN + HOUR + 201 * S, 3,
	  30 },
	{ "unbounded bound", F, 601 * S, BORN + 5, UINT64_MAX, false, CLOCK_SAME, 0, 0,
	  30 },
};

static void run_step(struct clock_converter *c, const struct step *s)
{
	struct clock_anchor a = at(s->boot, s->offset, s->bound);
	struct clock_stamp stamp = { 0 };
	int64_t step = -1;
	int got;

	if (s->op == F) {
		got = clock_converter_feed(c, &a, s->stepped, &step);
		ck_assert_msg(got == s->want && step == s->value, "%s: got %d, step %lld",
			      s->what, got, (long long)step);
		ck_assert_msg(clock_current(c, NULL)->bound_ns == s->error,
			      "%s: bound %llu", s->what,
			      (unsigned long long)clock_current(c, NULL)->bound_ns);
		return;
	}
	got = clock_convert(c, s->boot, &stamp);
	ck_assert_msg(got == s->want, "%s: got %d", s->what, got);
	if (!got)
		ck_assert_msg(stamp.wall_ns == s->value && stamp.epoch == s->epoch &&
				      stamp.error_ns == s->error &&
				      stamp.boot_ns == s->boot,
			      "%s: wall %lld epoch %u error %llu", s->what,
			      (long long)stamp.wall_ns, stamp.epoch,
			      (unsigned long long)stamp.error_ns);
}

START_TEST(epochs_follow_the_script)
{
	struct clock_converter c;

	clock_converter_init(&c);
	ck_assert_ptr_null(clock_current(&c, NULL));
	for (size_t i = 0; i < N(script); i++)
		run_step(&c, &script[i]);
}
END_TEST

START_TEST(the_oldest_epochs_are_forgotten_and_their_events_refused)
{
	struct clock_converter c;
	struct clock_anchor a;
	struct clock_stamp stamp;
	int64_t step;
	uint32_t epoch;

	clock_converter_init(&c);
	for (int i = 1; i <= 40; i++) {
		a = at((uint64_t)(i * 10 * S), BORN + i * S, 30);
		ck_assert_int_eq(clock_converter_feed(&c, &a, true, &step),
				 i == 1 ? CLOCK_FIRST : CLOCK_STEPPED);
		ck_assert_int_eq(step, i == 1 ? 0 : S);
	}
	ck_assert_ptr_nonnull(clock_current(&c, &epoch));
	ck_assert_uint_eq(epoch, 40);
	ck_assert_uint_eq(c.dropped, 40 - CLOCK_EPOCHS);
	for (int i = 25; i <= 40; i++) {
		ck_assert_int_eq(clock_convert(&c, (uint64_t)(i * 10 * S + 1), &stamp),
				 0);
		ck_assert_uint_eq(stamp.epoch, (uint32_t)i);
		ck_assert_int_eq(stamp.wall_ns, BORN + i * S + i * 10 * S + 1);
	}
	ck_assert_int_eq(clock_convert(&c, 250 * S - 1, &stamp), -ERANGE);
	ck_assert_int_eq(clock_convert(&c, 0, &stamp), -ERANGE);
}
END_TEST

START_TEST(a_better_source_begins_an_epoch_and_a_worse_one_does_not)
{
	struct clock_anchor btime = at(10 * S, BORN + S / 2, CLOCK_BTIME_BOUND_NS),
			    paired = at(20 * S, BORN, 30);
	struct clock_anchor guess = at(30 * S, BORN + HOUR / 2, CLOCK_ESTIMATE_NS);
	struct clock_converter c;
	struct clock_stamp stamp;
	int64_t step;

	btime.source = CLOCK_BTIME;
	guess.source = CLOCK_ESTIMATED;
	clock_converter_init(&c);
	ck_assert_int_eq(clock_converter_feed(&c, &btime, false, &step), CLOCK_FIRST);
	ck_assert_int_eq(clock_converter_feed(&c, &paired, false, &step), CLOCK_STEPPED);
	ck_assert_int_eq(step, -S / 2);
	ck_assert_int_eq(clock_converter_feed(&c, &guess, false, &step), CLOCK_SAME);
	btime.boot_ns = 40 * S;
	ck_assert_int_eq(clock_converter_feed(&c, &btime, false, &step), CLOCK_SAME);
	ck_assert_int_eq(clock_convert(&c, 50 * S, &stamp), 0);
	ck_assert_int_eq(stamp.wall_ns, BORN + 50 * S);
	ck_assert_uint_eq(stamp.error_ns, 30);
}
END_TEST

/* Suspend moves BOOTTIME against MONOTONIC, and not against REALTIME: no step, no lag. */
START_TEST(suspend_is_seen_and_changes_no_wall_time)
{
	struct clock_anchor before = at(1000 * S, BORN, 30),
			    after = at(5000 * S, BORN, 30);
	struct clock_converter c;
	struct clock_stamp stamp;
	int64_t step;

	before.monotonic_ns = 1000 * S;
	after.monotonic_ns = 1400 * S;
	ck_assert_uint_eq(clock_suspended_between(&before, &after), 3600 * S);
	ck_assert_uint_eq(clock_suspended_between(&after, &before), 0);
	after.monotonic_ns = 5000 * S - 20000000;	/* interrupted between two readings */
	ck_assert_uint_eq(clock_suspended_between(&before, &after), 0);
	before.monotonic_ns = 0;			/* a fallback's anchor */
	ck_assert_uint_eq(clock_suspended_between(&before, &after), 0);
	clock_converter_init(&c);
	clock_converter_feed(&c, &before, false, &step);
	ck_assert_int_eq(clock_converter_feed(&c, &after, false, &step), CLOCK_SAME);
	ck_assert_int_eq(clock_convert(&c, 5001 * S, &stamp), 0);
	ck_assert_int_eq(stamp.wall_ns, BORN + 5001 * S);
}
END_TEST

/* --- the anchor taker over faked clocks --- */

struct fake {
	int64_t real, boot, monotonic;	/* what the next reading gives */
	const int64_t *real_steps;	/* added to real before each REALTIME reading */
	unsigned int n_real, calls;
	int fail_real, fail_boot, fail_monotonic, fail_coarse;	/* errno */
};

static int fake_gettime(void *arg, clockid_t id, int64_t *ns)
{
	struct fake *f = arg;

	f->calls++;
	switch (id) {
	case CLOCK_REALTIME:
		if (f->real_steps && f->n_real < 2 * CLOCK_TRIPLES)
			f->real += f->real_steps[f->n_real];
		f->n_real++;
		*ns = f->real;
		return -f->fail_real;
	case CLOCK_REALTIME_COARSE:
		*ns = f->real;
		return -f->fail_coarse;
	case CLOCK_BOOTTIME:
		*ns = f->boot;
		return -f->fail_boot;
	case CLOCK_MONOTONIC:
		*ns = f->monotonic;
		return -f->fail_monotonic;
	}
	return -EINVAL;
}

static const char *stat_file(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "check_clock.%d.stat", getpid());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return path;
}

START_TEST(the_narrowest_bracket_is_kept)
{
	/* Widths 900, 100, 41, -5 (a step back in between), 300. */
	static const int64_t steps[] = { 0, 900, 0, 100, 0, 41, 0, -5, 0, 300 };
	struct fake f = {
		.real = BORN, .boot = 77 * S, .monotonic = 70 * S, .real_steps = steps
	};
	struct clock_reader r = { .gettime = fake_gettime,
				  .arg = &f,
				  .resolution_ns = 1 };
	struct clock_anchor a;

	ck_assert_int_eq(clock_take_anchor_from(&r, &a), 0);
	ck_assert_int_eq(a.source, CLOCK_PAIRED);
	ck_assert_int_eq(a.real_ns, BORN + 1000 + 20);
	ck_assert_uint_eq(a.boot_ns, 77 * S);
	ck_assert_uint_eq(a.monotonic_ns, 70 * S);
	ck_assert_int_eq(a.offset_ns, BORN + 1020 - 77 * S);
	ck_assert_uint_eq(a.bound_ns, 21 + 1);
	ck_assert_uint_eq(f.calls, 4 * CLOCK_TRIPLES);
}
END_TEST

START_TEST(a_bracket_of_nothing_has_the_resolution_as_bound)
{
	struct fake f = { .real = BORN, .boot = S };
	struct clock_reader r = { .gettime = fake_gettime,
				  .arg = &f,
				  .resolution_ns = 4000000 };
	struct clock_anchor a;

	ck_assert_int_eq(clock_take_anchor_from(&r, &a), 0);
	ck_assert_uint_eq(a.bound_ns, 4000000);
	r.resolution_ns = 1;
	ck_assert_int_eq(clock_take_anchor_from(&r, &a), 0);
	ck_assert_uint_eq(a.bound_ns, 1);
}
END_TEST

START_TEST(the_time_namespace_is_subtracted)
{
	struct fake f = { .real = BORN, .boot = 100123 * S, .monotonic = 200100 * S };
	struct clock_reader r = { .gettime = fake_gettime, .arg = &f, .resolution_ns = 1,
		.timens_boot_ns = 100000 * S, .timens_monotonic_ns = 200000 * S };
	struct clock_anchor a;

	ck_assert_int_eq(clock_take_anchor_from(&r, &a), 0);
	ck_assert_uint_eq(a.boot_ns, 123 * S);
	ck_assert_uint_eq(a.monotonic_ns, 100 * S);
	ck_assert_int_eq(a.offset_ns, BORN - 123 * S);
}
END_TEST

START_TEST(without_paired_clocks_btime_stands_in)
{
	struct fake f = { .boot = 100050 * S, .fail_real = ENOSYS };
	struct clock_reader r = { .gettime = fake_gettime, .arg = &f, .any_fs = true,
		.timens_boot_ns = 100000 * S, .resolution_ns = 1 };
	struct clock_anchor a;

	r.proc_stat = stat_file(
		"cpu 1 2 3\nintr 9 0 0\nctxt 12\nbtime 1699900000\nprocesses 4\n");
	ck_assert_int_eq(clock_take_anchor_from(&r, &a), 0);
	ck_assert_int_eq(a.source, CLOCK_BTIME);
	/* In the namespace btime is earlier by what BOOTTIME is later. */
	ck_assert_int_eq(a.offset_ns, 1700000000 * S + S / 2);
	ck_assert_uint_eq(a.bound_ns, S / 2);
	ck_assert_uint_eq(a.boot_ns, 50 * S);
	ck_assert_int_eq(a.real_ns, a.offset_ns + 50 * S);
	f.fail_boot = ENOSYS;
	ck_assert_int_eq(clock_take_anchor_from(&r, &a), 0);
	ck_assert_uint_eq(a.boot_ns, 0);
	ck_assert_int_eq(a.real_ns, a.offset_ns);
	unlink(r.proc_stat);
}
END_TEST

/* lxcfs lays its own file over /proc/stat: its btime is the container's. */
START_TEST(a_stat_file_that_is_not_procs_is_not_believed)
{
	struct fake f = { .real = BORN, .monotonic = 50 * S, .fail_boot = ENOSYS };
	struct clock_reader r = { .gettime = fake_gettime,
				  .arg = &f,
				  .resolution_ns = 1 };
	struct clock_anchor a;

	r.proc_stat = stat_file("btime 1\n");
	ck_assert_int_eq(clock_take_anchor_from(&r, &a), 0);
	ck_assert_int_eq(a.source, CLOCK_ESTIMATED);
	unlink(r.proc_stat);
}
END_TEST

static const struct {
	const char *what;
	struct fake f;
	int want;
	uint64_t boot;
	int64_t offset;
} guesses[] = {
	{ "no boot clock",
	  { .real = BORN, .monotonic = 50 * S, .fail_boot = ENOSYS },
	  0,
	  0,
	  BORN - 50 * S },
	{ "wall clock only",
	  { .real = BORN, .fail_boot = ENOSYS, .fail_monotonic = EPERM },
	  0,
	  0,
	  BORN - HOUR },
	{ "coarse wall clock",
	  { .real = BORN, .boot = 9 * S, .fail_real = EPERM },
	  0,
	  9 * S,
	  BORN - 9 * S },
	{ "no wall clock",
	  { .boot = 9 * S, .fail_real = EPERM, .fail_coarse = EPERM },
	  -ENODATA,
	  0,
	  0 },
};
START_TEST(the_last_resort_is_an_estimate_with_an_hours_bound)
{
	struct fake f = guesses[_i].f;
	struct clock_reader r = { .gettime = fake_gettime,
				  .arg = &f,
				  .resolution_ns = 1,
				  .proc_stat = "/nowhere" };
	struct clock_anchor a = { 0 };
	int got = clock_take_anchor_from(&r, &a);

	ck_assert_msg(got == guesses[_i].want, "%s: got %d", guesses[_i].what, got);
	if (got)
		return;
	ck_assert_uint_eq(a.source, CLOCK_ESTIMATED);
	ck_assert_uint_eq(a.bound_ns, HOUR);
	ck_assert_uint_eq(a.boot_ns, guesses[_i].boot);
	ck_assert_int_eq(a.offset_ns, guesses[_i].offset);
	ck_assert_int_eq(a.real_ns - (int64_t)a.boot_ns, a.offset_ns);
}
END_TEST

static const struct { const char *text; int want; int64_t seconds;
} btimes[] = {
	{ "btime 5\n", 0, 5 },
	{ "cpu\nbtime 1700000000", 0, 1700000000 },
	{ "", -ENODATA, 0 },
	{ "xbtime 5\n", -ENODATA, 0 },
	{ "btime\n", -ENODATA, 0 },
	{ "btime x\n", -ENODATA, 0 },
	{ "btime -5\n", -ENODATA, 0 },
	{ "btime 99999999999999999999\n", -ENODATA, 0 },
	{ "btime 9223372036\n", -ENODATA, 0 },
	{ "btime 5x\n", -ENODATA, 0 },
};
START_TEST(btime_lines)
{
	int64_t seconds = 0;

	ck_assert_int_eq(clock_parse_btime(btimes[_i].text, &seconds), btimes[_i].want);
	ck_assert_int_eq(seconds, btimes[_i].seconds);
}
END_TEST

static const struct { const char *text; int want; int64_t monotonic, boot;
} timens[] = {
	{ "monotonic           0         0\nboottime       100000         0\n", 0, 0,
	  100000 * S },
	{ "monotonic  -5 999999999\nboottime  -5 1\n", 0, -4 * S - 1, -5 * S + 1 },
	{ "1 7 0\n7 8 0\n", 0, 7 * S, 8 * S },
	{ "", 0, 0, 0 },
	{ "boottime 1\n", -EINVAL, 0, 0 },
	{ "boottime 99999999999 0\n", -EINVAL, 0, 0 },
	{ "boottime 1 1000000000\n", -EINVAL, 0, 0 },
};
START_TEST(timens_offsets)
{
	int64_t monotonic, boot;

	ck_assert_int_eq(clock_parse_timens(timens[_i].text, &monotonic, &boot),
			 timens[_i].want);
	ck_assert_int_eq(boot, timens[_i].boot);
	ck_assert_int_eq(monotonic, timens[_i].monotonic);
}
END_TEST

/* --- the real clocks --- */

/* Wall time by conversion lies inside REALTIME read before and after it, but for the
 * stated error. */
START_TEST(wall_error_is_within_a_microsecond)
{
	int64_t before, after, step, worst = 0, off;
	struct clock_converter c;
	struct clock_anchor a;
	struct clock_stamp stamp;

	clock_converter_init(&c);
	ck_assert_int_eq(clock_take_anchor(&a), 0);
	ck_assert_uint_eq(a.source, CLOCK_PAIRED);
	ck_assert_uint_ge(a.bound_ns, 1);
	ck_assert_uint_lt(a.bound_ns, 1000000);
	ck_assert_int_eq(clock_converter_feed(&c, &a, false, &step), CLOCK_FIRST);
	for (int i = 0; i < 20000; i++) {
		before = clock_real_now();
		ck_assert_int_eq(clock_convert(&c, clock_boot_now(), &stamp), 0);
		after = clock_real_now();
		off = stamp.wall_ns < before ? before - stamp.wall_ns :
		      stamp.wall_ns > after ? stamp.wall_ns - after : 0;
		if (off > worst)
			worst = off;
		ck_assert_uint_le((uint64_t)off, stamp.error_ns);
	}
	printf("wall-clock error: worst %lld ns outside its bracket, stated bound %llu ns (goal 1000 ns)\n",
	       (long long)worst, (unsigned long long)stamp.error_ns);
}
END_TEST

/* A quiet clock must not be taken for a stepping one: each false step is a record that
 * readers see. */
START_TEST(resync_of_a_quiet_clock_is_no_step)
{
	struct clock_converter c;
	struct clock_anchor a;
	int64_t step;
	int steps = 0;

	clock_converter_init(&c);
	for (int i = 0; i < 2000; i++) {
		ck_assert_int_eq(clock_take_anchor(&a), 0);
		steps += clock_converter_feed(&c, &a, false, &step) == CLOCK_STEPPED;
	}
	ck_assert_int_eq(steps, 0);
	printf("bound after 2000 readings: %llu ns\n",
	       (unsigned long long)clock_current(&c, NULL)->bound_ns);
}
END_TEST

START_TEST(step_watch_is_silent_without_a_step)
{
	struct clock_step_watch *w = NULL;

	ck_assert_int_eq(clock_step_open(&w), 0);
	ck_assert_int_ge(clock_step_fd(w), 0);
	ck_assert(!clock_step_take(w));
	clock_step_close(w);
	clock_step_close(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clock");
	TCase *pure = tcase_create("convert"), *taker = tcase_create("anchor"),
	      *real = tcase_create("real");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_loop_test(pure, one_offset_is_added_within_2000_and_2200, 0,
			    N(singles));
	tcase_add_test(pure, conversion_is_monotone_additive_and_exact);
	tcase_add_test(pure, epochs_follow_the_script);
	tcase_add_test(pure, the_oldest_epochs_are_forgotten_and_their_events_refused);
	tcase_add_test(pure, a_better_source_begins_an_epoch_and_a_worse_one_does_not);
	tcase_add_test(pure, suspend_is_seen_and_changes_no_wall_time);
	tcase_add_test(taker, the_narrowest_bracket_is_kept);
	tcase_add_test(taker, a_bracket_of_nothing_has_the_resolution_as_bound);
	tcase_add_test(taker, the_time_namespace_is_subtracted);
	tcase_add_test(taker, without_paired_clocks_btime_stands_in);
	tcase_add_test(taker, a_stat_file_that_is_not_procs_is_not_believed);
	tcase_add_loop_test(taker, the_last_resort_is_an_estimate_with_an_hours_bound, 0,
			    N(guesses));
	tcase_add_loop_test(taker, btime_lines, 0, N(btimes));
	tcase_add_loop_test(taker, timens_offsets, 0, N(timens));
	tcase_add_test(real, wall_error_is_within_a_microsecond);
	tcase_add_test(real, resync_of_a_quiet_clock_is_no_step);
	tcase_add_test(real, step_watch_is_silent_without_a_step);
	suite_add_tcase(s, pure);
	suite_add_tcase(s, taker);
	suite_add_tcase(s, real);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
