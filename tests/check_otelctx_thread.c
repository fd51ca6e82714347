/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of thread contexts.  Numbers Wn are those of a list of what OTEP 4947 asks
 * of a writer: W30 order of stores, W31 limits, W32 threads; W20 and others with the
 * names.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "tests/check_otelctx.h"
#include "tests/ctx_reader.h"

extern __thread struct otel_thread_ctx *otel_thread_ctx_v1;

static const uint8_t trace_id[16] = "0123456789abcdef", span_id[8] = "ghijklmn";

static struct otelctx_thread *make(void)
{
	struct otelctx_thread *t;

	ck_assert_int_eq(otelctx_thread_create(&t, trace_id, span_id, 1, NULL, 0), 0);
	return t;
}

static const struct otel_thread_ctx *attached(struct otelctx_thread *t)
{
	ck_assert_int_eq(otelctx_thread_attach(t), 0);
	return otel_thread_ctx_v1;
}

START_TEST(record_is_laid_out_as_the_otep_says)
{
	const struct otelctx_thread_attribute attributes[] = {
		{ .key = 0, .value = "zero", .n = OTELCTX_NUL },
		{ .key = 255, .value = "", .n = 0 },
		{ .key = 7, .value = "x\0y", .n = 3 },
	};
	static const uint8_t want[] = "\x00\x04zero\xff\x00\x07\x03x\0y";
	struct otelctx_thread *t;
	const uint8_t *r;
	uint16_t size;

	ck_assert_int_eq(otelctx_thread_create(&t, trace_id, span_id, 3, attributes, 3), 0);
	ck_assert_ptr_null(otel_thread_ctx_v1);
	r = (const uint8_t *)attached(t);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq((uintptr_t)r % 2, 0);
	ck_assert_int_eq(memcmp(r, trace_id, 16), 0);
	ck_assert_int_eq(memcmp(r + 16, span_id, 8), 0);
	ck_assert_uint_eq(r[24], 1);
	ck_assert_uint_eq(r[25], 3);
	memcpy(&size, r + 26, 2);
	ck_assert_uint_eq(size, sizeof(want) - 1);
	ck_assert_int_eq(memcmp(r + 28, want, size), 0);
	ck_assert_int_eq(otelctx_thread_truncated(t), 0);
	ck_assert_int_eq(otelctx_thread_attach(NULL), 0);
	ck_assert_ptr_null(otel_thread_ctx_v1);
	otelctx_thread_destroy(t);
	otelctx_thread_destroy(NULL);
}
END_TEST

START_TEST(ids_are_both_there_or_both_not)
{
	static const uint8_t zero[16];
	struct otelctx_thread *t;

	ck_assert_int_eq(otelctx_thread_create(&t, trace_id, NULL, 0, NULL, 0), -EINVAL);
	ck_assert_int_eq(otelctx_thread_create(&t, zero, span_id, 0, NULL, 0), -EINVAL);
	ck_assert_int_eq(otelctx_thread_create(&t, NULL, zero, 0, NULL, 0), 0);
	ck_assert_int_eq(memcmp(attached(t), zero, 16), 0);
	ck_assert_int_eq(otelctx_thread_reset(t, trace_id, zero, 0), -EINVAL);
	ck_assert_int_eq(otelctx_thread_append(t, 256, "", 0), -EINVAL);
	ck_assert_int_eq(otelctx_thread_append(t, 0, NULL, 1), -EINVAL);
	otelctx_thread_destroy(t);
}
END_TEST

/* What stays of a value of n bytes, each form as often as it takes. */
static const struct { const char *what, *unit; size_t bytes, stays; } cuts[] = {
	{ "255 bytes of ASCII", "a", 255, 255 },
	{ "256 bytes of ASCII", "a", 256, 255 },
	{ "two-byte code points", "\xc3\xa9", 256, 254 },
	{ "three-byte code points", "\xe2\x82\xac", 258, 255 },
	{ "three-byte code points, one byte in", "x\xe2\x82\xac\xe2\x82\xac", 700, 253 },
	{ "four-byte code points", "\xf0\x9f\x98\x80", 256, 252 },
	{ "no UTF-8 at all", "\x80", 300, 255 },
	{ "a code point that ends at 255", "\xe2\x82\xac", 300, 255 },
};

