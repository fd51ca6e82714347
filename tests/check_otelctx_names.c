/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key map and the bytes of the payload.  W19: limits of both, W20: the map only
 * grows. What protoc makes of payloads: tests/otelctx_protoc.sh.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctx/protobuf_write.h"
#include "tests/ctx_reader.h"

extern __thread struct otel_thread_ctx *otel_thread_ctx_v1;

static struct otelctx_names *names;

static struct otelctx_names *make(size_t n)
{
	static char texts[257][24];
	const char *keys[257];
	struct otelctx_names *made = NULL;

	for (size_t i = 0; i < n; i++) {
		snprintf(texts[i], sizeof(texts[i]), "k%03zu", i);
		keys[i] = texts[i];
	}
	ck_assert_int_eq(otelctx_names_create(&made, keys, n), 0);
	return made;
}

static int publish_with(struct otelctx_names *n, const struct otelctx_attribute *resource)
{
	const struct otelctx_process p = {
		.size = sizeof(p), .resource = resource, .n_resource = resource != NULL, .names = n,
	};

	return otelctx_process_publish(&p);
}

/* Where the payload says so, or NULL. */
static const uint8_t *find(const char *what)
{
	const struct otel_ctx_header *h = ctx_own();

	ck_assert_ptr_nonnull(h);
	return memmem((const void *)(uintptr_t)h->payload, h->payload_size, what, strlen(what));
}

START_TEST(w19_the_257th_name_is_refused)
{
	const char *keys[257];
	struct otelctx_names *more = NULL;

	names = make(255);
	ck_assert_int_eq(otelctx_names_add(names, "last"), 255);
	ck_assert_int_eq(otelctx_names_add(names, "one more"), -ENOSPC);
	ck_assert_int_eq(otelctx_names_add(names, "last"), 255);
	ck_assert_int_eq(otelctx_names_find(names, "one more"), -ENOENT);
	ck_assert_uint_eq(otelctx_names_count(names), 256);
	for (size_t i = 0; i < 257; i++)
		ck_assert_int_gt(asprintf((char **)&keys[i], "%zu", i), 0);
	ck_assert_int_eq(otelctx_names_create(&more, keys, 257), -ENOSPC);
	ck_assert_ptr_null(more);
	for (size_t i = 0; i < 257; i++)
		free((char *)keys[i]);
	otelctx_names_destroy(names);
	otelctx_names_destroy(NULL);
}
END_TEST

START_TEST(names_that_are_none_are_refused)
{
	static const char *const twice[] = { "a", "b", "a" }, *const empty[] = { "a", "" };
	static const char *const bad[] = { "\xc3" };
	struct otelctx_names *n = NULL;

	ck_assert_int_eq(otelctx_names_create(&n, twice, 3), -EINVAL);
	ck_assert_int_eq(otelctx_names_create(&n, empty, 2), -EINVAL);
	ck_assert_int_eq(otelctx_names_create(&n, bad, 1), -EILSEQ);
	ck_assert_ptr_null(n);
	names = make(0);
	ck_assert_int_eq(otelctx_names_add(names, ""), -EINVAL);
	ck_assert_int_eq(otelctx_names_add(names, NULL), -EINVAL);
	ck_assert_uint_eq(otelctx_names_count(names), 0);
	otelctx_names_destroy(names);
}
END_TEST

START_TEST(w20_a_new_name_is_published_before_its_index_is_known)
{
	const struct otelctx_attribute a = {
		.key = "mine", .value = { .type = OTELCTX_STRING, .n = 4, .u.data = "kept" },
	};
	uint64_t last;

	names = make(2);
	ck_assert_int_eq(publish_with(names, &a), 0);
	ck_assert_ptr_nonnull(find("k000\x0a\x06\x0a\x04k001"));
	last = ctx_own()->published_ns;
	ck_assert_int_eq(otelctx_names_add(names, "k001"), 1);
	ck_assert_uint_eq(ctx_own()->published_ns, last);
	ck_assert_int_eq(otelctx_names_add(names, "k002"), 2);
	ck_assert_uint_gt(ctx_own()->published_ns, last);
	ck_assert_ptr_nonnull(find("k000\x0a\x06\x0a\x04k001\x0a\x06\x0a\x04k002"));
	ck_assert_ptr_nonnull(find("mine"));
	ck_assert_ptr_nonnull(find("kept"));
	ck_assert_int_eq(otelctx_names_find(names, "k000"), 0);
	otelctx_process_drop();
	ck_assert_int_eq(otelctx_names_add(names, "k003"), 3);
	otelctx_names_destroy(names);
}
END_TEST

