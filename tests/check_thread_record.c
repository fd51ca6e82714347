/* SPDX-License-Identifier: Apache-2.0 */
/* Records of threads, as they stand in memory: the reader's points 21 to 28 of the checklist. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"
#include "sidecar/collect/decode.h"
#include "sidecar/context/thread_record.h"

static char root[] = "datadog.local_root_span_id", route[] = "http.route", tenant[] = "tenant",
	    another[] = "e";
static char *keys[] = { root, route, NULL, tenant, another };
#define N_KEYS 4u

static unsigned char buf[1024];
static size_t used;
static struct thread_record out;

static void begin(void)
{
	memset(buf, 0, sizeof(buf));
	for (int i = 0; i < 16; i++)
		buf[i] = 0xa0 + i;
	for (int i = 0; i < 8; i++)
		buf[16 + i] = 0x10 + i;
	buf[24] = 1;
	buf[25] = 1;
	used = OTEL_THREAD_CTX_HEADER_SIZE;
}

static void set_size(size_t n)
{
	uint16_t size = (uint16_t)n;

	memcpy(buf + 26, &size, sizeof(size));
}

static void attribute(unsigned char key, const void *value, unsigned char n)
{
	buf[used++] = key;
	buf[used++] = n;
	memcpy(buf + used, value, n);
	used += n;
	set_size(used - OTEL_THREAD_CTX_HEADER_SIZE);
}

static int get(void)
{
	return thread_record_read(&out, buf, used, keys, N_KEYS);
}

static void attribute_is(uint32_t i, const char *key, const char *value)
{
	ck_assert_uint_gt(out.n, i);
	ck_assert_str_eq(out.attributes[i].key, key);
	ck_assert_uint_eq(out.attributes[i].len, strlen(value));
	ck_assert_str_eq(out.attributes[i].string, value);
	ck_assert_uint_eq(out.attributes[i].type, RINGSIDE_STRING);
}

START_TEST(r21_places_in_the_record)
{
	attribute(1, "/users", 6);
	ck_assert_int_eq(get(), 0);
	ck_assert(out.has_link);
	ck_assert_mem_eq(out.trace_id, buf, 16);
	ck_assert_mem_eq(out.span_id, buf + 16, 8);
	ck_assert_uint_eq(out.trace_flags, 1);
	ck_assert_uint_eq(out.n, 1);
	attribute_is(0, "http.route", "/users");
}
END_TEST

START_TEST(r21_any_address_will_do)
{
	static unsigned char odd[1024];

	attribute(3, "blue", 4);
	memcpy(odd + 2, buf, used);
	ck_assert_int_eq(thread_record_read(&out, odd + 2, used, keys, N_KEYS), 0);
	attribute_is(0, "tenant", "blue");
	memcpy(odd + 1, buf, used);
	ck_assert_int_eq(thread_record_read(&out, odd + 1, used, keys, N_KEYS), 0);
	attribute_is(0, "tenant", "blue");
}
END_TEST

START_TEST(r22_only_one_is_valid)
{
	static const unsigned char valid[] = { 0, 2, 3, 0x80, 255 };

	for (size_t i = 0; i < sizeof(valid); i++) {
		buf[24] = valid[i];
		ck_assert_int_eq(get(), -EBADMSG);
	}
	buf[24] = 1;
	ck_assert_int_eq(get(), 0);
}
END_TEST

START_TEST(r22_too_short_for_a_header)
{
	for (size_t n = 0; n < OTEL_THREAD_CTX_HEADER_SIZE; n++)
		ck_assert_int_eq(thread_record_read(&out, buf, n, keys, N_KEYS), -EBADMSG);
}
END_TEST

START_TEST(r23_no_attributes)
{
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 0);
	ck_assert(out.has_link);
}
END_TEST

START_TEST(r23_empty_and_longest_value)
{
	char longest[255];

	memset(longest, 'x', sizeof(longest));
	attribute(1, "", 0);
	attribute(3, longest, 255);
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 2);
	attribute_is(0, "http.route", "");
	ck_assert_uint_eq(out.attributes[1].len, 255);
	ck_assert_mem_eq(out.attributes[1].string, longest, 255);
	ck_assert_int_eq(out.attributes[1].string[255], 0);
}
END_TEST

START_TEST(r23_size_beyond_the_bytes_that_were_copied)
{
	char value[204];

	memset(value, 'y', sizeof(value));
	attribute(1, value, 200);
	attribute(3, value, 200);
	attribute(0, value, 204);
	attribute(1, "cut", 3);			/* 608 bytes before it: it does not end within 612 */
	set_size(65535);
	used = OTEL_THREAD_CTX_HEADER_SIZE + OTEL_THREAD_CTX_ATTRS_MAX;
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 3);
	ck_assert_uint_eq(out.attributes[1].len, 200);	/* not the `cut` of the same key */
}
END_TEST

