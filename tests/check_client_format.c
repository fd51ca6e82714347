/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden outputs.  Each row is one format of the hand-made records; what it must give
 * stands in tests/golden/NAME.  On a difference the output is left in ./NAME.got.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/format.h"
#include "tests/client_records.h"

static const struct ringside_record *const all[] = {
	&record_sample, &record_plain,	&record_hostile, &record_process,
	&record_lost,	&record_lapped, &record_clock,	 &record_incarnation,
};

typedef void writer(struct text *, const struct format *, const struct ringside_record *);

static const struct {
	const char *golden;
	writer *write;
	struct format format;
	bool highlight;
} formats[] = {
	{ "client_short.txt",
	  format_short,
	  { .utc = true, .frames = UINT32_MAX },
	  false },
	{ "client_short_local_2_frames.txt", format_short, { .frames = 2 }, true },
	{ "client_short_root_first.txt",
	  format_short,
	  { .utc = true, .frames = 3, .root_first = true },
	  false },
	{ "client_short_no_stack.txt", format_short, { .utc = true }, false },
	{ "client_short_colour.txt",
	  format_short,
	  { .utc = true, .frames = UINT32_MAX, .colour = true },
	  true },
	{ "client_full.txt", format_full, { .utc = true, .frames = UINT32_MAX }, false },
	{ "client_full_root_first.txt",
	  format_full,
	  { .utc = true, .frames = 2, .root_first = true },
	  false },
	{ "client_json.jsonl", format_json, { .frames = UINT32_MAX }, false },
	{ "client_json_no_stack.jsonl", format_json, { .frames = 0 }, false },
	{ "client_folded.txt", format_folded, { .frames = UINT32_MAX }, false },
};

static char *read_golden(const char *name)
{
	const char *srcdir = getenv("srcdir");
	char path[512], *text = calloc(1, 65536);
	FILE *f;

	ck_assert_ptr_nonnull(text);
	snprintf(path, sizeof(path), "%s/tests/golden/%s", srcdir ? srcdir : ".", name);
	f = fopen(path, "rb");
	if (!f)
		return text;
	ck_assert_uint_lt(fread(text, 1, 65535, f), 65535);
	fclose(f);
	return text;
}

static void keep(const char *name, const struct text *t)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s.got", name);
	f = fopen(path, "wb");
	if (!f)
		return;
	fwrite(text_string(t), 1, t->len, f);
	fclose(f);
}

START_TEST(records_look_as_agreed)
{
	struct format format = formats[_i].format;
	char *want = read_golden(formats[_i].golden);
	struct regexes highlight = { 0 };
	regex_t re;
	struct text t;

	ck_assert_int_eq(regcomp(&re, "^main$", REG_EXTENDED | REG_NOSUB), 0);
	highlight.n = 1;
	highlight.re = &re;
	if (formats[_i].highlight)
		format.highlight = &highlight;
	text_init(&t, TEXT_LINE_MAX);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		formats[_i].write(&t, &format, all[i]);
	ck_assert(!text_failed(&t));
	if (strcmp(text_string(&t), want))
		keep(formats[_i].golden, &t);
	ck_assert_msg(!strcmp(text_string(&t), want),
		      "differs from tests/golden/%s: see ./%s.got", formats[_i].golden,
		      formats[_i].golden);
	text_fini(&t);
	regfree(&re);
	free(want);
}
END_TEST

/* Whatever a tenant writes, a terminal gets printable characters and newlines, a line a
 * record. */
START_TEST(nothing_from_tenants_reaches_the_terminal_raw)
{
	static writer *const writers[] = { format_short, format_json, format_folded,
					   format_full };
	struct format format = { .utc = true, .frames = UINT32_MAX };
	struct text t;
	unsigned lines = 0;

	text_init(&t, TEXT_LINE_MAX);
	writers[_i](&t, &format, &record_hostile);
	ck_assert_uint_gt(t.len, 20);
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.p[i];

		lines += c == '\n';
		ck_assert_msg(c == '\n' || (c >= 0x20 && c != 0x7f), "byte 0x%02x at %zu",
			      c, i);
		/* C1 controls and bidirectional overrides */
		ck_assert(!(c == 0xc2 && (unsigned char)t.p[i + 1] < 0xa0));
		ck_assert(!(c == 0xe2 && (unsigned char)t.p[i + 1] == 0x80));
	}
	if (writers[_i] != format_full)
		ck_assert_uint_eq(lines, 1);
	text_fini(&t);
}
END_TEST

START_TEST(unknown_values_are_numbers_and_not_nothing)
{
	struct ringside_record rec = record_plain;
	struct format format = { .utc = true, .frames = 1 };
	struct text t;

	rec.sample.event = 200;
	rec.sample.unit = 201;
	rec.sample.user_end = 202;
	text_init(&t, TEXT_LINE_MAX);
	format_json(&t, &format, &rec);
	ck_assert_ptr_nonnull(strstr(text_string(&t), "\"event\":\"unknown_200\""));
	ck_assert_ptr_nonnull(strstr(text_string(&t), "\"unit\":\"unknown_201\""));
	ck_assert_ptr_nonnull(strstr(text_string(&t), "\"stack_end\":\"unknown_202\""));
	text_clear(&t);
	rec = record_lost;
	rec.lost.cause = 99;
	format_short(&t, &format, &rec);
	ck_assert_str_eq(text_string(&t),
			 "17:05:00.123456 LOST 7: unknown_99 (counted by the writer)\n");
	text_fini(&t);
}
END_TEST

START_TEST(rare_words_are_said)
{
	struct ringside_record rec = record_lapped;
	struct format format = { .utc = true };
	struct text t;

	text_init(&t, TEXT_LINE_MAX);
	rec.lost.count = 0;
	format_short(&t, &format, &rec);
	ck_assert_str_eq(text_string(&t),
			 "17:05:00.123456 LOST some, the number follows: lapped "
			 "(counted by the reader)\n");
	text_clear(&t);
	rec = record_clock;
	rec.clock.suspended_ns = UINT64_C(200000000000);
	format_short(&t, &format, &rec);
	ck_assert_ptr_nonnull(
		strstr(text_string(&t), ", the machine slept for 3 min 20 s\n"));
	text_clear(&t);
	format_json(&t, &format, &rec);
	ck_assert_ptr_nonnull(
		strstr(text_string(&t), "\"suspended_nano\":\"200000000000\""));
	text_clear(&t);
	/* A record of a later minor version. */
	rec.kind = 0x10007;
	format_short(&t, &format, &rec);
	ck_assert_str_eq(text_string(&t),
			 "17:05:00.123456 RECORD of unknown kind 65543\n");
	text_fini(&t);
}
END_TEST

Suite *suite_format(void)
{
	Suite *s = suite_create("client format");
	TCase *tc = tcase_create("format");

	tcase_add_loop_test(tc, records_look_as_agreed, 0,
			    (int)(sizeof(formats) / sizeof(*formats)));
	tcase_add_loop_test(tc, nothing_from_tenants_reaches_the_terminal_raw, 0, 4);
	tcase_add_test(tc, rare_words_are_said);
	tcase_add_test(tc, unknown_values_are_numbers_and_not_nothing);
	suite_add_tcase(s, tc);
	return s;
}
