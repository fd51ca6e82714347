/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of /proc as hostile processes shape them. */
#include "tests/check_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAT_TAIL " S 42 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 123456 1000 200 184 4096 8192 140000 1 1 0 0 0 0 0 0 0 " \
	"17 1 0 0 0 0 0 1 2 3 4 5 777 6 0"

static const struct { const char *comm, *want; } comms[] = {
	{ "worker", "worker" },
	{ "a b", "a b" },
	{ "x) R 1 (y", "x) R 1 (y" },
	{ "two\nlines", "two\nlines" },
	{ "((((", "((((" },
	{ "))))", "))))" },
	{ ") S 1", ") S 1" },
	{ "", "" },
	{ "kworker/u8:2-events_unbound", "kworker/u8:2-ev" },
};
START_TEST(a_hostile_name_does_not_shift_the_fields_of_stat)
{
	char text[512];
	struct proc_stat st;
	int n = snprintf(text, sizeof(text), "42 (%s)" STAT_TAIL "\n", comms[_i].comm);

	ck_assert_int_eq(stat_parse(text, n, &st), 0);
	ck_assert_str_eq(st.comm, comms[_i].want);
	ck_assert_int_eq(st.state, 'S');
	ck_assert_uint_eq(st.ppid, 42);
	ck_assert_uint_eq(st.flags, 4194304);
	ck_assert_uint_eq(st.threads, 3);
	ck_assert_uint_eq(st.start_ticks, 123456);
	ck_assert_uint_eq(st.start_code, 4096);
	ck_assert_uint_eq(st.end_code, 8192);
	ck_assert_uint_eq(st.start_stack, 140000);
	ck_assert_uint_eq(st.env_start, 777);
}
END_TEST

START_TEST(cut_stat_is_refused)
{
	const char *text = "42 (x)" STAT_TAIL;
	struct proc_stat st;

	for (size_t n = 0;
	     n < strlen("42 (x) S 42 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 123"); n++)
		ck_assert_int_eq(stat_parse(text, n, &st), -EBADMSG);
}
END_TEST

START_TEST(ticks_follow_the_readers_time_namespace)
{
	ck_assert_uint_eq(stat_ticks(1234567890123ull, 0), 123456);
	ck_assert_uint_eq(stat_ticks(9999999, 0), 0);
	ck_assert_uint_eq(stat_ticks(10000000, 0), 1);
	ck_assert_uint_eq(stat_ticks(5000000000ull, 100000ll * 1000000000), 10000500);
	ck_assert_uint_eq(stat_ticks(5000000000ull, -1000000000ll), 400);
}
END_TEST

START_TEST(an_exec_shows_as_zero_addresses)
{
	struct proc_stat st = { .state = 'R', .start_code = 4096, .env_start = 1 };

	ck_assert(!stat_in_exec(&st));
	st.env_start = 0;
	ck_assert(stat_in_exec(&st));
	st.start_code = 1;			/* not permitted to see */
	ck_assert(!stat_in_exec(&st));
	st = (struct proc_stat){ .state = 'S', .flags = STAT_PF_KTHREAD };
	ck_assert(!stat_in_exec(&st));
	st = (struct proc_stat){ .state = 'Z' };
	ck_assert(!stat_in_exec(&st));
}
END_TEST

static const struct {
	const char *line;
	int want;
	uint64_t start, inode;
	uint32_t major, minor;
	bool exec;
	const char *path;
} lines[] = {
	{ "00400000-00452000 r-xp 00001000 08:02 173521 /usr/bin/x", 0, 0x400000, 173521,
	  8, 2, true, "/usr/bin/x" },
	{ "7f00-7f10 r-xp 0 103:fffff 1 /a", 0, 0x7f00, 1, 0x103, 0xfffff, true, "/a" },
	{ "7f00-7f10 r--s 0 00:1f 18446744073709551615 /a b  c", 0, 0x7f00, UINT64_MAX, 0,
	  0x1f, false, "/a b  c" },
	{ "7f00-7f10 rwxp 00000000 00:00 0 ", 0, 0x7f00, 0, 0, 0, true, NULL },
	{ "7f00-7f10 rwxp 00000000 00:00 0", 0, 0x7f00, 0, 0, 0, true, NULL },
	{ "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
	  0, 0xffffffffff600000, 0, 0, 0, true, "[vsyscall]" },
	{ "7f00-7f00 r-xp 0 0:0 0", -EBADMSG, 0, 0, 0, 0, false, NULL },
	{ "7f10-7f00 r-xp 0 0:0 0", -EBADMSG, 0, 0, 0, 0, false, NULL },
	{ "7f00-7f10 r-xp 0 0:0 18446744073709551616 /a", -EBADMSG, 0, 0, 0, 0, false,
	  NULL },
	{ "10000000000000000-10000000000001000 r-xp 0 0:0 0", -EBADMSG, 0, 0, 0, 0, false,
	  NULL },
	{ "7f00-7f10 r-xp 0 100000000:0 0", -EBADMSG, 0, 0, 0, 0, false, NULL },
	{ "7f00 r-xp", -EBADMSG, 0, 0, 0, 0, false, NULL },
	{ "7f00-7f10 r-xp", -EBADMSG, 0, 0, 0, 0, false, NULL },
	{ "", -EBADMSG, 0, 0, 0, 0, false, NULL },
	{ "zzz", -EBADMSG, 0, 0, 0, 0, false, NULL },
};
START_TEST(lines_of_maps)
{
	struct maps_line l;

	ck_assert_msg(maps_line_parse(lines[_i].line, strlen(lines[_i].line), &l) ==
			      lines[_i].want,
		      "%s", lines[_i].line);
	if (lines[_i].want)
		return;
	ck_assert_uint_eq(l.start, lines[_i].start);
	ck_assert_uint_eq(l.inode, lines[_i].inode);
	ck_assert_uint_eq(l.dev_major, lines[_i].major);
	ck_assert_uint_eq(l.dev_minor, lines[_i].minor);
	ck_assert_int_eq(l.exec, lines[_i].exec);
	ck_assert_int_eq(l.path != NULL, lines[_i].path != NULL);
	if (l.path)
		ck_assert_msg(l.path_len == strlen(lines[_i].path) &&
				      !memcmp(l.path, lines[_i].path, l.path_len),
			      "%s", lines[_i].line);
}
END_TEST

