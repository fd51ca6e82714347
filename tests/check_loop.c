/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include "sidecar/loop/loop.h"

#define MS 1000000ull

static struct loop *l;
static struct loop_source *one, *two, *three;
static unsigned int ones, twos;
static uint64_t last;
static int pipes[2];

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

static void setup(void)
{
	ck_assert_int_eq(loop_create(&l), 0);
	ck_assert_int_eq(pipe(pipes), 0);
	ones = twos = 0;
	one = two = three = NULL;
}

static void teardown(void)
{
	loop_destroy(l);
	close(pipes[0]);
	close(pipes[1]);
}

static void stop(void *arg, uint64_t info)
{
	(void)arg;
	last = info;
	loop_stop(l);
}

static void count_one(void *arg, uint64_t info)
{
	(void)arg;
	last = info;
	ones++;
}

static void watchdog(uint64_t ns)
{
	ck_assert_int_eq(loop_add_timer(l, &three, ns, 0, stop, NULL), 0);
}

static void take_byte(void *arg, uint64_t info)
{
	char c;

	ck_assert_ptr_eq(arg, &pipes);
	ck_assert_uint_eq(info & EPOLLIN, EPOLLIN);
	ck_assert_int_eq(read(pipes[0], &c, 1), 1);
	if (++ones == 3)
		loop_stop(l);
}

START_TEST(fd_is_told_as_long_as_it_is_readable)
{
	ck_assert_int_eq(write(pipes[1], "abc", 3), 3);
	ck_assert_int_eq(loop_add_fd(l, &one, pipes[0], EPOLLIN, take_byte, &pipes), 0);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(ones, 3);
}
END_TEST

START_TEST(hang_up_is_told)
{
	ck_assert_int_eq(loop_add_fd(l, &one, pipes[0], EPOLLIN, stop, NULL), 0);
	close(pipes[1]);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(last & EPOLLHUP, EPOLLHUP);
	pipes[1] = dup(pipes[0]);
}
END_TEST

START_TEST(bad_fd_is_an_error)
{
	ck_assert_int_eq(loop_add_fd(l, &one, -1, EPOLLIN, stop, NULL), -EBADF);
	ck_assert_int_eq(loop_add_signal(l, &one, 0, stop, NULL), -EINVAL);
	ck_assert_int_eq(loop_add_signal(l, &one, 4000, stop, NULL), -EINVAL);
	ck_assert_ptr_null(one);
}
END_TEST

START_TEST(interval_timer_fires_every_interval)
{
	uint64_t start = now();

	ck_assert_int_eq(loop_add_timer(l, &one, 5 * MS, 10 * MS, count_one, NULL), 0);
	watchdog(105 * MS);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_ge(ones, 2);
	ck_assert_uint_le(ones, (now() - start) / (10 * MS) + 1);
}
END_TEST

START_TEST(one_shot_fires_once_and_at_once_means_at_once)
{
	ck_assert_int_eq(loop_add_timer(l, &one, MS, 0, count_one, NULL), 0);
	ck_assert_int_eq(loop_add_timer(l, &two, 0, 3600000 * MS, count_one, NULL), 0);
	watchdog(60 * MS);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(ones, 2);
}
END_TEST

/* Both were due in one batch: what the first disarms or sets anew must not fire from the
 * old setting. */
static void disarm_two(void *arg, uint64_t info)
{
	(void)arg;
	(void)info;
	ones++;
	ck_assert_int_eq(loop_set_timer(two, 0, 0), 0);
	ck_assert_int_eq(loop_set_timer(one, 0, 0), 0);
}

static void disarm_one(void *arg, uint64_t info)
{
	(void)arg;
	(void)info;
	twos++;
	ck_assert_int_eq(loop_set_timer(one, 0, 0), 0);
	ck_assert_int_eq(loop_set_timer(two, 0, 0), 0);
}

START_TEST(disarmed_timer_of_the_same_batch_stays_silent)
{
	ck_assert_int_eq(loop_add_timer(l, &one, MS, MS, disarm_two, NULL), 0);
	ck_assert_int_eq(loop_add_timer(l, &two, MS, MS, disarm_one, NULL), 0);
	usleep(5000);
	watchdog(30 * MS);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(ones + twos, 1);
}
END_TEST