START_TEST(r23_one_byte_left_over)
{
	attribute(1, "v", 1);
	buf[used++] = 3;
	set_size(used - OTEL_THREAD_CTX_HEADER_SIZE);
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 1);
}
END_TEST

START_TEST(r23_an_entry_beyond_the_size_is_left_out)
{
	attribute(1, "kept", 4);
	attribute(3, "lost", 4);
	set_size(used - OTEL_THREAD_CTX_HEADER_SIZE - 1);
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 1);
	attribute_is(0, "http.route", "kept");
}
END_TEST

static const struct { const char *what, *tail; size_t n, kept; } tails[] = {
	{ "lead byte of two", "\xc3", 1, 254 },
	{ "lead byte of three", "\xe2", 1, 254 },
	{ "two of three", "\xe2\x82", 2, 253 },
	{ "lead byte of four", "\xf0", 1, 254 },
	{ "three of four", "\xf0\x9f\x98", 3, 252 },
	{ "a whole one of two", "\xc3\xa9", 2, 255 },
	{ "a whole one of three", "\xe2\x82\xac", 3, 255 },
	{ "a whole one of four", "\xf0\x9f\x98\x80", 4, 255 },
	{ "no code point begins so", "\xff", 1, 255 },
	{ "a stray continuation", "\xa9", 1, 255 },
	{ "plain", "x", 1, 255 },
};
START_TEST(r23_a_value_cut_inside_a_code_point)
{
	char value[255];

	memset(value, 'x', sizeof(value));
	memcpy(value + sizeof(value) - tails[_i].n, tails[_i].tail, tails[_i].n);
	attribute(1, value, 255);
	ck_assert_int_eq(get(), 0);
	ck_assert_msg(out.attributes[0].len == tails[_i].kept, "%s: %u", tails[_i].what,
		      out.attributes[0].len);
	ck_assert_uint_eq(strlen(out.attributes[0].string), tails[_i].kept);
}
END_TEST

START_TEST(r23_other_bytes_that_are_no_text_stay)
{
	attribute(1, "a\xc3", 2);		/* not cut: shorter than the longest */
	attribute(3, "\xff\xfe", 2);
	ck_assert_int_eq(get(), 0);
	attribute_is(0, "http.route", "a\xc3");
	attribute_is(1, "tenant", "\xff\xfe");
}
END_TEST

START_TEST(r23_a_value_with_a_nul_is_bytes)
{
	attribute(1, "a\0b", 3);
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.attributes[0].type, RINGSIDE_BYTES);
	ck_assert_uint_eq(out.attributes[0].len, 3);
	ck_assert_mem_eq(out.attributes[0].string, "a\0b", 4);
}
END_TEST

START_TEST(r24_the_last_of_equal_keys_wins)
{
	attribute(1, "first", 5);
	attribute(3, "other", 5);
	attribute(1, "last", 4);
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 2);
	attribute_is(0, "http.route", "last");
	attribute_is(1, "tenant", "other");
}
END_TEST

START_TEST(r25_a_key_beyond_the_map_is_told_and_left_out)
{
	attribute(1, "known", 5);
	ck_assert(!thread_record_unknown_key(buf, used, N_KEYS));
	attribute(4, "unknown", 7);
	ck_assert(thread_record_unknown_key(buf, used, N_KEYS));
	ck_assert_int_eq(get(), 0);
	ck_assert(out.unknown_key);
	ck_assert_uint_eq(out.n, 1);
	/* The map has grown. */
	ck_assert_int_eq(thread_record_read(&out, buf, used, keys, N_KEYS + 1), 0);
	ck_assert(!out.unknown_key);
	ck_assert_uint_eq(out.n, 2);
	attribute_is(1, "e", "unknown");
}
END_TEST

START_TEST(r25_a_key_without_a_name_is_left_out)
{
	attribute(2, "nameless", 8);
	attribute(255, "beyond", 6);
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 0);
}
END_TEST

START_TEST(r25_no_map_at_all)
{
	attribute(0, "v", 1);
	ck_assert_int_eq(thread_record_read(&out, buf, used, NULL, 0), 0);
	ck_assert_uint_eq(out.n, 0);
	ck_assert(out.unknown_key);
}
END_TEST

START_TEST(r28_ids_of_zeroes_are_no_trace_and_attributes_count)
{
	memset(buf, 0, 24);
	attribute(1, "batch", 5);
	ck_assert_int_eq(get(), 0);
	ck_assert(!out.has_link);
	attribute_is(0, "http.route", "batch");
}
END_TEST

