/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: the status page and the clock anchors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i & 1)

static struct ring_status_head *slot(unsigned int i)
{
	return (struct ring_status_head *)(void *)(fx.w->map + RING_STATUS_OFF +
						   i * RING_STATUS_BYTES);
}

static void write_page(uint64_t value)
{
	ring_status_begin(fx.w);
	ring_status_number(fx.w, RINGSIDE_N_SAMPLES, value);
	ring_status_number(fx.w, RINGSIDE_N_LOST + RINGSIDE_LOST_THROTTLED, value * 2);
	ring_status_text(fx.w, RINGSIDE_T_SCOPE, "host");
	ring_status_text(fx.w, RINGSIDE_T_WARNING, "first");
	ring_status_text(fx.w, RINGSIDE_T_WARNING, "");
	ring_status_text(fx.w, RINGSIDE_T_PROBE,
			 "btf\x1f"
			 "1\x1fneed\x1f"
			 "effect\x1fremedy");
	ring_status_end(fx.w);
}

static uint64_t read_page(struct ringside *r)
{
	const struct ringside_status *s;
	uint64_t a = 0, b = 0;

	ck_assert_ok(ringside_status(r, &s));
	ck_assert(ringside_status_number(s, RINGSIDE_N_SAMPLES, &a));
	ck_assert(
		ringside_status_number(s, RINGSIDE_N_LOST + RINGSIDE_LOST_THROTTLED, &b));
	ck_assert_uint_eq(b, a * 2);
	ck_assert(!ringside_status_number(s, RINGSIDE_N_PROCESSES, &b));
	ck_assert(!ringside_status_number(s, 1u << 20, &b));
	ck_assert_str_eq(ringside_status_text(s, RINGSIDE_T_SCOPE, 0), "host");
	ck_assert_ptr_null(ringside_status_text(s, RINGSIDE_T_SCOPE, 1));
	ck_assert_str_eq(ringside_status_text(s, RINGSIDE_T_WARNING, 0), "first");
	ck_assert_str_eq(ringside_status_text(s, RINGSIDE_T_WARNING, 1), "");
	ck_assert_str_eq(ringside_status_text(s, RINGSIDE_T_PROBE, 0),
			 "btf\x1f" "1\x1fneed\x1f" "effect\x1fremedy");
	ck_assert_ptr_null(ringside_status_text(s, RINGSIDE_T_NODE, 0));
	return a;
}

static void setup(void)
{
	fixture_setup();
	fixture_create(0, 0, 0);
}

START_TEST(page_comes_back_and_the_newest_wins)
{
	const struct ringside_status *s;
	struct ringside *r = fixture_open(PARANOID, false);

	ck_assert_int_eq(ringside_status(r, &s), -ENODATA);
	ck_assert_ptr_null(s);
	for (uint64_t v = 1; v < 6; v++) {
		write_page(v);
		ck_assert_uint_eq(read_page(r), v);
	}
	ringside_close(r);
}
END_TEST

/* What a writer that was stopped, killed, or is no friend leaves in a slot. */
START_TEST(torn_slot_gives_the_one_before)
{
	struct ringside *r = fixture_open(PARANOID, false);
	const struct ringside_status *s;

	write_page(10);			/* slot 1 */
	write_page(11);			/* slot 0 */
	switch (_i / 2) {
	case 0:
		slot(0)->stamp = 0;	/* killed while writing */
		break;
	case 1:
		((uint8_t *)slot(0))[40] ^= 1;
		break;
	case 2:
		slot(0)->length = UINT32_MAX;
		break;
	default:
		slot(0)->crc ^= 1;
	}
	ck_assert_uint_eq(read_page(r), 10);
	slot(1)->stamp = 0;
	ck_assert_int_eq(ringside_status(r, &s), -ENODATA);
	write_page(12);
	ck_assert_uint_eq(read_page(r), 12);
	ringside_close(r);
}
END_TEST

START_TEST(what_does_not_fit_is_left_out_last_rows_first)
{
	struct ringside *r = fixture_open(PARANOID, false);
	const struct ringside_status *s;
	char text[200];
	uint64_t v;
	uint32_t n = 0;

	ring_status_begin(fx.w);
	ring_status_number(fx.w, RINGSIDE_N_CPUS, 4);
	for (int i = 0; i < 200; i++) {
		memset(text, 'a' + i % 26, sizeof(text) - 1);
		text[sizeof(text) - 1] = 0;
		ring_status_text(fx.w, RINGSIDE_T_PROBE, text);
	}
	ring_status_number(fx.w, RINGSIDE_N_PAUSED,
			   1); /* small, but after the full mark */
	ring_status_end(fx.w);
	ck_assert_ok(ringside_status(r, &s));
	ck_assert(ringside_status_number(s, RINGSIDE_N_CPUS, &v));
	ck_assert_uint_eq(v, 4);
	while (ringside_status_text(s, RINGSIDE_T_PROBE, n))
		n++;
	ck_assert_uint_eq(n, 78);		/* (16384 - 16 - 16) / 208 */
	ck_assert(!ringside_status_number(s, RINGSIDE_N_PAUSED, &v));
	ringside_close(r);
}
END_TEST

START_TEST(anchors_go_round_four_slots)
{
	struct ring_anchor a = {
		.boot_ns = 10, .real_ns = 20, .offset_ns = 10, .bound_ns = 5, .source = 1
	};
	const struct ring_anchor_slot *s;

	for (uint32_t i = 1; i <= 6; i++) {
		a.clock_epoch = i;
		a.taken_boot_ns = i * 100;
		ring_writer_anchor(fx.w, &a);
	}
	for (uint64_t stamp = 3; stamp <= 6; stamp++) {
		s = &fx.w->hdr->anchors[stamp % 4];
		ck_assert_uint_eq(s->stamp, stamp);
		ck_assert_uint_eq(s->clock_epoch, stamp);
		ck_assert_uint_eq(s->taken_boot_ns, stamp * 100);
		ck_assert_uint_eq(s->boot_ns, 10);
		ck_assert_int_eq(s->real_ns, 20);
		ck_assert_int_eq(s->offset_ns, 10);
		ck_assert_uint_eq(s->bound_ns, 5);
		ck_assert_uint_eq(s->source, 1);
	}
}
END_TEST

Suite *status_suite(void)
{
	Suite *s = suite_create("ring status");
	TCase *tc = tcase_create("status");

	tcase_add_checked_fixture(tc, setup, fixture_teardown);
	tcase_add_loop_test(tc, page_comes_back_and_the_newest_wins, 0, 2);
	tcase_add_loop_test(tc, torn_slot_gives_the_one_before, 0, 8);
	tcase_add_loop_test(tc, what_does_not_fit_is_left_out_last_rows_first, 0, 2);
	tcase_add_test(tc, anchors_go_round_four_slots);
	suite_add_tcase(s, tc);
	return s;
}
