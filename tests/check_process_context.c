/* SPDX-License-Identifier: Apache-2.0 */
/* A process context in the table: whose it is, how long, and what it does to labels. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/context/context.h"
#include "sidecar/context/read.h"
#include "tests/check_process.h"
#include "tests/context_bytes.h"

#define AT 0x7f0000000000ull

static const struct reading plain = {
	.begin = 20, .end = 30, .comm = "worker", .env = "OTEL_SERVICE_NAME=env\n"
	"OTEL_RESOURCE_ATTRIBUTES=team=a,tier=back\n"
	"OTEL_X=y\n",
	.cgroup = "0::/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
};

/* An answer about i's context; name NULL: without a payload. */
static int context_answer(const struct image *i, enum context_verdict verdict,
			  uint64_t stamp, const struct bytes *payload, uint64_t end)
{
	static _Alignas(8) uint8_t buf[CONTEXT_PAYLOAD_MAX + 1024];
	struct answer_context c = { .verdict = verdict,
				    .name = CONTEXT_NAME_MEMFD,
				    .address = AT,
				    .published_ns = stamp,
				    .version = 2 };
	struct answer_writer w;
	struct answer_head *h = answer_begin(&w, buf, sizeof(buf));

	h->ask = DOOR_CONTEXT;
	h->pid = i->pid;
	h->start_ns = i->start_ns;
	h->image_serial = i->serial;
	h->begin_ns = end - 1;
	h->end_ns = end;
	if (verdict == CONTEXT_NONE)
		c = (struct answer_context){ .verdict = CONTEXT_NONE };
	c.payload_size = payload ? (uint32_t)payload->n : 0;
	answer_put(&w, TAG_CONTEXT, &c, sizeof(c));
	if (payload)
		answer_put(&w, TAG_CONTEXT_PAYLOAD, payload->b, payload->n);
	answer_end(&w);
	return process_apply(table, buf, w.n, -1);
}

/* Publishes pairs, in the resource; the stamp is when. */
static int published(const struct image *i, uint64_t at, const char *service,
		     const char *key, const char *value)
{
	static struct bytes payload, resource;

	payload.n = resource.n = 0;
	if (service)
		put_string(&resource, 1, "service.name", service);
	if (key)
		put_string(&resource, 1, key, value);
	put_message(&payload, 1, &resource);
	return context_answer(i, CONTEXT_PAYLOAD, at, &payload, at);
}

/* A process that was sampled and read; the caller's reference. */
static struct image *known(void)
{
	struct image *i = sample(10, 1, 1, 10, "worker", 0);

	ck_assert_int_eq(answer(i, &plain), 0);
	ck_assert_str_eq(label(i, "service.name"), "env");
	return i;
}

START_TEST(what_is_published_comes_before_the_environment)
{
	struct image *i = known();
	uint32_t before = i->label_version;

	ck_assert_ptr_null(i->context);
	ck_assert_int_eq(published(i, 100, "cart", "team", "b"), 0);
	ck_assert_str_eq(label(i, "service.name"), "cart");
	ck_assert_str_eq(label(i, "team"), "b");
	ck_assert_str_eq(label(i, "tier"), "back");	/* the context lacks it */
	ck_assert_uint_eq(i->label_version, before + 1);
	ck_assert_uint_eq(i->context_version, 1);
	image_put(table, i);
}
END_TEST

START_TEST(empty_and_refused_keys_change_nothing)
{
	struct image *i = known();
	char id[65];

	snprintf(id, sizeof(id), "%s", label(i, "container.id"));
	ck_assert_uint_eq(strlen(id), 64);
	ck_assert_int_eq(published(i, 100, "", "container.id", ""), 0);
	ck_assert_str_eq(label(i, "service.name"), "env");
	ck_assert_str_eq(label(i, "container.id"), id);
	ck_assert_int_eq(published(i, 101, "", "container.id", "stranger"), 0);
	ck_assert_str_eq(label(i, "container.id"), id);
	ck_assert_int_eq(published(i, 102, "", "host.name", "stranger"), 0);
	ck_assert_str_eq(label(i, "host.name"), "n1");
	image_put(table, i);
}
END_TEST

START_TEST(R9_a_change_that_is_under_way_keeps_the_old)
{
	struct image *i = known();
	struct process_counts c;

	published(i, 100, "cart", NULL, NULL);
	ck_assert_int_eq(context_answer(i, CONTEXT_BUSY, 0, NULL, 200), 0);
	ck_assert_str_eq(label(i, "service.name"), "cart");
	ck_assert_int_eq(context_answer(i, CONTEXT_UNCHANGED, 100, NULL, 300), 0);
	ck_assert_str_eq(label(i, "service.name"), "cart");
	process_counts(table, &c);
	ck_assert_uint_eq(c.contexts, 1);
	ck_assert_uint_eq(c.contexts_busy, 1);
	ck_assert_uint_eq(i->context_version, 1);
	image_put(table, i);
}
END_TEST