START_TEST(w20_a_name_that_cannot_be_published_is_not_added)
{
	static char big[OTELCTX_PAYLOAD_MAX - 150];
	const struct otelctx_attribute a = {
		.key = "big", .value = { .type = OTELCTX_BYTES, .n = sizeof(big), .u.data = big },
	};
	char name[200];
	uint64_t last;

	names = make(1);
	ck_assert_int_eq(publish_with(names, &a), 0);
	last = ctx_own()->published_ns;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(otelctx_names_add(names, name), -E2BIG);
	ck_assert_uint_eq(otelctx_names_count(names), 1);
	ck_assert_int_eq(otelctx_names_find(names, name), -ENOENT);
	ck_assert_uint_eq(ctx_own()->published_ns, last);
	ck_assert_int_eq(otelctx_names_add(names, "short"), 1);
	otelctx_names_destroy(names);
	ck_assert_ptr_nonnull(find("short"));
	ck_assert_int_eq(otelctx_process_drop(), 0);
}
END_TEST

static void *add_all(void *arg)
{
	char key[16];

	(void)arg;
	for (unsigned int i = 0; i < 200; i++) {
		int at;

		snprintf(key, sizeof(key), "k%03u", i);
		at = otelctx_names_add(names, key);
		ck_assert_int_ge(at, 0);
		ck_assert_int_eq(otelctx_names_find(names, key), at);
		ck_assert_int_eq(otelctx_names_add(names, key), at);
	}
	return NULL;
}

