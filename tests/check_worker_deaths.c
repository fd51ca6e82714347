/* SPDX-License-Identifier: Apache-2.0 */
/* Dying and hanging workers, and what the sidecar makes of it: names are lost, nothing
 * else. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/symbols_client.h"
#include "tests/symbols_fixtures.h"

START_TEST(killed_worker_costs_names_only)
{
	uint64_t at = fixture_symbol("pie", "fix_exported");
	pid_t pid;

	begin(SYMBOLS_IO_AUTO);
	add("pie", 20);
	next(SYM_FILE, 20);
	pid = worker_pid();
	kill(pid, SIGSTOP);
	ask(20, at);
	ask(20, at + 1);
	symbols_flush(c.s);
	kill(pid, SIGKILL);
	next(SYM_GONE, 20);
	next(SYM_GONE, 20);
	ck_assert(!next_within(50));
	ck_assert_uint_eq(symbols_restarts(c.s), 1);
	/* Forgotten by the new one, until it is added again. */
	ask(20, at);
	next(SYM_GONE, 20);
	add("pie", 20);
	next(SYM_FILE, 20);
	ask(20, at);
	next(SYM_NAMES, 20);
	is_named("fix_exported");
	ck_assert_int_ne(worker_pid(), pid);
	ck_assert(is_gone(pid));
	end();
}
END_TEST

/* Dies of a signal of its own twice, each time while busy with the same file. */
START_TEST(file_that_workers_die_of_is_refused)
{
	begin(SYMBOLS_IO_AUTO);
	for (int i = 0; i < 2; i++) {
		pid_t pid = worker_pid();

		kill(pid, SIGSTOP);
		add("pie", 20);
		add("nopie", 21);
		usleep(20000);
		symbols_flush(c.s);
		kill(pid, SIGSEGV);
		kill(pid, SIGCONT);
		ck_assert(next_within(8000));
		ck_assert_uint_eq(c.got.file_id, 20);
		ck_assert_int_eq(c.got.kind, i ? SYM_FILE : SYM_GONE);
		next(SYM_GONE, 21);
	}
	add("pie", 20);
	next(SYM_FILE, 20);
	ck_assert(!c.got.is_elf);
	ck_assert_str_eq(c.got.error, "symbol workers died of this file");
	ask(20, 0x1139);
	next(SYM_NAMES, 20);
	ck_assert_uint_eq(c.got.n_names, 1);
	ck_assert_uint_eq(c.got.names[0].address, 0x1139);
	ck_assert_ptr_null(c.got.names[0].function);
	add("nopie", 21);
	next(SYM_FILE, 21);
	ck_assert(c.got.is_elf);
	symbols_forget(c.s, 20);
	add("pie", 20);
	next(SYM_FILE, 20);
	ck_assert(c.got.is_elf);
	end();
}
END_TEST

/* Asleep over a request: its file is not read again. */
START_TEST(blocked_worker_is_replaced)
{
	pid_t pid;

	hang_ns = 1000000000;
	begin(SYMBOLS_IO_AUTO);
	pid = worker_pid();
	kill(pid, SIGSTOP);
	add("pie", 20);
	next(SYM_FILE, 20);
	ck_assert_str_eq(c.got.error, "symbol workers died of this file");
	ck_assert(is_gone(pid));
	ck_assert_uint_eq(symbols_restarts(c.s), 1);
	add("nopie", 21);
	next(SYM_FILE, 21);
	ck_assert(c.got.is_elf);
	end();
}
END_TEST

START_TEST(dead_launcher_takes_the_worker_along)
{
	pid_t pid;

	begin(SYMBOLS_IO_AUTO);
	pid = worker_pid();
	kill(pid, SIGSTOP);	/* so that it is not end of file that ends it */
	kill(c.launcher.pid, SIGKILL);
	ck_assert(is_gone(pid));
	add("pie", 20);
	next(SYM_FILE, 20);
	ck_assert_str_eq(c.got.error, "no symbol worker");
	ask(20, 0x1139);
	next(SYM_NAMES, 20);
	ck_assert_ptr_null(c.got.names[0].function);
	end();
}
END_TEST

START_TEST(everything_ends_with_the_sidecar)
{
	pid_t pid;

	begin(SYMBOLS_IO_AUTO);
	pid = worker_pid();
	end();
	ck_assert(is_gone(pid));
}
END_TEST

START_TEST(full_queue_says_so)
{
	uint64_t addr = 0x1139;
	int err = 0, n = 0;
	pid_t pid;

	begin(SYMBOLS_IO_AUTO);
	add("pie", 20);
	next(SYM_FILE, 20);
	pid = worker_pid();
	kill(pid, SIGSTOP);
	for (; !err && n < 10000; n++) {
		err = symbols_query(c.s, 20, &addr, 1);
		symbols_flush(c.s);
	}
	ck_assert_int_eq(err, -EAGAIN);
	ck_assert_int_eq(symbols_query(c.s, 20, &addr, 0), -EINVAL);
	ck_assert_int_eq(symbols_query(c.s, 20, &addr, SYMBOLS_MAX_ADDRESSES + 1),
			 -EINVAL);
	kill(pid, SIGCONT);
	for (int i = 1; i < n; i++)
		next(SYM_NAMES, 20);
	ck_assert(!next_within(50));
	end();
}
END_TEST

/* Nothing is left behind: descriptors neither here nor in the sidecar's /proc. */
START_TEST(no_descriptor_leaks)
{
	int before = dup(0), after;

	close(before);
	for (int i = 0; i < 3; i++) {
		begin(SYMBOLS_IO_AUTO);
		add("pie", 20);
		add("text", 21);
		next(SYM_FILE, 20);
		next(SYM_FILE, 21);
		add("nopie", 22);	/* under way at the end */
		end();
	}
	after = dup(0);
	close(after);
	ck_assert_int_eq(before, after);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("worker_deaths");
	TCase *t = tcase_create("launcher");

	tcase_set_timeout(t, 15);
	tcase_add_test(t, killed_worker_costs_names_only);
	tcase_add_test(t, file_that_workers_die_of_is_refused);
	tcase_add_test(t, blocked_worker_is_replaced);
	tcase_add_test(t, dead_launcher_takes_the_worker_along);
	tcase_add_test(t, everything_ends_with_the_sidecar);
	tcase_add_test(t, full_queue_says_so);
	tcase_add_test(t, no_descriptor_leaks);
	suite_add_tcase(suite, t);
	return suite;
}

int main(void)
{
	SRunner *r;
	int failed;

	fixtures_make();
	r = srunner_create(suite());
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	fixtures_remove();
	return failed ? 1 : 0;
}
