/* SPDX-License-Identifier: Apache-2.0 */
/* The door as anybody may open it: against children of one's own, without a right.  More
 * as root. */
#include "tests/root_door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

START_TEST(a_child_is_read_and_only_what_is_wanted_of_its_environment)
{
	static const char *const allowed[] = { "REGION" };
	char env[] = "OTEL_SERVICE_NAME=shop", secret[] = "PASSWORD=hunter2",
	     region[] = "REGION=eu";
	pid_t pid = spawn(copy_of_self("svc", 'A'), "idle",
			  (char *[]){ secret, env, region, NULL });
	const struct answer *a = read_process(pid);
	const struct answer_bytes *e = &a->section[TAG_ENV];

	ck_assert_int_eq(a->head->error, 0);
	ck_assert_bytes(a, TAG_EXE, path_of("svc"));
	ck_assert_str_eq(environ_get(e->p, e->n, "OTEL_SERVICE_NAME"), "shop");
	ck_assert_ptr_null(environ_get(e->p, e->n, "REGION"));
	ck_assert_ptr_null(memmem(a->head, a->head->size, "hunter2", 7));
	ck_assert_ptr_null(a->section[TAG_CMDLINE].p);
	ck_assert_ptr_nonnull(find_map(a, path_of("svc")));
	ck_assert_int_eq(door_allow(door, allowed, 1, true, true), 0);
	a = read_process(pid);
	ck_assert_str_eq(environ_get(e->p, e->n, "REGION"), "eu");
	ck_assert_uint_gt(a->section[TAG_CMDLINE].n, 0);
	ck_assert_uint_gt(a->section[TAG_CWD].n, 0);
	ck_assert_ptr_null(memmem(a->head, a->head->size, "hunter2", 7));
}
END_TEST

START_TEST(its_file_is_opened_whatever_the_rights_are)
{
	pid_t pid = spawn_idle("svc");
	struct answer_map m = *find_map(read_process(pid), path_of("svc"));
	char tail = 0;

	ck_assert_int_eq(open_mapped(pid, &m, &tail), 0);
	ck_assert_int_eq(tail, 'A');
	m.inode++;				/* not what lies under that name, nor what is mapped */
	ck_assert_int_lt(open_mapped(pid, &m, NULL), 0);
}
END_TEST

START_TEST(who_is_not_there_is_told_so)
{
	pid_t pid = spawn_idle("svc");
	struct door_request r = request(DOOR_PROCESS, pid);
	const struct answer *a;

	r.start_ns += 10000000;			/* one tick later: somebody else */
	ck_assert_int_eq(ask_wait(&r)->head->error, -ESRCH);
	r = request(DOOR_PROCESS, pid);
	r.image_serial = 77;
	end_child(pid);
	a = ask_wait(&r);
	ck_assert_int_eq(a->head->error, -ESRCH);
	ck_assert_uint_eq(a->head->image_serial, 77);
	ck_assert_uint_eq(a->head->size, sizeof(*a->head));
	r.ask = 99;
	ck_assert_int_eq(ask_wait(&r)->head->error, -EINVAL);
}
END_TEST

static void await_readable(void)
{
	struct pollfd p = { .fd = door_fd(door), .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 5000), 1);
}

START_TEST(a_buffer_too_small_costs_that_answer_only)
{
	pid_t pid = spawn_idle("svc");
	struct door_request r = request(DOOR_PROCESS, pid);
	uint8_t small[16];
	size_t n;
	int fd;

	ck_assert_int_eq(door_ask(door, &r), 0);
	await_readable();
	ck_assert_int_eq(door_take(door, small, sizeof(small), &n, &fd), -ENOSPC);
	ck_assert_int_eq(door_take(door, small, sizeof(small), &n, &fd), 0);
	ck_assert_int_eq(ask_wait(&r)->head->error, 0);
}
END_TEST

/* The fixture counts descriptors when the door is gone. */
START_TEST(answers_that_nobody_took_leave_nothing_open)
{
	pid_t pid = spawn_idle("svc");
	struct answer_map m = *find_map(read_process(pid), path_of("svc"));
	struct door_request r = file_request(pid, &m, path_of("svc"));

	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(door_ask(door, &r), 0);
	await_readable();
}
END_TEST

START_TEST(a_storm_of_requests_is_bounded_and_all_are_answered)
{
	pid_t pid = spawn_idle("svc");
	struct door_request r = request(DOOR_CGROUP, pid);
	unsigned asked = 0;

	for (int i = 0; i < 3000; i++) {
		int err = door_ask(door, &r);

		ck_assert(err == 0 || err == -EAGAIN);
		asked += !err;
	}
	for (unsigned i = 0; i < asked; i++)
		ck_assert_int_eq(next_answer()->head->error, 0);
	ck_assert_uint_ge(asked, 1000);
	ck_assert_uint_eq(door_lost_threads(door), 0);
}
END_TEST

static double cpu_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* A tenth of a CPU beside the head start, however many are asked for, and whatever else
 * runs here. */
START_TEST(first_resolutions_do_not_take_the_machine)
{
	pid_t pid = spawn_idle("svc");
	struct door_request r = request(DOOR_PROCESS, pid);
	uint64_t begin = door_now();
	double threads, seconds;
	unsigned asked = 0;

	while (door_now() - begin < 2500000000ull) {
		if (door_ask(door, &r))
			usleep(1000);
		else
			asked++;
		while (asked > 200) {
			ck_assert_int_eq(next_answer()->head->error, 0);
			asked--;
		}
	}
	seconds = (double)(door_now() - begin) / 1e9;
	threads = cpu_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_of(CLOCK_THREAD_CPUTIME_ID);
	ck_assert_double_lt(threads, 0.4 + seconds / 10 + 0.2);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("door, unprivileged");
	TCase *tc = tcase_create("door");
	SRunner *r;
	int failed;

	if (argc > 1 && !strcmp(argv[1], "idle"))
		ready_and_wait();
	tcase_add_checked_fixture(tc, door_open_fixture, door_close_fixture);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, a_child_is_read_and_only_what_is_wanted_of_its_environment);
	tcase_add_test(tc, its_file_is_opened_whatever_the_rights_are);
	tcase_add_test(tc, who_is_not_there_is_told_so);
	tcase_add_test(tc, a_buffer_too_small_costs_that_answer_only);
	tcase_add_test(tc, answers_that_nobody_took_leave_nothing_open);
	tcase_add_test(tc, a_storm_of_requests_is_bounded_and_all_are_answered);
	tcase_add_test(tc, first_resolutions_do_not_take_the_machine);
	add_context_tests(tc);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
