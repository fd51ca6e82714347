/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline as a function of its inputs: events and anchors in, records out, no
 * kernel, no door. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/ring_writer.h"
#include "sidecar/pipeline.h"

#define SECOND 1000000000ull
#define WALL0 (1790000000ll * 1000000000ll)	/* wall clock at boot */

static char dir[] = "/tmp/ringside-pipeline-XXXXXX";
static char path[64];
static struct ring_writer *writer;
static struct pipeline *pipeline;
static struct ringside *reader;

static void setup(void)
{
	struct ring_writer_options wo = { .path = path,
					  .ring_bytes = 1 << 20,
					  .dict_bytes = 256 << 10,
					  .mode = 0600,
					  .group = getegid() };
	struct process_options po = { .grace_ns = SECOND,
				      .max_processes = 100,
				      .max_maps = 100,
				      .node = "node",
				      .replay = true };
	struct pipeline_options o = { .kallsyms = -1,
				      .publish = { .period_ns = 1000,
						   .names_bytes = 1 << 20,
						   .stack_entries = 64 } };
	struct ringside_options ro = { .size = sizeof(ro),
				       .path = path,
				       .from_oldest = true };

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ring", dir);
	ck_assert_msg(!ring_writer_create(&writer, &wo), "%s", ring_writer_error());
	ck_assert_int_eq(process_table_create(&o.processes, &po, NULL), 0);
	o.writer = writer;
	ck_assert_int_eq(pipeline_create(&pipeline, &o), 0);
	ck_assert_msg(!ringside_open(&reader, &ro), "%s", ringside_open_error());
}

static void teardown(void)
{
	char command[128];

	ringside_close(reader);
	pipeline_destroy(pipeline);
	ring_writer_close(writer, true);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
}

/* slept: CLOCK_BOOTTIME minus CLOCK_MONOTONIC. */
static void anchor(uint64_t boot_ns, int64_t wall_minus_boot, uint64_t slept,
		   bool stepped)
{
	struct clock_anchor a = { .boot_ns = boot_ns,
				  .real_ns = (int64_t)boot_ns + wall_minus_boot,
				  .offset_ns = wall_minus_boot,
				  .bound_ns = 30,
				  .monotonic_ns = boot_ns - slept,
				  .source = CLOCK_PAIRED };

	pipeline_anchor(pipeline, &a, stepped);
}

static void sample(uint32_t pid, uint64_t boot_ns)
{
	union { struct ev_sample s; char bytes[sizeof(struct ev_sample) + 16];
	} e = { .s = { .head = { .type = EV_SAMPLE,
				 .size = sizeof(e),
				 .boot_ns = boot_ns,
				 .tgid = pid,
				 .tid = pid,
				 .start_ns = 5,
				 .exec_id = 1 },
		       .comm = "worker",
		       .user_frames = 2,
		       .user_end = EV_END_FRAME_POINTER } };
	const struct ev_head *list[] = { &e.s.head };
	struct collect_batch batch = { .events = list, .count = 1, .newest_ns = boot_ns };

	e.s.frames[0] = 0x1000;
	e.s.frames[1] = 0x2000;
	ck_assert_int_eq(pipeline_pull(pipeline, &batch), 0);
}

/* The next record of a kind; fails when there is none. */
static const struct ringside_record *next(uint32_t kind)
{
	static struct ringside_record rec;

	while (ringside_next(reader, &rec) == 1)
		if (rec.kind == kind)
			return &rec;
	ck_abort_msg("no record of kind %u", kind);
	return NULL;
}

static bool nothing_more(uint32_t kind)
{
	struct ringside_record rec;

	while (ringside_next(reader, &rec) == 1)
		if (rec.kind == kind)
			return false;
	return true;
}

START_TEST(a_step_keeps_earlier_times_and_stands_between_the_samples)
{
	const int64_t hour = 3600ll * 1000000000ll;
	const struct ringside_record *r;

	anchor(SECOND, WALL0, 0, false);
	sample(7, 10 * SECOND);
	anchor(11 * SECOND, WALL0 + hour, 0, true);	/* drained with the next, though stamped before */
	sample(7, 12 * SECOND);
	pipeline_finish(pipeline, 13 * SECOND);

	r = next(RINGSIDE_CLOCK);
	ck_assert_int_eq(r->clock.step_ns, 0);
	r = next(RINGSIDE_SAMPLE);
	ck_assert_int_eq(r->time_ns, WALL0 + 10ll * 1000000000ll);
	ck_assert_uint_eq(r->clock_epoch, 1);
	r = next(RINGSIDE_CLOCK);
	ck_assert_int_eq(r->clock.step_ns, hour);
	ck_assert_int_eq(r->clock.offset_ns, WALL0 + hour);
	r = next(RINGSIDE_SAMPLE);
	ck_assert_int_eq(r->time_ns, WALL0 + hour + 12ll * 1000000000ll);
	ck_assert_uint_eq(r->clock_epoch, 2);
	ck_assert_uint_eq(r->clock_error_ns, 30);
}
END_TEST

