/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is what is read, field by field, mapped and by pread. */
#include <errno.h>
#include <string.h>

#include "shm/ring_crc.h"
#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i == 1)		/* loop tests run twice: mapped, pread */

static const struct ring_stamp stamp = {
	.wall_ns = 1700000000123456789,
	.boot_ns = 987654321,
	.clock_epoch = 9,
	.clock_error_ns = 3600000000000,
};
static struct ringside *r;
static struct ringside_record rec;

static void setup(void)
{
	fixture_setup();
	fixture_create(0, 0, 0);
}

static void read_one(bool paranoid)
{
	ring_writer_publish(fx.w);
	if (!r)
		r = fixture_open(paranoid, true);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_int_eq(rec.time_ns, stamp.wall_ns);
}

static void done(void)
{
	ringside_close(r);
	r = NULL;
	fixture_teardown();
}

START_TEST(every_form_of_sample_comes_back_whole)
{
	struct drained d;

	for (uint64_t i = 0; i < 400; i++)
		ck_assert_ok(numbered_put(fx.w, i));
	ring_writer_publish(fx.w);
	r = fixture_open(PARANOID, true);
	d = drain(r);
	ck_assert_uint_eq(d.samples, 400);
	ck_assert_uint_eq(d.lost, 0);
}
END_TEST

START_TEST(forms_have_the_parts_they_should)
{
	static const struct {
		bool resource_ref, user_ref, kernel, link;
		uint32_t attributes, frames;
	} want[] = {
		{ true, true, false, false, 0, 3 }, /* interned */
		{ true, true, false, true, 0, 3 }, /* with link */
		{ true, true, false, false, 6, 3 }, /* attributes, interned keys */
		{ false, false, false, false, 0, 3 }, /* self-contained */
		{ false, false, false, false, 0, 3 },
		{ true, true, true, false, 0, 3 }, /* kernel and user stack */
		{ false, false, false, false, 6, 3 }, /* attributes, own keys */
		{ false, false, false, false, 0, 0 }, /* nothing known */
	};
	const struct ringside_sample *s = &rec.sample;

	ck_assert_ok(numbered_put(fx.w, 80 + (uint64_t)_i));
	ring_writer_publish(fx.w);
	r = fixture_open(false, true);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.kind, RINGSIDE_SAMPLE);
	ck_assert_uint_eq(rec.seq, 1);
	ck_assert_int_eq(s->resource.ref != 0, want[_i].resource_ref);
	ck_assert_int_eq(s->user.ref != 0, want[_i].user_ref);
	ck_assert_int_eq(s->kernel.n != 0, want[_i].kernel);
	ck_assert_int_eq(s->has_link, want[_i].link);
	ck_assert_uint_eq(s->nattributes, want[_i].attributes);
	ck_assert_uint_eq(s->user.n, want[_i].frames);
}
END_TEST

START_TEST(process_record_round_trip)
{
	struct ring_process p = {
		.stamp = stamp,
		.pid = 7,
		.parent_pid = 6,
		.exit_code = 3,
		.exit_signal = 9,
		.process_start_ns = 42,
		.action = RINGSIDE_EXIT,
		.comm = "a process name",
		.command = "/bin/sh -c true",
	};

	ck_assert_ok(ring_put_process(fx.w, &p));
	read_one(PARANOID);
	ck_assert_uint_eq(rec.kind, RINGSIDE_PROCESS);
	ck_assert_uint_eq(rec.seq, 1);
	ck_assert_uint_eq(rec.boot_ns, stamp.boot_ns);
	ck_assert_uint_eq(rec.clock_epoch, 9);
	ck_assert_uint_eq(rec.clock_error_ns, 3600000000000);
	ck_assert_uint_eq(rec.process.pid, 7);
	ck_assert_uint_eq(rec.process.parent_pid, 6);
	ck_assert_uint_eq(rec.process.exit_code, 3);
	ck_assert_uint_eq(rec.process.exit_signal, 9);
	ck_assert_uint_eq(rec.process.process_start_ns, 42);
	ck_assert_uint_eq(rec.process.action, RINGSIDE_EXIT);
	ck_assert_str_eq(rec.process.comm, "a process name");
	ck_assert_str_eq(rec.process.command, "/bin/sh -c true");
	ck_assert_uint_eq(rec.process.resource.n, 0);
}
END_TEST

