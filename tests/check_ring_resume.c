/* SPDX-License-Identifier: Apache-2.0 */
/* After a crash the next writer goes on in the same file, or it does not dare to. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i & 1)

static void put_range(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		ck_assert_ok(numbered_put(fx.w, i));
	ring_writer_publish(fx.w);
}

/* What was put since the last publish stays as a killed writer leaves it. */
static void crash(void)
{
	fx.w->published = fx.w->pos;
	ring_writer_close(fx.w, false);
	fx.w = NULL;
}

static void crash_and_resume(void)
{
	crash();
	fixture_create(0, 0, 0);
	ck_assert(ring_writer_resumed(fx.w));
}

static char *beside(const char *suffix)
{
	static char path[192];

	snprintf(path, sizeof(path), "%s%s", fx.path, suffix);
	return path;
}

static void expect(struct ringside *r, uint64_t number, uint64_t seq)
{
	struct ringside_record rec;

	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.kind, RINGSIDE_SAMPLE);
	ck_assert_uint_eq(numbered_of(&rec), number);
	ck_assert_uint_eq(rec.seq, seq);
	ck_assert_ptr_null(numbered_check(&rec));
	ck_assert(!rec.incarnation_changed);
}

START_TEST(readers_stay_where_they_are)
{
	struct ringside_liveness live;
	struct ringside_record rec;
	struct ringside_counts c;
	struct stat before, after;
	struct ringside *r;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 100);
	for (uint64_t i = 0; i < 40; i++)
		expect(r, i, i + 1);
	ck_assert_int_eq(stat(fx.path, &before), 0);
	crash_and_resume();
	put_range(100, 150);
	for (uint64_t i = 40; i < 100; i++)
		expect(r, i, i + 1);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.kind, RINGSIDE_INCARNATION);
	ck_assert_uint_eq(rec.seq, 101);
	ck_assert_uint_eq(rec.incarnation.incarnation, 2);
	ck_assert(rec.incarnation_changed);
	for (uint64_t i = 100; i < 150; i++)
		expect(r, i, i + 2);
	ck_assert_int_eq(ringside_next(r, &rec), 0);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.files, 1);
	ck_assert_uint_eq(c.received, 151);
	ck_assert_uint_eq(c.lost[RINGSIDE_LOST_LAPPED] + c.corrupt_events, 0);
	ck_assert_int_eq(stat(fx.path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_ne(stat(beside(".prev"), &after), 0);
	ck_assert_ok(ringside_liveness(r, &live));
	ck_assert(live.alive && !live.closed && !live.superseded);
	ck_assert_uint_eq(live.incarnation, 2);
	ck_assert_uint_eq(live.writer_pid, (uint32_t)getpid());
	ringside_close(r);
}
END_TEST

/* What is announced and not published, over several blocks, stays announced and is
 * overwritten; nothing of it is ever read. */
START_TEST(torn_blocks_are_overwritten_and_intent_never_moves_back)
{
	uint64_t intent, tail, seq, first;
	struct ringside *r;
	struct drained d;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 3000);
	d = drain(r);
	first = d.samples + d.lost;
	seq = ring_writer_next_seq(fx.w);
	tail = fx.w->hdr->tail;
	for (uint64_t i = 0; fx.w->block < (tail >> 12) + 5; i++)
		ck_assert_ok(numbered_put(fx.w, 900000 + i));
	intent = fx.w->hdr->intent;
	ck_assert_uint_eq(fx.w->hdr->tail, tail);
	crash_and_resume();
	ck_assert_uint_eq(ring_writer_next_seq(fx.w), seq + 1);
	ck_assert_uint_eq(fx.w->hdr->intent, intent);
	for (uint64_t i = 3000; i < 9000; i++) {
		ck_assert_ok(numbered_put(fx.w, i));
		ring_writer_publish(fx.w);
		ck_assert_uint_ge(fx.w->hdr->intent, intent);
		if (i % 97 == 0 || i < 3100) {
			d = drain(r);
			first += d.samples;
			ck_assert_uint_eq(d.lost, 0);
			ck_assert_uint_eq(d.last, i);
		}
	}
	ck_assert_uint_eq(first + drain(r).samples, 9000);
	ringside_close(r);
}
END_TEST