START_TEST(w31_value_is_cut_at_a_code_point)
{
	struct otelctx_thread *t = make();
	const struct otel_thread_ctx *r;
	char value[800];
	int cut = cuts[_i].bytes > 255;

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = cuts[_i].unit[i % strlen(cuts[_i].unit)];
	ck_assert_int_eq(otelctx_thread_append(t, 5, value, cuts[_i].bytes), cut);
	ck_assert_int_eq(otelctx_thread_truncated(t), cut);
	r = attached(t);
	ck_assert_msg(r->attrs[1] == cuts[_i].stays, "%s: %u stay, not %zu", cuts[_i].what,
		      r->attrs[1], cuts[_i].stays);
	ck_assert_uint_eq(r->attrs_size, 2 + cuts[_i].stays);
	ck_assert_int_eq(memcmp(r->attrs + 2, value, cuts[_i].stays), 0);
	otelctx_thread_destroy(t);
}
END_TEST

START_TEST(w31_what_exceeds_612_bytes_is_left_out_and_smaller_ones_still_fit)
{
	struct otelctx_thread *t = make();
	char value[256];

	memset(value, 'v', sizeof(value));
	ck_assert_int_eq(otelctx_thread_append(t, 0, value, 250), 0);
	ck_assert_int_eq(otelctx_thread_append(t, 1, value, 250), 0);
	ck_assert_int_eq(otelctx_thread_truncated(t), 0);
	ck_assert_int_eq(otelctx_thread_append(t, 2, value, 107), -ENOSPC);
	ck_assert_int_eq(otelctx_thread_truncated(t), 1);
	ck_assert_int_eq(otelctx_thread_append(t, 3, value, 106), 0);
	ck_assert_uint_eq(attached(t)->attrs_size, 612);
	ck_assert_int_eq(otelctx_thread_append(t, 4, "", 0), -ENOSPC);
	ck_assert_uint_eq(otel_thread_ctx_v1->attrs_size, 612);
	ck_assert_int_eq(otelctx_thread_reset(t, trace_id, span_id, 0), 0);
	ck_assert_int_eq(otelctx_thread_truncated(t), 0);
	otelctx_thread_destroy(t);
}
END_TEST

START_TEST(w31_create_says_that_something_was_left_out)
{
	struct otelctx_thread_attribute a[4];
	struct otelctx_thread *t;
	char value[300];

	memset(value, 'v', sizeof(value));
	for (unsigned int i = 0; i < 4; i++)
		a[i] = (struct otelctx_thread_attribute){ .key = i, .value = value, .n = 200 };
	ck_assert_int_eq(otelctx_thread_create(&t, NULL, NULL, 0, a, 3), 0);
	ck_assert_int_eq(otelctx_thread_truncated(t), 0);
	otelctx_thread_destroy(t);
	ck_assert_int_eq(otelctx_thread_create(&t, NULL, NULL, 0, a, 4), 0);
	ck_assert_int_eq(otelctx_thread_truncated(t), 1);
	ck_assert_uint_eq(attached(t)->attrs_size, 606);
	otelctx_thread_destroy(t);
}
END_TEST

START_TEST(append_to_an_attached_context_shows_though_its_record_moves)
{
	struct otelctx_thread *t = make();
	const struct otel_thread_ctx *r = attached(t);
	unsigned int moves = 0;

	for (unsigned int i = 0; i < 122; i++) {		/* 122 * 5 = 610 */
		ck_assert_int_eq(otelctx_thread_append(t, i, "abc", 3), 0);
		moves += otel_thread_ctx_v1 != r;
		r = otel_thread_ctx_v1;
		ck_assert_uint_eq(r->attrs_size, 5 * (i + 1));
		ck_assert_uint_eq(r->valid, 1);
		ck_assert_int_eq(memcmp(r, trace_id, 16), 0);
	}
	for (unsigned int i = 0; i < 122; i++)
		ck_assert_uint_eq(r->attrs[5 * i], i);
	ck_assert_uint_eq(moves, 5);		/* 36, 72, 144, 288, 576, 612 */
	otelctx_thread_destroy(t);
	ck_assert_ptr_null(otel_thread_ctx_v1);
}
END_TEST