START_TEST(process_record_refers_to_or_carries_a_resource)
{
	struct ringside_attribute a = {
		.key = "k", .type = RINGSIDE_STRING, .string = "v", .len = 1
	};
	struct ringside_resource own = { .n = 1, .attributes = &a };
	struct ring_attribute ra = { .type = RINGSIDE_STRING };
	struct ring_process p = { .stamp = stamp, .pid = 7, .action = RINGSIDE_SEEN };

	ck_assert_ok(ring_intern_string(fx.w, "k", 1, &ra.key));
	ck_assert_ok(ring_intern_string(fx.w, "v", 1, &ra.string));
	ck_assert_ok(ring_intern_resource(fx.w, &ra, 1, 0, &p.resource));
	ck_assert_ok(ring_put_process(fx.w, &p));
	p.resource = 0;
	p.inline_resource = &own;
	ck_assert_ok(ring_put_process(fx.w, &p));
	for (int k = 0; k < 2; k++) {
		read_one(PARANOID);
		ck_assert_uint_eq(rec.process.resource.n, 1);
		ck_assert_int_eq(rec.process.resource.ref != 0, k == 0);
		ck_assert_str_eq(rec.process.resource.attributes[0].key, "k");
		ck_assert_str_eq(rec.process.resource.attributes[0].string, "v");
		ck_assert_ptr_null(rec.process.command);
	}
}
END_TEST

START_TEST(lost_and_clock_round_trip)
{
	struct ringside_clock c = { .offset_ns = -5,
				    .step_ns = 3600000000000,
				    .source = RINGSIDE_CLOCK_BTIME };
	struct ringside_counts counts;

	ck_assert_ok(ring_put_lost(fx.w, &stamp, RINGSIDE_LOST_THROTTLED, 12));
	ck_assert_ok(ring_put_clock(fx.w, &stamp, &c));
	ck_assert_int_eq(ring_put_lost(fx.w, &stamp, RINGSIDE_LOST_LAPPED, 1), -EINVAL);
	read_one(PARANOID);
	ck_assert_uint_eq(rec.kind, RINGSIDE_LOST);
	ck_assert_uint_eq(rec.seq, 1);
	ck_assert_uint_eq(rec.lost.count, 12);
	ck_assert_uint_eq(rec.lost.cause, RINGSIDE_LOST_THROTTLED);
	ck_assert(!rec.lost.by_reader);
	ringside_counts(r, &counts);
	ck_assert_uint_eq(counts.lost[RINGSIDE_LOST_THROTTLED], 12);
	ck_assert_uint_eq(counts.received, 1);
	read_one(PARANOID);
	ck_assert_uint_eq(rec.kind, RINGSIDE_CLOCK);
	ck_assert_int_eq(rec.clock.offset_ns, -5);
	ck_assert_int_eq(rec.clock.step_ns, 3600000000000);
	ck_assert_uint_eq(rec.clock.source, RINGSIDE_CLOCK_BTIME);
	ck_assert_int_eq(ringside_next(r, &rec), 0);
}
END_TEST

START_TEST(interned_sample_takes_112_bytes)
{
	uint64_t before;

	ck_assert_ok(numbered_put_plain(fx.w, 0));
	before = fx.w->pos;
	ck_assert_ok(numbered_put_plain(fx.w, 1));
	ck_assert_uint_eq(fx.w->pos - before, 112);
}
END_TEST