/* Only the number of the crash and the fixed part of the options may differ. */
static const struct resume_case {
	const char *what;
	bool resumed;
	uint64_t ring, dict;
	uint32_t block;
	mode_t mode;
	size_t field;			/* of page 0, overwritten with value */
	uint64_t value;
	bool clean, linked, locked, twin, hole, behind;
} cases[] = {
	{ .what = "the same", .resumed = true },
	{ .what = "sizes that round to the same", .resumed = true, .ring = 200 << 10 },
	{ .what = "closed cleanly", .clean = true },
	{ .what = "another ring size", .ring = 512 << 10 },
	{ .what = "another dictionary size", .dict = 256 << 10 },
	{ .what = "another block size", .block = 8192 },
	{ .what = "another mode", .mode = 0600 },
	{ .what = "a name elsewhere", .linked = true },
	{ .what = "a name as .prev", .twin = true, .resumed = true },
	{ .what = "a reader's lock", .locked = true },
	{ .what = "a hole", .hole = true },
	{ .what = "another boot", .field = offsetof(struct ring_header, boot_id),
	  .value = 1 },
	{ .what = "flags", .field = offsetof(struct ring_header, writer_pid),
	  .value = 1ull << 32 },
	{ .what = "state", .field = offsetof(struct ring_header, state), .value = 3 },
	{ .what = "no tail", .field = offsetof(struct ring_header, tail) },
	{ .what = "a crooked tail", .field = offsetof(struct ring_header, tail),
	  .value = 4096 * 3 + 8 },
	{ .what = "a tail inside a record", .field = offsetof(struct ring_header, tail),
	  .value = 4096 + 80 },
	{ .what = "a tail inside a block header",
	  .field = offsetof(struct ring_header, tail), .value = 4096 + 16 },
	{ .what = "a tail nobody announced", .field = offsetof(struct ring_header, tail),
	  .value = 4096ull * 1000 },
	{ .what = "an intent beyond the ring",
	  .field = offsetof(struct ring_header, intent), .value = 64 + 60 },
	{ .what = "an intent beyond everything",
	  .field = offsetof(struct ring_header, intent), .value = UINT64_MAX },
	{ .what = "numbers before the file's",
	  .field = offsetof(struct ring_header, prev_final_seq), .value = 1 << 20 },
	{ .what = "no half of the dictionary", .field = 65536 + (256 << 10) },
	{ .what = "a generation of no half", .field = 65536 + (256 << 10) + 8,
	  .value = 1ull << 40 },
	{ .what = "garbage behind tail", .resumed = true, .behind = true },
};

static void spoil(const struct resume_case *c)
{
	int fd = open(fx.path, O_RDWR);
	uint64_t tail;

	ck_assert_int_ge(fd, 0);
	if (c->field)
		ck_assert_int_eq(pwrite(fd, &c->value, 8, (off_t)c->field), 8);
	if (c->hole)
		ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					   65536 + 40960, 4096), 0);
	if (c->behind) {
		ck_assert_int_eq(pread(fd, &tail, 8, 0x100), 8);
		for (; tail % 4096; tail += 16)
			ck_assert_int_eq(pwrite(fd, "\377\377\377\377\377\377\377\377"
						"\377\377\377\377\377\377\377\377", 16,
						(off_t)(65536 + tail)), 16);
	}
	close(fd);
	if (c->linked)
		ck_assert_int_eq(link(fx.path, beside("x")), 0);
	if (c->twin)
		ck_assert_int_eq(link(fx.path, beside(".prev")), 0);
}

