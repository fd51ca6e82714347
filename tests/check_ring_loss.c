/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a reader misses is counted: received + lost == produced, always. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shm/reader_state.h"
#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i & 1)

static void put_range(uint64_t from, uint64_t to, unsigned int batch)
{
	for (uint64_t i = from; i < to; i++) {
		ck_assert_ok(numbered_put(fx.w, i));
		if (i % batch == batch - 1)
			ring_writer_publish(fx.w);
	}
	ring_writer_publish(fx.w);
}

START_TEST(reader_that_keeps_up_loses_nothing)
{
	struct ringside *r;
	struct drained d;
	uint64_t n = 0;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	for (uint64_t i = 0; i < 20000; i += 50) {
		put_range(i, i + 50, 10);
		d = drain(r);
		ck_assert_uint_eq(d.lost, 0);
		n += d.samples;
	}
	ck_assert_uint_eq(n, 20000);
	ringside_close(r);
}
END_TEST

/* How many records the reader sleeps through: within a lap, about one lap, several. */
static const unsigned int naps[] = { 1, 100, 500, 900, 1000, 1100, 1500, 3000, 10000 };
#define NAPS (sizeof(naps) / sizeof(*naps))

START_TEST(lapped_reader_accounts_for_every_record)
{
	unsigned int nap = naps[_i / 2];
	uint64_t received = 0, lost = 0, at = 0;
	struct ringside_counts c;
	struct ringside *r;
	struct drained d;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	for (int round = 0; round < 6; round++) {
		put_range(at, at + nap, 7);
		at += nap;
		d = drain(r);
		received += d.samples;
		lost += d.lost;
		ck_assert_uint_eq(received + lost, at);
		ck_assert_uint_eq(ringside_position(r), ring_writer_next_seq(fx.w));
	}
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.received, received);
	ck_assert_uint_eq(c.lost[RINGSIDE_LOST_LAPPED], lost);
	ck_assert_uint_eq(c.corrupt_events, 0);
	if (nap == 10000)
		ck_assert_uint_gt(lost, 0);
	if (nap == 1)
		ck_assert_uint_eq(lost, 0);
	ringside_close(r);
}
END_TEST

START_TEST(lost_record_stands_where_the_gap_is)
{
	struct ringside_record rec;
	struct ringside *r;
	uint64_t after;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	put_range(0, 100, 10);
	for (uint64_t i = 0; i < 50; i++) {
		ck_assert_int_eq(ringside_next(r, &rec), 1);
		ck_assert_uint_eq(numbered_of(&rec), i);
	}
	put_range(100, 5000, 10);
	do
		ck_assert_int_eq(ringside_next(r, &rec), 1);
	while (rec.kind ==
	       RINGSIDE_SAMPLE); /* paranoid: what one pread proved intact comes first */
	ck_assert_uint_eq(rec.kind, RINGSIDE_LOST);
	ck_assert(rec.lost.by_reader);
	ck_assert_uint_eq(rec.lost.cause, RINGSIDE_LOST_LAPPED);
	ck_assert_uint_eq(rec.seq, 0);
	if (!PARANOID)
		ck_assert_uint_eq(rec.lost.first_seq, 51);
	after = rec.lost.first_seq + rec.lost.count;
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.seq, after);
	ck_assert_uint_eq(numbered_of(&rec), after - 1);
	ringside_close(r);
}
END_TEST

/* It resumes at old but safe data: an eighth of the ring away from the writer, not at the
 * newest. */
START_TEST(lapped_reader_resumes_at_an_old_block)
{
	struct ringside_record rec;
	struct ringside *r;

	fixture_create(0, 0, 0);		/* 64 blocks */
	r = fixture_open(PARANOID, false);
	put_range(0, 5000, 10);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.kind, RINGSIDE_LOST);
	ck_assert_uint_eq(fx.w->block, fx.w->hdr->intent);
	drain(r);
	ringside_close(r);
	r = fixture_open(PARANOID, true);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(
		rec.kind,
		RINGSIDE_SAMPLE); /* nothing was lost to who starts at the oldest */
	ringside_close(r);
}
END_TEST