START_TEST(a_sleep_is_told_and_begins_no_epoch)
{
	const struct ringside_record *r;

	anchor(SECOND, WALL0, 0, false);
	anchor(11 * SECOND, WALL0, 0, false);
	anchor(100 * SECOND, WALL0, 60 * SECOND, false);
	pipeline_finish(pipeline, 101 * SECOND);
	ck_assert_uint_eq(next(RINGSIDE_CLOCK)->clock.suspended_ns, 0);
	r = next(RINGSIDE_CLOCK);
	ck_assert_uint_eq(r->clock.suspended_ns, 60 * SECOND);
	ck_assert_int_eq(r->clock.step_ns, 0);
	ck_assert_uint_eq(r->clock_epoch, 1);
	ck_assert(nothing_more(RINGSIDE_CLOCK));
}
END_TEST

START_TEST(an_event_without_an_anchor_is_refused_and_counted)
{
	struct pipeline_counts own;
	struct publish_counts published;

	sample(7, 10 * SECOND);
	pipeline_finish(pipeline, 11 * SECOND);
	pipeline_counts(pipeline, &own, &published);
	ck_assert_uint_eq(own.clock_refused, 1);
	ck_assert_uint_eq(published.samples, 0);
	ck_assert(nothing_more(RINGSIDE_SAMPLE));
}
END_TEST

START_TEST(events_come_out_in_the_order_of_their_time)
{
	anchor(SECOND, WALL0, 0, false);
	sample(7, 12 * SECOND);
	sample(8, 11 * SECOND);
	pipeline_finish(pipeline, 13 * SECOND);
	ck_assert_uint_eq(next(RINGSIDE_SAMPLE)->sample.pid, 8);
	ck_assert_uint_eq(next(RINGSIDE_SAMPLE)->sample.pid, 7);
}
END_TEST

START_TEST(a_process_is_announced_once_before_its_first_sample)
{
	const struct ringside_record *r;

	anchor(SECOND, WALL0, 0, false);
	sample(7, 12 * SECOND);
	sample(7, 13 * SECOND);
	pipeline_finish(pipeline, 14 * SECOND);
	r = next(RINGSIDE_PROCESS);
	ck_assert_uint_eq(r->process.action, RINGSIDE_SEEN);
	ck_assert_uint_eq(r->process.pid, 7);
	r = next(RINGSIDE_SAMPLE);
	ck_assert_uint_eq(r->sample.weight, 1000);
	ck_assert_uint_eq(r->sample.process_start_ns, 5);
	ck_assert_uint_ge(r->sample.user.n, 1);
	ck_assert_uint_eq(r->sample.user.frames[0]->address, 0x1000);
	ck_assert(nothing_more(RINGSIDE_PROCESS));
}
END_TEST

START_TEST(losses_are_announced_once_and_by_cause)
{
	struct collect_stats s = { .kernel_ring_full = 3, .throttled = 2 };
	const struct ringside_record *r;

	anchor(SECOND, WALL0, 0, false);
	pipeline_stats(pipeline, &s, 2 * SECOND);
	pipeline_stats(pipeline, &s, 3 * SECOND);
	s.kernel_ring_full = 5;
	pipeline_stats(pipeline, &s, 4 * SECOND);
	r = next(RINGSIDE_LOST);
	ck_assert_uint_eq(r->lost.cause, RINGSIDE_LOST_KERNEL_RING_FULL);
	ck_assert_uint_eq(r->lost.count, 3);
	r = next(RINGSIDE_LOST);
	ck_assert_uint_eq(r->lost.cause, RINGSIDE_LOST_THROTTLED);
	ck_assert_uint_eq(r->lost.count, 2);
	r = next(RINGSIDE_LOST);
	ck_assert_uint_eq(r->lost.count, 2);
	ck_assert_uint_eq(r->time_ns, WALL0 + 4ll * 1000000000ll);
	ck_assert(nothing_more(RINGSIDE_LOST));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pipeline");
	TCase *t = tcase_create("records");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_step_keeps_earlier_times_and_stands_between_the_samples);
	tcase_add_test(t, a_sleep_is_told_and_begins_no_epoch);
	tcase_add_test(t, an_event_without_an_anchor_is_refused_and_counted);
	tcase_add_test(t, events_come_out_in_the_order_of_their_time);
	tcase_add_test(t, a_process_is_announced_once_before_its_first_sample);
	tcase_add_test(t, losses_are_announced_once_and_by_cause);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
