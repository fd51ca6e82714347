/* SPDX-License-Identifier: Apache-2.0 */
/* What a process publishes of itself, decoded: every type, every order, everything that is wrong. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sidecar/context/context.h"
#include "tests/check_context.h"
#include "tests/context_bytes.h"

static struct bytes payload, resource, value, inner;

static void reset(void)
{
	payload.n = resource.n = value.n = inner.n = 0;
}

static int parse(struct process_context **c)
{
	*c = NULL;
	return process_context_parse(c, payload.b, payload.n, 7);
}

/* `key=value;` of all, the service name first. */
static const char *dump(const struct process_context *c)
{
	static char out[65536];
	char words[8192];
	size_t n = 0;

	out[0] = 0;
	if (c->resource.service_name)
		n += (size_t)snprintf(out, sizeof(out), "(%s)", c->resource.service_name);
	for (uint32_t i = 0; i < c->resource.n; i++) {
		const struct label *l = &c->resource.attributes[i];

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s=%s;", l->key,
				      label_words(l, words, sizeof(words)));
	}
	return out;
}

/* What is in payload, in words; an error by its name. */
static const char *parsed(void)
{
	static char out[65536];
	struct process_context *c;
	int err = parse(&c);

	if (err)
		return err == -EBADMSG ? "EBADMSG" : "other error";
	snprintf(out, sizeof(out), "%s", dump(c));
	process_context_put(c);
	return out;
}

/* One attribute of the resource. */
static const char *parsed_value(void)
{
	put_pair(&resource, 1, "k", &value);
	put_message(&payload, 1, &resource);
	return parsed();
}

START_TEST(resource_and_attributes_are_read_sorted)
{
	struct process_context *c;

	reset();
	put_string(&resource, 1, "service.name", "cart");
	put_string(&resource, 1, "telemetry.sdk.language", "go");
	put_string(&resource, 1, "deployment.environment.name", "prod");
	put_message(&payload, 1, &resource);
	put_string(&payload, 2, "datadog.process_tags", "a:b");
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_str_eq(dump(c), "(cart)datadog.process_tags=a:b;"
				  "deployment.environment.name=prod;telemetry.sdk.language=go;");
	ck_assert_uint_eq(c->published_ns, 7);
	ck_assert_uint_eq(c->schema, CONTEXT_SCHEMA_ABSENT);
	ck_assert_ptr_null(c->schema_name);
	process_context_put(process_context_get(c));
	process_context_put(c);
}
END_TEST

START_TEST(R8_field_2_before_field_1_and_no_resource)
{
	reset();
	put_string(&payload, 2, "extra", "x");
	put_string(&resource, 1, "service.name", "s");
	put_message(&payload, 1, &resource);
	ck_assert_str_eq(parsed(), "(s)extra=x;");
	reset();
	put_string(&payload, 2, "extra", "x");
	ck_assert_str_eq(parsed(), "extra=x;");
	reset();
	put_message(&payload, 1, &resource);	/* empty message: a context that says nothing */
	ck_assert_str_eq(parsed(), "");
}
END_TEST

START_TEST(R8_unknown_fields_of_every_wire_type_are_skipped)
{
	struct bytes *all[] = { &payload, &resource, &value };

	reset();
	for (int i = 0; i < 3; i++) {
		put_tag(all[i], 100, 0);
		put_varint(all[i], UINT64_MAX);
		put_tag(all[i], 536870911, 1);	/* the largest number that there is */
		put_raw(all[i], "12345678", 8);
		put_bytes(all[i], 5000, "\xff\xff", 2);
		put_tag(all[i], 77, 5);
		put_raw(all[i], "1234", 4);
	}
	/* Known numbers with another wire type are unknown as well. */
	put_tag(&payload, 1, 0);
	put_varint(&payload, 3);
	put_tag(&value, 1, 5);
	put_raw(&value, "1234", 4);
	put_tag(&resource, 2, 0);		/* dropped_attributes_count */
	put_varint(&resource, 9);
	put_bytes(&resource, 3, "\x01", 1);	/* entity_refs */
	put_text(&value, 1, "v");
	ck_assert_str_eq(parsed_value(), "k=v;");
}
END_TEST