START_TEST(set_timer_of_something_else_is_refused)
{
	ck_assert_int_eq(loop_add_fd(l, &one, pipes[0], EPOLLIN, stop, NULL), 0);
	ck_assert_int_eq(loop_set_timer(one, MS, 0), -EINVAL);
}
END_TEST

START_TEST(signal_arrives_with_its_number)
{
	ck_assert_int_eq(loop_add_signal(l, &one, SIGUSR2, stop, NULL), 0);
	ck_assert_int_eq(loop_add_signal(l, &two, SIGHUP, count_one, NULL), 0);
	raise(SIGUSR2);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(last, SIGUSR2);
	ck_assert_uint_eq(ones, 0);
}
END_TEST

/* The other one of the batch is gone, and so are both, whichever comes first. */
static void remove_both(void *arg, uint64_t info)
{
	(void)arg;
	(void)info;
	ones++;
	loop_remove(one);
	loop_remove(two);
	loop_remove(two);
}

START_TEST(callback_may_remove_itself_and_its_neighbour)
{
	int other[2];

	ck_assert_int_eq(pipe(other), 0);
	ck_assert_int_eq(write(pipes[1], "x", 1), 1);
	ck_assert_int_eq(write(other[1], "x", 1), 1);
	ck_assert_int_eq(loop_add_fd(l, &one, pipes[0], EPOLLIN, remove_both, NULL), 0);
	ck_assert_int_eq(loop_add_fd(l, &two, other[0], EPOLLIN, remove_both, NULL), 0);
	watchdog(20 * MS);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(ones, 1);
	close(other[0]);
	close(other[1]);
}
END_TEST

static void add_timer(void *arg, uint64_t info)
{
	(void)arg;
	(void)info;
	loop_remove(one);
	ck_assert_int_eq(loop_add_timer(l, &two, MS, 0, stop, NULL), 0);
}

START_TEST(callback_may_add_a_source)
{
	ck_assert_int_eq(loop_add_timer(l, &one, MS, 0, add_timer, NULL), 0);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(last, 1);
}
END_TEST

START_TEST(stop_before_run_returns_at_once_and_only_once)
{
	loop_stop(l);
	ck_assert_int_eq(loop_run(l), 0);
	watchdog(MS);
	ck_assert_int_eq(loop_run(l), 0);
	ck_assert_uint_eq(last, 1);
}
END_TEST

START_TEST(many_sources_are_all_served_and_no_descriptor_stays)
{
	struct loop_source *s[200];
	struct loop *many;
	int before = open_fds();

	ck_assert_int_eq(loop_create(&many), 0);
	for (int i = 0; i < 200; i++)
		ck_assert_int_eq(loop_add_timer(many, &s[i], MS, 0, count_one, NULL), 0);
	for (int i = 0; i < 200; i += 2)
		loop_remove(s[i]);
	ck_assert_int_eq(loop_add_signal(many, &s[0], SIGALRM, (loop_fn)count_one, NULL),
			 0);
	loop_destroy(many);
	loop_destroy(NULL);
	loop_remove(NULL);
	ck_assert_int_eq(open_fds(), before);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("loop");
	TCase *t = tcase_create("loop");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, fd_is_told_as_long_as_it_is_readable);
	tcase_add_test(t, hang_up_is_told);
	tcase_add_test(t, bad_fd_is_an_error);
	tcase_add_test(t, interval_timer_fires_every_interval);
	tcase_add_test(t, one_shot_fires_once_and_at_once_means_at_once);
	tcase_add_test(t, disarmed_timer_of_the_same_batch_stays_silent);
	tcase_add_test(t, set_timer_of_something_else_is_refused);
	tcase_add_test(t, signal_arrives_with_its_number);
	tcase_add_test(t, callback_may_remove_itself_and_its_neighbour);
	tcase_add_test(t, callback_may_add_a_source);
	tcase_add_test(t, stop_before_run_returns_at_once_and_only_once);
	tcase_add_test(t, many_sources_are_all_served_and_no_descriptor_stays);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
