/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of process contexts.  Numbers Wn are those of a list of what OTEP 4719 asks
 * of a writer: W12 layout, W13 mapping, W14 fork, W15 stamp, W16 order, W17 prctl, W18
 * one per process.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/check_otelctx.h"
#include "tests/ctx_reader.h"
#include "tests/ctx_syscalls.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#define MFD_FLAGS	3u		/* MFD_CLOEXEC | MFD_ALLOW_SEALING */
#define MFD_NOEXEC	8u

/* ProcessContext{1: Resource{1: KeyValue{1: "a", 2: AnyValue{1: "xyz"}}}} */
static const uint8_t xyz[] = "\x0a\x0c\x0a\x0a\x0a\x01" "a\x12\x05\x0a\x03xyz";

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

static int publish(const char *value)
{
	return ctx_publish(otelctx_process_publish, value, strlen(value));
}

static int update(const char *value)
{
	return ctx_publish(otelctx_process_update, value, strlen(value));
}

static uint64_t boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

START_TEST(w12_header_is_laid_out_as_the_otep_says)
{
	uint64_t before = boot_ns(), word, stamp;
	const uint8_t *h;
	uint32_t size;

	ck_assert_int_eq(publish("xyz"), 0);
	h = (const uint8_t *)ctx_own();
	ck_assert_ptr_nonnull(h);
	ck_assert_int_eq(memcmp(h, "OTEL_CTX\x02\0\0\0", 12), 0);
	memcpy(&size, h + 12, 4);
	memcpy(&stamp, h + 16, 8);
	memcpy(&word, h + 24, 8);
	ck_assert_uint_eq(size, sizeof(xyz) - 1);
	ck_assert_int_eq(memcmp((const void *)(uintptr_t)word, xyz, size), 0);
	ck_assert_uint_ge(stamp, before);
	ck_assert_uint_le(stamp, boot_ns());
}
END_TEST

START_TEST(w13_mapping_is_a_private_memfd_without_a_descriptor)
{
	int fds = open_fds();
	struct ctx_mapping m;

	ck_assert_int_eq(publish("xyz"), 0);
	ck_assert_int_eq(open_fds(), fds);
	ck_assert_int_eq(ctx_find(getpid(), &m), 1);
	ck_assert_str_eq(m.perms, "rw-p");
	ck_assert_msg(strstr(m.line, "/memfd:OTEL_CTX (deleted)") ||
		      strstr(m.line, "[anon_shmem:OTEL_CTX]"), "%s", m.line);
}
END_TEST

START_TEST(w13_memfd_without_noexec_seal_on_older_kernels)
{
	static struct ctx_trap traps[] = {
		{ .nr = SYS_memfd_create, .arg = 1, .value = MFD_FLAGS | MFD_NOEXEC,
		  .answer = -EINVAL },
	};
	struct ctx_mapping m;

	ctx_trap_install(traps, 1);
	ck_assert_int_eq(publish("xyz"), 0);
	ck_assert_int_eq(traps[0].calls, 1);
	ck_assert_int_eq(ctx_find(getpid(), &m), 1);
}
END_TEST

START_TEST(w13_anonymous_memory_where_memfd_is_blocked)
{
	static struct ctx_trap traps[] = {
		{ .nr = SYS_memfd_create, .arg = -1, .answer = -EPERM },
		{ .nr = SYS_prctl, .arg = 0, .value = PR_SET_VMA, .answer = 0 },
	};
	const struct otel_ctx_header *h;
	struct ctx_mapping m;

	ctx_trap_install(traps, 2);
	ck_assert_int_eq(publish("xyz"), 0);
	ck_assert_int_eq(traps[0].calls, 2);
	ck_assert_int_eq(traps[1].calls, 1);
	h = (const void *)(uintptr_t)traps[1].args[2];
	ck_assert_int_eq(ctx_mapping_at(getpid(), (uintptr_t)h, &m), 1);
	ck_assert_str_eq(m.perms, "rw-p");
	ck_assert_int_eq(memcmp(h->signature, "OTEL_CTX", 8), 0);
	ck_assert_uint_ne(h->published_ns, 0);
}
END_TEST

START_TEST(w13_error_where_neither_memfd_nor_prctl_gives_a_name)
{
	static struct ctx_trap traps[] = {
		{ .nr = SYS_memfd_create, .arg = -1, .answer = -EPERM },
		{ .nr = SYS_prctl, .arg = 0, .value = PR_SET_VMA, .answer = -EINVAL },
	};
	unsigned char there;

	ctx_trap_install(traps, 2);
	ck_assert_int_eq(publish("xyz"), -EPERM);
	ck_assert_int_eq(traps[1].calls, 1);
	ck_assert_int_eq(mincore((void *)(uintptr_t)traps[1].args[2], 1, &there), -1);
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(otelctx_process_drop(), -ENOENT);
	traps[1].answer = 0;
	ck_assert_int_eq(publish("xyz"), 0);
}
END_TEST