struct seen { unsigned n; uint64_t starts[8]; size_t longest; };

static int see(void *arg, const struct maps_line *l)
{
	struct seen *s = arg;

	if (s->n < N(s->starts))
		s->starts[s->n] = l->start;
	s->n++;
	if (l->path_len > s->longest)
		s->longest = l->path_len;
	return 0;
}

/* Text in reads of every size: lines are the same whatever the reads cut. */
START_TEST(reads_may_cut_lines_anywhere)
{
	static char buf[MAPS_LINE_MAX];
	const char *text =
		"1000-2000 r-xp 0 8:1 5 /a\nbad line\n2000-3000 r--p 0 8:1 5 /a\n\n"
		"3000-4000 r-xp 0 8:1 6 /b";
	size_t n = strlen(text);

	for (size_t step = 1; step <= n; step++) {
		struct seen got = { 0 };
		struct maps_stream s = { .fn = see, .arg = &got, .buf = buf };

		for (size_t at = 0; at < n; at += step)
			maps_stream_feed(&s, text + at, n - at < step ? n - at : step);
		maps_stream_end(&s);
		ck_assert_uint_eq(got.n, 2);
		ck_assert_uint_eq(got.starts[0], 0x1000);
		ck_assert_uint_eq(got.starts[1], 0x3000);
		ck_assert_uint_eq(s.malformed, 2);
		ck_assert_uint_eq(s.lines, 5);
	}
}
END_TEST

START_TEST(a_line_too_long_does_not_spill_into_the_next)
{
	static char buf[MAPS_LINE_MAX];
	char *text = malloc(100000);
	size_t n = 0;
	struct seen got = { 0 };
	struct maps_stream s = { .fn = see, .arg = &got, .buf = buf };

	n += snprintf(text + n, 100000 - n, "1000-2000 r-xp 0 8:1 5 /");
	memset(text + n, 'a', 5000);			/* longer than a path, but a real line */
	n += 5000;
	n += snprintf(text + n, 100000 - n, "\n2000-3000 r-xp 0 8:1 5 /");
	memset(text + n, 'b', 60000);
	n += 60000;
	n += snprintf(text + n, 100000 - n,
		      " 7000-8000 r-xp 0 8:1 5 /c\n3000-4000 r-xp 0 8:1 5 /d\n");
	for (size_t at = 0; at < n; at += 4096)
		maps_stream_feed(&s, text + at, n - at < 4096 ? n - at : 4096);
	maps_stream_end(&s);
	ck_assert_uint_eq(got.n, 2);
	ck_assert_uint_eq(got.starts[1], 0x3000);
	ck_assert_uint_eq(got.longest, 5001);
	ck_assert_uint_eq(s.malformed, 1);
	free(text);
}
END_TEST

START_TEST(sixty_thousand_mappings_keep_only_the_executable_one)
{
	static char buf[MAPS_LINE_MAX];
	struct seen got = { 0 };
	struct maps_stream s = { .fn = see, .arg = &got, .buf = buf };
	char line[128];

	for (uint64_t k = 0; k < 60000; k++) {
		int n = snprintf(
			line, sizeof(line),
			"%llx-%llx r--s 00000000 08:01 12 /var/lib/data/segment%llu\n",
			0x100000ull + k * 0x1000, 0x101000ull + k * 0x1000,
			(unsigned long long)k);

		maps_stream_feed(&s, line, n);
	}
	maps_stream_feed(&s, "f0000000-f0001000 r-xp 0 8:1 5 /bin/db\n", 39);
	maps_stream_end(&s);
	ck_assert_uint_eq(s.lines, 60001);
	ck_assert_uint_eq(got.n, 1);
	ck_assert_uint_eq(got.starts[0], 0xf0000000);
}
END_TEST