START_TEST(R8_integers_doubles_bools_bytes_keep_their_types)
{
	struct process_context *c;

	reset();
	put_int(&resource, 1, "a", -1);
	put_int(&resource, 1, "b", INT64_MIN);
	put_double(&value, 4, 0.1);
	put_pair(&resource, 1, "c", &value);
	value.n = 0;
	put_tag(&value, 2, 0);
	put_varint(&value, 1);
	put_pair(&resource, 1, "d", &value);
	value.n = 0;
	put_bytes(&value, 7, "\0\xff", 2);
	put_pair(&resource, 1, "e", &value);
	put_message(&payload, 1, &resource);
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_str_eq(dump(c), "a=-1;b=-9223372036854775808;c=0.1;d=true;e=00ff;");
	ck_assert_int_eq(c->resource.attributes[0].type, LABEL_INT);
	ck_assert_int_eq(c->resource.attributes[2].type, LABEL_DOUBLE);
	ck_assert_int_eq(c->resource.attributes[3].type, LABEL_BOOL);
	ck_assert_int_eq(c->resource.attributes[4].type, LABEL_BYTES);
	ck_assert_uint_eq(c->resource.attributes[4].len, 2);
	process_context_put(c);
}
END_TEST

START_TEST(R8_arrays_and_lists_nest_as_json)
{
	static struct bytes array, element, list;
	struct process_context *c;

	reset();
	array.n = element.n = list.n = 0;
	put_text(&element, 1, "a\"\n\xff");
	put_message(&array, 1, &element);
	element.n = 0;
	put_tag(&element, 3, 0);
	put_varint(&element, (uint64_t)-5);
	put_message(&array, 1, &element);
	element.n = 0;
	put_double(&element, 4, 2.5);
	put_message(&array, 1, &element);
	element.n = 0;
	put_bytes(&element, 7, "\1\2", 2);
	put_message(&array, 1, &element);
	element.n = 0;
	put_message(&array, 1, &element);	/* an AnyValue with nothing in it */
	put_string(&list, 1, "x", "y");
	put_int(&list, 1, "n", 3);
	put_message(&element, 6, &list);
	put_message(&array, 1, &element);
	put_message(&value, 5, &array);
	put_pair(&resource, 1, "k", &value);
	put_message(&payload, 1, &resource);
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_str_eq(dump(c), "k=[\"a\\\"\\u000a\xef\xbf\xbd\",-5,2.5,\"AQI=\",null,"
				  "{\"x\":\"y\",\"n\":3}];");
	ck_assert_int_eq(c->resource.attributes[0].type, LABEL_JSON);
	process_context_put(c);
}
END_TEST

START_TEST(R8_lengths_of_three_varint_bytes_are_read)
{
	static char text[20001];
	struct process_context *c;

	reset();
	memset(text, 'v', 20000);
	put_string(&resource, 1, "k", text);
	put_string(&resource, 1, "z", "end");
	put_message(&payload, 1, &resource);
	ck_assert_int_eq(parse(&c), 0);
	/* Words are cut to what a label holds. */
	ck_assert_uint_eq(strlen(c->resource.attributes[0].string), LABEL_VALUE_MAX);
	ck_assert_str_eq(c->resource.attributes[1].string, "end");
	process_context_put(c);
}
END_TEST

