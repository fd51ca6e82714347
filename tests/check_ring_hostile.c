/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that no writer of ours leaves: counted as corrupt, read past, never a crash nor
 * an endless loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i & 1)
#define PUT	600			/* over several blocks of 4 KiB, no lap */

static void setup(void)
{
	fixture_setup();
	fixture_create(0, 0, 0);
}

static uint64_t *record_at(uint64_t pos)
{
	return (uint64_t *)(void *)(fx.w->data + pos);
}

/* Position of the n-th record of block 1. */
static uint64_t in_block_1(unsigned int n)
{
	uint64_t pos = 4096 + 64;

	while (n--)
		pos += RING_RECORD_BYTES((uint32_t)*record_at(pos));
	return pos;
}

static void fill(void)
{
	for (uint64_t i = 0; i < PUT; i++)
		ck_assert_ok(numbered_put_plain(fx.w, i));
	ring_writer_publish(fx.w);
}

/* Each breaks one rule of ring_layout.h at the fifth record of block 1; `loses` tells
 * what goes with it. */
enum { ONE, REST_OF_BLOCK, WHOLE_BLOCK };
static const struct { const char *what; int loses; } damages[] = {
	{ "type 0",			REST_OF_BLOCK },
	{ "len beyond the block",	REST_OF_BLOCK },
	{ "len 2^32-1",			REST_OF_BLOCK },
	{ "len over max_payload",	REST_OF_BLOCK },
	{ "len shorter than a stamp",	REST_OF_BLOCK },
	{ "number skipped",		REST_OF_BLOCK },
	{ "block header in a block",	REST_OF_BLOCK },
	{ "pad that does not reach",	REST_OF_BLOCK },
	{ "block_no of another",	WHOLE_BLOCK },
	{ "block is a hole",		WHOLE_BLOCK },
	{ "block starts with a record",	WHOLE_BLOCK },
	{ "header of another length",	WHOLE_BLOCK },
	{ "numbers go back",		WHOLE_BLOCK },
	{ "reference beyond the half",	ONE },
	{ "reference to a half 7",	ONE },
	{ "generation 0",		ONE },
	{ "generation of the future",	ONE },
	{ "reference to another kind",	ONE },
	{ "payload too short",		ONE },
	{ "flags promise a stack",	ONE },
	{ "too many attributes",	ONE },
	{ "first number far ahead",	WHOLE_BLOCK },
	{ "first number 2^32 ahead",	WHOLE_BLOCK },
	{ "first number a little ahead", WHOLE_BLOCK },
};
#define DAMAGES (sizeof(damages) / sizeof(*damages))

static void damage_block(int which)
{
	struct ring_block *b = (struct ring_block *)(void *)(record_at(4096) + 2);

	switch (which) {
	case 8:
		b->block_no = 65;	/* the next lap's, but not announced */
		break;
	case 9:
		memset(record_at(4096), 0, 4096);
		break;
	case 10:
		record_at(4096)[0] = ring_word0(48, RING_T_SAMPLE, 0);
		break;
	case 11:
		record_at(4096)[0] = ring_word0(64, RING_T_BLOCK, 0);
		break;
	case 21:
		b->first_seq |= 1ull << 62;
		break;
	case 22:
		b->first_seq += 1ull << 32;
		break;
	case 23:
		b->first_seq += 10;
		break;
	default:
		b->first_seq = 1;
	}
}

static void damage_record(int which)
{
	uint64_t *w = record_at(in_block_1(4));
	struct ring_sample_wire *s = (struct ring_sample_wire *)(void *)(w + 2);

	switch (which) {
	case 0: w[0] &= ~(0xffffull << 32); break;
	case 1: w[0] = ring_word0(4096, 1, 0); break;
	case 2: w[0] = ring_word0(UINT32_MAX, 1, 0); break;
	case 3: w[0] = ring_word0(1040, 1, 0); break;
	case 4: w[0] = ring_word0(16, 1, 0); break;
	case 5: w[1]++; break;
	case 6: w[0] = ring_word0(48, RING_T_BLOCK, 0); break;
	case 7: w[0] = ring_word0(96, RING_T_PAD, 0); break;
	case 13: s->user = (64 << 10) / 16; break;
	case 14: s->stamp.u = 1 << 8 | 7; break;
	case 15: s->stamp.u = 0; break;
	case 16: s->stamp.u = 9 << 8; break;
	case 17: s->user = s->resource; break;
	case 18: w[0] = ring_word0(96 - 16, 1, 0); break;
	case 19: w[0] = ring_word0(96, 1, RING_F_USER); s->user = 0; break;
	default: s->nattributes = 257; break;
	}
}

