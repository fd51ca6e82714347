/* SPDX-License-Identifier: Apache-2.0 */
/* Adding up: tables, folded stacks, pprof, gzip, families. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ancestry.h"
#include "client/family.h"
#include "client/gzip.h"
#include "client/intern.h"
#include "client/profile.h"
#include "client/protobuf.h"
#include "client/save.h"
#include "tests/client_records.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

START_TEST(equal_keys_have_equal_numbers)
{
	struct intern t;
	char key[16];
	size_t len;

	intern_init(&t, 100000);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 1000; i++) {
			snprintf(key, sizeof(key), "key %d", i);
			ck_assert_uint_eq(intern_add(&t, key, strlen(key)),
					  (unsigned)i + 1);
		}
	ck_assert_uint_eq(intern_add(&t, "", 0), 1001);
	ck_assert_mem_eq(intern_get(&t, 500, &len), "key 499", 7);
	ck_assert_uint_eq(len, 7);
	intern_get(&t, 1001, &len);
	ck_assert_uint_eq(len, 0);
	intern_fini(&t);
	intern_init(&t, 3);
	ck_assert_uint_eq(intern_add(&t, "abcd", 4), 0);
	ck_assert_uint_eq(intern_add(&t, "abc", 3), 1);
	ck_assert_uint_eq(intern_add(&t, "d", 1), 0);
	intern_fini(&t);
}
END_TEST

START_TEST(folded_stacks_add_up_in_order)
{
	struct ringside_record other = record_sample;
	struct profile *p;
	struct text out;

	ck_assert_int_eq(profile_create(&p), 0);
	ck_assert_int_eq(folded_encode(&out, p), 0);
	ck_assert_str_eq(text_string(&out), "");
	text_fini(&out);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(profile_add(p, &record_sample), 0);
	/* Another span is another pprof sample, but the same stack. */
	other.sample.span_id[0] ^= 1;
	ck_assert_int_eq(profile_add(p, &other), 0);
	ck_assert_int_eq(profile_add(p, &record_plain), 0);
	ck_assert_int_eq(profile_add(p, &record_hostile), 0);
	ck_assert_int_eq(profile_resolve(p), 0);
	ck_assert_int_eq(folded_encode(&out, p), 0);
	ck_assert_str_eq(
		text_string(&out),
		"c\\x1b\\x3b\\n\xef\xbf\xbd;a\\x1b[31m\\n\\t\\r\\x7f\xef\xbf\xbd\\u{9b}\\x3b"
		"\\u{202e}\"\\b\xc3\xa9 1\n"
		"sixteen-bytes-xx;[unknown]+0x7f00;main 1\n"
		"worker;[libc.so.6]+0x27000;main;[frames cut];burn;shop::sum(int);vfs_read 4\n");
	text_fini(&out);
	profile_destroy(p);
}
END_TEST

/* One sample whose only frame is this. */
static void add_frame(struct profile *p, const char *function, uint64_t address,
		      uint64_t offset, const struct ringside_mapping *mapping)
{
	const struct ringside_frame frame = { .type = RINGSIDE_FRAME_NATIVE,
					      .function = function,
					      .address = address,
					      .offset = offset,
					      .mapping = mapping };
	const struct ringside_frame *const frames[] = { &frame };
	struct ringside_record rec = record_plain;

	rec.sample.user = (struct ringside_stack){ .n = 1, .frames = frames };
	ck_assert_int_eq(profile_add(p, &rec), 0);
}

