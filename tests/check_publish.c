/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/pipeline_batch.h"
#include "sidecar/publish/names.h"
#include "sidecar/publish/spans.h"
#include "sidecar/publish/stacks.h"
#include "sidecar/symbols/symbols.h"

/* --- names -------------------------------------------------------------------------- */

static struct names *names;

static void names_setup(void)
{
	ck_assert_int_eq(names_create(&names, 64 << 10), 0);
}

static void names_teardown(void)
{
	names_destroy(names);
}

START_TEST(a_new_address_has_not_been_asked)
{
	struct named *e = names_get(names, 16, 0x1234);

	ck_assert_ptr_nonnull(e);
	ck_assert_int_eq(e->state, NAMED_NEW);
	ck_assert_ptr_eq(names_get(names, 16, 0x1234), e);
	ck_assert_ptr_ne(names_get(names, 17, 0x1234), e);
}
END_TEST

START_TEST(an_answer_is_copied_with_its_inlined_levels)
{
	char inner[] = "inner", outer[] = "outer", file[] = "a.c";
	struct sym_name levels[] = {
		{ .address = 0x10,
		  .function = inner,
		  .file = file,
		  .line = 7,
		  .inlined = true },
		{ .address = 0x10,
		  .function = outer,
		  .system_name = "_Z5outerv",
		  .offset = 4 },
	};
	struct named *e;

	ck_assert_int_eq(names_put(names, 16, 0x10, levels, 2), 0);
	memset(inner, 'x', 5);
	memset(outer, 'x', 5);
	e = names_get(names, 16, 0x10);
	ck_assert_int_eq(e->state, NAMED_READY);
	ck_assert_uint_eq(e->n, 2);
	ck_assert_str_eq(e->names[0].function, "inner");
	ck_assert_str_eq(e->names[0].file, "a.c");
	ck_assert_uint_eq(e->names[0].line, 7);
	ck_assert(e->names[0].inlined);
	ck_assert_ptr_null(e->names[0].system_name);
	ck_assert_str_eq(e->names[1].function, "outer");
	ck_assert_str_eq(e->names[1].system_name, "_Z5outerv");
	ck_assert_uint_eq(e->names[1].offset, 4);
	ck_assert(!e->names[1].inlined);
}
END_TEST

START_TEST(the_outermost_level_is_never_inlined)
{
	struct sym_name level = { .address = 0x10, .function = "f", .inlined = true };

	ck_assert_int_eq(names_put(names, 16, 0x10, &level, 1), 0);
	ck_assert(!names_get(names, 16, 0x10)->names[0].inlined);
}
END_TEST

START_TEST(forgetting_a_file_asks_again_for_it_alone)
{
	struct sym_name level = { .address = 0x10, .function = "f" };

	names_put(names, 16, 0x10, &level, 1);
	names_put(names, 17, 0x10, &level, 1);
	names_forget(names, 16);
	ck_assert_int_eq(names_get(names, 16, 0x10)->state, NAMED_NEW);
	ck_assert_int_eq(names_get(names, 17, 0x10)->state, NAMED_READY);
}
END_TEST

/* A BPF program came: the rest of the kernel keeps its names. */
START_TEST(forgetting_a_range_spares_its_neighbours)
{
	static const uint64_t at[] = { 0xfff, 0x1000, 0x10ff, 0x1100 };

	for (int i = 0; i < 4; i++) {
		struct sym_name level = { .address = at[i], .function = "f" };

		names_put(names, 1, at[i], &level, 1);
	}
	names_forget_range(names, 1, 0x1000, 0x10ff);
	ck_assert_int_eq(names_get(names, 1, 0xfff)->state, NAMED_READY);
	ck_assert_int_eq(names_get(names, 1, 0x1000)->state, NAMED_NEW);
	ck_assert_int_eq(names_get(names, 1, 0x10ff)->state, NAMED_NEW);
	ck_assert_int_eq(names_get(names, 1, 0x1100)->state, NAMED_READY);
}
END_TEST

/* 16:0x100..0x17f is one function without lines, of which 0x140 was asked for. */
static void put_function(uint32_t same)
{
	const struct sym_name level = { .address = 0x140, .function = "work",
					.system_name = "_work", .offset = 0x40,
					.same = same, .type = RINGSIDE_FRAME_KERNEL };

	ck_assert_int_eq(names_put(names, 16, 0x140, &level, 1), 0);
}

