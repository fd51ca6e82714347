/* SPDX-License-Identifier: Apache-2.0 */
/* How the table comes by plans for thread contexts, and when it takes them back. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"
#include "shm/ringside.h"
#include "sidecar/context/context.h"
#include "sidecar/context/read.h"
#include "tests/check_process.h"
#include "tests/context_bytes.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#define STATIC_ARG 0x40
#else
#define MACHINE EM_X86_64
#define STATIC_ARG (-0x40ull)
#endif
#define LIB 0x700000ull
#define GOT 0x3fd0ull

static struct { uint32_t pid; bool set; struct ev_context_plan plan; } given[16];
static uint32_t n_given;
static int refuse;

static int take_plan(void *arg, uint32_t pid, const struct ev_context_plan *plan)
{
	(void)arg;
	ck_assert_uint_lt(n_given, N(given));
	given[n_given].pid = pid;
	given[n_given].set = plan != NULL;
	if (plan)
		given[n_given].plan = *plan;
	n_given++;
	return plan ? refuse : 0;
}

static void open_table(void)
{
	table_open();
	process_set_plan_fn(table, take_plan, NULL);
	n_given = 0;
	refuse = 0;
}

static const struct reading app = {
	.begin = 20, .end = 30, .comm = "app", .exe = "/opt/app", .exe_inode = 5,
	.maps = { { 0x400000, 0x402000, 0x1000, 5, 1, 77, "/opt/app" },
		  { LIB, LIB + 0x1000, 0x1000, 6, 1, 78, "/lib/libwriter.so" } },
	.n_maps = 2,
};

static void publish(const struct image *i, uint64_t at, const char *schema)
{
	static _Alignas(8) uint8_t buf[4096];
	static struct bytes payload;
	struct answer_context c = { .verdict = schema ? CONTEXT_PAYLOAD : CONTEXT_NONE,
				    .name = schema ? CONTEXT_NAME_MEMFD : CONTEXT_NAME_NONE,
				    .address = schema ? 0x7f0000000000 : 0,
				    .published_ns = schema ? at : 0, .version = schema ? 2 : 0 };
	struct answer_writer w;
	struct answer_head *h = answer_begin(&w, buf, sizeof(buf));

	payload.n = 0;
	if (schema)
		put_string(&payload, 2, OTEL_CTX_KEY_SCHEMA, schema);
	*h = (struct answer_head){ .magic = h->magic, .ask = DOOR_CONTEXT, .pid = i->pid,
				   .start_ns = i->start_ns, .image_serial = i->serial,
				   .begin_ns = at - 1, .end_ns = at };
	c.payload_size = (uint32_t)payload.n;
	answer_put(&w, TAG_CONTEXT, &c, sizeof(c));
	if (schema)
		answer_put(&w, TAG_CONTEXT_PAYLOAD, payload.b, payload.n);
	answer_end(&w);
	ck_assert_int_eq(process_apply(table, buf, w.n, -1), 0);
}

static int words(const struct image *i, int error, const struct tls_word *word, uint32_t n)
{
	static _Alignas(8) uint8_t buf[4096];
	struct answer_writer w;
	struct answer_head *h = answer_begin(&w, buf, sizeof(buf));

	*h = (struct answer_head){ .magic = h->magic, .ask = DOOR_TLS, .error = error,
				   .pid = i->pid, .start_ns = i->start_ns,
				   .image_serial = i->serial };
	answer_put(&w, TAG_WORDS, word, n * sizeof(*word));
	answer_end(&w);
	return process_apply(table, buf, w.n, -1);
}

static int descriptor(const struct image *i, uint64_t entry, uint64_t arg)
{
	/* The mapping begins at file offset 0x1000, which is address 0x1000: the bias is below it. */
	const struct tls_word w[] = {
		{ .address = LIB - 0x1000 + GOT, .value = entry, .ok = 1 },
		{ .address = LIB - 0x1000 + GOT + 8, .value = arg, .ok = 1 },
	};

	return words(i, 0, w, 2);
}

static struct tls_facts facts(uint32_t access)
{
	struct tls_facts f = { .machine = MACHINE, .align = 8, .memsz = 8, .n_text = 2,
			       .text = { { 0x1000, 0x1000, 0x1000 },
					 { 0, 0, 0x1000 } } };

	if (access) {
		f.n_relocs = 1;
		f.relocs[0] = (struct tls_reloc){ .at = GOT, .access = access };
	}
	return f;
}