START_TEST(broken_rule_is_corrupt_and_counted)
{
	int which = _i / 2;
	uint64_t per_block = 0, want;
	struct ringside_counts c;
	struct ringside *r;
	struct drained d;

	fill();
	for (uint64_t pos = in_block_1(0); pos < 8192;
	     pos += RING_RECORD_BYTES((uint32_t)*record_at(pos)))
		per_block += ring_word0_type(*record_at(pos)) == RING_T_SAMPLE;
	ck_assert_uint_gt(per_block, 10);
	if (damages[which].loses == WHOLE_BLOCK)
		damage_block(which);
	else
		damage_record(which);
	if (which == 18) /* the record is shorter, so the rest of the block is off too */
		record_at(in_block_1(4))[12] = 0;
	want = damages[which].loses == ONE ? 1 :
	       damages[which].loses == WHOLE_BLOCK ? per_block : per_block - 4;
	if (which == 18)
		want = per_block - 4;
	r = fixture_open(PARANOID, true);
	d = drain(r);
	ringside_counts(r, &c);
	ck_assert_msg(c.lost[RINGSIDE_LOST_CORRUPT] == want, "%s: %llu lost, want %llu",
		      damages[which].what,
		      (unsigned long long)c.lost[RINGSIDE_LOST_CORRUPT],
		      (unsigned long long)want);
	ck_assert_uint_ge(c.corrupt_events, 1);
	ck_assert_uint_le(c.corrupt_events, 2);
	ck_assert_uint_eq(d.samples + d.lost, PUT);
	ck_assert_uint_eq(c.lost[RINGSIDE_LOST_LAPPED], 0);
	ringside_close(r);
}
END_TEST

/* Where a reader begins there is no number before, which the block could contradict. */
START_TEST(first_block_with_a_wrong_number_does_not_hide_the_others)
{
	static const uint64_t ahead[] = { 1ull << 62, 1ull << 32, 10 };
	struct ring_block *b;
	struct ringside *r;
	struct drained d;

	fill();
	b = (struct ring_block *)(void *)(record_at(0) + 2);
	b->first_seq += ahead[_i / 2];
	r = fixture_open(PARANOID, true);
	d = drain(r);
	ck_assert_uint_gt(d.samples, PUT / 2);
	ck_assert_uint_eq(d.lost, 0);
	ck_assert_uint_eq(ringside_position(r), ring_writer_next_seq(fx.w));
	ringside_close(r);
}
END_TEST

/* --- dictionary entries ------------------------------------------------------------- */

static uint32_t *entry_payload(ringside_ref ref)
{
	return (uint32_t *)(void *)(fx.w->dict.base + (uint64_t)(uint32_t)ref * 16 + 16);
}

START_TEST(dictionary_that_refers_in_circles_is_corrupt)
{
	struct ring_mapping m = { 0 };
	struct ring_frame f = { .type = 1 };
	struct ring_sample s = { .weight = 1 };
	struct ring_attribute a = { .type = RINGSIDE_STRING };
	struct ringside_counts c;
	struct ringside_record rec;
	struct ringside *r;
	ringside_ref str;

	ck_assert_ok(ring_intern_string(fx.w, "s", 1, &str));
	m.path = f.function = a.key = a.string = str;
	ck_assert_ok(ring_intern_mapping(fx.w, &m, &f.mapping));
	ck_assert_ok(ring_intern_frame(fx.w, &f, &s.user_stack));
	f.mapping = s.user_stack;
	ck_assert_ok(ring_intern_stack(fx.w, &f.mapping, 1, &s.user_stack));
	ck_assert_ok(ring_intern_resource(fx.w, &a, 1, 0, &s.resource));
	ck_assert_ok(ring_put_sample(fx.w, &s));
	ring_writer_publish(fx.w);
	switch (_i / 2) {
	case 0:		/* a stack of itself */
		entry_payload(s.user_stack)[0] = (uint32_t)s.user_stack;
		break;
	case 1:		/* a frame whose mapping is the frame */
		entry_payload(f.mapping)[3] = (uint32_t)f.mapping;
		break;
	case 2:		/* a frame whose name is the stack */
		entry_payload(f.mapping)[0] = (uint32_t)s.user_stack;
		break;
	case 3:		/* a resource of itself */
		entry_payload(s.resource)[1] = (uint32_t)s.resource;
		break;
	case 4:		/* a resource whose schema is far away */
		entry_payload(s.resource)[0] = UINT32_MAX;
		break;
	case 5:		/* an entry that ends beyond its half */
		entry_payload(s.user_stack)[-4] = 65536;
		break;
	case 6:		/* a stack of no frame, and one of half a reference */
		entry_payload(s.user_stack)[-4] = 0;
		break;
	case 7:
		entry_payload(s.user_stack)[-4] = 3;
		break;
	default:	/* generation of another life */
		entry_payload(s.user_stack)[-2] = 2;
	}
	r = fixture_open(PARANOID, true);
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.kind, RINGSIDE_LOST);
	ck_assert_uint_eq(rec.lost.cause, RINGSIDE_LOST_CORRUPT);
	ck_assert_uint_eq(rec.lost.count, 1);
	ck_assert_int_eq(ringside_next(r, &rec), 0);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.corrupt_events, 1);
	ck_assert_uint_eq(c.received, 0);
	ringside_close(r);
}
END_TEST

