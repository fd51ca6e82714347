/* SPDX-License-Identifier: Apache-2.0 */
/* Storms, grace, rates and broken answers: the table stays small and upright. */
#include "tests/check_process.h"

#include <errno.h>
#include <string.h>

START_TEST(a_storm_of_processes_leaves_a_bounded_table_that_still_works)
{
	struct process_counts c, before;
	uint64_t at = SEC;
	struct image *i;

	process_counts(table, &before);
	for (uint32_t n = 0; n < 200000; n++, at += SEC / 2000) {
		uint32_t pid = 100 + n % 30000;

		forked(pid, at, 1, 0, 0, 0, at);
		comm_exec(pid, at + 1, "true");
		mapped(pid, at + 2, 0x40000, 0x1000, 50, "/bin/true");
		execed(pid, at, 2, at + 3, "/bin/true", 50);
		if (n % 100 == 0)
			image_put(table, sample(pid, at, 2, at + 4, "true", 0x40010));
		exited(pid, at, at + 5);
		if (n % 100 == 0)
			process_tick(table, at + 5);
	}
	process_counts(table, &c);
	ck_assert_uint_le(c.processes, 4096);
	ck_assert_uint_le(c.images, 2 * 4096 + 1);
	ck_assert_uint_le(c.heap_bytes - before.heap_bytes, 8u << 20);
	i = sample(77, at, 1, at + 10, "fresh", 0);
	answer(i, &(struct reading){ .begin = at + 20,
				     .end = at + 30,
				     .comm = "fresh",
				     .exe = "/bin/fresh" });
	ck_assert_str_eq(label(i, "process.executable.path"), "/bin/fresh");
	image_put(table, i);
	process_tick(table, at + 200 * SEC);
	process_counts(table, &c);
	ck_assert_uint_eq(c.processes, 1);
}
END_TEST

START_TEST(the_dead_stay_for_their_grace_when_they_were_sampled)
{
	struct image *i = sample(10, 1, 1, SEC, "a", 0);

	image_put(table, i);
	forked(11, SEC, 1, 10, 1, 1, SEC);
	exited(10, 1, 2 * SEC);
	exited(11, SEC, 2 * SEC);
	process_tick(table, 8 * SEC);
	ck_assert_ptr_eq(process_find(table, 10, 1), i);
	ck_assert_ptr_null(process_find(table, 11, SEC));
	process_tick(table, 13 * SEC);
	ck_assert_ptr_null(process_find(table, 10, 1));
}
END_TEST

START_TEST(maps_are_read_again_at_a_falling_rate)
{
	struct image *i = sample(10, 1, 1, SEC, "a", 0);
	struct reading again = { .ask = DOOR_MAPS };
	unsigned asked = 0;

	answer(i, &(struct reading){ .begin = SEC, .end = SEC + 1, .comm = "a" });
	for (uint64_t at = 2 * SEC; at < 66 * SEC; at += SEC / 10) {
		process_tick(table, at);
		process_miss(table, i, 0xdead);
		if (i->pending) {
			asked++;
			again.begin = again.end = at;
			answer(i, &again);
		}
	}
	ck_assert_uint_eq(asked, 7);		/* at 0, 1, 3, 7, 15, 31 and 63 s */
	image_put(table, i);
}
END_TEST

START_TEST(a_cut_or_changed_answer_is_refused_whole)
{
	_Alignas(8) uint8_t buf[512], cut[512];
	struct image *i = sample(10, 1, 1, 10, "worker", 0);
	struct answer_map m = { .start = 1, .end = 2, .path_off = 3, .path_len = 1 };
	struct answer_writer w;
	struct answer_head *h = answer_begin(&w, buf, sizeof(buf));

	h->ask = DOOR_PROCESS;
	h->pid = 10;
	h->start_ns = 1;
	h->image_serial = i->serial;
	answer_put(&w, TAG_STRINGS, "abcd", 4);
	answer_put(&w, TAG_MAPS, &m, sizeof(m));
	answer_end(&w);
	for (size_t n = 0; n < w.n; n++) {
		memcpy(cut, buf, n);
		ck_assert_int_eq(process_apply(table, cut, n, -1), -EBADMSG);
		((struct answer_head *)cut)->size = n;
		/* A whole section less is an answer that says less. */
		if (n > sizeof(*h) &&
		    n != w.n - sizeof(m) - sizeof(struct answer_section))
			ck_assert_int_eq(process_apply(table, cut, n, -1), -EBADMSG);
	}
	((struct answer_map *)(buf + w.n - sizeof(m)))->path_len = 2;	/* one past the strings */
	ck_assert_int_eq(process_apply(table, buf, w.n, -1), -EBADMSG);
	ck_assert_int_eq(i->state, IMAGE_EVENTS);
	image_put(table, i);
}
END_TEST

Suite *bounds_suite(void)
{
	Suite *s = suite_create("process bounds");
	TCase *tc = tcase_create("bounds");

	tcase_add_checked_fixture(tc, table_open, table_close);
	tcase_add_test(tc, a_storm_of_processes_leaves_a_bounded_table_that_still_works);
	tcase_add_test(tc, the_dead_stay_for_their_grace_when_they_were_sampled);
	tcase_add_test(tc, maps_are_read_again_at_a_falling_rate);
	tcase_add_test(tc, a_cut_or_changed_answer_is_refused_whole);
	suite_add_tcase(s, tc);
	return s;
}
