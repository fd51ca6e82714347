/* SPDX-License-Identifier: Apache-2.0 */
/* perf-PID.map: good lines are used, bad ones skipped, growth is seen. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/perf_map.h"

static struct perf_map *m;

static void update(const char *text, size_t n)
{
	struct source src;

	source_from_memory(&src, text, n);
	ck_assert_int_eq(perf_map_update(m, &src), 0);
}

static const char *name_at(uint64_t addr)
{
	struct symbol s;

	return perf_map_find(m, addr, &s) ? s.name : "-";
}

static const struct {
	const char *what, *text;
	uint64_t addr;
	const char *want;
} lines[] = {
	{ "plain", "1000 10 f\n", 0x1000, "f" },
	{ "last byte", "1000 10 f\n", 0x100f, "f" },
	{ "behind the end", "1000 10 f\n", 0x1010, "-" },
	{ "before the start", "1000 10 f\n", 0xfff, "-" },
	{ "0x prefixes", "0x7f0000001000 0x88 g\n", 0x7f0000001087, "g" },
	{ "upper case", "0X7F0000001000 0XAB g\n", 0x7f00000010aa, "g" },
	{ "blanks in the name", "1000 10 LazyCompile:*run /app/a b.js:1\n", 0x1000,
	  "LazyCompile:*run /app/a b.js:1" },
	{ "several blanks between", "1000  10  f\n", 0x1000, "f" },
	{ "blank line before", "\n\n1000 10 f\n", 0x1000, "f" },
	{ "CRLF", "1000 10 f\r\n2000 10 g\r\n", 0x2000, "g" },
	{ "CRLF leaves no CR", "1000 10 f\r\n", 0x1000, "f" },
	{ "size 0", "1000 0 f\n2000 10 g\n", 0x1000, "-" },
	{ "after size 0", "1000 0 f\n2000 10 g\n", 0x2000, "g" },
	{ "size 2^63", "1000 8000000000000000 f\n", 0x1000, "-" },
	{ "size 2^64", "1000 10000000000000000 f\n", 0x1000, "-" },
	{ "end overflows", "fffffffffffffff0 20 f\n", 0xfffffffffffffff4, "-" },
	{ "no name", "1000 10\n2000 10 g\n", 0x1000, "-" },
	{ "empty name", "1000 10 \n2000 10 g\n", 0x1000, "-" },
	{ "no hex", "hello world f\n2000 10 g\n", 0x2000, "g" },
	{ "only 0x", "0x 10 f\n", 0, "-" },
	{ "negative", "-1000 10 f\n", 0x1000, "-" },
	{ "later line wins", "1000 10 old\n1000 10 new\n", 0x1008, "new" },
	{ "later overlapping line wins", "1000 100 old\n1040 10 new\n", 0x1048, "new" },
	{ "behind the overlapping line", "1000 100 old\n1040 10 new\n", 0x1058, "old" },
	{ "earlier inner line is covered by a later outer one",
	  "1040 10 old\n1000 100 new\n", 0x1048, "new" },
	{ "not sorted", "3000 10 c\n1000 10 a\n2000 10 b\n", 0x2001, "b" },
	{ "cut last line is left", "1000 10 f\n2000 10 g", 0x2000, "-" },
	{ "before the cut last line", "1000 10 f\n2000 10 g", 0x1000, "f" },
	{ "control bytes stay for the reader to escape", "1000 10 a\x1b[31m\n", 0x1000,
	  "a\x1b[31m" },
};

START_TEST(lines_as_they_come)
{
	ck_assert_int_eq(perf_map_create(&m), 0);
	update(lines[_i].text, strlen(lines[_i].text));
	ck_assert_msg(!strcmp(name_at(lines[_i].addr), lines[_i].want),
		      "%s: got %s, want %s", lines[_i].what, name_at(lines[_i].addr),
		      lines[_i].want);
	perf_map_destroy(m);
}
END_TEST

START_TEST(growth_is_read_on_and_a_shorter_file_anew)
{
	static const char one[] = "1000 10 f\n2000 1",
			  two[] = "1000 10 f\n2000 10 g\n3000 10 h\n",
			  other[] = "1000 10 x\n";

	ck_assert_int_eq(perf_map_create(&m), 0);
	update(one, sizeof(one) - 1);
	ck_assert_str_eq(name_at(0x2000), "-");
	update(two, sizeof(two) - 1);
	ck_assert_str_eq(name_at(0x1000), "f");
	ck_assert_str_eq(name_at(0x2000), "g");
	ck_assert_str_eq(name_at(0x3000), "h");
	ck_assert_uint_eq(perf_map_count(m), 3);
	update(two, sizeof(two) - 1);
	ck_assert_uint_eq(perf_map_count(m), 3);
	update(other, sizeof(other) - 1);
	ck_assert_str_eq(name_at(0x1000), "x");
	ck_assert_str_eq(name_at(0x2000), "-");
	perf_map_destroy(m);
}
END_TEST

/* Unchanged since the last look, so nobody is in the middle of writing it. */
START_TEST(last_line_without_an_end_counts_when_it_stays)
{
	static const char text[] = "1000 10 f\n2000 10 last";

	ck_assert_int_eq(perf_map_create(&m), 0);
	update(text, sizeof(text) - 1);
	ck_assert_str_eq(name_at(0x2000), "-");
	update(text, sizeof(text) - 1);
	ck_assert_str_eq(name_at(0x2000), "last");
	update(text, sizeof(text) - 1);
	ck_assert_uint_eq(perf_map_count(m), 2);
	perf_map_destroy(m);
}
END_TEST