/* What the worker says of every file of i; the variable is in the one at `definer`. */
static void worker_answers(struct image *i, uint64_t definer, uint32_t access)
{
	struct tls_facts f = facts(access);

	for (uint32_t k = 0; k < i->n_maps; k++) {
		struct file *file = i->maps[k].file;

		if (!file || file->state == FILE_READY)
			continue;
		ck_assert_int_ne(file->state, FILE_UNKNOWN);	/* all were asked for */
		if (i->maps[k].start == definer)
			process_file_tls(table, file, &f);
		file->state = FILE_READY;
	}
}

static struct image *known(void)
{
	struct image *i = sample(10, 1, 1, 10, "app", 0);

	ck_assert_int_eq(answer(i, &app), 0);
	return i;
}

/* Through files and words to a plan. */
static struct image *planned(void)
{
	struct image *i = known();

	publish(i, 100, "tlsdesc_v1_dev");
	worker_answers(i, LIB, TLS_DESC);
	process_tick(table, 200);
	ck_assert_int_eq(descriptor(i, 0x1234, STATIC_ARG), 0);
	ck_assert_uint_eq(n_given, 1);
	return i;
}

START_TEST(plan_is_made_when_files_and_words_are_there)
{
	struct image *i = known();

	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_ABSENT);
	publish(i, 100, "tlsdesc_v1_dev");
	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_UNRESOLVED);
	process_tick(table, 150);
	ck_assert_uint_eq(n_given, 0);
	worker_answers(i, LIB, TLS_DESC);
	process_tick(table, 200);
	ck_assert_uint_eq(n_given, 0);			/* words are asked for */
	ck_assert_int_eq(descriptor(i, 0x1234, STATIC_ARG), 0);
	ck_assert_uint_eq(n_given, 1);
	ck_assert(given[0].set);
	ck_assert_uint_eq(given[0].pid, 10);
	ck_assert_uint_eq(given[0].plan.start_ns, 1);
	ck_assert_uint_eq(given[0].plan.exec_id, 1);
	ck_assert_uint_eq(given[0].plan.way[0].kind, EV_WAY_STATIC);
	ck_assert_int_eq(given[0].plan.way[0].offset, (int64_t)STATIC_ARG);
	ck_assert_uint_eq(given[0].plan.way[1].kind, EV_WAY_NONE);
	image_put(table, i);
}
END_TEST

START_TEST(r26_nothing_is_looked_for_without_a_schema)
{
	static const char *const others[] = { "nodejs_v1", "go_pprof_labels_v1", "tls_v9" };
	struct image *i = known();

	publish(i, 100, "");
	process_tick(table, 200);
	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_ABSENT);
	ck_assert_int_eq(i->maps[1].file->state, FILE_UNKNOWN);
	for (uint64_t k = 0; k < N(others); k++) {	/* r27 */
		publish(i, 300 + k, others[k]);
		process_tick(table, 310 + k);
		ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_SCHEMA);
		ck_assert_int_eq(i->maps[1].file->state, FILE_UNKNOWN);
	}
	publish(i, 400, "tls_v1");			/* a later update has it */
	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_UNRESOLVED);
	worker_answers(i, LIB, TLS_DESC);
	process_tick(table, 500);
	descriptor(i, 0x1234, STATIC_ARG);
	ck_assert_uint_eq(n_given, 1);
	image_put(table, i);
}
END_TEST

START_TEST(plan_goes_with_the_context)
{
	struct image *i = planned();

	publish(i, 300, NULL);
	ck_assert_uint_eq(n_given, 2);
	ck_assert(!given[1].set);
	ck_assert_uint_eq(given[1].pid, 10);
	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_ABSENT);
	image_put(table, i);
}
END_TEST

START_TEST(publishing_anew_leaves_the_plan_alone)
{
	struct image *i = planned();

	publish(i, 300, "tlsdesc_v1_dev");
	process_tick(table, 400);
	ck_assert_uint_eq(n_given, 1);
	image_put(table, i);
}
END_TEST

START_TEST(plan_goes_with_the_image)
{
	struct image *i = planned(), *next;

	comm_exec(10, 500, "next");
	next = execed(10, 1, 2, 510, "/bin/next", 50);
	process_tick(table, 600);
	ck_assert_uint_eq(n_given, 2);
	ck_assert(!given[1].set);
	ck_assert_ptr_null(next->context);
	ck_assert_uint_eq(next->context_state, RINGSIDE_CONTEXT_ABSENT);
	image_put(table, i);
	process_tick(table, 10 * SEC);
	ck_assert_uint_eq(n_given, 2);			/* taken back once */
}
END_TEST