START_TEST(names_that_came_late_reach_back_where_they_are_certain)
{
	const struct ringside_mapping a = { .path = "/a", .build_id = "01" };
	const struct ringside_mapping b = { .path = "/b", .build_id = "02" };
	const struct ringside_mapping anonymous = { .path = "/c" };
	struct profile *p;
	struct text out;

	ck_assert_int_eq(profile_create(&p), 0);
	add_frame(p, NULL, 0x1008, 0, &a);		/* inside burn */
	add_frame(p, NULL, 0x1010, 0, &a);		/* the last that is known of it */
	add_frame(p, NULL, 0x1011, 0, &a);		/* may be behind it */
	add_frame(p, NULL, 0xfff, 0, &a);		/* before it */
	add_frame(p, NULL, 0x1008, 0, &b);		/* another file */
	add_frame(p, NULL, 0x1008, 0, &anonymous);	/* perhaps another file */
	add_frame(p, "burn", 0x1004, 4, &a);
	add_frame(p, "burn", 0x1010, 0x10, &a);
	add_frame(p, "next", 0x2000, 0, &a);
	add_frame(p, "named", 0x1010, 0x10, &anonymous);
	ck_assert_int_eq(profile_resolve(p), 0);
	ck_assert_int_eq(folded_encode(&out, p), 0);
	ck_assert_str_eq(text_string(&out), "sixteen-bytes-xx;[a]+0x1011 1\n"
					    "sixteen-bytes-xx;[a]+0xfff 1\n"
					    "sixteen-bytes-xx;[b]+0x1008 1\n"
					    "sixteen-bytes-xx;[c]+0x1008 1\n"
					    "sixteen-bytes-xx;burn 4\n"
					    "sixteen-bytes-xx;named 1\n"
					    "sixteen-bytes-xx;next 1\n");
	text_fini(&out);
	profile_destroy(p);
}
END_TEST

