/* SPDX-License-Identifier: Apache-2.0 */
/* Positions, waiting, and what the file says about itself. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/ring_time.h"
#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i & 1)
#define MS	1000000ull

static void put_range(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		ck_assert_ok(numbered_put(fx.w, i));	/* wall time 1000000 + i */
	ring_writer_publish(fx.w);
}

/* --- seek --------------------------------------------------------------------------- */

START_TEST(open_starts_after_the_newest)
{
	struct ringside_record rec;
	struct ringside *r;

	fixture_create(0, 0, 0);
	put_range(0, 333);
	r = fixture_open(PARANOID, false);
	ck_assert_uint_eq(ringside_position(r), 334);
	ck_assert_int_eq(ringside_next(r, &rec), 0);
	put_range(333, 334);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.seq, 334);
	ck_assert_uint_eq(numbered_of(&rec), 333);
	ringside_close(r);
}
END_TEST

static const uint64_t lasts[] = { 0, 1, 2, 10, 11, 100, 400, 1000000 };

START_TEST(seek_last_leaves_that_many)
{
	uint64_t n = lasts[_i / 2], want;
	struct ringside_geometry g;
	struct ringside *r;
	struct drained d;

	fixture_create(0, 0, 0);
	put_range(0, 3000);
	r = fixture_open(PARANOID, true);
	drain(r);
	ck_assert_ok(ringside_geometry(r, &g));
	ck_assert_ok(ringside_seek_last(r, n));
	d = drain(r);
	want = n < g.next_seq - g.first_seq ? n : g.next_seq - g.first_seq;
	ck_assert_uint_eq(d.samples, want);
	ck_assert_uint_eq(d.lost, 0);
	if (n)
		ck_assert_uint_eq(d.last, 2999);
	ringside_close(r);
}
END_TEST

/* A number stays what it is while the writer goes on; "the last n" does not. */
START_TEST(seek_seq_finds_that_number_whatever_came_since)
{
	struct ringside_geometry g;
	struct ringside_record rec;
	struct ringside *r;

	fixture_create(0, 0, 0);
	put_range(0, 300);
	r = fixture_open(PARANOID, true);
	ck_assert_ok(ringside_geometry(r, &g));
	put_range(300, 310);
	ck_assert_ok(ringside_seek_seq(r, g.next_seq - 3));
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.seq, g.next_seq - 3);
	ck_assert_uint_eq(numbered_of(&rec), 297);
	put_range(310, 9000);	/* laps it */
	ck_assert_ok(ringside_seek_seq(r, g.next_seq - 3));
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_gt(rec.seq, g.next_seq);
	ringside_close(r);
}
END_TEST

/* Times before, in, and after what is held. */
static const int64_t times[] = { 0,	  1000000, 1002400, 1002500,
				 1002998, 1002999, 1003000, 2000000 };

START_TEST(seek_time_finds_the_first_block_that_may_hold_it)
{
	int64_t t = times[_i / 2];
	struct ringside_geometry g;
	struct ringside *r;
	uint64_t want;
	struct drained d;

	fixture_create(0, 0, 0);
	put_range(0, 3000);
	r = fixture_open(PARANOID, false);
	ck_assert_ok(ringside_geometry(r, &g));
	ck_assert_ok(ringside_seek_time(r, t));
	d = drain(r);
	ck_assert_uint_eq(d.lost, 0);
	want = t < g.oldest_ns ? (uint64_t)(g.oldest_ns - 1000000)
			       : (uint64_t)(t - 1000000);
	if (want > 2999)
		want = 2999;
	ck_assert_msg(d.samples && d.first <= want, "from %llu, want %llu",
		      (unsigned long long)d.first, (unsigned long long)want);
	ck_assert_uint_le(want - d.first, 60);	/* about a block of 4 KiB */
	ck_assert_uint_eq(d.last, 2999);
	ringside_close(r);
}
END_TEST

/* The clock was set back by an hour in the middle: the first block that may hold the time
 * comes first. */
START_TEST(seek_time_across_a_clock_step)
{
	struct ring_stamp s = { .wall_ns = 5000, .boot_ns = 5000, .clock_epoch = 1 };
	struct ringside_record rec;
	struct ringside *r;
	int n;

	fixture_create(0, 0, 0);
	for (int i = 0; i < 400; i++, s.wall_ns += 10, s.boot_ns += 10)
		ck_assert_ok(ring_put_lost(fx.w, &s, RINGSIDE_LOST_MALFORMED, 1));
	s.wall_ns -= 3600;
	s.clock_epoch = 2;
	for (int i = 0; i < 400; i++, s.wall_ns += 10, s.boot_ns += 10)
		ck_assert_ok(ring_put_lost(fx.w, &s, RINGSIDE_LOST_MALFORMED, 1));
	ring_writer_publish(fx.w);
	r = fixture_open(PARANOID, false);
	/* 8000 was passed twice: at the old clock's record 300, and again after the
	 * step */
	ck_assert_ok(ringside_seek_time(r, 8000));
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.clock_epoch, 1);
	ck_assert_int_le(rec.time_ns, 8000);
	ck_assert_int_gt(rec.time_ns, 6500);
	ck_assert_ok(ringside_seek_time(
		r, 9200)); /* after all of the old clock's but the new one has it */
	n = ringside_next(r, &rec);
	ck_assert_int_eq(n, 1);
	ck_assert_uint_eq(rec.clock_epoch, 2);
	ringside_close(r);
}
END_TEST