START_TEST(w20_threads_that_add_the_same_names_agree)
{
	pthread_t t[4];

	names = make(0);
	ck_assert_int_eq(publish_with(names, NULL), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, add_all, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(otelctx_names_count(names), 200);
	ck_assert_ptr_nonnull(find("k199"));
	otelctx_process_drop();
	otelctx_names_destroy(names);
}
END_TEST

START_TEST(snapshot_is_what_publish_would_add)
{
	struct otelctx_attribute *a;
	size_t n;

	names = make(3);
	ck_assert_int_eq(otelctx_names_attributes(names, &a, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(a[0].key, "threadlocal.schema_version");
	ck_assert_str_eq(a[0].value.u.data, "tlsdesc_v1_dev");
	ck_assert_str_eq(a[1].key, "threadlocal.attribute_key_map");
	ck_assert_uint_eq(a[1].value.type, OTELCTX_ARRAY);
	ck_assert_uint_eq(a[1].value.n, 3);
	ck_assert_str_eq(a[1].value.u.values[2].u.data, "k002");
	/* With names set, nobody else may say what they are. */
	{
		const struct otelctx_process p = { .size = sizeof(p), .attributes = a,
						   .n_attributes = n, .names = names };
		const struct otelctx_process own = { .size = sizeof(own), .attributes = a,
						     .n_attributes = n };

		ck_assert_int_eq(otelctx_process_publish(&p), -EINVAL);
		ck_assert_int_eq(otelctx_process_publish(&own), 0);
	}
	otelctx_names_attributes_free(a);
	ck_assert_ptr_nonnull(find("k002"));
	otelctx_process_drop();
	otelctx_names_destroy(names);
}
END_TEST

START_TEST(thread_attributes_by_name)
{
	const struct otelctx_named_attribute a[] = {
		{ "k001", "one", OTELCTX_NUL }, { "new", "two", 3 },
	};
	struct otelctx_thread *t;

	names = make(2);
	ck_assert_int_eq(otelctx_names_thread_create(names, &t, NULL, NULL, 0, a, 2), 0);
	ck_assert_int_eq(otelctx_names_find(names, "new"), 2);
	ck_assert_int_eq(otelctx_thread_attach(t), 0);
	ck_assert_int_eq(otelctx_names_thread_append(names, t, "newer", "x", 1), 0);
	ck_assert_int_eq(otelctx_names_thread_append(names, t, "", "x", 1), -EINVAL);
	ck_assert_uint_eq(otel_thread_ctx_v1->attrs_size, 13);
	ck_assert_int_eq(memcmp(otel_thread_ctx_v1->attrs, "\1\3one\2\3two\3\1x", 13), 0);
	otelctx_thread_destroy(t);
	otelctx_names_destroy(names);
}
END_TEST

/* --- Payload --- */

static const struct { const char *what, *bytes; int ok; } texts[] = {
	{ "nothing", "", 1 },
	{ "ASCII", "abc", 1 },
	{ "all lengths", "\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf", 1 },
	{ "a continuation byte alone", "a\x80", 0 },
	{ "overlong, two bytes", "\xc0\x80", 0 },
	{ "overlong, three bytes", "\xe0\x9f\xbf", 0 },
	{ "overlong, four bytes", "\xf0\x8f\xbf\xbf", 0 },
	{ "a surrogate", "\xed\xa0\x80", 0 },
	{ "beyond U+10FFFF", "\xf4\x90\x80\x80", 0 },
	{ "cut off", "\xe2\x82", 0 },
	{ "broken", "\xe2\x82x", 0 },
	{ "0xff", "\xff", 0 },
};

START_TEST(utf8_is_told_from_what_is_not)
{
	ck_assert_msg(utf8_check(texts[_i].bytes, strlen(texts[_i].bytes)) ==
		      (texts[_i].ok ? 0 : -EILSEQ), "%s", texts[_i].what);
}
END_TEST

static struct otelctx_value nested(struct otelctx_value *room, unsigned int depth)
{
	room[0] = (struct otelctx_value){ .type = OTELCTX_INT, .u.integer = 1 };
	for (unsigned int i = 1; i <= depth; i++)
		room[i] = (struct otelctx_value){ .type = OTELCTX_ARRAY, .n = 1,
						  .u.values = &room[i - 1] };
	return room[depth];
}

START_TEST(what_cannot_be_published_is_refused)
{
	static char big[OTELCTX_PAYLOAD_MAX];
	struct otelctx_value room[12];
	struct otelctx_attribute a = { .key = "k" };

	a.value = (struct otelctx_value){ .type = OTELCTX_STRING, .n = 1, .u.data = "\xc3" };
	ck_assert_int_eq(publish_with(NULL, &a), -EILSEQ);
	a.value = (struct otelctx_value){ .type = 8 };
	ck_assert_int_eq(publish_with(NULL, &a), -EINVAL);
	a.value = (struct otelctx_value){ .type = OTELCTX_ARRAY, .n = OTELCTX_NUL };
	ck_assert_int_eq(publish_with(NULL, &a), -EINVAL);
	a.value = nested(room, OTELCTX_DEPTH_MAX + 1);
	ck_assert_int_eq(publish_with(NULL, &a), -EINVAL);
	a.value = (struct otelctx_value){ .type = OTELCTX_BYTES, .n = sizeof(big), .u.data = big };
	ck_assert_int_eq(publish_with(NULL, &a), -E2BIG);
	a.value.n = SIZE_MAX - 1;
	ck_assert_int_eq(publish_with(NULL, &a), -E2BIG);
	ck_assert_int_eq(otelctx_process_publish(NULL), -EINVAL);
	ck_assert_int_eq(otelctx_process_drop(), -ENOENT);
	a.value = nested(room, OTELCTX_DEPTH_MAX);
	ck_assert_int_eq(publish_with(NULL, &a), 0);
	ck_assert_int_eq(otelctx_process_drop(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("otelctx names");
	SRunner *sr = srunner_create(s);
	TCase *tc = tcase_create("names");
	int failed;

	tcase_add_test(tc, w19_the_257th_name_is_refused);
	tcase_add_test(tc, names_that_are_none_are_refused);
	tcase_add_test(tc, w20_a_new_name_is_published_before_its_index_is_known);
	tcase_add_test(tc, w20_a_name_that_cannot_be_published_is_not_added);
	tcase_add_test(tc, w20_threads_that_add_the_same_names_agree);
	tcase_add_test(tc, snapshot_is_what_publish_would_add);
	tcase_add_test(tc, thread_attributes_by_name);
	tcase_add_loop_test(tc, utf8_is_told_from_what_is_not, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(tc, what_cannot_be_published_is_refused);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