START_TEST(r28_one_id_of_zeroes_is_no_trace)
{
	memset(buf + 16, 0, 8);
	ck_assert_int_eq(get(), 0);
	ck_assert(!out.has_link);
	begin();
	memset(buf, 0, 16);
	ck_assert_int_eq(get(), 0);
	ck_assert(!out.has_link);
}
END_TEST

START_TEST(r28_flags_are_told_as_they_are)
{
	for (int flags = 0; flags < 256; flags++) {
		buf[25] = (unsigned char)flags;
		ck_assert_int_eq(get(), 0);
		ck_assert(out.has_link);
		ck_assert_uint_eq(out.trace_flags, flags);
	}
}
END_TEST

START_TEST(a_root_span_of_zeroes_is_none)
{
	attribute(0, "0000000000000000", 16);
	ck_assert_int_eq(get(), 0);
	ck_assert_uint_eq(out.n, 0);
	begin();
	attribute(0, "00000000000000a0", 16);
	attribute(3, "0000000000000000", 16);	/* of another key they are a value */
	ck_assert_int_eq(get(), 0);
	attribute_is(0, "datadog.local_root_span_id", "00000000000000a0");
	attribute_is(1, "tenant", "0000000000000000");
}
END_TEST

START_TEST(as_many_entries_as_fit)
{
	char *many[256];

	for (int i = 0; i < 256; i++)
		many[i] = another;
	for (int i = 0; i < 306; i++) {
		buf[used++] = (unsigned char)i;
		buf[used++] = 0;
	}
	set_size(used - OTEL_THREAD_CTX_HEADER_SIZE);
	ck_assert_uint_eq(used, OTEL_THREAD_CTX_HEADER_SIZE + OTEL_THREAD_CTX_ATTRS_MAX);
	ck_assert_int_eq(thread_record_read(&out, buf, used, many, 256), 0);
	ck_assert_uint_eq(out.n, 256);
}
END_TEST

START_TEST(an_event_holds_a_record_or_nothing)
{
	static _Alignas(8) unsigned char space[1024];
	struct ev_sample *s = (struct ev_sample *)space;
	const struct ev_head *event;

	s->head = (struct ev_head){ .type = EV_SAMPLE, .size = sizeof(*s) };
	s->context = EV_CONTEXT_UNALLOCATED;
	ck_assert_int_eq(event_check(s, s->head.size, &event), 0);
	s->context = EV_CONTEXT_OK;		/* and no record */
	ck_assert_int_eq(event_check(s, s->head.size, &event), -EBADMSG);
	for (unsigned n = 0; n < 700; n++) {
		s->context_bytes = (__u16)n;
		s->head.size = (uint32_t)(sizeof(*s) + ((n + 7) & ~7u));
		ck_assert_msg((event_check(s, s->head.size, &event) == 0) ==
				      (n >= 28 && n <= 640), "%u bytes", n);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("thread_record");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, begin, NULL);
	tcase_add_test(t, r21_places_in_the_record);
	tcase_add_test(t, r21_any_address_will_do);
	tcase_add_test(t, r22_only_one_is_valid);
	tcase_add_test(t, r22_too_short_for_a_header);
	tcase_add_test(t, r23_no_attributes);
	tcase_add_test(t, r23_empty_and_longest_value);
	tcase_add_test(t, r23_size_beyond_the_bytes_that_were_copied);
	tcase_add_test(t, r23_one_byte_left_over);
	tcase_add_test(t, r23_an_entry_beyond_the_size_is_left_out);
	tcase_add_loop_test(t, r23_a_value_cut_inside_a_code_point, 0,
			    sizeof(tails) / sizeof(tails[0]));
	tcase_add_test(t, r23_other_bytes_that_are_no_text_stay);
	tcase_add_test(t, r23_a_value_with_a_nul_is_bytes);
	tcase_add_test(t, r24_the_last_of_equal_keys_wins);
	tcase_add_test(t, r25_a_key_beyond_the_map_is_told_and_left_out);
	tcase_add_test(t, r25_a_key_without_a_name_is_left_out);
	tcase_add_test(t, r25_no_map_at_all);
	tcase_add_test(t, r28_ids_of_zeroes_are_no_trace_and_attributes_count);
	tcase_add_test(t, r28_one_id_of_zeroes_is_no_trace);
	tcase_add_test(t, r28_flags_are_told_as_they_are);
	tcase_add_test(t, a_root_span_of_zeroes_is_none);
	tcase_add_test(t, as_many_entries_as_fit);
	tcase_add_test(t, an_event_holds_a_record_or_nothing);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