static const enum context_verdict ends[] = {
	CONTEXT_NONE, CONTEXT_SIGNATURE, CONTEXT_VERSION, CONTEXT_SIZE, CONTEXT_FAULT,
	CONTEXT_PAYLOAD_FAULT,
};

START_TEST(R9_a_mapping_that_went_or_went_bad_takes_it_away)
{
	struct image *i = known();
	struct process_counts c;

	published(i, 100, "cart", NULL, NULL);
	ck_assert_int_eq(context_answer(i, ends[_i], 200, NULL, 200), 0);
	ck_assert_str_eq(label(i, "service.name"), "env");
	ck_assert_ptr_null(i->context);
	process_counts(table, &c);
	ck_assert_uint_eq(c.contexts, 0);
	ck_assert_uint_eq(c.contexts_refused, ends[_i] != CONTEXT_NONE);
	/* The same finding again is not counted again. */
	context_answer(i, ends[_i], 200, NULL, 300);
	process_counts(table, &c);
	ck_assert_uint_eq(c.contexts_refused, ends[_i] != CONTEXT_NONE);
	published(i, 400, "back", NULL, NULL);
	ck_assert_str_eq(label(i, "service.name"), "back");
	image_put(table, i);
}
END_TEST

START_TEST(a_payload_that_is_no_protobuf_is_refused_whole)
{
	struct image *i = known();
	struct process_counts c;
	static struct bytes bad;

	published(i, 100, "cart", NULL, NULL);
	bad.n = 0;
	put_raw(&bad, "\x0a\xff", 2);
	ck_assert_int_eq(context_answer(i, CONTEXT_PAYLOAD, 200, &bad, 200), 0);
	ck_assert_ptr_null(i->context);
	ck_assert_str_eq(label(i, "service.name"), "env");
	process_counts(table, &c);
	ck_assert_uint_eq(c.contexts_refused, 1);
	image_put(table, i);
}
END_TEST

START_TEST(R9_exec_ends_it)
{
	struct image *old = known(), *fresh;

	published(old, 100, "cart", NULL, NULL);
	fresh = execed(10, 1, 2, 200, "/bin/next", 50);
	image_get(fresh);
	image_put(table, sample(10, 1, 2, 210, "next", 0));
	ck_assert_ptr_null(fresh->context);
	ck_assert_str_eq(label(fresh, "service.name"), "next");
	ck_assert_str_eq(label(old, "service.name"), "cart");	/* late samples of it */
	/* An answer about the old image that was read after the exec is the new one's. */
	published(old, 300, "wrong", NULL, NULL);
	ck_assert_str_eq(label(old, "service.name"), "cart");
	ck_assert_str_eq(label(fresh, "service.name"), "next");
	image_put(table, fresh);
	image_put(table, old);
}
END_TEST

START_TEST(R9_another_process_of_that_pid_has_nothing_of_it)
{
	struct image *old = known(), *fresh;
	struct image stale;

	published(old, 100, "cart", NULL, NULL);
	exited(10, 1, 200);
	fresh = sample(10, 300, 1, 310, "other", 0);
	ck_assert_ptr_ne(fresh, old);
	ck_assert_ptr_null(fresh->context);
	/* The right serial with the start time of another is an answer of nobody. */
	stale = *fresh;
	stale.start_ns = 1;
	published(&stale, 320, "wrong", NULL, NULL);
	ck_assert_ptr_null(fresh->context);
	image_put(table, fresh);
	image_put(table, old);
}
END_TEST

START_TEST(R11_a_forked_child_has_the_parents_environment_and_not_its_context)
{
	struct image *parent = known(), *child;

	published(parent, 100, "cart", "tier", "front");
	forked(11, 150, 1, 10, 1, 1, 150);
	child = sample(11, 150, 1, 160, "worker", 0);
	ck_assert_ptr_null(child->context);
	ck_assert_str_eq(label(child, "service.name"), "env");
	ck_assert_str_eq(label(child, "tier"), "back");
	/* Its own, at the very address of the parent's. */
	published(child, 200, "child", NULL, NULL);
	ck_assert_str_eq(label(child, "service.name"), "child");
	ck_assert_str_eq(label(parent, "service.name"), "cart");
	context_answer(child, CONTEXT_NONE, 0, NULL, 300);
	ck_assert_str_eq(label(child, "service.name"), "env");
	ck_assert_str_eq(label(parent, "service.name"), "cart");
	image_put(table, child);
	image_put(table, parent);
}
END_TEST