START_TEST(append_does_not_touch_what_else_is_attached)
{
	struct otelctx_thread *t = make(), *other = make();
	const struct otel_thread_ctx *r;

	attached(t);
	r = attached(other);
	for (unsigned int i = 0; i < 100; i++)
		ck_assert_int_eq(otelctx_thread_append(t, i, "abc", 3), 0);
	ck_assert_ptr_eq(otel_thread_ctx_v1, r);
	otelctx_thread_destroy(t);
	ck_assert_ptr_eq(otel_thread_ctx_v1, r);
	otelctx_thread_destroy(other);
	ck_assert_ptr_null(otel_thread_ctx_v1);
}
END_TEST

/* --- W30: what a reader sees that interrupts the thread anywhere --- */

static struct otelctx_thread *shown[2];
static volatile sig_atomic_t seen, invalid, none, wrong, longest;

static void look(int sig)
{
	const struct otel_thread_ctx *r = otel_thread_ctx_v1;

	(void)sig;
	seen = seen + 1;
	if (!r)
		none = none + 1;
	else if (r->valid != 1)
		invalid = invalid + 1;
	else if (!ctx_is_numbered(r))
		wrong = wrong + 1;
	else if (r->attrs_size > longest)
		longest = r->attrs_size;
}

/* Create, append, reset, swap, detach: all that a thread does to what it shows. */
static void one_round(uint8_t number)
{
	uint8_t trace[16], span[8];

	ctx_number_ids(trace, span, number);
	ck_assert_int_eq(otelctx_thread_create(&shown[0], trace, span, number, NULL, 0), 0);
	ck_assert_int_eq(otelctx_thread_attach(shown[0]), 0);
	otelctx_thread_destroy(shown[1]);
	for (unsigned int key = 0; key < 60; key++) {
		ck_assert_int_eq(ctx_number_append(shown[0], number, key), 0);
	}
	ctx_number_ids(trace, span, (uint8_t)(number ^ 0x55 ? number ^ 0x55 : 1));
	ck_assert_int_eq(otelctx_thread_reset(shown[0], trace, span, trace[0]), 0);
	shown[1] = shown[0];
	if (number % 8 == 0)
		ck_assert_int_eq(otelctx_thread_attach(NULL), 0);
}

START_TEST(w30_signal_handler_sees_whole_records_only)
{
	struct itimerval fast = { { 0, 50 }, { 0, 50 } };
	struct sigaction sa = { .sa_handler = look };
	struct timespec now;
	time_t until;

	sigaction(SIGALRM, &sa, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec + 20;
	ck_assert_int_eq(otelctx_thread_attach(NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &fast, NULL), 0);
	for (unsigned int i = 0; seen < 5000 && now.tv_sec < until; i++) {
		one_round((uint8_t)(i % 255 + 1));
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	ck_assert_int_eq(wrong, 0);
	ck_assert_int_gt(seen - none - invalid, 100);
	ck_assert_int_gt(longest, 144);		/* in the middle of appends, too */
	otelctx_thread_destroy(shown[1]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("otelctx thread");
	SRunner *sr = srunner_create(s);
	TCase *tc = tcase_create("record");
	int failed;

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, record_is_laid_out_as_the_otep_says);
	tcase_add_test(tc, ids_are_both_there_or_both_not);
	tcase_add_loop_test(tc, w31_value_is_cut_at_a_code_point, 0,
			    sizeof(cuts) / sizeof(cuts[0]));
	tcase_add_test(tc, w31_what_exceeds_612_bytes_is_left_out_and_smaller_ones_still_fit);
	tcase_add_test(tc, w31_create_says_that_something_was_left_out);
	tcase_add_test(tc, append_to_an_attached_context_shows_though_its_record_moves);
	tcase_add_test(tc, append_does_not_touch_what_else_is_attached);
	tcase_add_test(tc, w30_signal_handler_sees_whole_records_only);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, otelctx_holders_case());
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