START_TEST(varints_are_little_endian_groups_of_seven)
{
	struct text t;

	text_init(&t, 100);
	pb_varint(&t, 300);
	pb_varint(&t, UINT64_MAX);
	ck_assert_uint_eq(t.len, 12);
	ck_assert_mem_eq(text_string(&t),
			 "\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
	text_clear(&t);
	pb_uint(&t, 3, 0);
	pb_uint(&t, 3, 1);
	pb_bytes(&t, 16, "ab", 2);
	ck_assert_mem_eq(text_string(&t), "\x18\x01\x82\x01\x02" "ab", 7);
	text_fini(&t);
}
END_TEST

/* A reader of the wire format, independent of the writer. */
struct reader { const unsigned char *p, *end; };

static uint64_t read_varint(struct reader *r)
{
	uint64_t v = 0;

	for (int shift = 0; ; shift += 7) {
		ck_assert(r->p < r->end && shift < 64);
		v |= (uint64_t)(*r->p & 0x7f) << shift;
		if (!(*r->p++ & 0x80))
			return v;
	}
}

/* Next field: its number; value or *sub.  0 at the end. */
static unsigned read_field(struct reader *r, uint64_t *v, struct reader *sub)
{
	uint64_t tag;

	if (r->p == r->end)
		return 0;
	tag = read_varint(r);
	if ((tag & 7) == 0) {
		*v = read_varint(r);
		return (unsigned)(tag >> 3);
	}
	ck_assert_uint_eq(tag & 7, 2);
	*v = read_varint(r);
	ck_assert((uint64_t)(r->end - r->p) >= *v);
	sub->p = r->p;
	sub->end = r->p += *v;
	return (unsigned)(tag >> 3);
}

static struct reader message_of(const struct text *t)
{
	const unsigned char *p = (const unsigned char *)text_string(t);

	return (struct reader){ p, p + t->len };
}

static unsigned count_fields(const struct text *t, unsigned field)
{
	struct reader r = message_of(t), sub;
	unsigned n = 0, f;
	uint64_t v;

	while ((f = read_field(&r, &v, &sub)))
		n += f == field;
	return n;
}

/* The n-th message of that field. */
static struct reader sub_message(const struct text *t, unsigned field, unsigned n)
{
	struct reader r = message_of(t), sub;
	unsigned f;
	uint64_t v;

	while ((f = read_field(&r, &v, &sub)))
		if (f == field && !n--)
			return sub;
	ck_abort_msg("no such field %u", field);
	return sub;
}

static bool string_is(const struct text *t, uint64_t index, const char *want)
{
	struct reader s = sub_message(t, 6, (unsigned)index);

	return (size_t)(s.end - s.p) == strlen(want) && !memcmp(s.p, want, strlen(want));
}

/* First value of a field inside a message. */
static uint64_t value_in(struct reader r, unsigned field)
{
	struct reader sub;
	unsigned f;
	uint64_t v;

	while ((f = read_field(&r, &v, &sub)))
		if (f == field)
			return v;
	return 0;
}

static struct profile *filled_profile(void)
{
	struct ringside_record other = record_sample;
	struct profile *p;

	ck_assert_int_eq(profile_create(&p), 0);
	ck_assert_int_eq(profile_add(p, &record_plain), 0);
	ck_assert_int_eq(profile_add(p, &record_sample), 0);
	ck_assert_int_eq(profile_add(p, &record_sample), 0);
	other.sample.span_id[7] ^= 1;
	ck_assert_int_eq(profile_add(p, &other), 0);
	ck_assert_int_eq(profile_add(p, &record_hostile), 0);
	profile_comment(p, "a remark");
	profile_span(p, RECORD_TIME - 1000, RECORD_TIME + 5000);
	ck_assert_int_eq(profile_resolve(p), 0);
	ck_assert_uint_eq(profile_samples(p), 5);
	return p;
}

START_TEST(pprof_has_one_sample_a_stack_and_label_set)
{
	struct profile *p = filled_profile();
	struct reader sample, location, sub;
	struct text out;
	uint64_t v;

	ck_assert_int_eq(pprof_encode(&out, p), 0);
	ck_assert_uint_eq(count_fields(&out, 1), 2);
	ck_assert_uint_eq(count_fields(&out, 2), 4);
	ck_assert(string_is(&out, 0, ""));
	ck_assert(string_is(&out, value_in(sub_message(&out, 1, 0), 1), "samples"));
	ck_assert(string_is(&out, value_in(sub_message(&out, 1, 1), 1), "cpu"));
	ck_assert(string_is(&out, value_in(sub_message(&out, 1, 1), 2), "nanoseconds"));
	ck_assert(string_is(&out, value_in(sub_message(&out, 11, 0), 1), "cpu"));
	ck_assert_uint_eq(value_in(message_of(&out), 12), 52631578);
	ck_assert_uint_eq(value_in(message_of(&out), 9), (uint64_t)RECORD_TIME - 1000);
	ck_assert_uint_eq(value_in(message_of(&out), 10), 6000);
	ck_assert(string_is(&out, value_in(message_of(&out), 13), "a remark"));
	/* vfs_read, inlined sum in burn, the gap after burn, main, unnamed: 5 locations
	 */
	sample = sub_message(&out, 2, 1);
	ck_assert_uint_eq(read_field(&sample, &v, &sub), 1);
	ck_assert_uint_eq(v, 5);
	ck_assert_uint_eq(read_field(&sample, &v, &location), 2);
	ck_assert_uint_eq(read_varint(&location), 2);
	ck_assert_uint_eq(read_varint(&location), 2 * 52631578);
	/* The second location holds two lines, innermost first. */
	read_varint(&sub);
	location = sub_message(&out, 4, (unsigned)read_varint(&sub) - 1);
	ck_assert_uint_eq(value_in(location, 3), 0x1149);
	ck_assert_uint_eq(read_field(&location, &v, &sub), 1);
	ck_assert_uint_eq(read_field(&location, &v, &sub), 2);
	ck_assert_uint_eq(read_field(&location, &v, &sub), 3);
	ck_assert_uint_eq(read_field(&location, &v, &sub), 4);
	ck_assert_uint_eq(value_in(sub, 2), 12);
	v = value_in(sub_message(&out, 5, (unsigned)value_in(sub, 1) - 1), 2);
	ck_assert(string_is(&out, v, "shop::sum(int)"));
	v = value_in(sub_message(&out, 5, (unsigned)value_in(sub, 1) - 1), 3);
	ck_assert(string_is(&out, v, "_ZN4shop3sumEi"));
	ck_assert_uint_eq(read_field(&location, &v, &sub), 4);
	ck_assert_uint_eq(value_in(sub, 2), 40);
	text_fini(&out);
	profile_destroy(p);
}
END_TEST

START_TEST(pprof_names_the_main_binary_first)
{
	struct profile *p = filled_profile();
	struct reader mapping;
	struct text out;

	ck_assert_int_eq(pprof_encode(&out, p), 0);
	mapping = sub_message(&out, 3, 0);
	ck_assert_uint_eq(value_in(mapping, 1), 1);
	ck_assert(string_is(&out, value_in(mapping, 5), "/usr/bin/worker"));
	ck_assert(string_is(&out, value_in(mapping, 6), "abcdef"));
	ck_assert_uint_eq(value_in(mapping, 7), 1);
	for (unsigned i = 0; i < count_fields(&out, 3); i++)
		ck_assert_uint_eq(value_in(sub_message(&out, 3, i), 1), i + 1);
	for (unsigned i = 0; i < count_fields(&out, 4); i++)
		ck_assert_uint_eq(value_in(sub_message(&out, 4, i), 1), i + 1);
	text_fini(&out);
	profile_destroy(p);
}
END_TEST

START_TEST(pprof_carries_trace_and_span_as_labels)
{
	struct profile *p = filled_profile();
	struct reader sample, label;
	bool trace = false, span = false, pid = false;
	struct text out;
	unsigned f;
	uint64_t v;

	ck_assert_int_eq(pprof_encode(&out, p), 0);
	sample = sub_message(&out, 2, 1);
	while ((f = read_field(&sample, &v, &label))) {
		if (f != 3)
			continue;
		trace |= string_is(&out, value_in(label, 1), "trace_id") &&
			 string_is(&out, value_in(label, 2),
				   "0af7651916cd43dd8448eb211c80319c");
		span |= string_is(&out, value_in(label, 1), "span_id") &&
			string_is(&out, value_in(label, 2), "b7ad6b7169203331");
		pid |= string_is(&out, value_in(label, 1), "pid") &&
		       value_in(label, 3) == 77;
	}
	ck_assert(trace && span && pid);
	text_fini(&out);
	profile_destroy(p);
}
END_TEST

START_TEST(an_empty_profile_is_a_profile)
{
	struct profile *p;
	struct text out;

	ck_assert_int_eq(profile_create(&p), 0);
	ck_assert_int_eq(pprof_encode(&out, p), 0);
	ck_assert_uint_eq(count_fields(&out, 1), 2);
	ck_assert_uint_eq(count_fields(&out, 2), 0);
	text_fini(&out);
	profile_destroy(p);
	profile_destroy(NULL);
}
END_TEST

#ifdef HAVE_ZLIB
static void gunzip_equals(const struct text *packed, const char *want, size_t len)
{
	unsigned char *out = malloc(len + 1);
	z_stream z;

	ck_assert_ptr_nonnull(out);
	memset(&z, 0, sizeof(z));
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text_string(packed);
	z.avail_in = (uInt)packed->len;
	z.next_out = out;
	z.avail_out = (uInt)len + 1;
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(z.total_out, len);
	ck_assert_uint_eq(z.avail_in, 0);
	ck_assert_mem_eq(out, want, len);
	inflateEnd(&z);
	free(out);
}

static const size_t gzip_sizes[] = { 0, 1, 65534, 65535, 65536, 131070, 200000 };

START_TEST(gzip_gives_back_what_went_in_stored_or_packed)
{
	size_t len = gzip_sizes[_i];
	char *bytes = malloc(len + 1);
	struct text out;

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * 7 ^ i >> 8);
	text_init(&out, 1 << 20);
	ck_assert_int_eq(gzip_store(&out, bytes, len), 0);
	gunzip_equals(&out, bytes, len);
	text_clear(&out);
	ck_assert_int_eq(gzip_write(&out, bytes, len), 0);
	gunzip_equals(&out, bytes, len);
	text_fini(&out);
	free(bytes);
}
END_TEST
#endif

