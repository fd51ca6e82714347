/* SPDX-License-Identifier: Apache-2.0 */
/* Text, escapes, JSON values, times. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "client/escape.h"
#include "client/json.h"
#include "client/json_copy.h"
#include "client/time.h"
#include "tests/client_records.h"

static struct text t;

static void setup(void)
{
	text_init(&t, 4096);
}

static void teardown(void)
{
	text_fini(&t);
}

START_TEST(text_stops_at_its_cap_and_says_so)
{
	text_init(&t, 10);
	text_puts(&t, "0123456789");
	ck_assert(!text_failed(&t));
	text_putc(&t, 'x');
	ck_assert(text_failed(&t));
	text_printf(&t, "%d", 1);
	ck_assert_str_eq(text_string(&t), "0123456789");
	text_clear(&t);
	ck_assert(!text_failed(&t));
	text_printf(&t, "%s", "01234567890");
	ck_assert(text_failed(&t));
	ck_assert_str_eq(text_string(&t), "");
}
END_TEST

/* in, on a terminal, in JSON, in protobuf */
static const struct { const char *in, *terminal, *json, *utf8;
} escapes[] = {
	{ "plain name(int)", "plain name(int)", "plain name(int)", "plain name(int)" },
	{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "\033[2J\a", "\\x1b[2J\\x07", "\\u001b[2J\\u0007", "\\x1b[2J\\x07" },
	{ "a\nb\tc\rd", "a\\nb\\tc\\rd", "a\\nb\\tc\\rd", "a\\nb\\tc\\rd" },
	{ "\\n\"", "\\\\n\"", "\\\\n\\\"", "\\n\"" },
	{ "\x7f", "\\x7f", "\\u007f", "\\x7f" },
	/* C1: CSI in one character */
	{ "\xc2\x9b"
	  "31m",
	  "\\u{9b}31m", "\\u009b31m", "\\u{9b}31m" },
	/* right-to-left override, zero width space, BOM, tag */
	{ "\xe2\x80\xae\xe2\x80\x8b\xef\xbb\xbf", "\\u{202e}\\u{200b}\\u{feff}",
	  "\\u202e\\u200b\\ufeff", "\\u{202e}\\u{200b}\\u{feff}" },
	{ "\xf3\xa0\x80\x81", "\\u{e0001}", "\\udb40\\udc01", "\\u{e0001}" },
	/* invalid: lone byte, cut, overlong, surrogate, above U+10FFFF, lone continuation
	 */
	{ "\xff", "\\xff", "\xef\xbf\xbd", "\xef\xbf\xbd" },
	{ "a\xe2\x82", "a\\xe2\\x82", "a\xef\xbf\xbd\xef\xbf\xbd",
	  "a\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xc0\xaf", "\\xc0\\xaf", "\xef\xbf\xbd\xef\xbf\xbd",
	  "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\x80", "\\x80", "\xef\xbf\xbd", "\xef\xbf\xbd" },
	{ "", "", "", "" },
};

START_TEST(bytes_are_made_harmless)
{
	const char *in = escapes[_i].in;

	escape_terminal_string(&t, in);
	ck_assert_str_eq(text_string(&t), escapes[_i].terminal);
	text_clear(&t);
	escape_json(&t, in, strlen(in));
	ck_assert_str_eq(text_string(&t), escapes[_i].json);
	text_clear(&t);
	escape_utf8(&t, in, strlen(in));
	ck_assert_str_eq(text_string(&t), escapes[_i].utf8);
}
END_TEST

START_TEST(separators_are_escaped_on_request_and_null_is_nothing)
{
	escape_terminal_except(&t, "a;b c\0d", 7, ";");
	ck_assert_str_eq(text_string(&t), "a\\x3bb c\\x00d");
	text_clear(&t);
	escape_terminal_string(&t, NULL);
	ck_assert_str_eq(text_string(&t), "");
}
END_TEST

