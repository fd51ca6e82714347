/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and copying a context: the target's memory changes between any two reads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"
#include "sidecar/context/context.h"
#include "sidecar/context/read.h"
#include "sidecar/process/parse.h"
#include "tests/check_context.h"

#define MAPPING	0x7f0000000000ull
#define OTHER	0x7f0000100000ull
#define HEAP	0x560000000000ull

/* --- a target --- */

struct region { uint64_t start; size_t n; uint8_t *bytes; };

static struct {
	struct region regions[80];
	unsigned n;
	unsigned reads, pauses;
	size_t	 bytes;
	void	 (*before)(unsigned nth);	/* the nth read, from 1 */
	void	 (*within)(unsigned nth);	/* the nth read, when half of it is copied */
} target;

static uint8_t payload[CONTEXT_PAYLOAD_MAX];

static void *map(uint64_t start, size_t n)
{
	struct region *r = &target.regions[target.n++];

	*r = (struct region){ start, n, calloc(1, n) };
	return r->bytes;
}

static void unmap(uint64_t start)
{
	for (unsigned i = 0; i < target.n; i++) {
		if (target.regions[i].start == start)
			target.regions[i].n = 0;
	}
}

static int read_target(void *arg, uint64_t address, void *buf, size_t n)
{
	(void)arg;
	target.reads++;
	if (target.before)
		target.before(target.reads);
	for (unsigned i = 0; i < target.n; i++) {
		const struct region *r = &target.regions[i];

		if (address < r->start || address - r->start > r->n ||
		    n > r->n - (address - r->start))
			continue;
		memcpy(buf, r->bytes + (address - r->start), n / 2);
		if (target.within)
			target.within(target.reads);
		memcpy((char *)buf + n / 2, r->bytes + (address - r->start) + n / 2, n - n / 2);
		target.bytes += n;
		return 0;
	}
	return -EFAULT;
}

static void count_pause(void *arg, unsigned attempt)
{
	(void)arg;
	ck_assert_uint_eq(attempt, ++target.pauses);
}

static const struct context_memory memory = { read_target, count_pause, NULL };

static struct otel_ctx_header *publish(uint64_t at, uint64_t payload_at, const char *text,
				       uint64_t stamp)
{
	struct otel_ctx_header *h = map(at, 4096);

	*h = (struct otel_ctx_header){ .version = 2,
				       .payload_size = (__u32)strlen(text),
				       .published_ns = stamp,
				       .payload = payload_at };
	memcpy(h->signature, "OTEL_CTX", 8);
	if (payload_at - at < 4096)
		memcpy((uint8_t *)h + (payload_at - at), text, strlen(text));
	else
		memcpy(map(payload_at, strlen(text)), text, strlen(text));
	return h;
}

static struct otel_ctx_header *header;

static void setup(void)
{
	memset(&target, 0, sizeof(target));
	memset(payload, 0x55, sizeof(payload));
	header = publish(MAPPING, HEAP, "payload", 100);
}

static void teardown(void)
{
	for (unsigned i = 0; i < target.n; i++)
		free(target.regions[i].bytes);
}

static struct context_reading read_it(uint64_t seen)
{
	struct context_reading r;

	target.reads = target.pauses = 0;
	target.bytes = 0;
	context_read(&memory, MAPPING, seen, payload, &r);
	return r;
}

/* --- names --- */

static const struct { const char *line; enum context_name name; } lines[] = {
	{ "7f0000000000-7f0000001000 rw-p 00000000 00:01 7 [anon_shmem:OTEL_CTX]",
	  CONTEXT_NAME_ANON_SHMEM },
	{ "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]",
	  CONTEXT_NAME_ANON },
	{ "7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /memfd:OTEL_CTX",
	  CONTEXT_NAME_MEMFD },
	{ "7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /memfd:OTEL_CTX (deleted)",
	  CONTEXT_NAME_MEMFD },
	{ "7f0000000000-7f0000001000 rw-s 00000000 00:01 7 /memfd:OTEL_CTX (deleted)",
	  CONTEXT_NAME_MEMFD },
	{ "7f0000000000-7f0000002000 r--p 00000000 00:01 7 /memfd:OTEL_CTX (deleted)",
	  CONTEXT_NAME_MEMFD },
	{ "7f0000000000-7f0000002000 ---p 00000000 00:00 0 [anon:OTEL_CTX]",
	  CONTEXT_NAME_ANON },
	{ "7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /memfd:OTEL_CTX_BACKUP (deleted)",
	  CONTEXT_NAME_LONGER },
	{ "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [anon:OTEL_CTX2]",
	  CONTEXT_NAME_LONGER },
	{ "7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /memfd:OTEL_CTX (deleted) (deleted)",
	  CONTEXT_NAME_LONGER },
};