START_TEST(address_in_a_known_function_needs_no_question)
{
	struct named *e;

	put_function(0x40);
	e = names_get(names, 16, 0x17f);
	ck_assert_int_eq(e->state, NAMED_READY);
	ck_assert_int_eq(e->n, 1);
	ck_assert_str_eq(e->names[0].function, "work");
	ck_assert_str_eq(e->names[0].system_name, "_work");
	ck_assert_uint_eq(e->names[0].offset, 0x7f);
	ck_assert_uint_eq(e->names[0].type, RINGSIDE_FRAME_KERNEL);
	ck_assert_uint_eq(names_get(names, 16, 0x100)->names[0].offset, 0);
	ck_assert_int_eq(names_get(names, 16, 0xff)->state, NAMED_NEW);
	ck_assert_int_eq(names_get(names, 16, 0x180)->state, NAMED_NEW);
	ck_assert_int_eq(names_get(names, 17, 0x150)->state, NAMED_NEW);
}
END_TEST

START_TEST(function_with_lines_is_asked_for_each_address)
{
	put_function(0);
	ck_assert_int_eq(names_get(names, 16, 0x141)->state, NAMED_NEW);
}
END_TEST

START_TEST(forgotten_function_is_asked_for_again)
{
	put_function(0x40);
	names_forget_range(names, 16, 0x17f, 0x200);
	ck_assert_int_eq(names_get(names, 16, 0x150)->state, NAMED_NEW);
	put_function(0x40);
	ck_assert_int_eq(names_get(names, 16, 0x151)->state, NAMED_READY);
	names_forget(names, 16);
	ck_assert_int_eq(names_get(names, 16, 0x151)->state, NAMED_NEW);
	ck_assert_int_eq(names_get(names, 16, 0x152)->state, NAMED_NEW);
}
END_TEST

START_TEST(spans_stay_sorted_and_never_overlap)
{
	struct spans s = { 0 };
	struct span one;
	const struct span *found;

	for (uint32_t i = 0; i < 3 * SPANS_MAX; i++) {
		uint64_t first = (uint64_t)(i * 2654435761u % 4096) * 16;

		one = (struct span){ .first = first, .last = first + 15 + i % 32,
				     .known = first, .file_id = 16 + i % 3 };
		spans_put(&s, &one);
		ck_assert_uint_le(s.n, SPANS_MAX);
		found = spans_find(&s, one.file_id, one.last);
		ck_assert_ptr_nonnull(found);
		ck_assert_uint_eq(found->known, first);
	}
	for (uint32_t i = 1; i < s.n; i++)
		ck_assert(s.span[i - 1].file_id < s.span[i].file_id ||
			  s.span[i - 1].last < s.span[i].first);
	spans_fini(&s);
}
END_TEST

START_TEST(memory_stays_below_the_limit_and_what_is_used_stays)
{
	char name[64];
	struct sym_name level = { .function = name };

	for (uint64_t a = 0; a < 20000; a++) {
		snprintf(name, sizeof(name), "function_%llu", (unsigned long long)a);
		level.address = a;
		ck_assert_int_eq(names_put(names, 16, a, &level, 1), 0);
		names_get(names, 18, 1)->state = NAMED_READY;	/* the hot one */
		if (a % 100 == 0)
			names_evict(names);
	}
	names_evict(names);
	/* Slots beside the entries: at most half full tables of pointers. */
	ck_assert_uint_le(names_bytes(names), (64 << 10) + 4096 * 8);
	ck_assert_int_eq(names_get(names, 18, 1)->state, NAMED_READY);
	ck_assert_str_eq(names_get(names, 16, 19999)->names[0].function,
			 "function_19999");
}
END_TEST

/* --- stacks ------------------------------------------------------------------------- */