START_TEST(batch_longer_than_the_ring_is_counted_too)
{
	struct ringside *r;
	struct drained d;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	put_range(0, 9000, 100000);
	d = drain(r);
	ck_assert_uint_gt(d.lost, 0);
	ck_assert_uint_eq(d.samples + d.lost, 9000);
	ringside_close(r);
}
END_TEST

/* One block back and forth at the edge of being overwritten. */
START_TEST(one_lap_plus_minus_a_block)
{
	struct ringside *r;
	struct drained d;
	uint64_t at = 0, seen;

	fixture_create(64 << 10, 0, 0);		/* 16 blocks */
	for (unsigned int blocks = 13; blocks <= 18; blocks++) {
		r = fixture_open(PARANOID, false);
		seen = fx.w->block;
		while (fx.w->block < seen + blocks)
			put_range(at, at + 1, 1), at++;
		d = drain(r);
		ck_assert_uint_eq(d.samples + d.lost,
				  at - (d.lost ? at - d.samples - d.lost : d.first));
		ck_assert_uint_eq(ringside_position(r), ring_writer_next_seq(fx.w));
		ck_assert_int_eq(d.lost != 0, blocks >= 16);
		ringside_close(r);
	}
}
END_TEST

static void *thread_reads(void *arg)
{
	struct ringside *r = arg;
	struct ringside_record rec;
	uint64_t n = 0;
	int err = 0;

	while (n < 30000 && (err = ringside_next(r, &rec)) >= 0) {
		if (err != 1)
			continue;
		n += rec.kind == RINGSIDE_LOST ? rec.lost.count : 1;
		if (rec.kind == RINGSIDE_SAMPLE && numbered_check(&rec))
			return (void *)numbered_check(&rec);
	}
	return err < 0 ? (void *)"error" : NULL;
}

/*
 * Two threads on one mapping, so that a race detector sees both sides (it knows memory by
 * address): built with -fsanitize=thread, the copies are atomic and this must be silent.
 */
START_TEST(threads_on_one_mapping)
{
	const uint8_t *own;
	struct ringside *r;
	pthread_t t;
	void *bad;

	fixture_create(64 << 10, 0, 0);
	r = fixture_open(false, false);
	own = r->f.map;
	r->f.map = fx.w->map;
	ck_assert_int_eq(pthread_create(&t, NULL, thread_reads, r), 0);
	for (uint64_t i = 0; i < 30000; i++) {
		ck_assert_ok(numbered_put_plain(fx.w, i));
		if (i % 8 == 7)
			ring_writer_publish(fx.w);
	}
	ring_writer_publish(fx.w);
	ck_assert_int_eq(pthread_join(t, &bad), 0);
	ck_assert_msg(!bad, "%s", (const char *)bad);
	r->f.map = own;
	ringside_close(r);
}
END_TEST

START_TEST(writer_side_totals_stand_in_header_and_blocks)
{
	struct ring_block b;

	fixture_create(0, 0, 0);
	ring_writer_lost_total(fx.w, RINGSIDE_LOST_KERNEL_RING_FULL, 10);
	ring_writer_lost_total(fx.w, RINGSIDE_LOST_THROTTLED, 5);
	ring_writer_lost_total(fx.w, RINGSIDE_LOST_KERNEL_RING_FULL, 12);
	ring_writer_lost_total(fx.w, RINGSIDE_LOST_LAPPED, 99);
	ck_assert_uint_eq(fx.w->hdr->lost[RINGSIDE_LOST_KERNEL_RING_FULL], 12);
	ck_assert_uint_eq(fx.w->hdr->lost[RINGSIDE_LOST_LAPPED], 0);
	ring_next_block(fx.w);
	memcpy(&b, fx.w->data + 4096 + 16, sizeof(b));
	ck_assert_uint_eq(b.block_no, 1);
	ck_assert_uint_eq(b.lost_total, 17);
}
END_TEST