static int learn(struct family *f, uint32_t pid, uint64_t start, uint32_t parent,
		 uint8_t action)
{
	struct ringside_process p = { .pid = pid,
				      .process_start_ns = start,
				      .parent_pid = parent,
				      .action = action };

	return family_learn(f, &p);
}

START_TEST(a_family_is_the_root_and_what_it_forks)
{
	struct family f;

	family_init(&f, 100);
	ck_assert(!family_has(&f, 200, 1));
	ck_assert(!f.seen_root);
	/* Its number alone is not yet it: nobody told of it. */
	ck_assert_int_eq(learn(&f, 50, 7, 100, RINGSIDE_FORK), 0);
	ck_assert(!family_has(&f, 50, 7));
	ck_assert(family_has(&f, 100, 5));
	ck_assert(f.seen_root);
	ck_assert(!family_has(&f, 100, 6));
	ck_assert_int_eq(learn(&f, 200, 7, 100, RINGSIDE_FORK), 0);
	ck_assert_int_eq(learn(&f, 300, 8, 200, RINGSIDE_FORK), 0);
	ck_assert_int_eq(learn(&f, 400, 9, 1, RINGSIDE_FORK), 0);
	ck_assert(family_has(&f, 200, 7));
	ck_assert(family_has(&f, 300, 8));
	ck_assert(!family_has(&f, 400, 9));
	/* The number goes on to a stranger. */
	ck_assert_int_eq(learn(&f, 200, 7, 100, RINGSIDE_EXIT), 0);
	ck_assert(!family_has(&f, 200, 99));
	family_fini(&f);
	/* A record about the root makes it known too. */
	family_init(&f, 100);
	ck_assert_int_eq(learn(&f, 100, 5, 1, RINGSIDE_EXEC), 0);
	ck_assert(f.seen_root);
	ck_assert(family_has(&f, 100, 5));
	family_fini(&f);
}
END_TEST