START_TEST(newlines_in_paths_come_back)
{
	char path[] = "/a\\012b\\01c\\0123";

	path[maps_unescape(path, strlen(path))] = 0;
	ck_assert_str_eq(path, "/a\nb\\01c\n3");
}
END_TEST

START_TEST(only_wanted_variables_leave_the_environment)
{
	static const char *const names[] = { "OTEL_SERVICE_NAME", "A" };
	static const char env[] =
		"SECRET=1\0OTEL_SERVICE_NAME=x\0novalue\0=v\0OTEL_SERVICE_NAME_X=1\0"
		"A=1=2\0OTEL_SERVICE_NAME=y\0A";
	struct env_filter f = { names, 2 };
	char out[256];
	int n = environ_filter(env, sizeof(env) - 1, &f, out, sizeof(out));

	ck_assert_int_gt(n, 0);
	ck_assert_str_eq(environ_get(out, n, "OTEL_SERVICE_NAME"), "y");	/* the last wins */
	ck_assert_str_eq(environ_get(out, n, "A"), "1=2");
	ck_assert_ptr_null(environ_get(out, n, "SECRET"));
	ck_assert_ptr_null(environ_get(out, n, "OTEL"));
	ck_assert_uint_eq((size_t)n, strlen("A=1=2") + strlen("OTEL_SERVICE_NAME=y") + 2);
	ck_assert_int_eq(environ_filter(env, sizeof(env) - 1, &f, out, 10), -ENOSPC);
}
END_TEST

START_TEST(a_variable_cut_by_the_bound_is_no_variable)
{
	static const char *const names[] = { "A" };
	struct env_filter f = { names, 1 };
	char out[64];

	ck_assert_int_eq(environ_filter("A=12345", 7, &f, out, sizeof(out)), 0);
}
END_TEST

static const struct { const char *text; bool found; const char *want; } cgroups[] = {
	{ "0::/a/b\n", true, "/a/b" },
	{ "5:cpu,cpuacct:/x\n4:memory:/y\n0::/z\n", true, "/x" },
	{ "5:cpuset:/x\n1:name=systemd:/y\n0::/z\n", true, "/y" },
	{ "5:cpuset:/x\n0::/system.slice/z\n", true, "/system.slice/z" },
	{ "5:cpuset:/x\n4:memory:/y\n", false, "" },
	{ "0::/../../machine.slice/x\n", true, "/machine.slice/x" },
	{ "0::/..\n", true, "/" },
	{ "0::/", true, "/" },
	{ "", false, "" },
	{ "garbage\n", false, "" },
};
START_TEST(the_line_that_names_the_cgroup)
{
	const char *path = "";
	size_t n = 0;

	ck_assert_int_eq(
		cgroup_choose(cgroups[_i].text, strlen(cgroups[_i].text), &path, &n),
		cgroups[_i].found);
	if (cgroups[_i].found)
		ck_assert_msg(n == strlen(cgroups[_i].want) &&
				      !memcmp(path, cgroups[_i].want, n),
			      "%s", cgroups[_i].text);
}
END_TEST

START_TEST(the_innermost_pid_of_status)
{
	const char *text =
		"Name:\tNSpid:\t9\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t500\t77\t1\n";
	struct proc_status st;

	ck_assert_int_eq(status_parse(text, strlen(text), &st), 0);
	ck_assert_uint_eq(st.ns_pid, 1);
	ck_assert_uint_eq(st.uid[0], 1000);
	ck_assert_uint_eq(st.uid[3], 1003);
	ck_assert_int_eq(status_parse("NSpid:\t5\n", 9, &st), -EBADMSG);
	ck_assert_int_eq(status_parse("Uid:\t0\t0\t0\t0\n", 13, &st), -EBADMSG);
	ck_assert_int_eq(status_parse("", 0, &st), -EBADMSG);
}
END_TEST

Suite *parse_suite(void)
{
	Suite *s = suite_create("process texts");
	TCase *tc = tcase_create("parse");

	tcase_add_loop_test(tc, a_hostile_name_does_not_shift_the_fields_of_stat, 0,
			    N(comms));
	tcase_add_test(tc, cut_stat_is_refused);
	tcase_add_test(tc, ticks_follow_the_readers_time_namespace);
	tcase_add_test(tc, an_exec_shows_as_zero_addresses);
	tcase_add_loop_test(tc, lines_of_maps, 0, N(lines));
	tcase_add_test(tc, reads_may_cut_lines_anywhere);
	tcase_add_test(tc, a_line_too_long_does_not_spill_into_the_next);
	tcase_add_test(tc, sixty_thousand_mappings_keep_only_the_executable_one);
	tcase_add_test(tc, newlines_in_paths_come_back);
	tcase_add_test(tc, only_wanted_variables_leave_the_environment);
	tcase_add_test(tc, a_variable_cut_by_the_bound_is_no_variable);
	tcase_add_loop_test(tc, the_line_that_names_the_cgroup, 0, N(cgroups));
	tcase_add_test(tc, the_innermost_pid_of_status);
	suite_add_tcase(s, tc);
	return s;
}