static const struct { const char *what; const char *bytes; size_t n; } malformed[] = {
	{ "tag cut",			"\x80", 1 },
	{ "field number 0",		"\x02\x00", 2 },
	{ "length missing",		"\x0a", 1 },
	{ "length past the end",	"\x0a\x05\x0a", 3 },
	{ "length of 2^63",		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10 },
	{ "varint of 11 bytes",		"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80\x01", 12 },
	{ "varint of 65 bits",		"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 },
	{ "varint cut",			"\x18\xff\xff", 3 },
	{ "tag beyond 29 bits",		"\x80\x80\x80\x80\x80\x01\x00", 7 },
	{ "fixed64 cut",		"\x19\x01\x02\x03", 4 },
	{ "fixed32 cut",		"\x1d\x01", 2 },
	{ "group",			"\x0b\x0c", 2 },
	{ "wire type 6",		"\x0e\x00", 2 },
	{ "wire type 7",		"\x0f\x00", 2 },
	{ "inside the resource",	"\x0a\x02\x0a\x05", 4 },
	{ "inside a pair",		"\x0a\x04\x0a\x02\x0a\x05", 6 },
	{ "inside a value",		"\x12\x04\x12\x02\x0a\x09", 6 },
	{ "inside an array",		"\x12\x06\x12\x04\x2a\x02\x0a\x03", 8 },
};

START_TEST(R8_what_is_cut_or_overlong_is_refused_whole)
{
	reset();
	put_string(&payload, 2, "good", "value");
	put_raw(&payload, malformed[_i].bytes, malformed[_i].n);
	ck_assert_msg(!strcmp(parsed(), "EBADMSG"), "%s: %s", malformed[_i].what, parsed());
}
END_TEST

START_TEST(R8_a_good_payload_cut_anywhere_never_crashes_nor_invents)
{
	static struct bytes whole;
	uint32_t refused = 0;

	reset();
	put_string(&resource, 1, "service.name", "cart");
	put_int(&resource, 1, "n", -3);
	put_message(&whole, 1, &resource);
	put_string(&whole, 2, "x", "y");
	for (size_t n = 1; n < whole.n; n++) {
		payload.n = 0;
		put_raw(&payload, whole.b, n);
		refused += !strcmp(parsed(), "EBADMSG");
	}
	/* Only the cut between the two fields leaves something whole. */
	ck_assert_uint_eq(refused, whole.n - 2);
}
END_TEST

/* value: an integer inside `depth` arrays. */
static void nest(unsigned depth)
{
	static struct bytes array;

	value.n = 0;
	put_tag(&value, 3, 0);
	put_varint(&value, 1);
	for (unsigned i = 0; i < depth; i++) {
		array.n = 0;
		put_message(&array, 1, &value);
		value.n = 0;
		put_message(&value, 5, &array);
	}
}

START_TEST(R8_depth_of_nesting_is_bounded)
{
	reset();
	nest(CONTEXT_DEPTH_MAX);
	ck_assert_str_eq(parsed_value(), "k=[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]];");
	reset();
	nest(CONTEXT_DEPTH_MAX + 1);
	ck_assert_str_eq(parsed_value(), "EBADMSG");
	reset();
	nest(5000);				/* would be deep enough for a stack */
	ck_assert_str_eq(parsed_value(), "EBADMSG");
}
END_TEST

START_TEST(R7_sizes_0_and_above_64_KiB_are_refused)
{
	static uint8_t large[CONTEXT_PAYLOAD_MAX + 1];
	struct process_context *c;

	ck_assert_int_eq(process_context_parse(&c, large, 0, 1), -EBADMSG);
	ck_assert_int_eq(process_context_parse(&c, large, sizeof(large), 1), -EBADMSG);
}
END_TEST

START_TEST(the_last_of_equal_keys_wins_and_empty_takes_nothing_away)
{
	reset();
	put_string(&resource, 1, "k", "first");
	put_string(&resource, 1, "k", "last");
	put_string(&resource, 1, "container.id", "abc");
	put_string(&resource, 1, "container.id", "");
	put_string(&resource, 1, "service.name", "one");
	put_string(&resource, 1, "service.name", "");
	put_string(&resource, 1, "empty", "");
	put_pair(&resource, 1, "none", &value);
	put_message(&payload, 1, &resource);
	put_string(&payload, 2, "k", "of field 2");
	ck_assert_str_eq(parsed(), "(one)container.id=abc;k=last;");
}
END_TEST

START_TEST(reference_to_a_table_of_strings_is_no_value)
{
	reset();
	put_tag(&value, 8, 0);
	put_varint(&value, 3);
	ck_assert_str_eq(parsed_value(), "");
}
END_TEST

START_TEST(what_labels_cannot_hold_is_left_out_and_counted)
{
	static char key[LABEL_KEY_MAX + 2], big[LABEL_VALUE_MAX + 2];
	struct process_context *c;

	reset();
	memset(key, 'k', LABEL_KEY_MAX + 1);
	memset(big, 'v', LABEL_VALUE_MAX + 1);
	put_string(&resource, 1, key, "too long a key");
	put_string(&resource, 1, "", "no key");
	put_int(&resource, 1, "service.name", 5);
	put_bytes(&value, 7, big, LABEL_VALUE_MAX + 1);
	put_pair(&resource, 1, "bytes", &value);
	put_strings(&resource, 1, "array", (const char *const[]){ big }, 1);
	put_string(&resource, 1, "stays", "here");
	put_message(&payload, 1, &resource);
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_str_eq(dump(c), "stays=here;");
	ck_assert_uint_eq(c->left_out, 5);
	process_context_put(c);
}
END_TEST

START_TEST(more_attributes_than_labels_are_left_out_and_counted)
{
	struct process_context *c;
	char key[16];

	reset();
	for (int i = 0; i < LABELS_MAX; i++) {
		snprintf(key, sizeof(key), "k%04d", i);
		put_string(&resource, 1, key, "v");
	}
	put_message(&payload, 1, &resource);
	put_string(&payload, 2, "a", "b");
	put_string(&payload, 2, "k0000", "not this one");
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_uint_eq(c->resource.n, LABELS_MAX);
	ck_assert_uint_eq(c->left_out, 1);
	ck_assert_str_eq(c->resource.attributes[0].string, "v");
	process_context_put(c);
}
END_TEST

/* --- threadlocal.* --- */

static const char *const names[] = { "datadog.local_root_span_id", "", "http.route" };

START_TEST(schema_and_key_map_are_read_and_not_exported)
{
	struct process_context *c;

	reset();
	put_string(&payload, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	put_strings(&payload, 2, "threadlocal.attribute_key_map", names, 3);
	put_string(&payload, 2, "threadlocal.other", "x");
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_str_eq(dump(c), "");
	ck_assert_int_eq(c->schema, CONTEXT_SCHEMA_TLS);
	ck_assert_str_eq(c->schema_name, "tlsdesc_v1_dev");
	ck_assert_uint_eq(c->n_keys, 3);
	ck_assert_str_eq(c->keys[0], "datadog.local_root_span_id");
	ck_assert_ptr_null(c->keys[1]);
	ck_assert_str_eq(c->keys[2], "http.route");
	ck_assert(!c->keys_in_resource);
	process_context_put(c);
}
END_TEST

START_TEST(schema_and_key_map_in_the_resource_are_used_second)
{
	struct process_context *c;

	reset();
	put_string(&resource, 1, "threadlocal.schema_version", "tlsdesc_v1_dev");
	put_strings(&resource, 1, "threadlocal.attribute_key_map", names, 1);
	put_message(&payload, 1, &resource);
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_str_eq(dump(c), "");
	ck_assert_int_eq(c->schema, CONTEXT_SCHEMA_TLS);
	ck_assert_uint_eq(c->n_keys, 1);
	ck_assert(c->keys_in_resource);
	process_context_put(c);
	put_string(&payload, 2, "threadlocal.schema_version", "nodejs_v1");
	put_strings(&payload, 2, "threadlocal.attribute_key_map", names, 3);
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_int_eq(c->schema, CONTEXT_SCHEMA_NODEJS);
	ck_assert_uint_eq(c->n_keys, 3);
	ck_assert(!c->keys_in_resource);
	process_context_put(c);
}
END_TEST

static const struct { const char *name; enum context_schema schema; } schemas[] = {
	{ "tlsdesc_v1_dev", CONTEXT_SCHEMA_TLS },
	{ "tls_v1", CONTEXT_SCHEMA_TLS },
	{ "nodejs_v1_dev", CONTEXT_SCHEMA_NODEJS },
	{ "nodejs_v1", CONTEXT_SCHEMA_NODEJS },
	{ "go_pprof_labels_v1", CONTEXT_SCHEMA_GO_LABELS },
	{ "tlsdesc_v2", CONTEXT_SCHEMA_UNKNOWN },
	{ "TLS_V1", CONTEXT_SCHEMA_UNKNOWN },
	{ "", CONTEXT_SCHEMA_ABSENT },
};

START_TEST(R27_schema_names)
{
	struct process_context *c;

	reset();
	put_string(&payload, 2, "threadlocal.schema_version", schemas[_i].name);
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_int_eq(c->schema, schemas[_i].schema);
	process_context_put(c);
}
END_TEST

START_TEST(key_map_of_256_and_not_more)
{
	static const char *many[300];
	struct process_context *c;

	reset();
	for (int i = 0; i < 300; i++)
		many[i] = i == 255 ? "last" : "k";
	put_strings(&payload, 2, "threadlocal.attribute_key_map", many, 300);
	ck_assert_int_eq(parse(&c), 0);
	ck_assert_uint_eq(c->n_keys, 256);
	ck_assert_str_eq(c->keys[255], "last");
	process_context_put(c);
}
END_TEST

START_TEST(published_anew_without_a_change_is_the_same)
{
	struct process_context *a, *b;

	reset();
	put_string(&resource, 1, "service.name", "cart");
	put_int(&resource, 1, "n", 1);
	put_message(&payload, 1, &resource);
	put_strings(&payload, 2, "threadlocal.attribute_key_map", names, 3);
	ck_assert_int_eq(process_context_parse(&a, payload.b, payload.n, 1), 0);
	ck_assert_int_eq(process_context_parse(&b, payload.b, payload.n, 2), 0);
	ck_assert(process_context_same(a, b));
	process_context_put(b);
	put_string(&payload, 2, "more", "x");
	ck_assert_int_eq(process_context_parse(&b, payload.b, payload.n, 2), 0);
	ck_assert(!process_context_same(a, b));
	process_context_put(b);
	process_context_put(a);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("context");
	TCase *tc = tcase_create("payload");

	tcase_add_test(tc, resource_and_attributes_are_read_sorted);
	tcase_add_test(tc, R8_field_2_before_field_1_and_no_resource);
	tcase_add_test(tc, R8_unknown_fields_of_every_wire_type_are_skipped);
	tcase_add_test(tc, R8_integers_doubles_bools_bytes_keep_their_types);
	tcase_add_test(tc, R8_arrays_and_lists_nest_as_json);
	tcase_add_test(tc, R8_lengths_of_three_varint_bytes_are_read);
	tcase_add_loop_test(tc, R8_what_is_cut_or_overlong_is_refused_whole, 0,
			    sizeof(malformed) / sizeof(malformed[0]));
	tcase_add_test(tc, R8_a_good_payload_cut_anywhere_never_crashes_nor_invents);
	tcase_add_test(tc, R8_depth_of_nesting_is_bounded);
	tcase_add_test(tc, R7_sizes_0_and_above_64_KiB_are_refused);
	tcase_add_test(tc, the_last_of_equal_keys_wins_and_empty_takes_nothing_away);
	tcase_add_test(tc, reference_to_a_table_of_strings_is_no_value);
	tcase_add_test(tc, what_labels_cannot_hold_is_left_out_and_counted);
	tcase_add_test(tc, more_attributes_than_labels_are_left_out_and_counted);
	suite_add_tcase(s, tc);
	tc = tcase_create("thread keys");
	tcase_add_test(tc, schema_and_key_map_are_read_and_not_exported);
	tcase_add_test(tc, schema_and_key_map_in_the_resource_are_used_second);
	tcase_add_loop_test(tc, R27_schema_names, 0, sizeof(schemas) / sizeof(schemas[0]));
	tcase_add_test(tc, key_map_of_256_and_not_more);
	tcase_add_test(tc, published_anew_without_a_change_is_the_same);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_add_suite(sr, read_suite());
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