START_TEST(w14_no_publication_without_dontfork)
{
	static struct ctx_trap traps[] = {
		{ .nr = SYS_madvise, .arg = 2, .value = MADV_DONTFORK, .answer = -EINVAL },
	};
	struct ctx_mapping m;

	ctx_trap_install(traps, 1);
	ck_assert_int_eq(publish("xyz"), -EINVAL);
	ck_assert_int_eq(ctx_find(getpid(), &m), 0);
}
END_TEST

START_TEST(w14_smaps_say_dontfork)
{
	struct ctx_mapping m;
	char line[512];
	int in = 0, dc = 0;
	FILE *f;

	ck_assert_int_eq(publish("xyz"), 0);
	f = fopen("/proc/self/smaps", "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "OTEL_CTX"))
			in = 1;
		else if (in && !strncmp(line, "VmFlags:", 8)) {
			dc += strstr(line, " dc") != NULL;
			in = 0;
		}
	}
	fclose(f);
	ck_assert_int_eq(ctx_find(getpid(), &m), 1);
	ck_assert_int_eq(dc, 1);
}
END_TEST

/* What a child does; its exit status is the line that was wrong. */
#define CHILD(cond)	do { if (!(cond)) _exit(__LINE__ % 250 + 1); } while (0)

static void child_without_a_context(int how)
{
	struct ctx_mapping m;
	const struct otel_ctx_header *h;

	CHILD(ctx_find(getpid(), &m) == 0);
	if (how == 0)
		CHILD(publish("child") == 0);
	else if (how == 1)
		CHILD(update("child") == 0);
	else {
		CHILD(otelctx_process_drop() == -ENOENT);
		CHILD(publish("child") == 0);
	}
	h = ctx_own();
	CHILD(h && h->payload_size == sizeof(xyz) - 1 + 2);
	CHILD(update("child2") == 0 && publish("x") == -EEXIST);
	CHILD(otelctx_process_drop() == 0 && ctx_find(getpid(), &m) == 0);
	_exit(0);
}

static void expect_clean_exit(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %x", status);
}

/*
 * _i: publish, update, drop; 3 and above the same by a clone that no fork handler sees.
 */
START_TEST(w14_forked_child_has_no_context_until_it_publishes)
{
	struct otel_ctx_header before, *h;
	pid_t pid;

	ck_assert_int_eq(publish("xyz"), 0);
	h = ctx_own();
	before = *h;
	pid = _i < 3 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		child_without_a_context(_i % 3);
	expect_clean_exit(pid);
	ck_assert_ptr_eq(ctx_own(), h);
	ck_assert_int_eq(memcmp(h, &before, sizeof(before)), 0);
	ck_assert_int_eq(memcmp((void *)(uintptr_t)h->payload, xyz, sizeof(xyz) - 1), 0);
	ck_assert_int_eq(update("xyz"), 0);
}
END_TEST

/* In a new pid namespace, whose first child has its parent's pid: 1, as that one has. */
static void first_of_two_namespaces(void)
{
	int status;
	pid_t pid;

	CHILD(getpid() == 1 && publish("outer") == 0);
	if (unshare(CLONE_NEWPID))
		_exit(77);
	pid = fork();
	if (!pid) {
		CHILD(getpid() == 1);
		CHILD(update("inner") == 0 && publish("inner") == -EEXIST);
		_exit(0);
	}
	CHILD(waitpid(pid, &status, 0) == pid);
	CHILD(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHILD(update("outer") == 0);
	_exit(0);
}

START_TEST(w14_child_with_its_parents_pid_is_a_child)
{
	int status;
	pid_t pid = fork(), first;

	if (!pid) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(77);
		first = fork();
		if (!first)
			first_of_two_namespaces();
		CHILD(waitpid(first, &status, 0) == first && WIFEXITED(status));
		_exit(WEXITSTATUS(status));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		puts("not checked: no pid namespaces for us here");
	else
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %x", status);
}
END_TEST

START_TEST(memory_that_is_not_there_is_an_error)
{
	struct otelctx_attribute a = { .key = "k" };
	struct otelctx_process p = { .size = sizeof(p), .resource = &a, .n_resource = 1 };
	struct otelctx_names *names;
	struct otelctx_thread *thread;
	static const struct otelctx_value none[] = {
		{ .type = OTELCTX_STRING, .n = 5 }, { .type = OTELCTX_STRING, .n = OTELCTX_NUL },
		{ .type = OTELCTX_BYTES, .n = 1 }, { .type = OTELCTX_ARRAY, .n = 2 },
		{ .type = OTELCTX_KVLIST, .n = 2 },
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		a.value = none[i];
		ck_assert_int_eq(otelctx_process_publish(&p), -EINVAL);
	}
	ck_assert_int_eq(otelctx_names_create(&names, NULL, 3), -EINVAL);
	ck_assert_int_eq(otelctx_thread_create(&thread, NULL, NULL, 0, NULL, 3), -EINVAL);
}
END_TEST

static int stop_updating;

static void *update_all_the_time(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop_updating, __ATOMIC_RELAXED))
		ck_assert_int_eq(update("busy"), 0);
	return NULL;
}