START_TEST(R1_mappings_of_every_name_and_permission_are_found)
{
	struct context_places p = { .hint = 0 };
	const struct context_place *found;
	struct context_reading r;
	struct maps_line l;

	ck_assert_int_eq(maps_line_parse(lines[_i].line, strlen(lines[_i].line), &l), 0);
	context_places_add(&p, l.start, l.exec, l.path, l.path_len);
	ck_assert_msg(p.n_exact + p.n_longer == 1, "%s", lines[_i].line);
	found = p.n_exact ? p.exact : p.longer;
	ck_assert_uint_eq(found->address, MAPPING);
	ck_assert_int_eq(found->name, lines[_i].name);
	ck_assert_uint_eq(p.n_longer, lines[_i].name == CONTEXT_NAME_LONGER);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_int_eq(r.name, lines[_i].name);
	ck_assert_uint_eq(r.address, MAPPING);
}
END_TEST

static const char *const strangers[] = {
	"7f0000000000-7f0000001000 rwxp 00000000 00:01 7 /memfd:OTEL_CTX (deleted)",
	"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 [anon:OTEL_CTX]",
	"7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /memfd:otel_ctx (deleted)",
	"7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /tmp/memfd:OTEL_CTX",
	"7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /OTEL_CTX",
	"7f0000000000-7f0000001000 rw-p 00000000 00:01 7 /memfd:OTEL_CT",
	"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [anon:XOTEL_CTX]",
	"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [heap]",
	"7f0000000000-7f0000001000 rw-p 00000000 00:00 0",
};

START_TEST(R2_executable_and_other_mappings_are_never_considered)
{
	struct context_places p = { .hint = MAPPING };
	struct maps_line l;

	ck_assert_int_eq(maps_line_parse(strangers[_i], strlen(strangers[_i]), &l), 0);
	context_places_add(&p, l.start, l.exec, l.path, l.path_len);
	ck_assert_msg(p.n_exact + p.n_longer == 0, "%s", strangers[_i]);
	/* The hook's word does not make executable memory a context either. */
	ck_assert(p.hint_mapped == !l.exec);
}
END_TEST

START_TEST(R2_the_next_good_mapping_is_found_behind_bad_ones)
{
	struct context_places p = { .hint = 0 };
	struct context_reading r;

	memcpy(header->signature, "OTEL_CTy", 8);
	publish(OTHER, OTHER + 32, "good", 50);
	context_places_add(&p, HEAP + 0x100000, false, "/memfd:OTEL_CTX", 15);	/* cannot be read */
	context_places_add(&p, MAPPING, false, "/memfd:OTEL_CTX", 15);
	context_places_add(&p, OTHER, false, "/memfd:OTEL_CTX", 15);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_uint_eq(r.address, OTHER);
	ck_assert_uint_eq(r.places, 3);
	ck_assert_int_eq(memcmp(payload, "good", 4), 0);
	header->version = 1;
	memcpy(header->signature, "OTEL_CTX", 8);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_uint_eq(r.address, OTHER);
}
END_TEST

START_TEST(exact_names_come_before_longer_ones)
{
	struct context_places p = { .hint = 0 };
	struct context_reading r;

	publish(OTHER, OTHER + 32, "exact", 50);
	context_places_add(&p, MAPPING, false, "/memfd:OTEL_CTX_BACKUP", 22);
	context_places_add(&p, OTHER, false, "/memfd:OTEL_CTX", 15);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_uint_eq(r.address, OTHER);
}
END_TEST

