/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary: found again by content, recycled only when dead, replaced by
 * self-contained records. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i & 1)

static ringside_ref string(const char *s)
{
	ringside_ref ref;

	ck_assert_ok(ring_intern_string(fx.w, s, strlen(s), &ref));
	return ref;
}

START_TEST(equal_content_gives_equal_references)
{
	struct ring_mapping m = { .start = 1, .end = 2 };
	struct ring_frame f = { .type = 1, .address = 16 };
	ringside_ref a, b, frames[3], stack, again;

	fixture_create(0, 0, 0);
	ck_assert_uint_eq(string("one"), string("one"));
	ck_assert_uint_ne(string("one"), string("two"));
	ck_assert_uint_ne(string(""), 0);
	m.path = string("p");
	ck_assert_ok(ring_intern_mapping(fx.w, &m, &a));
	ck_assert_ok(ring_intern_mapping(fx.w, &m, &b));
	ck_assert_uint_eq(a, b);
	m.end = 3;
	ck_assert_ok(ring_intern_mapping(fx.w, &m, &b));
	ck_assert_uint_ne(a, b);
	f.mapping = a;
	for (int i = 0; i < 3; i++) {
		f.line = (uint32_t)i;
		ck_assert_ok(ring_intern_frame(fx.w, &f, &frames[i]));
	}
	ck_assert_ok(ring_intern_stack(fx.w, frames, 3, &stack));
	ck_assert_ok(ring_intern_stack(fx.w, frames, 3, &again));
	ck_assert_uint_eq(stack, again);
	ck_assert_ok(ring_intern_stack(fx.w, frames, 2, &again));
	ck_assert_uint_ne(stack, again);
	ck_assert_ok(ring_intern_stack(fx.w, NULL, 0, &again));
	ck_assert_uint_eq(again, 0);
	ck_assert_uint_eq(a >> 40, ring_writer_generation(fx.w));
}
END_TEST

/* The same bytes as another kind are another thing. */
START_TEST(kinds_do_not_alias)
{
	struct ring_frame f = { .type = 1 };
	ringside_ref frame, stack, text;
	uint32_t unit;

	fixture_create(0, 0, 0);
	ck_assert_ok(ring_intern_frame(fx.w, &f, &frame));
	ck_assert_ok(ring_intern_stack(fx.w, &frame, 1, &stack));
	unit = (uint32_t)frame;
	ck_assert_ok(ring_intern_string(fx.w, (const char *)&unit, 4, &text));
	ck_assert_uint_ne(stack, text);
}
END_TEST

START_TEST(references_of_another_generation_are_refused)
{
	struct ring_sample s = { .resource = (uint64_t)2 << 40 | 16 };
	struct ring_frame f = { .function = (uint64_t)2 << 40 | 16 };
	ringside_ref ref = (uint64_t)3 << 40 | 16;

	fixture_create(0, 0, 0);
	ck_assert_int_eq(ring_put_sample(fx.w, &s), -ESTALE);
	ck_assert_int_eq(ring_intern_frame(fx.w, &f, &ref), -ESTALE);
	ref = (uint64_t)3 << 40 | 16;
	ck_assert_int_eq(ring_intern_stack(fx.w, &ref, 1, &ref), -ESTALE);
	ck_assert_uint_eq(ring_writer_next_seq(fx.w), 1);
}
END_TEST

/* Fills the current half with strings nobody refers to. */
static void fill_half(void)
{
	static uint64_t n;
	char name[64];
	ringside_ref ref;
	int err;

	do {
		snprintf(name, sizeof(name), "filler %llu", (unsigned long long)n++);
		err = ring_intern_string(fx.w, name, strlen(name), &ref);
	} while (!err);
	ck_assert_int_eq(err, -ENOSPC);
}

START_TEST(half_is_recycled_only_when_no_live_block_refers_to_it)
{
	uint32_t generation, last;

	fixture_create(64 << 10, 0, 0);			/* 16 blocks */
	ck_assert_ok(
		numbered_put_plain(fx.w, 1)); /* generation 1, referred to in block 0 */
	fill_half();
	ring_writer_open_block(fx.w, &generation);
	ck_assert_uint_eq(generation, 2); /* the other half was never used */
	ck_assert_ok(numbered_put_plain(fx.w, 2));
	fill_half();
	for (last = 0; last < 16; last++) {
		ck_assert_uint_eq(fx.w->block, last);
		ring_writer_open_block(fx.w, &generation);
		ck_assert_uint_eq(generation, 2);	/* block 0 is still live */
		ck_assert_ok(numbered_put_plain(fx.w, 3));
		ring_next_block(fx.w);
	}
	ring_writer_open_block(fx.w,
			       &generation); /* block 16 is announced: block 0 is dead */
	ck_assert_uint_eq(generation, 3);
	ck_assert_uint_eq(fx.w->hdr->half[0].generation, 3);
	ck_assert_uint_eq(fx.w->hdr->half[1].generation, 2);
}
END_TEST

START_TEST(unreferenced_half_is_free_at_once)
{
	uint32_t generation;

	fixture_create(0, 0, 0);
	for (uint32_t want = 2; want < 20; want++) {
		fill_half();
		ring_writer_open_block(fx.w, &generation);
		ck_assert_uint_eq(generation, want);
	}
}
END_TEST

/* A dictionary far too small for the stacks: some samples stand self-contained, none is
 * lost. */