/* Sooner or later a fork comes while the other thread holds the lock. */
START_TEST(w14_fork_in_the_middle_of_an_update_does_not_wedge_the_child)
{
	pthread_t t;

	ck_assert_int_eq(publish("xyz"), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, update_all_the_time, NULL), 0);
	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();

		if (!pid)
			child_without_a_context(i % 3);
		expect_clean_exit(pid);
	}
	__atomic_store_n(&stop_updating, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}
END_TEST

START_TEST(w15_update_that_was_cut_short_blocks_no_other)
{
	struct otel_ctx_header *h;
	uint64_t last;

	ck_assert_int_eq(publish("xyz"), 0);
	h = ctx_own();
	last = h->published_ns;
	h->published_ns = 0;
	ck_assert_int_eq(update("again"), 0);
	ck_assert_uint_gt(h->published_ns, last);
	ck_assert_ptr_eq(ctx_own(), h);
}
END_TEST

/* The library's clock, and everybody's here. */
static int64_t clock_is_off_by;
static uint64_t clock_stands_at;

__attribute__((visibility("default")))
int clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t ns;

	if (syscall(SYS_clock_gettime, id, ts))
		return -1;
	if (id != CLOCK_BOOTTIME)
		return 0;
	ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + clock_is_off_by;
	if (clock_stands_at)
		ns = (int64_t)clock_stands_at;
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}

START_TEST(w15_stamp_grows_though_the_clock_stands_or_goes_back)
{
	const struct otel_ctx_header *h;
	uint64_t last;

	clock_stands_at = boot_ns();
	ck_assert_int_eq(publish("xyz"), 0);
	h = ctx_own();
	last = h->published_ns;
	ck_assert_uint_eq(last, clock_stands_at);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(update("xyz"), 0);
		ck_assert_uint_eq(h->published_ns, ++last);
	}
	clock_stands_at = 0;
	clock_is_off_by = -5000000000;
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(update("xyz"), 0);
		ck_assert_uint_eq(h->published_ns, ++last);
	}
	clock_is_off_by = 5000000000;
	ck_assert_int_eq(update("xyz"), 0);
	ck_assert_uint_gt(h->published_ns, last + 1000000000);
}
END_TEST

START_TEST(w16_failed_update_leaves_the_old_context)
{
	const struct otelctx_attribute no_key = { .key = "" };
	const struct otelctx_process bad = { .size = sizeof(bad), .resource = &no_key,
					     .n_resource = 1 };
	struct otel_ctx_header before, *h;

	ck_assert_int_eq(update("xyz"), -ENOENT);
	ck_assert_int_eq(publish("xyz"), 0);
	h = ctx_own();
	before = *h;
	ck_assert_int_eq(otelctx_process_update(&bad), -EINVAL);
	ck_assert_int_eq(publish("other"), -EEXIST);
	ck_assert_int_eq(memcmp(h, &before, sizeof(before)), 0);
	ck_assert_int_eq(memcmp((void *)(uintptr_t)h->payload, xyz, sizeof(xyz) - 1), 0);
}
END_TEST

START_TEST(w17_prctl_is_attempted_on_publish_and_on_each_update_though_it_fails)
{
	static struct ctx_trap traps[] = {
		{ .nr = SYS_prctl, .arg = 0, .value = PR_SET_VMA, .answer = -EINVAL },
	};
	uint64_t at;

	ctx_trap_install(traps, 1);
	ck_assert_int_eq(publish("xyz"), 0);
	ck_assert_int_eq(traps[0].calls, 1);
	at = (uintptr_t)ctx_own();
	for (int i = 2; i < 6; i++) {
		ck_assert_int_eq(update("xyz"), 0);
		ck_assert_int_eq(traps[0].calls, i);
		ck_assert_uint_eq(traps[0].args[1], 0);
		ck_assert_uint_eq(traps[0].args[2], at);
		ck_assert_uint_ge(traps[0].args[3], 32);
		ck_assert_str_eq((const char *)(uintptr_t)traps[0].args[4], "OTEL_CTX");
	}
}
END_TEST