static void create_for(const struct resume_case *c)
{
	struct ring_writer_options o = {
		.path = fx.path, .group = (gid_t)-1, .mode = c->mode ? c->mode : 0640,
		.ring_bytes = c->ring ? c->ring : 256 << 10,
		.dict_bytes = c->dict ? c->dict : 128 << 10,
		.block_bytes = c->block ? c->block : 4096,
	};

	ck_assert_ok(ring_writer_create(&fx.w, &o));
}

/* In doubt the file is replaced; and whichever it was, readers come along. */
START_TEST(only_what_is_sound_and_alike_is_resumed)
{
	const struct resume_case *c = &cases[_i];
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct ringside *r;
	uint64_t next;
	struct stat st;
	int fd = -1;

	fixture_create(0, 0, 0);
	put_range(0, 400);
	next = ring_writer_next_seq(fx.w);
	fx.w->published = fx.w->pos;
	ring_writer_close(fx.w, c->clean);
	fx.w = NULL;
	spoil(c);
	if (c->locked) {
		fd = open(fx.path, O_RDONLY);
		ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &fl), 0);
	}
	create_for(c);
	ck_assert_msg(ring_writer_resumed(fx.w) == c->resumed, "%s", c->what);
	ck_assert_msg(!stat(beside(".prev"), &st) == !c->resumed, "%s: .prev", c->what);
	if (!c->field)
		ck_assert_msg(ring_writer_next_seq(fx.w) == next + 1, "%s: %llu", c->what,
			      (unsigned long long)ring_writer_next_seq(fx.w));
	r = fixture_open(false, true);
	put_range(5000, 5100);
	ck_assert_uint_ge(drain(r).samples, 100);
	ringside_close(r);
	unlink(beside("x"));
	if (fd >= 0)
		close(fd);
}
END_TEST

/* The torn record that stands right at tail is of no matter, one before it is. */
START_TEST(one_broken_record_in_the_last_block_is_enough)
{
	static const struct { uint64_t at; uint64_t value; } spoilt[] = {
		{ 0, 0 },		/* illegal type */
		{ 0, 96 | 0xfffeull << 32 },	/* a block header in the middle */
		{ 0, 4096 | 1ull << 32 },	/* longer than the block */
		{ 0, 8 | 1ull << 32 },		/* without a stamp */
		{ 8, 7777 },			/* a number out of order */
	};
	uint64_t block, pos;
	struct ringside *r;

	fixture_create(0, 0, 0);
	put_range(0, 405);
	block = (fx.w->hdr->tail - 1) >> 12;
	pos = (block << 12) + 64;
	ck_assert_uint_gt(fx.w->hdr->tail, pos);
	memcpy(fx.w->data + (pos & fx.w->data_mask) + spoilt[_i].at, &spoilt[_i].value,
	       8);
	crash();
	fixture_create(0, 0, 0);
	ck_assert(!ring_writer_resumed(fx.w));
	ck_assert_uint_ge(ring_writer_next_seq(fx.w), 406);
	r = fixture_open(false, true);
	put_range(5000, 5100);
	ck_assert_uint_eq(drain(r).samples, 100);
	ringside_close(r);
}
END_TEST

static void fill_half(const char *what)
{
	static unsigned int n;
	char name[64];
	ringside_ref ref;
	int err;

	do {
		snprintf(name, sizeof(name), "%s %u", what, n++);
		err = ring_intern_string(fx.w, name, strlen(name), &ref);
	} while (!err);
	ck_assert_int_eq(err, -ENOSPC);
}

/* References of before stay good; entries are appended behind them; and nobody knows any
 * more which half the live blocks refer to, so both wait for a whole lap. */