START_TEST(full_dictionary_degrades_to_self_contained)
{
	struct ringside *r;
	struct drained d;
	uint64_t n = 0, i;

	fixture_create(1 << 20, 0, 16384);
	r = fixture_open(PARANOID, false);
	for (i = 0; i < 6000; i++) {
		ck_assert_ok(numbered_put_plain(
			fx.w, i * 7)); /* each with a stack of its own */
		if (i % 50)
			continue;
		ring_writer_publish(fx.w);
		d = drain(r);
		n += d.samples;
		ck_assert_uint_eq(d.lost, 0);
	}
	ring_writer_publish(fx.w);
	n += drain(r).samples;
	ck_assert_uint_eq(n, i);
	ck_assert_uint_gt(fx.w->hdr->dict_fallbacks, 100);
	ck_assert_uint_lt(fx.w->hdr->dict_fallbacks, i);
	ck_assert_uint_gt(ring_writer_generation(fx.w), 2);
	ringside_close(r);
}
END_TEST

/* Many lives of both halves, under a reader that is sometimes overtaken: drain() checks
 * every name. */
START_TEST(everything_accepted_is_resolvable_over_many_flips)
{
	struct ringside *slow, *late;
	struct drained d;
	uint64_t i, got = 0, lost = 0;

	fixture_create(64 << 10, 0, 0);
	slow = fixture_open(PARANOID, false);
	for (i = 0; i < 60000; i++) {
		ck_assert_ok(numbered_put_plain(fx.w, i * 3));
		if (i % 16 == 0)
			ring_writer_publish(fx.w);
		if (i % 1777 == 0 || (i % 100 == 0 && i / 10000 % 2)) {
			d = drain(slow);
			got += d.samples;
			lost += d.lost;
		}
		if (i % 5000 == 0) { /* late attach: all that is held, from nothing */
			late = fixture_open(PARANOID, true);
			d = drain(late);
			ck_assert_uint_eq(d.lost, 0);
			ringside_close(late);
		}
	}
	ring_writer_publish(fx.w);
	d = drain(slow);
	ck_assert_uint_eq(got + lost + d.samples + d.lost, i);
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_gt(ring_writer_generation(fx.w), 20);
	ringside_close(slow);
}
END_TEST

START_TEST(equal_references_are_decoded_once)
{
	struct ringside_record rec;
	const struct ringside_frame *frame;
	struct ringside *r;
	ringside_ref ref;

	fixture_create(0, 0, 0);
	ck_assert_ok(numbered_put_plain(fx.w, 14));
	ck_assert_ok(numbered_put_plain(fx.w, 15));
	ring_writer_publish(fx.w);
	r = fixture_open(PARANOID, true);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ref = rec.sample.user.ref;
	frame = rec.sample.user.frames[0];
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.sample.user.ref, ref);
	ck_assert_ptr_eq(rec.sample.user.frames[0], frame);
	ringside_close(r);
}
END_TEST

START_TEST(typed_resource_attributes_come_back)
{
	struct ring_attribute a[] = {
		{ .key = 0, .type = RINGSIDE_INT, .number = -1 },
		{ .key = 0, .type = RINGSIDE_BOOL, .number = 1 },
		{ .key = 0, .type = RINGSIDE_DOUBLE, .real = -0.5 },
		{ .key = 0, .type = RINGSIDE_JSON },
		{ .key = 0, .type = RINGSIDE_STRING },		/* the empty string */
	};
	struct ring_sample s = { .weight = 1 };
	struct ringside_record rec;
	struct ringside *r;

	fixture_create(0, 0, 0);
	for (int i = 0; i < 5; i++)
		a[i].key = string("key");
	a[3].string = string("{\"a\":[]}");
	a[4].string = string("");
	ck_assert_ok(ring_intern_resource(fx.w, a, 5, 0, &s.resource));
	a[0].type = 99;
	ck_assert_int_eq(ring_intern_resource(fx.w, a, 5, 0, &(ringside_ref){ 0 }),
			 -EINVAL);
	ck_assert_ok(ring_put_sample(fx.w, &s));
	ring_writer_publish(fx.w);
	r = fixture_open(PARANOID, true);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.sample.resource.n, 5);
	ck_assert_ptr_null(rec.sample.resource.schema_url);
	ck_assert_int_eq(rec.sample.resource.attributes[0].number, -1);
	ck_assert_int_eq(rec.sample.resource.attributes[1].number, 1);
	ck_assert(rec.sample.resource.attributes[2].real == -0.5);
	ck_assert_str_eq(rec.sample.resource.attributes[3].string, "{\"a\":[]}");
	ck_assert_uint_eq(rec.sample.resource.attributes[3].type, RINGSIDE_JSON);
	ck_assert_str_eq(rec.sample.resource.attributes[4].string, "");
	ringside_close(r);
}
END_TEST

Suite *dict_suite(void)
{
	Suite *s = suite_create("ring dictionary");
	TCase *tc = tcase_create("dictionary");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, equal_content_gives_equal_references);
	tcase_add_test(tc, kinds_do_not_alias);
	tcase_add_test(tc, references_of_another_generation_are_refused);
	tcase_add_test(tc, half_is_recycled_only_when_no_live_block_refers_to_it);
	tcase_add_test(tc, unreferenced_half_is_free_at_once);
	tcase_add_loop_test(tc, full_dictionary_degrades_to_self_contained, 0, 2);
	tcase_add_loop_test(tc, everything_accepted_is_resolvable_over_many_flips, 0, 2);
	tcase_add_loop_test(tc, equal_references_are_decoded_once, 0, 2);
	tcase_add_loop_test(tc, typed_resource_attributes_come_back, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}