static unsigned lookups;

static bool starts_as_told(uint32_t pid, uint64_t start_ns)
{
	return pid == 100 && start_ns == 5;
}

static bool descends_as_told(uint32_t pid, uint64_t start_ns, uint32_t root)
{
	lookups++;
	return pid == 300 && start_ns == 8 && root == 100;
}

START_TEST(a_family_asks_once_about_whom_no_record_told)
{
	struct family f;

	family_init(&f, 100);
	f.is = starts_as_told;
	f.descends = descends_as_told;
	/* Same number, another process: of another pid namespace. */
	ck_assert(!family_has(&f, 100, 6));
	ck_assert(!f.seen_root);
	ck_assert(family_has(&f, 100, 5));
	for (int i = 0; i < 3; i++) {
		ck_assert(family_has(&f, 300, 8));
		ck_assert(!family_has(&f, 301, 8));
	}
	ck_assert_uint_eq(lookups, 2);
	/* Another life of the number is asked about anew. */
	ck_assert(!family_has(&f, 300, 9));
	ck_assert_uint_eq(lookups, 3);
	/* A record beats the look-up. */
	ck_assert_int_eq(learn(&f, 301, 8, 300, RINGSIDE_FORK), 0);
	ck_assert(family_has(&f, 301, 8));
	family_fini(&f);
}
END_TEST

static const struct {
	const char *stat;
	bool ok;
	uint32_t parent;
	uint64_t start;
} stats[] = {
	{ "7 (a) S 3 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 99 1 2", true, 3, 99 },
	{ "7 (x) R 1 (y) S 3 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 99 1", true, 3, 99 },
	{ "7 (a\nb) S 3 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 18446744073709551615", true,
	  3, UINT64_MAX },
	{ "7 (a) S 3 7 7 0", false, 3, 0 },
	{ "7 (a", false, 0, 0 },
	{ "", false, 0, 0 },
	{ "7 (a)", false, 0, 0 },
};