/* JSON from tenants: what is written, NULL when it is refused */
static const struct { const char *in, *want;
} copies[] = {
	{ "[ 1 , 2.5e-3,\n-0, {\"a\" : [ ] } ]", "[1,2.5e-3,-0,{\"a\":[]}]" },
	{ " \"x\" ", "\"x\"" },
	{ "true", "true" },
	{ "null", "null" },
	{ "false", "false" },
	{ "\"\\u00e9\\n\\ud83d\\ude00\"", "\"\\u00e9\\n\\ud83d\\ude00\"" },
	{ "\"\\ud83d\"", "\"\\ufffd\"" },
	{ "\"\\ude00x\"", "\"\\ufffdx\"" },
	{ "\"\xff\"", "\"\xef\xbf\xbd\"" },
	{ "{\"a\":1,}", NULL },
	{ "[1,]", NULL },
	{ "[1 2]", NULL },
	{ "{1:2}", NULL },
	{ "01", NULL },
	{ "1.", NULL },
	{ "-", NULL },
	{ "1e", NULL },
	{ "+1", NULL },
	{ "\"a", NULL },
	{ "\"\n\"", NULL },
	{ "\"\\x\"", NULL },
	{ "\"\\u12g4\"", NULL },
	{ "", NULL },
	{ " ", NULL },
	{ "tru", NULL },
	{ "1 1", NULL },
	{ "[", NULL },
	{ "{\"a\"}", NULL },
	{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", NULL },
};

START_TEST(json_text_is_checked_and_rewritten)
{
	bool ok = json_copy(&t, copies[_i].in, strlen(copies[_i].in));

	ck_assert_msg(ok == (copies[_i].want != NULL), "%s", copies[_i].in);
	if (ok)
		ck_assert_str_eq(text_string(&t), copies[_i].want);
}
END_TEST

START_TEST(json_values_have_their_forms)
{
	struct json j;

	json_init(&j, &t);
	json_open(&j, '[');
	json_double(&j, 0.1);
	json_double(&j, 1e300);
	json_double(&j, NAN);
	json_double(&j, -INFINITY);
	json_i64(&j, INT64_MIN);
	json_u64(&j, UINT64_MAX);
	json_bool(&j, true);
	json_base64(&j, "", 0);
	json_base64(&j, "f", 1);
	json_base64(&j, "fo", 2);
	json_base64(&j, "foo", 3);
	json_embed(&j, "[1, 2]", 6);
	json_embed(&j, "[1, 2,]", 7);
	json_open(&j, '{');
	json_put_u64_string(&j, "a", UINT64_MAX);
	json_put_string(&j, "none", NULL);
	json_put_i64_string(&j, "b\"", -1);
	json_close(&j, '}');
	json_close(&j, ']');
	ck_assert_str_eq(
		text_string(&t),
		"[0.1,1e+300,\"NaN\",\"-Infinity\",-9223372036854775808,"
		"18446744073709551615,true,\"\",\"Zg==\",\"Zm8=\",\"Zm9v\",[1,2],"
		"\"[1, 2,]\",{\"a\":\"18446744073709551615\",\"b\\\"\":\"-1\"}]");
}
END_TEST

#define NOW INT64_C(1796058300000000000)	/* 2026-11-30T17:05:00Z */

static const struct { const char *in; int err; int64_t want;
} times[] = {
	{ "2026-11-30T17:05:00Z", 0, NOW },
	{ "2026-11-30t17:05:00z", 0, NOW },
	{ "2026-11-30 17:05:00Z", 0, NOW },
	{ "2026-11-30T19:05:00+02:00", 0, NOW },
	{ "2026-11-30T11:35:00-05:30", 0, NOW },
	{ "2026-11-30T17:05:00.25Z", 0, NOW + 250000000 },
	{ "2026-11-30T17:05:00.1234567899Z", 0, NOW + 123456789 },
	{ "1970-01-01T00:00:00Z", 0, 0 },
	{ "1969-12-31T23:59:59.5Z", 0, -500000000 },
	{ "2000-02-29T00:00:00Z", 0, INT64_C(951782400000000000) },
	{ "2024-02-29T12:00:00Z", 0, INT64_C(1709208000000000000) },
	{ "2016-12-31T23:59:60Z", 0, INT64_C(1483228800000000000) },
	{ "now", 0, NOW },
	{ "NOW", 0, NOW },
	{ "-5m", 0, NOW - 300 * NS_PER_SEC },
	{ "+250ms", 0, NOW + 250000000 },
	{ "-1.5h", 0, NOW - 5400 * NS_PER_SEC },
	{ "-10", 0, NOW - 10 * NS_PER_SEC },
	{ "2026-11-30T17:05:00", -EINVAL, 0 },
	{ "2026-11-30", -EINVAL, 0 },
	{ "2026-02-29T00:00:00Z", -EINVAL, 0 },
	{ "1900-02-29T00:00:00Z", -EINVAL, 0 },
	{ "2026-13-01T00:00:00Z", -EINVAL, 0 },
	{ "2026-00-01T00:00:00Z", -EINVAL, 0 },
	{ "2026-11-31T00:00:00Z", -EINVAL, 0 },
	{ "2026-11-30T24:00:00Z", -EINVAL, 0 },
	{ "2026-11-30T17:60:00Z", -EINVAL, 0 },
	{ "2026-11-30T17:05:61Z", -EINVAL, 0 },
	{ "2026-11-30T17:05:00.Z", -EINVAL, 0 },
	{ "2026-11-30T17:05:00Zx", -EINVAL, 0 },
	{ "2026-11-30T17:05:00+0200", -EINVAL, 0 },
	{ "2026-11-30T17:05:00+24:00", -EINVAL, 0 },
	{ "9999-01-01T00:00:00Z", -ERANGE, 0 },
	{ "0001-01-01T00:00:00Z", -ERANGE, 0 },
	{ "-99999999999h", -ERANGE, 0 },
	{ "--5m", -EINVAL, 0 },
	{ "yesterday", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "-", -EINVAL, 0 },
};

START_TEST(times_are_read)
{
	int64_t got = 0;

	ck_assert_msg(time_parse(times[_i].in, NOW, &got) == times[_i].err, "%s",
		      times[_i].in);
	if (!times[_i].err)
		ck_assert_msg(got == times[_i].want, "%s: got %lld", times[_i].in,
			      (long long)got);
}
END_TEST

static const struct { const char *in; int err; int64_t want;
} durations[] = {
	{ "250ms", 0, 250000000 },
	{ "5m", 0, 300 * NS_PER_SEC },
	{ "10", 0, 10 * NS_PER_SEC },
	{ "0", 0, 0 },
	{ "1.5s", 0, 1500000000 },
	{ "0.5ms", 0, 500000 },
	{ "1.000000001h", 0, 3600 * NS_PER_SEC + 3600 },
	{ "2h", 0, 7200 * NS_PER_SEC },
	{ "9223372036", 0, INT64_C(9223372036000000000) },
	{ "9223372037", -ERANGE, 0 },
	{ "99999999999999999999", -ERANGE, 0 },
	{ "2562048h", -ERANGE, 0 },
	{ "", -EINVAL, 0 },
	{ "m", -EINVAL, 0 },
	{ "5x", -EINVAL, 0 },
	{ "-5", -EINVAL, 0 },
	{ "5 m", -EINVAL, 0 },
	{ "1.", -EINVAL, 0 },
	{ ".5", -EINVAL, 0 },
	{ "5ms ", -EINVAL, 0 },
	{ "1e3", -EINVAL, 0 },
	{ "5mm", -EINVAL, 0 },
};

START_TEST(durations_are_read)
{
	int64_t got = 0;

	ck_assert_msg(duration_parse(durations[_i].in, &got) == durations[_i].err, "%s",
		      durations[_i].in);
	if (!durations[_i].err)
		ck_assert_msg(got == durations[_i].want, "%s: got %lld", durations[_i].in,
			      (long long)got);
}
END_TEST

START_TEST(times_are_written)
{
	time_print(&t, RECORD_TIME, true);
	ck_assert_str_eq(text_string(&t), "2026-11-30T17:05:00.123456789Z");
	text_clear(&t);
	time_print(&t, RECORD_TIME, false);
	ck_assert_str_eq(text_string(&t), "2026-11-30T19:05:00.123456789+02:00");
	text_clear(&t);
	time_print(&t, -1, true);
	ck_assert_str_eq(text_string(&t), "1969-12-31T23:59:59.999999999Z");
	text_clear(&t);
	time_print(&t, INT64_MIN, true);
	ck_assert_str_eq(text_string(&t), "1677-09-21T00:12:43.145224192Z");
	text_clear(&t);
	time_print_short(&t, RECORD_TIME, true);
	ck_assert_str_eq(text_string(&t), "17:05:00.123456");
}
END_TEST

static const struct { int64_t ns; const char *want; } spans[] = {
	{ 0, "0 ns" }, { 999, "999 ns" }, { 1500, "1.5 us" }, { 51100000, "51.1 ms" },
	{ INT64_C(1250000000), "1.2 s" }, { 200 * NS_PER_SEC, "3 min 20 s" },
	{ 7500 * NS_PER_SEC, "2 h 5 min" }, { 86400 * 3 * NS_PER_SEC, "3 days 0 h" },
	{ -1500, "-1.5 us" }, { INT64_MIN, "-106751 days 23 h" },
};

START_TEST(spans_are_written)
{
	duration_print(&t, spans[_i].ns);
	ck_assert_str_eq(text_string(&t), spans[_i].want);
}
END_TEST

Suite *suite_text(void)
{
	Suite *s = suite_create("client text");
	TCase *tc = tcase_create("text");

#define ROWS(a) (int)(sizeof(a) / sizeof(*(a)))
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, text_stops_at_its_cap_and_says_so);
	tcase_add_loop_test(tc, bytes_are_made_harmless, 0, ROWS(escapes));
	tcase_add_test(tc, separators_are_escaped_on_request_and_null_is_nothing);
	tcase_add_loop_test(tc, json_text_is_checked_and_rewritten, 0, ROWS(copies));
	tcase_add_test(tc, json_values_have_their_forms);
	tcase_add_loop_test(tc, times_are_read, 0, ROWS(times));
	tcase_add_loop_test(tc, durations_are_read, 0, ROWS(durations));
	tcase_add_test(tc, times_are_written);
	tcase_add_loop_test(tc, spans_are_written, 0, ROWS(spans));
	suite_add_tcase(s, tc);
	return s;
}