/* --- anything ----------------------------------------------------------------------- */

static uint32_t dice(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Calls everything.  What comes out is whatever it is; it must come to an end, and stay
 * in bounds. */
static void use_everything(bool paranoid)
{
	const struct ringside_status *s;
	struct ringside_geometry g;
	struct ringside_liveness live;
	struct ringside_record rec;
	struct ringside_options o = { .size = sizeof(o),
				      .path = fx.path,
				      .paranoid = paranoid,
				      .from_oldest = true };
	struct ringside *r;
	unsigned int n = 0;
	uint64_t sum = 0;

	if (ringside_open(&r, &o))
		return;			/* tail and intent contradict each other */

	while (ringside_next(r, &rec) == 1 && ++n < 20000)
		if (rec.kind == RINGSIDE_SAMPLE)
			for (uint32_t i = 0; i < rec.sample.user.n; i++)
				if (rec.sample.user.frames[i]->function)
					sum += strlen(
						rec.sample.user.frames[i]->function);
	ck_assert_uint_lt(n, 20000);
	ck_assert_uint_lt(sum, 1u << 30);
	ringside_seek_time(r, 1000300);
	ringside_next(r, &rec);
	ringside_seek_last(r, 10);
	ringside_seek_newest(r);
	ringside_geometry(r, &g);
	ringside_liveness(r, &live);
	ringside_status(r, &s);
	ringside_close(r);
}

START_TEST(random_damage_never_crashes_nor_hangs)
{
	uint32_t state = 12345u + (uint32_t)_i;
	uint8_t *saved = malloc(fx.w->map_bytes);

	ck_assert_ptr_nonnull(saved);
	for (uint64_t i = 0; i < PUT; i++)
		ck_assert_ok(numbered_put(fx.w, i));
	ring_status_begin(fx.w);
	ring_status_text(fx.w, RINGSIDE_T_SCOPE, "host");
	ring_status_end(fx.w);
	ring_writer_publish(fx.w);
	memcpy(saved, fx.w->map, fx.w->map_bytes);
	for (int round = 0; round < 60; round++) {
		uint64_t used = fx.w->pos;

		for (int k = 0; k < 1 + round; k++) {
			uint64_t at = RING_DATA_OFF + dice(&state) % used;

			if (k % 4 == 1)
				at = RING_DATA_OFF + fx.w->data_mask + 1 +
				     dice(&state) % 65536;
			if (k % 16 == 3)
				at = 0x100 +
				     dice(&state) % 0x300; /* tail, intent, state, meta */
			if (k % 16 == 7)
				at = RING_STATUS_OFF + dice(&state) % 32768;
			fx.w->map[at] = (uint8_t)dice(&state);
		}
		use_everything(round & 1);
		memcpy(fx.w->map, saved, fx.w->map_bytes);
	}
	free(saved);
}
END_TEST

/* tail and intent that make no sense, with sound blocks behind them. */
START_TEST(senseless_positions_end)
{
	static const uint64_t values[] = { 0,
					   1,
					   16,
					   63,
					   64,
					   4095,
					   4096,
					   1ull << 32,
					   1ull << 63,
					   UINT64_MAX,
					   UINT64_MAX - 15,
					   UINT64_MAX / 2 };
	enum { N = sizeof(values) / sizeof(*values) };

	fill();
	for (int t = 0; t < N; t++)
		for (int i = 0; i < N; i++) {
			fx.w->hdr->tail = values[t];
			fx.w->hdr->intent = values[i];
			use_everything(PARANOID);
		}
}
END_TEST

/* The whole data region becomes a hole under an attached reader, without an
 * announcement. */
START_TEST(zero_pages_are_not_records)
{
	struct ringside_counts c;
	struct ringside *r;

	fill();
	r = fixture_open(PARANOID, true);
	memset(fx.w->data, 0, fx.w->data_mask + 1);
	ck_assert_uint_eq(drain(r).samples, 0);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.received, 0);
	ck_assert_uint_ge(c.corrupt_events, 1);
	ringside_close(r);
}
END_TEST

Suite *hostile_suite(void)
{
	Suite *s = suite_create("ring hostile");
	TCase *tc = tcase_create("hostile");

	tcase_set_timeout(tc, 20);
	tcase_add_checked_fixture(tc, setup, fixture_teardown);
	tcase_add_loop_test(tc, broken_rule_is_corrupt_and_counted, 0, 2 * (int)DAMAGES);
	tcase_add_loop_test(tc, first_block_with_a_wrong_number_does_not_hide_the_others, 0, 6);
	tcase_add_loop_test(tc, dictionary_that_refers_in_circles_is_corrupt, 0, 18);
	tcase_add_loop_test(tc, random_damage_never_crashes_nor_hangs, 0, 6);
	tcase_add_loop_test(tc, senseless_positions_end, 0, 2);
	tcase_add_loop_test(tc, zero_pages_are_not_records, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}