START_TEST(seek_oldest_and_back)
{
	struct ringside *r;
	struct drained d, again;

	fixture_create(0, 0, 0);
	put_range(0, 5000);
	r = fixture_open(PARANOID, true);
	d = drain(r);
	ck_assert_uint_eq(d.lost, 0);
	ck_assert_uint_gt(d.samples, 500);
	ck_assert_ok(ringside_seek_oldest(r));
	again = drain(r);
	ck_assert_uint_eq(again.first, d.first);
	ck_assert_uint_eq(again.samples, d.samples);
	ck_assert_ok(ringside_seek_newest(r));
	ck_assert_uint_eq(drain(r).samples, 0);
	ringside_close(r);
}
END_TEST

START_TEST(geometry_tells_what_is_held)
{
	struct ringside_geometry g;
	struct ringside *r;
	struct drained d;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	ck_assert_ok(ringside_geometry(r, &g));
	ck_assert_uint_eq(g.first_seq, g.next_seq);
	ck_assert_int_eq(g.oldest_ns, 0);
	ck_assert_int_eq(g.newest_ns, 0);
	put_range(0, 5000);
	ck_assert_ok(ringside_geometry(r, &g));
	ck_assert_ok(ringside_seek_oldest(r));
	d = drain(r);
	ck_assert_uint_eq(g.next_seq, 5001);
	ck_assert_uint_eq(g.first_seq, d.first + 1);
	ck_assert_int_eq(g.newest_ns, 1004999);
	ck_assert_int_eq(g.oldest_ns, (int64_t)(1000000 + d.first));
	ck_assert_uint_eq(g.block_bytes, 4096);
	ck_assert_uint_eq(g.nblocks, 64);
	ck_assert_uint_gt(g.dict_used_bytes, 1000);
	ck_assert_uint_le(g.dict_used_bytes, g.dict_bytes);
	ck_assert_str_eq(g.path, fx.path);
	ringside_close(r);
}
END_TEST

START_TEST(pread_reads_what_the_mapping_reads)
{
	struct ringside_record a, b;
	struct ringside *m, *p;
	int n;

	fixture_create(0, 0, 0);
	put_range(0, 5000);
	m = fixture_open(false, true);
	p = fixture_open(true, true);
	do {
		n = ringside_next(m, &a);
		ck_assert_int_eq(n, ringside_next(p, &b));
		if (n != 1)
			break;
		ck_assert_uint_eq(a.kind, b.kind);
		ck_assert_uint_eq(a.seq, b.seq);
		ck_assert_uint_eq(a.sample.weight, b.sample.weight);
		ck_assert_uint_eq(a.sample.user.ref, b.sample.user.ref);
		ck_assert_ptr_null(numbered_check(&a));
		ck_assert_ptr_null(numbered_check(&b));
	} while (1);
	ringside_close(m);
	ringside_close(p);
}
END_TEST

/* --- wait --------------------------------------------------------------------------- */

START_TEST(wait_times_out_and_sees_what_is_there)
{
	uint64_t start, took;
	struct ringside *r;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	start = ring_clock_ns(CLOCK_MONOTONIC);
	ck_assert_int_eq(ringside_wait(r, 150), 0);
	took = ring_clock_ns(CLOCK_MONOTONIC) - start;
	ck_assert_uint_ge(took, 150 * MS);
	ck_assert_uint_lt(took, 2000 * MS);
	ck_assert_int_eq(ringside_wait(r, 0), 0);
	put_range(0, 1);
	ck_assert_int_eq(ringside_wait(r, 0), 1);
	ck_assert_int_eq(ringside_wait(r, -1), 1);
	ringside_close(r);
}
END_TEST