START_TEST(dictionary_goes_on_and_both_halves_wait_a_lap)
{
	struct ringside *r;
	uint32_t generation;
	uint64_t used, block;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 200);
	fill_half("first");
	ring_writer_open_block(fx.w, &generation);
	ck_assert_uint_eq(generation, 2);
	put_range(200, 300);
	used = fx.w->dict.half[1].used;
	crash_and_resume();
	ck_assert_uint_eq(fx.w->dict.current, 1);
	ck_assert_uint_eq(ring_writer_generation(fx.w), 2);
	ck_assert_uint_eq(fx.w->dict.half[1].used, used);
	put_range(300, 310);
	fill_half("second");
	block = fx.w->dict.half[0].last_ref;
	while (fx.w->block - block < 63) {
		ring_writer_open_block(fx.w, &generation);
		ck_assert_uint_eq(generation, 2);
		ring_next_block(fx.w);
	}
	ring_writer_open_block(fx.w, &generation);
	ck_assert_uint_eq(generation, 2);
	ring_next_block(fx.w);
	ring_writer_open_block(fx.w, &generation);
	ck_assert_uint_eq(generation, 3);
	ring_writer_publish(fx.w);
	drain(r);
	put_range(310, 400);
	ck_assert_uint_eq(drain(r).samples, 90);
	ringside_close(r);
}
END_TEST

/* Everything held is resolvable through crashes at any point of a half's life. */
START_TEST(everything_held_resolves_after_each_of_many_crashes)
{
	struct ringside *r, *late;
	struct ringside_counts c;
	uint64_t start;

	fixture_create(64 << 10, 0, 0);
	r = fixture_open(PARANOID, false);
	start = ringside_position(r);
	for (uint64_t i = 0; i < 30; i++) {
		for (uint64_t k = 0; k < 37 + i * 13 % 700; k++)
			ck_assert_ok(numbered_put_plain(fx.w, (i * 1000 + k) * 5));
		ring_writer_publish(fx.w);
		for (uint64_t k = 0; k < i % 50; k++)
			ck_assert_ok(numbered_put_plain(fx.w, 7));
		crash();
		fixture_create(64 << 10, 0, 0);
		ck_assert(ring_writer_resumed(fx.w));
		late = fixture_open(PARANOID, true);
		drain(late);
		ringside_counts(late, &c);
		ck_assert_uint_eq(c.corrupt_events + c.lost[RINGSIDE_LOST_LAPPED], 0);
		ck_assert_uint_gt(c.received, 10);
		ringside_close(late);
		if (i % 3 == 0)
			drain(r);
	}
	drain(r);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.corrupt_events, 0);
	ck_assert_uint_eq(c.received + c.lost[RINGSIDE_LOST_LAPPED],
			  ring_writer_next_seq(fx.w) - start);
	ck_assert_uint_gt(ring_writer_generation(fx.w), 4);
	ringside_close(r);
}
END_TEST

START_TEST(totals_and_slots_go_on)
{
	struct ring_anchor a = { .boot_ns = 1, .clock_epoch = 1, .source = 1 };
	const struct ringside_status *s;
	struct ringside *r;
	uint64_t v, stamp;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	for (int i = 0; i < 7; i++) {
		ring_writer_anchor(fx.w, &a);
		ring_status_begin(fx.w);
		ring_status_number(fx.w, RINGSIDE_N_CPUS, 7);
		ring_status_end(fx.w);
	}
	ring_writer_lost_total(fx.w, RINGSIDE_LOST_KERNEL_RING_FULL, 5);
	stamp = fx.w->anchor_stamp;
	ck_assert_ok(ringside_status(r, &s));
	crash_and_resume();
	ck_assert_int_eq(ringside_status(r, &s), -ENODATA); /* of the dead, no more */
	ring_writer_anchor(fx.w, &a);
	ck_assert_uint_eq(fx.w->anchor_stamp, stamp + 1);
	ring_status_begin(fx.w);
	ring_status_number(fx.w, RINGSIDE_N_CPUS, 8);
	ring_status_end(fx.w);
	ck_assert_ok(ringside_status(r, &s));
	ck_assert(ringside_status_number(s, RINGSIDE_N_CPUS, &v));
	ck_assert_uint_eq(v, 8);
	ring_writer_lost_total(fx.w, RINGSIDE_LOST_KERNEL_RING_FULL, 3);
	ck_assert_uint_eq(fx.w->hdr->lost[RINGSIDE_LOST_KERNEL_RING_FULL], 8);
	ck_assert_uint_eq(fx.w->lost_total, 8);
	ringside_close(r);
}
END_TEST