START_TEST(stat_lines_are_read_whatever_the_name)
{
	uint32_t parent;
	uint64_t start;

	ck_assert(ancestry_parse(stats[_i].stat, strlen(stats[_i].stat), &parent,
				 &start) == stats[_i].ok);
	ck_assert_uint_eq(parent, stats[_i].parent);
	ck_assert_uint_eq(start, stats[_i].start);
}
END_TEST

/* Our own start by the same file, as a record would carry it. */
static uint64_t own_start_ns(void)
{
	char stat[1024];
	uint64_t ticks;
	uint32_t parent;
	size_t n;
	FILE *f = fopen("/proc/self/stat", "r");

	ck_assert_ptr_nonnull(f);
	n = fread(stat, 1, sizeof(stat), f);
	fclose(f);
	ck_assert(ancestry_parse(stat, n, &parent, &ticks));
	return ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

START_TEST(descent_is_seen_in_proc_and_only_with_the_start_time)
{
	uint64_t start = own_start_ns();
	uint32_t self = (uint32_t)getpid(), parent = (uint32_t)getppid();

	ck_assert(ancestry_is(self, start));
	ck_assert(!ancestry_is(self, start + UINT64_C(5000000000)));
	ck_assert(!ancestry_is(self, 0));
	ck_assert(ancestry_descends(self, start, parent));
	ck_assert(!ancestry_descends(self, start + UINT64_C(5000000000), parent));
	ck_assert(!ancestry_descends(self, start, 4194305));
}
END_TEST

START_TEST(a_saved_file_appears_whole_or_not_at_all)
{
	char folder[] = "client-save-XXXXXX", path[64];
	struct save s;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.folded", folder);
	ck_assert_int_eq(save_open(&s, path), 0);
	ck_assert_int_ne(access(path, F_OK), 0);
	save_close(&s);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(save_open(&s, path), 0);
	ck_assert_int_eq(save_commit(&s, "abc\n", 4), 0);
	save_close(&s);
	ck_assert_int_eq(access(path, R_OK), 0);
	unlink(path);
	/* Nothing is left behind: the folder can go. */
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_lt(save_open(&s, "no-such-folder/x"), 0);
	save_close(&s);
}
END_TEST

Suite *suite_profile(void)
{
	Suite *s = suite_create("client profile");
	TCase *tc = tcase_create("profile");

	tcase_add_test(tc, equal_keys_have_equal_numbers);
	tcase_add_test(tc, folded_stacks_add_up_in_order);
	tcase_add_test(tc, names_that_came_late_reach_back_where_they_are_certain);
	tcase_add_test(tc, varints_are_little_endian_groups_of_seven);
	tcase_add_test(tc, pprof_has_one_sample_a_stack_and_label_set);
	tcase_add_test(tc, pprof_names_the_main_binary_first);
	tcase_add_test(tc, pprof_carries_trace_and_span_as_labels);
	tcase_add_test(tc, an_empty_profile_is_a_profile);
#ifdef HAVE_ZLIB
	tcase_add_loop_test(tc, gzip_gives_back_what_went_in_stored_or_packed, 0,
			    (int)(sizeof(gzip_sizes) / sizeof(*gzip_sizes)));
#endif
	tcase_add_test(tc, a_family_is_the_root_and_what_it_forks);
	tcase_add_test(tc, a_family_asks_once_about_whom_no_record_told);
	tcase_add_loop_test(tc, stat_lines_are_read_whatever_the_name, 0,
			    (int)(sizeof(stats) / sizeof(*stats)));
	tcase_add_test(tc, descent_is_seen_in_proc_and_only_with_the_start_time);
	tcase_add_test(tc, a_saved_file_appears_whole_or_not_at_all);
	suite_add_tcase(s, tc);
	return s;
}
