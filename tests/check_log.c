/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sidecar/log.h"

#define S 1000000000ull

static char said[65536];

static void log_to(int *saved, int *fd)
{
	fflush(stderr);
	*saved = dup(STDERR_FILENO);
	*fd = open(".", O_TMPFILE | O_RDWR, 0600);
	ck_assert_int_ge(*fd, 0);
	ck_assert_int_ge(dup2(*fd, STDERR_FILENO), 0);
}

static const char *logged(int saved, int fd)
{
	ssize_t n;

	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(fd, said, sizeof(said) - 1, 0);
	ck_assert_int_ge(n, 0);
	said[n] = '\0';
	close(fd);
	return said;
}

START_TEST(log_text_escapes_what_tenants_say)
{
	int saved, fd;

	log_to(&saved, &fd);
	log_init(LOG_LEVEL_INFO, false);
	errno = EXDEV;
	log_warn("comm %s", "a\x1b[31m\nb\x7f"
			    "\xc2\x9b"
			    "\xff"
			    "\xe2\x82\xac"
			    "\xed\xa0\x80");
	ck_assert_int_eq(errno, EXDEV);
	log_debug("not at this level");
	ck_assert(!log_enabled(LOG_LEVEL_DEBUG));
	log_error("x");
	ck_assert_str_eq(
		logged(saved, fd),
		"ringsided: warning: comm a\\x1b[31m\\x0ab\\x7f\\x9b\\xff\xe2\x82\xac"
		"\\xed\\xa0\\x80\nringsided: x\n");
}
END_TEST

START_TEST(log_json_is_one_valid_object_a_line)
{
	char *message;
	int saved, fd;

	log_to(&saved, &fd);
	log_init(LOG_LEVEL_DEBUG, true);
	log_debug("say \"%s\"", "a\\b\n\xff");
	logged(saved, fd);
	ck_assert_int_eq(strncmp(said, "{\"time\":\"2", 10), 0);
	message = strstr(said, "\"level\"");
	ck_assert_ptr_nonnull(message);
	ck_assert_str_eq(
		message,
		"\"level\":\"debug\",\"message\":\"say \\\"a\\\\b\\u000a\\ufffd\\\"\"}\n");
}
END_TEST

START_TEST(log_cuts_what_is_too_long)
{
	char *s = calloc(1, 100001);
	int saved, fd;

	memset(s, '\n', 100000);
	log_to(&saved, &fd);
	log_init(LOG_LEVEL_INFO, false);
	log_info("%s", s);
	logged(saved, fd);
	ck_assert_uint_lt(strlen(said), 9000);
	ck_assert_ptr_nonnull(strstr(said, "\\x0a...\n"));
	free(s);
}
END_TEST

START_TEST(limited_log_speaks_once_and_counts_the_rest)
{
	struct log_limit limit = { 0 };
	int saved, fd;

	log_to(&saved, &fd);
	log_init(LOG_LEVEL_INFO, false);
	for (int i = 0; i < 5; i++)
		log_at_limited(&limit, LOG_LEVEL_INFO, "again %d", i);
	limit.last_ns -= 11 * S;	/* as if that were 11 s ago */
	for (int i = 5; i < 7; i++)
		log_at_limited(&limit, LOG_LEVEL_INFO, "again %d", i);
	ck_assert_str_eq(
		logged(saved, fd),
		"ringsided: again 0\nringsided: again 5 (4 more like this left out)\n");
}
END_TEST

START_TEST(log_under_systemd_carries_priorities)
{
	char stream[64];
	struct stat st;
	int saved, fd;

	log_to(&saved, &fd);
	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(LOG_LEVEL_DEBUG, false);
	log_error("a");
	log_warn("b");
	log_info("c");
	log_debug("d");
	ck_assert_str_eq(logged(saved, fd),
			 "<3>ringsided: a\n<4>ringsided: warning: b\n<6>ringsided: c\n"
			 "<7>ringsided: d\n");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("log");
	TCase *log = tcase_create("log");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(log, log_text_escapes_what_tenants_say);
	tcase_add_test(log, log_json_is_one_valid_object_a_line);
	tcase_add_test(log, log_cuts_what_is_too_long);
	tcase_add_test(log, limited_log_speaks_once_and_counts_the_rest);
	tcase_add_test(log, log_under_systemd_carries_priorities);
	suite_add_tcase(s, log);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