START_TEST(long_stack_is_cut_in_the_middle)
{
	static struct ringside_frame f[2000];
	static const struct ringside_frame *list[2000];
	struct ringside_stack s = { .n = 2000, .frames = list };
	struct ring_sample sample = { .stamp = stamp,
				      .inline_user = &s,
				      .weight = 1 << 20 };
	uint32_t n, cuts = 0, at = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		f[i] = (struct ringside_frame){ .address = i, .function = "a_function" };
		list[i] = &f[i];
	}
	ck_assert_ok(ring_put_sample(fx.w, &sample));
	read_one(PARANOID);
	n = rec.sample.user.n;
	ck_assert_uint_gt(n, 10);
	ck_assert_uint_lt(n, 100);
	for (uint32_t i = 0; i < n; i++)
		if (rec.sample.user.frames[i]->cut) {
			cuts++;
			at = i;
		}
	ck_assert_uint_eq(cuts, 1);
	ck_assert_uint_eq(rec.sample.user.frames[0]->address, 0);
	ck_assert_uint_eq(rec.sample.user.frames[at]->address, at);
	ck_assert_uint_eq(rec.sample.user.frames[at + 1]->address, 2000 - (n - at - 1));
	ck_assert_uint_eq(rec.sample.user.frames[n - 1]->address, 1999);
	ck_assert_uint_le(at + 1 > n - at - 1 ? 2 * at + 2 - n : n - 2 * at - 2, 1);
}
END_TEST

START_TEST(strings_are_bounded)
{
	static char big[10000];
	struct ring_attribute a = { .type = RINGSIDE_STRING };
	struct ring_sample s = { .stamp = stamp, .weight = 1 << 20 };

	memset(big, 'x', sizeof(big) - 1);
	ck_assert_ok(ring_intern_string(fx.w, big, sizeof(big) - 1, &a.string));
	ck_assert_ok(ring_intern_string(fx.w, "key\0hidden", 10, &a.key));
	ck_assert_ok(ring_intern_resource(fx.w, &a, 1, 0, &s.resource));
	ck_assert_ok(ring_put_sample(fx.w, &s));
	read_one(PARANOID);
	ck_assert_uint_eq(rec.sample.resource.n, 1);
	ck_assert_str_eq(rec.sample.resource.attributes[0].key, "key");
	ck_assert_uint_eq(rec.sample.resource.attributes[0].len, 4096);
	ck_assert_uint_eq(strlen(rec.sample.resource.attributes[0].string), 4096);
}
END_TEST

START_TEST(what_cannot_fit_is_refused_and_takes_no_number)
{
	struct ringside_attribute v[3];
	static char big[1000];
	struct ring_sample s = { .stamp = stamp,
				 .nattributes = 3,
				 .attribute_values = v };
	uint64_t seq = ring_writer_next_seq(fx.w);

	memset(big, 'y', sizeof(big));
	for (int k = 0; k < 3; k++)
		v[k] = (struct ringside_attribute){ .key = "k",
						    .type = RINGSIDE_BYTES,
						    .string = big,
						    .len = sizeof(big) };
	ck_assert_int_eq(ring_put_sample(fx.w, &s), -EMSGSIZE);
	ck_assert_uint_eq(ring_writer_next_seq(fx.w), seq);
}
END_TEST

START_TEST(process_records_have_a_tenth_of_a_block)
{
	struct ring_process p = { .stamp = stamp, .pid = 1, .action = RINGSIDE_FORK };
	int n = 0, err;

	while (!(err = ring_put_process(fx.w, &p)))
		ck_assert_int_lt(n++, 5);
	ck_assert_int_eq(err, -EDQUOT);
	ck_assert_int_eq(n, 4);			/* 96 bytes each, of 409 */
	while (fx.w->block == 0)
		ck_assert_ok(numbered_put_plain(fx.w, 3));
	ck_assert_ok(ring_put_process(fx.w, &p));
}
END_TEST

START_TEST(unknown_type_is_dated_and_passed_on)
{
	struct ring_stamp_wire w = { .boot_ns = 1,
				     .real_ns = stamp.wall_ns,
				     .clock_error_ns = 3,
				     .clock_epoch = 4 };

	ck_assert_ok(ring_put(fx.w, 77, 0, &w, sizeof(w), NULL));
	read_one(PARANOID);
	ck_assert_uint_eq(rec.kind, 0x10000 + 77);
	ck_assert_uint_eq(rec.seq, 1);
	ck_assert_uint_eq(rec.boot_ns, 1);
	ck_assert_uint_eq(rec.clock_epoch, 4);
	ck_assert_uint_eq(rec.clock_error_ns, 3);
}
END_TEST