/* The record that tells of the new life was overwritten before this reader came to it. */
START_TEST(lapped_readers_are_told_of_the_new_life)
{
	struct ringside_record rec;
	struct ringside *r;
	int told = 0;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 10);
	expect(r, 0, 1);
	crash_and_resume();
	put_range(10, 6000);
	while (ringside_next(r, &rec) == 1) {
		ck_assert_uint_ne(rec.kind, RINGSIDE_INCARNATION);
		told += rec.incarnation_changed;
	}
	ck_assert_int_eq(told, 1);
	ringside_close(r);
}
END_TEST

/* Clock epochs count within an incarnation: the same number of two lives is no reason to
 * believe that wall time grew from one to the other. */
START_TEST(seek_by_time_does_not_trust_epochs_of_another_life)
{
	struct ring_stamp s = { .clock_epoch = 1 };
	struct ringside_record rec;
	struct ringside *r;

	fixture_create(0, 0, 0);
	for (int life = 0; life < 2; life++) {
		for (int i = 0; i < 3000; i++) {	/* two lives are more than the ring */
			s.boot_ns = (uint64_t)(life * 3000 + i);
			s.wall_ns = (life ? 1000 : 500000) + i;
			ck_assert_ok(ring_put_lost(fx.w, &s, RINGSIDE_LOST_MALFORMED, 1));
		}
		ring_writer_publish(fx.w);
		if (!life)
			crash_and_resume();
	}
	r = fixture_open(PARANOID, true);
	ck_assert_ok(ringside_seek_time(r, 502500));
	do
		ck_assert_int_eq(ringside_next(r, &rec), 1);
	while (rec.time_ns < 502500);
	ck_assert_int_eq(rec.time_ns, 502500);
	ringside_close(r);
}
END_TEST

START_TEST(what_the_crash_left_is_tidied_up)
{
	char temp[192];
	struct stat st;
	int fd;

	fixture_create(0, 0, 0);
	snprintf(temp, sizeof(temp), "%s/.ring.new", fx.dir);
	fd = open(temp, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fd = open(beside(".prev"), O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	crash_and_resume();
	ck_assert_int_ne(stat(temp, &st), 0);
	ck_assert_int_eq(stat(beside(".prev"), &st), 0);
	ring_writer_heartbeat(fx.w, fx.w->hdr->heartbeat + RING_PREV_CRASHED_NS);
	ck_assert_int_ne(stat(beside(".prev"), &st), 0);
}
END_TEST

Suite *resume_suite(void)
{
	Suite *s = suite_create("ring resume");
	TCase *tc = tcase_create("resume");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tc, readers_stay_where_they_are, 0, 2);
	tcase_add_loop_test(tc, torn_blocks_are_overwritten_and_intent_never_moves_back,
			    0, 2);
	tcase_add_loop_test(tc, only_what_is_sound_and_alike_is_resumed, 0,
			    sizeof(cases) / sizeof(*cases));
	tcase_add_loop_test(tc, one_broken_record_in_the_last_block_is_enough, 0, 5);
	tcase_add_loop_test(tc, dictionary_goes_on_and_both_halves_wait_a_lap, 0, 2);
	tcase_add_loop_test(tc, everything_held_resolves_after_each_of_many_crashes, 0,
			    2);
	tcase_add_loop_test(tc, totals_and_slots_go_on, 0, 2);
	tcase_add_loop_test(tc, lapped_readers_are_told_of_the_new_life, 0, 2);
	tcase_add_loop_test(tc, seek_by_time_does_not_trust_epochs_of_another_life, 0, 2);
	tcase_add_test(tc, what_the_crash_left_is_tidied_up);
	suite_add_tcase(s, tc);
	return s;
}