/* Nobody said publish for two laps: the ring does it, before the tail itself would be
 * overwritten and every reader lost. */
START_TEST(batch_longer_than_the_ring_is_published_on_the_way)
{
	uint64_t ring, start;

	fixture_create(0, 0, 0);
	ring = fx.w->data_mask + 1;
	start = fx.w->pos;
	for (uint64_t i = 0; fx.w->pos < start + 2 * ring; i++) {
		ck_assert_ok(numbered_put_plain(fx.w, i));
		ck_assert_uint_le(fx.w->pos - fx.w->hdr->tail, ring / 2 + 2 * 4096);
	}
}
END_TEST

/* --- overwritten in the middle of a copy -------------------------------------------- */

static uint8_t *fault_page;

/* The reader's copy came to a page that it may not read: the writer goes all round the
 * ring, then the page may be read. */
static void lap_under_the_copy(int sig)
{
	(void)sig;
	while (fx.w->block < 2 * fx.w->nblocks)
		if (numbered_put_plain(fx.w, 999999))
			abort();
	ring_writer_publish(fx.w);
	if (mprotect(fault_page, 4096, PROT_READ))
		abort();
}

/* The head and the beginning are of the old record, the rest is of the next lap.  Only the
 * second look at the announcement can tell. */
START_TEST(record_overwritten_while_it_is_copied_is_lapped)
{
	struct sigaction sa = { .sa_handler = lap_under_the_copy };
	struct ringside_record rec;
	struct ringside *r;
	uint64_t head, before;

	fixture_create(256 << 10, 0, 16384);
	r = fixture_open(false, true);
	/* A record that crosses from the first page of the block to its second. */
	for (before = 0;; before++) {
		head = fx.w->pos;
		ck_assert_ok(numbered_put_plain(fx.w, before));
		if (head % 4096 < 4096 - 48 && head / 4096 != (fx.w->pos - 1) / 4096)
			break;
		ck_assert_uint_lt(before, 200);
	}
	ring_writer_publish(fx.w);
	for (uint64_t i = 0; i < before; i++)
		ck_assert_int_eq(ringside_next(r, &rec), 1);
	fault_page = (uint8_t *)(uintptr_t)r->f.map + r->f.data_off +
		     (head / 4096 + 1) * 4096;
	ck_assert_int_eq(mprotect(fault_page, 4096, PROT_NONE), 0);
	ck_assert_int_eq(sigaction(SIGSEGV, &sa, NULL), 0);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.kind, RINGSIDE_LOST);
	ck_assert_uint_eq(rec.lost.cause, RINGSIDE_LOST_LAPPED);
	ck_assert_uint_ge(rec.lost.count, 1);
	signal(SIGSEGV, SIG_DFL);
	ringside_close(r);
}
END_TEST

Suite *loss_suite(void)
{
	Suite *s = suite_create("ring loss");
	TCase *tc = tcase_create("loss");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tc, reader_that_keeps_up_loses_nothing, 0, 2);
	tcase_add_loop_test(tc, lapped_reader_accounts_for_every_record, 0,
			    2 * (int)NAPS);
	tcase_add_loop_test(tc, lost_record_stands_where_the_gap_is, 0, 2);
	tcase_add_loop_test(tc, lapped_reader_resumes_at_an_old_block, 0, 2);
	tcase_add_loop_test(tc, batch_longer_than_the_ring_is_counted_too, 0, 2);
	tcase_add_loop_test(tc, one_lap_plus_minus_a_block, 0, 2);
	tcase_add_test(tc, batch_longer_than_the_ring_is_published_on_the_way);
	tcase_add_test(tc, record_overwritten_while_it_is_copied_is_lapped);
	tcase_add_test(tc, threads_on_one_mapping);
	tcase_add_test(tc, writer_side_totals_stand_in_header_and_blocks);
	suite_add_tcase(s, tc);
	return s;
}