START_TEST(ten_thousand_mappings_of_the_name_are_bounded)
{
	struct context_places p = { .hint = 0 };
	struct context_reading r;

	for (unsigned i = 0; i < 10000; i++)
		context_places_add(&p, 0x1000 * (i + 1), false, "/memfd:OTEL_CTX", 15);
	ck_assert_uint_eq(p.n_exact, CONTEXT_PLACES_MAX);
	target.reads = 0;
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_FAULT);
	ck_assert_uint_eq(r.places, 10000);
	ck_assert_uint_eq(target.reads, CONTEXT_PLACES_MAX);
}
END_TEST

START_TEST(R10_the_hook_tells_of_memory_without_a_name)
{
	struct context_places p = { .hint = MAPPING };
	struct context_reading r;

	context_places_add(&p, HEAP, false, NULL, 0);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_NONE);	/* no mapping begins there */
	context_places_add(&p, MAPPING, false, NULL, 0);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_int_eq(r.name, CONTEXT_NAME_NONE);
	ck_assert_uint_eq(r.address, MAPPING);
	/* Something else that was named so by the way is no failure. */
	memcpy(header->signature, "elsewise", 8);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_NONE);
}
END_TEST

/* --- what stands still --- */

START_TEST(R6_payload_on_the_heap_and_inside_the_mapping)
{
	struct context_reading r = read_it(0);

	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_uint_eq(r.published_ns, 100);
	ck_assert_uint_eq(r.payload_size, 7);
	ck_assert_uint_eq(r.payload_address, HEAP);
	ck_assert_int_eq(memcmp(payload, "payload", 7), 0);
	ck_assert_uint_eq(payload[7], 0x55);	/* and not a byte more */
	header->payload = MAPPING + 32;
	memcpy((uint8_t *)header + 32, "inside!", 7);
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_int_eq(memcmp(payload, "inside!", 7), 0);
}
END_TEST

START_TEST(R6_payload_that_cannot_be_read_is_an_error_only_when_nothing_changed)
{
	struct context_reading r;

	header->payload = 0xdead0000;
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD_FAULT);
	ck_assert_uint_eq(r.attempts, 1);
	header->payload = UINT64_MAX - 3;	/* wraps around */
	ck_assert_int_eq(read_it(0).verdict, CONTEXT_PAYLOAD_FAULT);
}
END_TEST

static const struct { const char *what; uint32_t version, size; const char *signature;
	enum context_verdict want;
} headers[] = {
	{ "R3 version 0", 0, 7, "OTEL_CTX", CONTEXT_VERSION },
	{ "R3 version 1", 1, 7, "OTEL_CTX", CONTEXT_VERSION },
	{ "R3 version 2", 2, 7, "OTEL_CTX", CONTEXT_PAYLOAD },
	{ "R3 version 3", 3, 7, "OTEL_CTX", CONTEXT_VERSION },
	{ "version beyond 16 bits", 0x10002, 7, "OTEL_CTX", CONTEXT_VERSION },
	{ "R7 size 0", 2, 0, "OTEL_CTX", CONTEXT_SIZE },
	{ "R7 one byte too many", 2, CONTEXT_PAYLOAD_MAX + 1, "OTEL_CTX", CONTEXT_SIZE },
	{ "R7 4 GiB", 2, UINT32_MAX, "OTEL_CTX", CONTEXT_SIZE },
	{ "largest that is allowed, not there", 2, CONTEXT_PAYLOAD_MAX, "OTEL_CTX",
	  CONTEXT_PAYLOAD_FAULT },
	{ "signature in lower case", 2, 7, "otel_ctx", CONTEXT_SIGNATURE },
	{ "last byte of it wrong", 2, 7, "OTEL_CTx", CONTEXT_SIGNATURE },
};

START_TEST(headers_are_judged)
{
	struct context_reading r;

	memcpy(header->signature, headers[_i].signature, 8);
	header->version = headers[_i].version;
	header->payload_size = headers[_i].size;
	r = read_it(0);
	ck_assert_msg(r.verdict == headers[_i].want, "%s: %s", headers[_i].what,
		      context_verdict_words(r.verdict));
	ck_assert_uint_eq(r.attempts, 1);
	/* What is refused is refused without a look at the payload. */
	if (r.verdict != CONTEXT_PAYLOAD)
		ck_assert_uint_le(target.bytes, 8 + 32 + 8);
}
END_TEST