START_TEST(monstrous_name_is_bounded_and_the_next_line_read)
{
	size_t n = 0;
	char *text = malloc(300000);
	struct symbol s;

	n += (size_t)snprintf(text, 300000, "1000 10 ");
	memset(text + n, 'x', 200000);
	n += 200000;
	n += (size_t)snprintf(text + n, 300000 - n, "\n2000 10 g\n");
	ck_assert_int_eq(perf_map_create(&m), 0);
	update(text, n);
	ck_assert(perf_map_find(m, 0x1000, &s));
	ck_assert_uint_ge(strlen(s.name), 255);
	ck_assert_uint_lt(strlen(s.name), WIRE_NAME_MAX);
	ck_assert_uint_eq(strspn(s.name, "x"), strlen(s.name));
	ck_assert_str_eq(name_at(0x2000), "g");
	ck_assert_uint_eq(perf_map_count(m), 2);
	perf_map_destroy(m);
	free(text);
}
END_TEST

START_TEST(many_lines)
{
	size_t n = 0;
	char *text = malloc(50000 * 40);
	char want[32];

	for (unsigned int i = 0; i < 50000; i++)
		n += (size_t)snprintf(text + n, 50000 * 40 - n, "%x 10 name%u\n",
				      0x100000 + (i ^ 0x55) * 16, i);
	ck_assert_int_eq(perf_map_create(&m), 0);
	update(text, n);
	ck_assert_uint_eq(perf_map_count(m), 50000);
	for (unsigned int i = 0; i < 50000; i += 7) {
		snprintf(want, sizeof(want), "name%u", i);
		ck_assert_str_eq(name_at(0x100000 + (i ^ 0x55) * 16 + 15), want);
	}
	perf_map_destroy(m);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perf_map");
	TCase *t = tcase_create("lines");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, lines_as_they_come, 0,
			    (int)(sizeof(lines) / sizeof(lines[0])));
	tcase_add_test(t, growth_is_read_on_and_a_shorter_file_anew);
	tcase_add_test(t, last_line_without_an_end_counts_when_it_stays);
	tcase_add_test(t, monstrous_name_is_bounded_and_the_next_line_read);
	tcase_add_test(t, many_lines);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