START_TEST(publish_wakes_a_waiter)
{
	struct ringside *r;
	uint64_t start, took;
	int status;
	pid_t pid;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	pid = fork();
	if (!pid) {
		start = ring_clock_ns(CLOCK_MONOTONIC);
		if (ringside_wait(r, 10000) != 1)
			_exit(1);
		took = ring_clock_ns(CLOCK_MONOTONIC) - start;
		_exit(took > 5000 * MS || drain(r).samples != 1);
	}
	usleep(250000);			/* more than one slice: it sleeps on */
	put_range(0, 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ringside_close(r);
}
END_TEST

enum { SLEEPERS = 4 };

/* Waits as any process may, without handing a wake-up on. */
static pid_t start_sleeper(void)
{
	struct timespec ts = { .tv_sec = 20 };
	uint32_t seen = (uint32_t)fx.w->hdr->tail;
	pid_t pid = fork();

	if (!pid)
		_exit(syscall(SYS_futex, &fx.w->hdr->tail, 0, seen, &ts, NULL, 0) != 0);
	return pid;
}

/* One reader in front of the sleepers: how many of these does one publish wake? */
static int woken_by_publish(struct ringside *r, uint64_t i)
{
	pid_t reader, pids[SLEEPERS];
	int status, woken = 0;

	reader = fork();
	if (!reader)
		_exit(ringside_wait(r, 10000) != 1);
	usleep(10000);
	for (int k = 0; k < SLEEPERS; k++)
		pids[k] = start_sleeper();
	usleep(20000);
	put_range(i, i + 1);
	ck_assert_int_eq(waitpid(reader, &status, 0), reader);
	ck_assert_int_eq(status, 0);
	usleep(100000);
	for (int k = 0; k < SLEEPERS; k++) {
		if (waitpid(pids[k], &status, WNOHANG) == pids[k]) {
			woken += status == 0;
			continue;
		}
		kill(pids[k], SIGKILL);
		waitpid(pids[k], NULL, 0);
	}
	return woken;
}

/* The writer wakes two, whatever the crowd; a reader that was one of them wakes two
 * more.  Where a reader's slice ended in between it is no longer in front, so there are
 * several tries. */
START_TEST(a_publish_wakes_two_and_a_woken_reader_two_more)
{
	struct ringside *r;
	int woken = 0;

	fixture_create(0, 0, 0);
	r = fixture_open(false, false);
	for (uint64_t i = 0; i < 12 && woken != 3; i++) {
		drain(r);
		woken = woken_by_publish(r, i);
		ck_assert_int_le(woken, 3);
	}
	ck_assert_int_eq(woken, 3);
	ringside_close(r);
}
END_TEST

START_TEST(wakes_are_rationed_and_the_last_is_not_forgotten)
{
	fixture_create(0, 0, 0);
	put_range(0, 1);
	fx.w->next_wake_ns = UINT64_MAX;	/* as if just woken */
	put_range(1, 2);
	ck_assert(fx.w->wake_owed);
	fx.w->next_wake_ns = ring_clock_ns(CLOCK_MONOTONIC);
	ring_writer_heartbeat(fx.w, fx.w->hdr->heartbeat);
	ck_assert(!fx.w->wake_owed);
}
END_TEST

/* A crowd that makes one wake dear makes wakes rare: they cost a twentieth at most. */
START_TEST(dear_wakes_are_rarer)
{
	static const struct { uint64_t took, pause; } rows[] = {
		{ 0, 1 * MS }, { 40000, 1 * MS }, { 50000, 1 * MS }, { 60000, 1200000 },
		{ 1 * MS, 20 * MS }, { 4999999, 99999980 }, { 5 * MS, 100 * MS },
		{ 1000 * MS, 100 * MS }, { UINT64_MAX, 100 * MS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert_uint_eq(ring_wake_pause(rows[i].took), rows[i].pause);
}
END_TEST

static void on_alarm(int sig)
{
	(void)sig;
}

START_TEST(wait_is_interrupted_by_a_signal)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval t = { .it_value = { .tv_usec = 30000 } };
	struct ringside *r;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	ck_assert_int_eq(sigaction(SIGALRM, &sa, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &t, NULL), 0);
	ck_assert_int_eq(ringside_wait(r, 5000), -EINTR);
	ringside_close(r);
}
END_TEST

Suite *reading_suite(void)
{
	Suite *s = suite_create("ring reading");
	TCase *tc = tcase_create("reading");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tc, open_starts_after_the_newest, 0, 2);
	tcase_add_loop_test(tc, seek_seq_finds_that_number_whatever_came_since, 0, 2);
	tcase_add_loop_test(tc, seek_last_leaves_that_many, 0,
			    2 * (int)(sizeof(lasts) / sizeof(*lasts)));
	tcase_add_loop_test(tc, seek_time_finds_the_first_block_that_may_hold_it, 0,
			    2 * (int)(sizeof(times) / sizeof(*times)));
	tcase_add_loop_test(tc, seek_time_across_a_clock_step, 0, 2);
	tcase_add_loop_test(tc, seek_oldest_and_back, 0, 2);
	tcase_add_loop_test(tc, geometry_tells_what_is_held, 0, 2);
	tcase_add_test(tc, pread_reads_what_the_mapping_reads);
	tcase_add_loop_test(tc, wait_times_out_and_sees_what_is_there, 0, 2);
	tcase_add_loop_test(tc, publish_wakes_a_waiter, 0, 2);
	tcase_add_test(tc, a_publish_wakes_two_and_a_woken_reader_two_more);
	tcase_add_test(tc, wakes_are_rationed_and_the_last_is_not_forgotten);
	tcase_add_test(tc, dear_wakes_are_rarer);
	tcase_add_loop_test(tc, wait_is_interrupted_by_a_signal, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}