START_TEST(R5_an_unchanged_stamp_costs_no_payload)
{
	struct context_reading r = read_it(100);

	ck_assert_int_eq(r.verdict, CONTEXT_UNCHANGED);
	ck_assert_uint_eq(target.bytes, 8 + 32);
	/* Another stamp, even a smaller one: some writers' clocks go back. */
	ck_assert_int_eq(read_it(101).verdict, CONTEXT_PAYLOAD);
	ck_assert_int_eq(read_it(99).verdict, CONTEXT_PAYLOAD);
}
END_TEST

START_TEST(a_mapping_that_is_gone_is_told)
{
	unmap(MAPPING);
	ck_assert_int_eq(read_it(100).verdict, CONTEXT_FAULT);
	ck_assert_str_ne(context_verdict_words(CONTEXT_FAULT), "unknown");
}
END_TEST

/* --- what changes --- */

START_TEST(R4_stamp_0_is_bounded_and_succeeds_later)
{
	struct context_reading r;

	header->published_ns = 0;
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_BUSY);
	ck_assert_uint_eq(r.attempts, CONTEXT_ATTEMPTS);
	ck_assert_uint_eq(target.pauses, CONTEXT_ATTEMPTS - 1);
	header->published_ns = 200;
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_uint_eq(r.published_ns, 200);
}
END_TEST

static unsigned change_at;

/* As Go does: stamp 0, the bytes in place, the new stamp; all of it just before one read. */
static void overwrite_once(unsigned nth)
{
	if (nth != change_at)
		return;
	memcpy(target.regions[1].bytes, "CHANGED", 7);
	header->published_ns = 300;
}

START_TEST(R5_a_change_between_any_two_reads_gives_the_old_or_the_new)
{
	struct context_reading r;
	const char *want;

	change_at = (unsigned)_i;
	target.before = overwrite_once;
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	want = r.published_ns == 100 ? "payload" : "CHANGED";
	ck_assert_msg(!memcmp(payload, want, 7), "before read %d: %.7s of %d", _i, payload,
		      (int)r.published_ns);
	/* From the second read to the last one of the attempt the change is noticed. */
	ck_assert_uint_eq(r.attempts, _i >= 2 && _i <= 4 ? 2 : 1);
}
END_TEST

/* A size of the old payload with the pointer of the new one: nobody may see both. */
static void grow_once(unsigned nth)
{
	static const char text[] = "a longer payload";

	if (nth != change_at)
		return;
	memcpy(map(HEAP + 0x10000, sizeof(text) - 1), text, sizeof(text) - 1);
	header->payload = HEAP + 0x10000;
	header->payload_size = sizeof(text) - 1;
	header->published_ns = 300;
	unmap(HEAP);				/* freed at once */
}

START_TEST(R5_a_moved_payload_is_never_read_with_the_old_size)
{
	struct context_reading r;

	change_at = (unsigned)_i;
	target.before = grow_once;
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	if (r.published_ns == 100)
		ck_assert(r.payload_size == 7 && !memcmp(payload, "payload", 7));
	else
		ck_assert(r.payload_size == 16 && !memcmp(payload, "a longer payload", 16));
}
END_TEST

/* No read of several words is one moment: size stands in its first half, stamp and pointer in the other. */
START_TEST(R5_a_header_that_changes_while_it_is_copied_is_not_believed)
{
	struct context_reading r;

	change_at = (unsigned)_i;
	target.within = grow_once;
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	if (r.published_ns == 100)
		ck_assert(r.payload_size == 7 && !memcmp(payload, "payload", 7));
	else
		ck_assert(r.payload_size == 16 && !memcmp(payload, "a longer payload", 16));
	ck_assert_uint_eq(r.attempts, _i <= 3 ? 2 : 1);
}
END_TEST

static void never_still(unsigned nth)
{
	header->published_ns = 1000 + nth;
}

START_TEST(R5_what_never_stands_still_is_given_up)
{
	struct context_reading r;

	target.before = never_still;
	r = read_it(0);
	ck_assert_int_eq(r.verdict, CONTEXT_BUSY);
	ck_assert_uint_eq(r.attempts, CONTEXT_ATTEMPTS);
}
END_TEST

