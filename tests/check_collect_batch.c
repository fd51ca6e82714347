/* SPDX-License-Identifier: Apache-2.0 */
/* Events of several rings come out in one order. */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sidecar/collect/batch.h"
#include "tests/check_collect.h"

static struct batch batch;

static void batch_up(void)
{
	ck_assert_int_eq(batch_init(&batch, 64 * 1024), 0);
}

static void batch_down(void)
{
	batch_fini(&batch);
}

static bool add(uint64_t boot_ns, uint32_t tid)
{
	struct ev_exit *e = batch_reserve(&batch, sizeof(*e));

	if (!e)
		return false;
	memset(e, 0, sizeof(*e));
	e->head.type = EV_EXIT;
	e->head.size = sizeof(*e);
	e->head.boot_ns = boot_ns;
	e->head.tid = tid;
	batch_commit(&batch, &e->head);
	return true;
}

#define MS 1000000ULL

START_TEST(events_of_two_rings_come_out_in_one_order)
{
	static const uint32_t want[] = { 11, 1, 12, 2, 3 };

	batch_begin(&batch, 0);
	add(20 * MS, 1);	/* one ring */
	add(40 * MS, 2);
	add(60 * MS, 3);
	add(90 * MS, 4);
	add(10 * MS, 11);	/* another */
	add(20 * MS, 12);	/* equal stamps: in the order of arrival */
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 5);
	for (int i = 0; i < 5; i++)
		ck_assert_uint_eq(batch.events[i]->tid, want[i]);
}
END_TEST

START_TEST(newest_events_wait_for_one_drain)
{
	batch_begin(&batch, 0);
	add(50 * MS, 1);
	add(50 * MS + BATCH_HOLD_NS / 2, 2);
	add(50 * MS + BATCH_HOLD_NS, 3);
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 1);
	batch_begin(&batch, 0);
	add(50 * MS + BATCH_HOLD_NS / 4, 4);	/* what the wait is for */
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 3);
	ck_assert_uint_eq(batch.events[0]->tid, 4);
	ck_assert_uint_eq(batch.events[1]->tid, 2);
	ck_assert_uint_eq(batch.events[2]->tid, 3);
	batch_begin(&batch, 0);
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 0);
}
END_TEST

/* The newest event may be old: what has had its time waits for nothing. */
START_TEST(time_of_the_drain_says_what_waits)
{
	batch_begin(&batch, 90 * MS);
	add(50 * MS, 1);
	add(60 * MS, 2);
	add(90 * MS - BATCH_HOLD_NS / 2, 3);
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 2);
	ck_assert_uint_eq(batch.events[1]->tid, 2);
	batch_begin(&batch, 140 * MS);
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 1);
	ck_assert_uint_eq(batch.events[0]->tid, 3);
}
END_TEST

START_TEST(what_a_full_ring_still_holds_is_waited_for)
{
	batch_begin(&batch, 0);
	add(10 * MS, 1);
	batch_limit(&batch, 10 * MS);		/* this ring has more, all newer than 10 ms */
	add(5 * MS, 2);
	add(30 * MS, 3);
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 2);
	ck_assert_uint_eq(batch.events[0]->tid, 2);
	batch_begin(&batch, 0);
	add(20 * MS, 4);
	add(40 * MS, 5);
	batch_finish(&batch);
	ck_assert_uint_eq(batch.given, 2);
	ck_assert_uint_eq(batch.events[0]->tid, 4);
	ck_assert_uint_eq(batch.events[1]->tid, 3);
}
END_TEST

START_TEST(held_events_survive_the_move_to_the_front)
{
	for (int round = 0; round < 200; round++) {
		uint64_t now = (uint64_t)(round + 1) * 50 * MS;

		batch_begin(&batch, 0);
		for (uint32_t i = 0; i < 20; i++)	/* newest first: addresses run against time */
			ck_assert(add(now + (20 - i) * 20000,
				      (uint32_t)round * 100 + 20 - i));
		batch_finish(&batch);
		for (size_t i = 1; i < batch.given; i++) {
			ck_assert_uint_lt(batch.events[i - 1]->boot_ns,
					  batch.events[i]->boot_ns);
			ck_assert_uint_lt(batch.events[i - 1]->tid, batch.events[i]->tid);
		}
		if (round)
			ck_assert_uint_eq(batch.given, 20);
	}
}
END_TEST

START_TEST(full_batch_always_makes_room_again)
{
	batch_begin(&batch, 0);
	while (add(100 * MS, 1))
		;
	batch_limit(&batch, 1);		/* a ring of which nothing could be read */
	batch_finish(&batch);
	batch_begin(&batch, 0);
	batch_limit(&batch, 1);
	batch_finish(&batch);
	ck_assert_uint_gt(batch.given, 0);
	batch_begin(&batch, 0);
	ck_assert(add(101 * MS, 2));
}
END_TEST

TCase *tcase_order(void)
{
	TCase *tc = tcase_create("order");

	tcase_add_checked_fixture(tc, batch_up, batch_down);
	tcase_add_test(tc, events_of_two_rings_come_out_in_one_order);
	tcase_add_test(tc, newest_events_wait_for_one_drain);
	tcase_add_test(tc, time_of_the_drain_says_what_waits);
	tcase_add_test(tc, what_a_full_ring_still_holds_is_waited_for);
	tcase_add_test(tc, held_events_survive_the_move_to_the_front);
	tcase_add_test(tc, full_batch_always_makes_room_again);
	return tc;
}
