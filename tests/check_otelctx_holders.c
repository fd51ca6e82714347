/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads and one context, threads that end, forks (W32). */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check_otelctx.h"
#include "tests/ctx_reader.h"

#define THREADS	4

extern __thread struct otel_thread_ctx *otel_thread_ctx_v1;

static pthread_barrier_t barrier;
static struct otel_thread_ctx **slots[THREADS];

static struct otelctx_thread *make(uint8_t number)
{
	uint8_t trace_id[16], span_id[8];
	struct otelctx_thread *t;

	memset(trace_id, number, sizeof(trace_id));
	memset(span_id, number, sizeof(span_id));
	ck_assert_int_eq(otelctx_thread_create(&t, trace_id, span_id, 1, NULL, 0), 0);
	return t;
}

struct job {
	unsigned int		 number;
	struct otelctx_thread	*t;
};

/* Attaches, lets the main thread act, detaches. */
static void *hold(void *arg)
{
	struct job *job = arg;

	slots[job->number] = &otel_thread_ctx_v1;
	if (otelctx_thread_attach(job->t))
		return (void *)job;
	pthread_barrier_wait(&barrier);		/* all have attached */
	pthread_barrier_wait(&barrier);		/* the main thread has acted */
	return NULL;
}

static void start(pthread_t *threads, struct job *jobs)
{
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned int i = 0; i < THREADS; i++) {
		jobs[i].number = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hold, &jobs[i]), 0);
	}
	pthread_barrier_wait(&barrier);
}

static void finish(pthread_t *threads)
{
	void *error;

	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &error);
		ck_assert_ptr_null(error);
	}
}

START_TEST(w32_each_thread_shows_its_own_context)
{
	struct job jobs[THREADS];
	pthread_t threads[THREADS];

	for (unsigned int i = 0; i < THREADS; i++)
		jobs[i].t = make((uint8_t)(i + 1));
	start(threads, jobs);
	ck_assert_ptr_null(otel_thread_ctx_v1);
	for (unsigned int i = 0; i < THREADS; i++)
		ck_assert_uint_eq((*slots[i])->trace_id[15], i + 1);
	finish(threads);
	for (unsigned int i = 0; i < THREADS; i++)
		otelctx_thread_destroy(jobs[i].t);
}
END_TEST

/* The two last threads hold something else, which has to stay. */
START_TEST(append_that_moves_the_record_shows_in_every_thread_that_has_it)
{
	struct otelctx_thread *t = make(1), *other = make(2);
	struct job jobs[THREADS] = { { .t = t }, { .t = t }, { .t = other }, { .t = NULL } };
	struct otel_thread_ctx *first, *others;
	pthread_t threads[THREADS];

	ck_assert_int_eq(otelctx_thread_attach(t), 0);
	first = otel_thread_ctx_v1;
	start(threads, jobs);
	others = *slots[2];
	for (unsigned int i = 0; i < 100; i++) {
		ck_assert_int_eq(otelctx_thread_append(t, i, "abc", 3), 0);
		ck_assert_ptr_eq(*slots[0], otel_thread_ctx_v1);
		ck_assert_ptr_eq(*slots[1], otel_thread_ctx_v1);
		ck_assert_uint_eq((*slots[1])->attrs_size, 5 * (i + 1));
	}
	ck_assert_ptr_ne(otel_thread_ctx_v1, first);
	ck_assert_uint_eq(first->trace_id[0], 1);	/* still there, for who is reading it */
	ck_assert_ptr_eq(*slots[2], others);
	ck_assert_ptr_null(*slots[3]);
	finish(threads);
	otelctx_thread_destroy(t);
	otelctx_thread_destroy(other);
	ck_assert_ptr_null(otel_thread_ctx_v1);
}
END_TEST

START_TEST(append_by_another_thread_than_the_one_that_has_it)
{
	struct otelctx_thread *t = make(1);
	struct job jobs[THREADS] = { { .t = t } };
	pthread_t threads[THREADS];

	start(threads, jobs);
	for (unsigned int i = 0; i < 100; i++)
		ck_assert_int_eq(otelctx_thread_append(t, i, "abc", 3), 0);
	ck_assert_uint_eq((*slots[0])->attrs_size, 500);
	finish(threads);
	otelctx_thread_destroy(t);
}
END_TEST

START_TEST(w32_destroy_detaches_in_every_thread)
{
	struct otelctx_thread *t = make(1), *other = make(2);
	struct job jobs[THREADS] = { { .t = t }, { .t = t }, { .t = other }, { .t = t } };
	pthread_t threads[THREADS];

	ck_assert_int_eq(otelctx_thread_attach(t), 0);
	start(threads, jobs);
	otelctx_thread_destroy(t);
	ck_assert_ptr_null(otel_thread_ctx_v1);
	ck_assert_ptr_null(*slots[0]);
	ck_assert_ptr_null(*slots[1]);
	ck_assert_uint_eq((*slots[2])->trace_id[0], 2);
	ck_assert_ptr_null(*slots[3]);
	finish(threads);
	otelctx_thread_destroy(other);
}
END_TEST

static struct otel_thread_ctx **slot_of_the_dead;
static pthread_key_t late;
static int late_answer = 1;

static void attach_late(void *arg)
{
	static __thread int calls;

	if (calls++ == 0)
		pthread_setspecific(late, arg);	/* behind the library's own */
	else
		late_answer = otelctx_thread_attach(arg);
}