/* An update that is under way and is finished before the third attempt. */
static void finish_later(unsigned nth)
{
	header->published_ns = nth < 5 ? 0 : 400;
}

START_TEST(R4_an_update_that_ends_in_time_is_read)
{
	struct context_reading r;

	target.before = finish_later;
	r = read_it(100);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_uint_eq(r.published_ns, 400);
	ck_assert_uint_eq(r.attempts, 3);
}
END_TEST

static void unmap_once(unsigned nth)
{
	if (nth == change_at)
		unmap(MAPPING);
}

START_TEST(unpublished_between_any_two_reads_is_gone_and_no_crash)
{
	change_at = (unsigned)_i;
	target.before = unmap_once;
	ck_assert_int_eq(read_it(0).verdict, CONTEXT_FAULT);
}
END_TEST

START_TEST(a_context_that_is_being_written_does_not_hide_another)
{
	struct context_places p = { .hint = 0 };
	struct context_reading r;

	header->published_ns = 0;		/* left so by an update that was aborted */
	context_places_add(&p, MAPPING, false, "/memfd:OTEL_CTX", 15);
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_BUSY);
	publish(OTHER, OTHER + 32, "whole", 50);
	context_places_add(&p, OTHER, false, "/memfd:OTEL_CTX", 15);
	target.pauses = 0;
	context_read_places(&memory, &p, 0, 0, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
	ck_assert_uint_eq(r.address, OTHER);
}
END_TEST

START_TEST(R9_the_known_stamp_counts_at_the_known_address_only)
{
	struct context_places p = { .hint = 0 };
	struct context_reading r;

	context_places_add(&p, MAPPING, false, "/memfd:OTEL_CTX", 15);
	context_read_places(&memory, &p, MAPPING, 100, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_UNCHANGED);
	context_read_places(&memory, &p, OTHER, 100, payload, &r);
	ck_assert_int_eq(r.verdict, CONTEXT_PAYLOAD);
}
END_TEST

#define N(t) (sizeof(t) / sizeof((t)[0]))

Suite *read_suite(void)
{
	Suite *s = suite_create("context reading");
	TCase *tc = tcase_create("reading");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, R1_mappings_of_every_name_and_permission_are_found, 0,
			    N(lines));
	tcase_add_loop_test(tc, R2_executable_and_other_mappings_are_never_considered, 0,
			    N(strangers));
	tcase_add_test(tc, R2_the_next_good_mapping_is_found_behind_bad_ones);
	tcase_add_test(tc, exact_names_come_before_longer_ones);
	tcase_add_test(tc, ten_thousand_mappings_of_the_name_are_bounded);
	tcase_add_test(tc, R10_the_hook_tells_of_memory_without_a_name);
	tcase_add_test(tc, R6_payload_on_the_heap_and_inside_the_mapping);
	tcase_add_test(tc,
		       R6_payload_that_cannot_be_read_is_an_error_only_when_nothing_changed);
	tcase_add_loop_test(tc, headers_are_judged, 0, N(headers));
	tcase_add_test(tc, R5_an_unchanged_stamp_costs_no_payload);
	tcase_add_test(tc, a_mapping_that_is_gone_is_told);
	tcase_add_test(tc, R4_stamp_0_is_bounded_and_succeeds_later);
	tcase_add_loop_test(
		tc, R5_a_change_between_any_two_reads_gives_the_old_or_the_new, 1, 7);
	tcase_add_loop_test(tc, R5_a_moved_payload_is_never_read_with_the_old_size, 1, 7);
	tcase_add_loop_test(
		tc, R5_a_header_that_changes_while_it_is_copied_is_not_believed, 1, 6);
	tcase_add_test(tc, R5_what_never_stands_still_is_given_up);
	tcase_add_test(tc, R4_an_update_that_ends_in_time_is_read);
	tcase_add_loop_test(
		tc, unpublished_between_any_two_reads_is_gone_and_no_crash, 1, 5);
	tcase_add_test(tc, a_context_that_is_being_written_does_not_hide_another);
	tcase_add_test(tc, R9_the_known_stamp_counts_at_the_known_address_only);
	suite_add_tcase(s, tc);
	return s;
}