START_TEST(R11_a_child_that_waits_for_the_parents_reading_does_not_get_its_context)
{
	struct image *parent = sample(10, 1, 1, 10, "worker", 0), *child;

	forked(11, 15, 1, 10, 1, 1, 15);
	child = sample(11, 15, 1, 16, "worker", 0);
	ck_assert_int_eq(answer(parent, &plain), 0);
	published(parent, 100, "cart", NULL, NULL);
	ck_assert_int_eq(answer(child, &(struct reading){ .error = -3, .begin = 20, .end = 30 }), 0);
	ck_assert_str_eq(label(child, "service.name"), "env");
	ck_assert_ptr_null(child->context);
	image_put(table, child);
	image_put(table, parent);
}
END_TEST

START_TEST(published_again_without_a_change_makes_nothing_anew)
{
	struct image *i = known();
	const struct process_context *c;
	uint32_t labels;

	published(i, 100, "cart", "team", "b");
	c = i->context;
	labels = i->label_version;
	published(i, 200, "cart", "team", "b");
	ck_assert_ptr_eq(i->context, c);
	ck_assert_uint_eq(i->context_version, 1);
	ck_assert_uint_eq(i->label_version, labels);
	published(i, 300, "cart", "team", "c");
	ck_assert_uint_eq(i->context_version, 2);
	ck_assert_str_eq(label(i, "team"), "c");
	image_put(table, i);
}
END_TEST

/* --- when it is looked at --- */

static struct image_context *state(struct image *i)
{
	return &own(i)->context;
}

static void sampled_at(uint64_t at)
{
	image_put(table, sample(10, 1, 1, at, "worker", 0));
}

/* True: the door was asked since the last answer. */
static bool was_asked(struct image *i)
{
	return state(i)->asked_ns != 0;
}

START_TEST(R10_samples_drive_the_slow_look)
{
	struct image *i = known();

	sampled_at(SEC / 2);
	ck_assert(!was_asked(i));
	sampled_at(3 * SEC);
	ck_assert(was_asked(i));
	published(i, 3 * SEC + 1, "cart", NULL, NULL);
	ck_assert(!was_asked(i));
	sampled_at(7 * SEC);
	ck_assert(!was_asked(i));
	sampled_at(9 * SEC);
	ck_assert(was_asked(i));
	sampled_at(9 * SEC + SEC / 2);	/* one at a time */
	context_answer(i, CONTEXT_UNCHANGED, 3 * SEC + 1, NULL, 10 * SEC);
	ck_assert(!was_asked(i));
	ck_assert_str_eq(label(i, "service.name"), "cart");
	image_put(table, i);
}
END_TEST

START_TEST(those_without_one_are_looked_at_more_and_more_seldom)
{
	struct image *i = known();
	uint64_t last = 0, gap = 0, longest = 0;

	for (uint64_t at = SEC; at < 400 * SEC; at += SEC / 4) {
		sampled_at(at);
		if (!was_asked(i))
			continue;
		gap = at - last;
		longest = gap > longest ? gap : longest;
		last = at;
		context_answer(i, CONTEXT_NONE, 0, NULL, at + 1);
	}
	ck_assert_uint_ge(gap, 25 * SEC);
	ck_assert_uint_le(longest, 36 * SEC);
	image_put(table, i);
}
END_TEST

static void hooked(uint64_t at, uint64_t exec_id)
{
	struct ev_context e = { .head = { .type = EV_CONTEXT, .size = sizeof(e), .boot_ns = at,
					  .tgid = 10, .tid = 12, .start_ns = 1,
					  .exec_id = exec_id },
				.address = AT };

	process_on_context(table, &e);
}

START_TEST(R10_the_hook_asks_at_once_and_once_more)
{
	struct image *i = known();

	hooked(SEC, 7);				/* of another image */
	ck_assert(!was_asked(i));
	hooked(SEC, 1);
	ck_assert(was_asked(i));
	ck_assert_uint_eq(state(i)->hint, AT);
	published(i, SEC + 1, "cart", NULL, NULL);
	ck_assert_uint_eq(state(i)->hint, 0);
	/* Of a quick succession only the first is told. */
	sampled_at(SEC + SEC / 50);
	ck_assert(!was_asked(i));
	sampled_at(SEC + SEC / 5);
	ck_assert(was_asked(i));
	/* Told while an answer is on its way: that one may be too old. */
	hooked(SEC + SEC / 4, 1);
	ck_assert(was_asked(i));
	context_answer(i, CONTEXT_UNCHANGED, SEC + 1, NULL, SEC + SEC / 4);
	ck_assert(was_asked(i));
	image_put(table, i);
}
END_TEST

START_TEST(a_process_that_names_memory_in_a_loop_is_looked_at_at_a_bounded_rate)
{
	struct image *i = known();
	unsigned asked = 0;

	for (uint64_t at = SEC; at < 2 * SEC; at += SEC / 1000) {
		hooked(at, 1);
		if (was_asked(i)) {
			asked++;
			state(i)->told_ns = 0;
			context_answer(i, CONTEXT_BUSY, 0, NULL, at);
		}
	}
	ck_assert_uint_ge(asked, 20);
	ck_assert_uint_le(asked, 60);
	image_put(table, i);
}
END_TEST