START_TEST(plan_goes_with_the_process_and_leaves_its_successor_alone)
{
	struct image *i = planned(), *other;

	exited(10, 1, 500);
	other = sample(10, 600, 1, 610, "app", 0);	/* the number again */
	answer(other, &(struct reading){ .begin = 620, .end = 630, .comm = "app",
					 .exe = "/opt/app", .exe_inode = 5,
					 .maps = { app.maps[0], app.maps[1] }, .n_maps = 2 });
	publish(other, 700, "tlsdesc_v1_dev");
	process_tick(table, 800);
	descriptor(other, 0x1234, STATIC_ARG);
	ck_assert_uint_eq(n_given, 3);
	ck_assert(!given[1].set);
	ck_assert(given[2].set);
	ck_assert_uint_eq(given[2].plan.start_ns, 600);
	image_put(table, i);
	process_tick(table, 200 * SEC);			/* the first is forgotten */
	ck_assert_uint_eq(n_given, 3);
	image_put(table, other);
}
END_TEST

START_TEST(a_fork_has_no_plan_of_its_parents)
{
	struct image *i = planned(), *child;

	forked(11, 300, 1, 10, 1, 1, 300);
	child = sample(11, 300, 1, 310, "app", 0);
	ck_assert_ptr_null(child->context);
	ck_assert_uint_eq(child->context_state, RINGSIDE_CONTEXT_ABSENT);
	process_tick(table, 400);
	ck_assert_uint_eq(n_given, 1);
	image_put(table, child);
	image_put(table, i);
}
END_TEST

START_TEST(nobody_defines_it_until_a_library_is_mapped)
{
	struct image *i = known();

	publish(i, 100, "tlsdesc_v1_dev");
	worker_answers(i, 0, 0);
	process_tick(table, 200);
	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_NO_SYMBOL);
	mapped(10, 60 * SEC, 0x900000, 0x1000, 9, "/lib/libother.so");
	process_tick(table, 60 * SEC);			/* sooner than the next try was due */
	ck_assert_int_eq(image_find(i, 0x900000)->file->state, FILE_OPENING);
	worker_answers(i, 0x900000, 0);
	process_tick(table, 61 * SEC);
	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_UNRESOLVED);	/* defined, not used */
	ck_assert_uint_eq(n_given, 0);
	image_put(table, i);
}
END_TEST

START_TEST(a_second_definer_is_added_when_it_is_mapped)
{
	struct image *i = planned();
	struct tls_facts f = facts(TLS_TPOFF);
	struct file *second;
	const struct tls_word w = { .address = 0x900000 + GOT, .value = STATIC_ARG * 2,
				    .ok = 1 };

	mapped(10, 60 * SEC, 0x900000, 0x1000, 9, "/lib/libother.so");
	process_tick(table, 60 * SEC);
	second = image_find(i, 0x900000)->file;
	ck_assert_int_eq(second->state, FILE_OPENING);
	process_tick(table, 61 * SEC);			/* it is waited for */
	process_file_tls(table, second, &f);
	second->state = FILE_READY;
	process_tick(table, 62 * SEC);
	ck_assert_int_eq(descriptor(i, 0x1234, STATIC_ARG), 0);
	if (n_given == 1)
		words(i, 0, &w, 1);
	ck_assert_uint_eq(n_given, 2);
	ck_assert_uint_eq(given[1].plan.way[0].kind, EV_WAY_STATIC);
	image_put(table, i);
}
END_TEST

START_TEST(what_is_not_bound_is_tried_again)
{
	struct image *i = known();

	publish(i, 100, "tlsdesc_v1_dev");
	worker_answers(i, LIB, TLS_DESC);
	process_tick(table, 200);
	ck_assert_int_eq(descriptor(i, 0, 0), 0);
	ck_assert_uint_eq(i->context_state, RINGSIDE_CONTEXT_UNRESOLVED);
	process_tick(table, 1 * SEC);
	ck_assert_int_eq(descriptor(i, 0x1234, STATIC_ARG), 0);
	ck_assert_uint_eq(n_given, 1);
	image_put(table, i);
}
END_TEST