static pthread_barrier_t barrier;
static int published, refused;

static void *publish_at_once(void *arg)
{
	int err;

	(void)arg;
	pthread_barrier_wait(&barrier);
	err = publish("xyz");
	__atomic_add_fetch(err ? &refused : &published, err == 0 || err == -EEXIST,
			   __ATOMIC_RELAXED);
	return NULL;
}

START_TEST(w18_one_of_many_threads_publishes)
{
	pthread_t t[8];
	struct ctx_mapping m;

	pthread_barrier_init(&barrier, NULL, 8);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, publish_at_once, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	ck_assert_int_eq(published, 1);
	ck_assert_int_eq(refused, 7);
	ck_assert_int_eq(ctx_find(getpid(), &m), 1);
}
END_TEST

static void *publish_cancelled(void *arg)
{
	(void)arg;
	pthread_cancel(pthread_self());		/* acts at the next system call that waits */
	publish("xyz");
	pthread_testcancel();
	return NULL;
}

START_TEST(w18_thread_that_is_cancelled_in_publish_leaves_a_context)
{
	struct ctx_mapping m;
	pthread_t t;
	void *how;

	ck_assert_int_eq(pthread_create(&t, NULL, publish_cancelled, NULL), 0);
	pthread_join(t, &how);
	ck_assert_ptr_eq(how, PTHREAD_CANCELED);
	ck_assert_int_eq(ctx_find(getpid(), &m), 1);
	ck_assert_int_eq(update("again"), 0);
}
END_TEST

START_TEST(w18_drop_then_publish)
{
	struct ctx_mapping m;
	uint64_t last;

	ck_assert_int_eq(otelctx_process_drop(), -ENOENT);
	ck_assert_int_eq(publish("xyz"), 0);
	last = ctx_own()->published_ns;
	ck_assert_int_eq(otelctx_process_drop(), 0);
	ck_assert_int_eq(ctx_find(getpid(), &m), 0);
	ck_assert_int_eq(otelctx_process_drop(), -ENOENT);
	ck_assert_int_eq(publish("xyz"), 0);
	ck_assert_int_eq(ctx_find(getpid(), &m), 1);
	ck_assert_uint_gt(ctx_own()->published_ns, last);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("otelctx process");
	SRunner *sr = srunner_create(s);
	TCase *tc = tcase_create("publish");
	int failed;

	tcase_add_test(tc, w12_header_is_laid_out_as_the_otep_says);
	tcase_add_test(tc, w13_mapping_is_a_private_memfd_without_a_descriptor);
	tcase_add_test(tc, w13_memfd_without_noexec_seal_on_older_kernels);
	tcase_add_test(tc, w13_anonymous_memory_where_memfd_is_blocked);
	tcase_add_test(tc, w13_error_where_neither_memfd_nor_prctl_gives_a_name);
	tcase_add_test(tc, w14_no_publication_without_dontfork);
	tcase_add_test(tc, w14_smaps_say_dontfork);
	tcase_add_loop_test(tc, w14_forked_child_has_no_context_until_it_publishes, 0, 6);
	tcase_add_test(tc, w14_child_with_its_parents_pid_is_a_child);
	tcase_add_test(tc, memory_that_is_not_there_is_an_error);
	if (SANITIZED)
		puts("under a sanitizer: no fork in the middle of an update");
	else
		tcase_add_test(tc,
			       w14_fork_in_the_middle_of_an_update_does_not_wedge_the_child);
	tcase_add_test(tc, w15_update_that_was_cut_short_blocks_no_other);
	tcase_add_test(tc, w15_stamp_grows_though_the_clock_stands_or_goes_back);
	tcase_add_test(tc, w16_failed_update_leaves_the_old_context);
	tcase_add_test(tc, w17_prctl_is_attempted_on_publish_and_on_each_update_though_it_fails);
	tcase_add_test(tc, w18_one_of_many_threads_publishes);
	tcase_add_test(tc, w18_thread_that_is_cancelled_in_publish_leaves_a_context);
	tcase_add_test(tc, w18_drop_then_publish);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, otelctx_update_case());
	suite_add_tcase(s, otelctx_steps_case());
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