START_TEST(a_stack_is_found_by_its_addresses_and_its_owner)
{
	uint64_t a[] = { 1, 2, 3 }, b[] = { 1, 2, 4 };
	struct stacks *c;
	struct stack_key key;

	ck_assert_int_eq(stacks_create(&c, 64, 42), 0);
	key = stacks_key(c, 7, a, 3);
	ck_assert_ptr_null(stacks_find(c, key));
	stacks_take(c, key)->ref = 99;
	ck_assert_uint_eq(stacks_find(c, key)->ref, 99);
	ck_assert_ptr_null(stacks_find(c, stacks_key(c, 8, a, 3)));
	ck_assert_ptr_null(stacks_find(c, stacks_key(c, 7, b, 3)));
	ck_assert_ptr_null(stacks_find(c, stacks_key(c, 7, a, 2)));
	stacks_destroy(c);
}
END_TEST

START_TEST(a_hot_stack_survives_a_flood_of_cold_ones)
{
	uint64_t hot = 1;
	struct stacks *c;
	struct stack_key key;

	ck_assert_int_eq(stacks_create(&c, 256, 42), 0);
	key = stacks_key(c, 1, &hot, 1);
	stacks_take(c, key)->ref = 99;
	for (uint64_t cold = 2; cold < 5000; cold++) {
		stacks_take(c, stacks_key(c, 1, &cold, 1))->ref = cold;
		ck_assert_ptr_nonnull(stacks_find(c, key));
	}
	ck_assert_uint_eq(stacks_find(c, key)->ref, 99);
	stacks_destroy(c);
}
END_TEST

/* --- batches ------------------------------------------------------------------------ */

START_TEST(a_batch_is_sorted_by_boot_time_and_keeps_the_order_of_equals)
{
	static const uint64_t times[] = { 5, 1, 3, 3, 9, 2 };
	static const uint32_t order[] = { 1, 5, 2, 3, 0, 4 };
	struct event_batch b;

	event_batch_init(&b);
	for (uint32_t i = 0; i < 6; i++) {
		struct ev_head e = {
			.type = EV_EXIT, .size = sizeof(e), .boot_ns = times[i], .tid = i
		};

		ck_assert_int_eq(event_batch_add(&b, &e), 0);
	}
	event_batch_sort(&b);
	for (uint32_t i = 0; i < 6; i++)
		ck_assert_uint_eq(b.events[i]->tid, order[i]);
	event_batch_fini(&b);
}
END_TEST

START_TEST(a_reset_batch_keeps_two_chunks_at_most_and_works_again)
{
	static union {
		struct ev_head head;
		char bytes[4096];
	} big = { .head = { .size = 4096 } };
	struct event_batch b;

	event_batch_init(&b);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 500; i++) {
			big.head.boot_ns = i;
			ck_assert_int_eq(event_batch_add(&b, &big.head), 0);
		}
		ck_assert_uint_eq(b.bytes, 500 * 4096);
		for (uint32_t i = 0; i < 500; i++)
			ck_assert_uint_eq(b.events[i]->boot_ns, i);
		event_batch_reset(&b);
		ck_assert_uint_eq(b.n_events, 0);
		ck_assert_uint_eq(b.bytes, 0);
	}
	event_batch_fini(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("publish");
	TCase *n = tcase_create("names"), *k = tcase_create("stacks"),
	      *b = tcase_create("batch");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(n, names_setup, names_teardown);
	tcase_add_test(n, a_new_address_has_not_been_asked);
	tcase_add_test(n, an_answer_is_copied_with_its_inlined_levels);
	tcase_add_test(n, the_outermost_level_is_never_inlined);
	tcase_add_test(n, forgetting_a_file_asks_again_for_it_alone);
	tcase_add_test(n, address_in_a_known_function_needs_no_question);
	tcase_add_test(n, function_with_lines_is_asked_for_each_address);
	tcase_add_test(n, forgotten_function_is_asked_for_again);
	tcase_add_test(n, spans_stay_sorted_and_never_overlap);
	tcase_add_test(n, forgetting_a_range_spares_its_neighbours);
	tcase_add_test(n, memory_stays_below_the_limit_and_what_is_used_stays);
	tcase_add_test(k, a_stack_is_found_by_its_addresses_and_its_owner);
	tcase_add_test(k, a_hot_stack_survives_a_flood_of_cold_ones);
	tcase_add_test(b, a_batch_is_sorted_by_boot_time_and_keeps_the_order_of_equals);
	tcase_add_test(b, a_reset_batch_keeps_two_chunks_at_most_and_works_again);
	suite_add_tcase(s, n);
	suite_add_tcase(s, k);
	suite_add_tcase(s, b);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