START_TEST(a_reading_that_failed_is_tried_again)
{
	struct image *i = known();

	publish(i, 100, "tlsdesc_v1_dev");
	worker_answers(i, LIB, TLS_DESC);
	process_tick(table, 200);
	ck_assert_int_eq(words(i, -ETIMEDOUT, NULL, 0), 0);
	ck_assert_int_eq(descriptor(i, 0x1234, STATIC_ARG), 0);	/* nobody asked for it */
	ck_assert_uint_eq(n_given, 0);
	process_tick(table, 1 * SEC);
	ck_assert_int_eq(descriptor(i, 0x1234, STATIC_ARG), 0);
	ck_assert_uint_eq(n_given, 1);
	image_put(table, i);
}
END_TEST

START_TEST(files_that_never_answer_are_not_waited_for_for_ever)
{
	struct image *i = known();
	struct tls_facts f = facts(TLS_DESC);

	publish(i, 100, "tlsdesc_v1_dev");
	process_file_tls(table, i->maps[1].file, &f);
	i->maps[1].file->state = FILE_READY;		/* the other one stays as it is */
	process_tick(table, 1 * SEC);
	descriptor(i, 0x1234, STATIC_ARG);
	ck_assert_uint_eq(n_given, 0);
	process_tick(table, 4 * SEC);
	descriptor(i, 0x1234, STATIC_ARG);
	ck_assert_uint_eq(n_given, 1);
	image_put(table, i);
}
END_TEST

static uint32_t being_opened(const struct image *i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < i->n_maps; k++)
		n += i->maps[k].file && i->maps[k].file->state == FILE_OPENING;
	return n;
}

START_TEST(many_files_are_asked_for_a_few_at_a_time)
{
	struct image *i = known();
	char path[32];

	for (uint64_t k = 0; k < 58; k++) {
		snprintf(path, sizeof(path), "/lib/lib%u.so", (unsigned)k);
		mapped(10, 40 + k, 0x10000000 + k * 0x10000, 0x1000, 100 + k, path);
	}
	ck_assert_uint_eq(i->n_maps, 60);
	publish(i, 200, "tlsdesc_v1_dev");
	ck_assert_uint_eq(being_opened(i), 32);
	process_tick(table, 300);
	ck_assert_uint_eq(being_opened(i), 60);
	image_put(table, i);
}
END_TEST

START_TEST(a_kernel_without_room_is_counted)
{
	struct process_counts c;
	struct image *i;

	refuse = -E2BIG;
	i = planned();
	process_counts(table, &c);
	ck_assert_uint_eq(c.plans_refused, 1);
	publish(i, 300, NULL);
	ck_assert_uint_eq(n_given, 1);			/* there is nothing to take back */
	image_put(table, i);
}
END_TEST

START_TEST(words_of_a_wrong_size_are_refused)
{
	static _Alignas(8) uint8_t buf[256];
	struct image *i = planned();
	struct answer_writer w;
	struct answer_head *h = answer_begin(&w, buf, sizeof(buf));

	*h = (struct answer_head){ .magic = h->magic, .ask = DOOR_TLS, .pid = 10,
				   .start_ns = 1, .image_serial = i->serial };
	answer_put(&w, TAG_WORDS, "12345678901234567", 17);
	answer_end(&w);
	ck_assert_int_eq(process_apply(table, buf, w.n, -1), -EBADMSG);
	image_put(table, i);
}
END_TEST

Suite *process_threads_suite(void)
{
	Suite *s = suite_create("threads");
	TCase *t = tcase_create("plans");

	tcase_add_checked_fixture(t, open_table, table_close);
	tcase_add_test(t, plan_is_made_when_files_and_words_are_there);
	tcase_add_test(t, r26_nothing_is_looked_for_without_a_schema);
	tcase_add_test(t, plan_goes_with_the_context);
	tcase_add_test(t, publishing_anew_leaves_the_plan_alone);
	tcase_add_test(t, plan_goes_with_the_image);
	tcase_add_test(t, plan_goes_with_the_process_and_leaves_its_successor_alone);
	tcase_add_test(t, a_fork_has_no_plan_of_its_parents);
	tcase_add_test(t, nobody_defines_it_until_a_library_is_mapped);
	tcase_add_test(t, a_second_definer_is_added_when_it_is_mapped);
	tcase_add_test(t, what_is_not_bound_is_tried_again);
	tcase_add_test(t, a_reading_that_failed_is_tried_again);
	tcase_add_test(t, files_that_never_answer_are_not_waited_for_for_ever);
	tcase_add_test(t, many_files_are_asked_for_a_few_at_a_time);
	tcase_add_test(t, a_kernel_without_room_is_counted);
	tcase_add_test(t, words_of_a_wrong_size_are_refused);
	suite_add_tcase(s, t);
	return s;
}