static void *attach_and_end(void *arg)
{
	slot_of_the_dead = &otel_thread_ctx_v1;
	pthread_setspecific(late, arg);
	ck_assert_int_eq(otelctx_thread_attach(arg), 0);
	return NULL;
}

/* The slot's memory may be another thread's by then: neither read nor written. */
START_TEST(w32_thread_that_ended_is_not_written_to)
{
	struct otelctx_thread *t = make(1);
	pthread_t thread;

	ck_assert_int_eq(pthread_key_create(&late, attach_late), 0);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, attach_and_end, t), 0);
		pthread_join(thread, NULL);
		for (unsigned int key = 0; key < 3; key++)
			ck_assert_int_eq(otelctx_thread_append(t, key, "abc", 3), 0);
	}
	ck_assert_int_eq(late_answer, -ECANCELED);
	ck_assert_int_eq(otelctx_thread_attach(t), 0);
	ck_assert_uint_eq(otel_thread_ctx_v1->attrs_size, 300);
	otelctx_thread_destroy(t);
	ck_assert_ptr_null(otel_thread_ctx_v1);
}
END_TEST

static void *attach_briefly(void *arg)
{
	return otelctx_thread_attach(arg) || !otel_thread_ctx_v1 ||
		otelctx_thread_attach(NULL) ? arg : NULL;
}

/*
 * qemu-user, which fails when the child of a process with threads starts one: cpuinfo
 * is the host's.
 */
static int is_emulated(void)
{
	char line[256] = "";
	int ours = 1;
#ifdef __aarch64__
	FILE *f = fopen("/proc/cpuinfo", "re");

	for (ours = 0; f && !ours && fgets(line, sizeof(line), f);)
		ours = strstr(line, "CPU implementer") != NULL;
	if (f)
		fclose(f);
#endif
	(void)line;
	return !ours;
}

static int append_some(struct otelctx_thread *t, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		if (otelctx_thread_append(t, i, "abc", 3))
			return 1;
		if (otel_thread_ctx_v1->attrs_size != 5 * (i + 1))
			return 2;
	}
	return 0;
}

/* Of the parent's threads the child has one; it creates others. */
static int child(struct otelctx_thread *t)
{
	pthread_t thread;
	void *error = NULL;

	if (append_some(t, 0, 20))
		return 1;
	if (!is_emulated()) {
		if (pthread_create(&thread, NULL, attach_briefly, t))
			return 2;
		pthread_join(thread, &error);
		if (error)
			return 3;
	}
	if (append_some(t, 20, 100))
		return 4;
	otelctx_thread_destroy(t);
	return otel_thread_ctx_v1 ? 5 : 0;
}

START_TEST(forked_child_goes_on_with_what_its_thread_had)
{
	struct otelctx_thread *t = make(1);
	struct job jobs[THREADS] = { { .t = t }, { .t = t }, { .t = t }, { .t = t } };
	pthread_t threads[THREADS];
	int status;
	pid_t pid;

	ck_assert_int_eq(otelctx_thread_attach(t), 0);
	start(threads, jobs);
	pid = fork();
	if (!pid)
		_exit(child(t));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "child: status %x", status);
	ck_assert_ptr_eq(*slots[3], otel_thread_ctx_v1);
	ck_assert_uint_eq(otel_thread_ctx_v1->attrs_size, 0);
	finish(threads);
	otelctx_thread_destroy(t);
}
END_TEST

static struct otelctx_thread *common;
static int stop;

static void *attach_in_turns(void *arg)
{
	struct otelctx_thread *own = make(9);

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		const struct otel_thread_ctx *r;

		ck_assert_int_eq(otelctx_thread_attach(own), 0);
		r = __atomic_load_n(&otel_thread_ctx_v1, __ATOMIC_RELAXED);
		ck_assert_uint_eq(r->trace_id[0], 9);
		ck_assert_int_eq(otelctx_thread_attach(NULL), 0);
	}
	otelctx_thread_destroy(own);
	return NULL;
}

/*
 * Threads that switch as fast as they can, while contexts come, grow, are shared, and
 * go.
 */
START_TEST(contexts_grow_and_go_under_threads_that_switch)
{
	pthread_t threads[THREADS];

	for (unsigned int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, attach_in_turns, NULL), 0);
	for (unsigned int i = 0; i < 300; i++) {
		pthread_t brief;
		void *error;

		common = make(3);
		ck_assert_int_eq(otelctx_thread_attach(common), 0);
		ck_assert_int_eq(pthread_create(&brief, NULL, attach_briefly, common), 0);
		pthread_join(brief, &error);
		ck_assert_ptr_null(error);
		for (unsigned int key = 0; key < 40; key++)
			ck_assert_int_eq(otelctx_thread_append(common, key, "abc", 3), 0);
		otelctx_thread_destroy(common);
		ck_assert_ptr_null(otel_thread_ctx_v1);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

TCase *otelctx_holders_case(void)
{
	TCase *tc = tcase_create("holders");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, w32_each_thread_shows_its_own_context);
	tcase_add_test(tc, append_that_moves_the_record_shows_in_every_thread_that_has_it);
	tcase_add_test(tc, append_by_another_thread_than_the_one_that_has_it);
	tcase_add_test(tc, w32_destroy_detaches_in_every_thread);
	tcase_add_test(tc, w32_thread_that_ended_is_not_written_to);
	if (!SANITIZED)
		tcase_add_test(tc, forked_child_goes_on_with_what_its_thread_had);
	tcase_add_test(tc, contexts_grow_and_go_under_threads_that_switch);
	return tc;
}