START_TEST(a_context_that_is_never_the_same_changes_labels_once_a_second_in_the_end)
{
	struct image *i = known();
	char name[32];

	for (uint64_t at = SEC; at < 21 * SEC; at += SEC / 40) {
		hooked(at, 1);
		if (!was_asked(i))
			continue;
		snprintf(name, sizeof(name), "name%llu", (unsigned long long)at);
		published(i, at, name, NULL, NULL);
	}
	ck_assert_uint_ge(i->context_version, 16 + 15);
	ck_assert_uint_le(i->context_version, 18 + 21);
	/* Once it behaves, it is heard at once again. */
	for (uint64_t at = 30 * SEC; at < 31 * SEC; at += SEC / 4) {
		hooked(at, 1);
		ck_assert(was_asked(i));
		snprintf(name, sizeof(name), "calm%llu", (unsigned long long)at);
		published(i, at, name, NULL, NULL);
		ck_assert_str_eq(label(i, "service.name"), name);
	}
	image_put(table, i);
}
END_TEST

START_TEST(who_is_not_sampled_is_not_read_but_its_place_is_remembered)
{
	struct image *parent = known(), *child;

	forked(11, 150, 1, 10, 1, 1, 150);
	hooked(200, 1);
	child = process_find(table, 11, 150);
	ck_assert_ptr_nonnull(child);
	process_on_context(table, &(struct ev_context){
		.head = { .type = EV_CONTEXT, .boot_ns = 300, .tgid = 11, .start_ns = 150,
			  .exec_id = 1 }, .address = AT + 4096 });
	ck_assert(!was_asked(child));
	ck_assert_uint_eq(state(child)->hint, AT + 4096);
	image_put(table, sample(11, 150, 1, SEC, "worker", 0));
	ck_assert(was_asked(child));
	image_put(table, parent);
}
END_TEST

START_TEST(answers_with_impossible_contexts_are_refused)
{
	struct image *i = known();
	static struct bytes one;

	one.n = 0;
	put_string(&one, 2, "k", "v");
	ck_assert_int_eq(context_answer(i, CONTEXT_PAYLOAD, 1, NULL, 100), -EBADMSG);
	ck_assert_int_eq(context_answer(i, CONTEXT_UNCHANGED, 1, &one, 100), -EBADMSG);
	ck_assert_int_eq(context_answer(i, CONTEXT_VERDICTS, 1, NULL, 100), -EBADMSG);
	one.n = CONTEXT_PAYLOAD_MAX + 1;
	ck_assert_int_eq(context_answer(i, CONTEXT_PAYLOAD, 1, &one, 100), -EBADMSG);
	ck_assert_ptr_null(i->context);
	image_put(table, i);
}
END_TEST

Suite *process_context_suite(void)
{
	Suite *s = suite_create("process context");
	TCase *tc = tcase_create("context");

	tcase_add_checked_fixture(tc, table_open, table_close);
	tcase_add_test(tc, what_is_published_comes_before_the_environment);
	tcase_add_test(tc, empty_and_refused_keys_change_nothing);
	tcase_add_test(tc, R9_a_change_that_is_under_way_keeps_the_old);
	tcase_add_loop_test(tc, R9_a_mapping_that_went_or_went_bad_takes_it_away, 0, N(ends));
	tcase_add_test(tc, a_payload_that_is_no_protobuf_is_refused_whole);
	tcase_add_test(tc, R9_exec_ends_it);
	tcase_add_test(tc, R9_another_process_of_that_pid_has_nothing_of_it);
	tcase_add_test(tc, R11_a_forked_child_has_the_parents_environment_and_not_its_context);
	tcase_add_test(tc, R11_a_child_that_waits_for_the_parents_reading_does_not_get_its_context);
	tcase_add_test(tc, published_again_without_a_change_makes_nothing_anew);
	tcase_add_test(tc, R10_samples_drive_the_slow_look);
	tcase_add_test(tc, those_without_one_are_looked_at_more_and_more_seldom);
	tcase_add_test(tc, R10_the_hook_asks_at_once_and_once_more);
	tcase_add_test(tc, a_process_that_names_memory_in_a_loop_is_looked_at_at_a_bounded_rate);
	tcase_add_test(tc, a_context_that_is_never_the_same_changes_labels_once_a_second_in_the_end);
	tcase_add_test(tc, who_is_not_sampled_is_not_read_but_its_place_is_remembered);
	tcase_add_test(tc, answers_with_impossible_contexts_are_refused);
	suite_add_tcase(s, tc);
	return s;
}