/* No writer of ours sets it, but a reader honours it. */
START_TEST(crc_is_checked_where_the_flag_asks)
{
	struct ring_lost_wire w = { .stamp = { .real_ns = stamp.wall_ns, .u = 3 },
				    .count = 5 };
	uint64_t *words;

	ck_assert_uint_eq(ring_crc32c("123456789", 9), 0xe3069283);
	for (int k = 0; k < 2; k++) {
		words = (uint64_t *)(void *)(fx.w->data + fx.w->pos);
		ck_assert_ok(ring_put(fx.w, RING_T_SOURCE_LOST, RING_F_CRC, &w, sizeof(w),
				      NULL));
		words[1] = ring_word1((uint32_t)words[1],
				      ring_crc32c(&w, sizeof(w)) ^ (uint32_t)k);
	}
	read_one(PARANOID);
	ck_assert_uint_eq(rec.lost.count, 5);
	ck_assert(!rec.lost.by_reader);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.lost.count, 1);
	ck_assert_uint_eq(rec.lost.cause, RINGSIDE_LOST_CORRUPT);
	ck_assert_uint_eq(rec.lost.first_seq, 2);
	ck_assert(rec.lost.by_reader);
}
END_TEST

START_TEST(no_resolve_gives_references_only)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = fx.path,
				      .from_oldest = true,
				      .no_resolve = true };

	ck_assert_ok(numbered_put(fx.w, 5));
	ring_writer_publish(fx.w);
	ck_assert_ok(ringside_open(&r, &o));
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_ne(rec.sample.user.ref, 0);
	ck_assert_uint_ne(rec.sample.kernel.ref, 0);
	ck_assert_uint_ne(rec.sample.resource.ref, 0);
	ck_assert_uint_eq(rec.sample.user.n + rec.sample.kernel.n + rec.sample.resource.n,
			  0);
}
END_TEST

START_TEST(names_are_those_of_the_interface)
{
	ck_assert_str_eq(ringside_cause_name(RINGSIDE_LOST_LAPPED), "lapped");
	ck_assert_str_eq(ringside_cause_name(RINGSIDE_LOST_PROCESS_BURST),
			 "process_burst");
	ck_assert_str_eq(ringside_stack_end_name(RINGSIDE_END_TOO_DEEP), "too_deep");
	ck_assert_str_eq(ringside_frame_type_name(RINGSIDE_FRAME_V8JS), "v8js");
	ck_assert_str_eq(ringside_event_name(RINGSIDE_EVENT_OFFCPU), "offcpu");
	ck_assert_str_eq(ringside_kind_name(RINGSIDE_INCARNATION), "incarnation");
	ck_assert_str_eq(ringside_degraded_name(RINGSIDE_DEGRADED_WORKER_RESTARTS),
			 "worker_restarts");
	ck_assert_ptr_null(ringside_cause_name(RINGSIDE_LOST_MAX));
	ck_assert_ptr_null(ringside_kind_name(0));
	ck_assert_ptr_null(ringside_frame_type_name(1u << 31));
}
END_TEST

Suite *records_suite(void)
{
	Suite *s = suite_create("ring records");
	TCase *tc = tcase_create("records");

	tcase_add_checked_fixture(tc, setup, done);
	tcase_add_loop_test(tc, every_form_of_sample_comes_back_whole, 0, 2);
	tcase_add_loop_test(tc, forms_have_the_parts_they_should, 0, NUMBERED_FORMS);
	tcase_add_loop_test(tc, process_record_round_trip, 0, 2);
	tcase_add_loop_test(tc, process_record_refers_to_or_carries_a_resource, 0, 2);
	tcase_add_loop_test(tc, lost_and_clock_round_trip, 0, 2);
	tcase_add_test(tc, interned_sample_takes_112_bytes);
	tcase_add_loop_test(tc, long_stack_is_cut_in_the_middle, 0, 2);
	tcase_add_loop_test(tc, strings_are_bounded, 0, 2);
	tcase_add_test(tc, what_cannot_fit_is_refused_and_takes_no_number);
	tcase_add_test(tc, process_records_have_a_tenth_of_a_block);
	tcase_add_loop_test(tc, unknown_type_is_dated_and_passed_on, 0, 2);
	tcase_add_loop_test(tc, crc_is_checked_where_the_flag_asks, 0, 2);
	tcase_add_test(tc, no_resolve_gives_references_only);
	tcase_add_test(tc, names_are_those_of_the_interface);
	suite_add_tcase(s, tc);
	return s;
}
