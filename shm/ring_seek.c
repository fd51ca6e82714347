/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions.  Every block is a place to start from: its header knows the number of its
 * first record and the time before it.
 */
#include <errno.h>

#include "shm/reader_state.h"
#include "shm/ring_atomic.h"

#define TRIES	8			/* to get ahead of a writer that overtakes us */

static void place(struct ringside *r, uint64_t pos)
{
	r->pos = pos;
	r->skipped = r->rebase = false;
}

/* 0; -ESTALE when the block is gone. */
int ring_go_to_block(struct ringside *r, uint64_t block)
{
	struct ring_block b;
	int n = ring_block_header(r, block, &b);

	if (n < 0)
		return n;
	place(r, block << r->f.shift);
	r->seq_known = n == 1;
	if (!n)
		return -ESTALE;
	r->next_seq = b.first_seq;
	ring_enter_life(r, b.incarnation);
	return 0;
}

/* Newest block that has a header, and the oldest one worth reading. */
static int block_range(struct ringside *r, uint64_t *oldest, uint64_t *newest)
{
	uint64_t tail, intent;
	int err = ring_positions(r, &tail, &intent);

	if (err)
		return err;
	*newest = tail ? (tail - 1) >> r->f.shift : 0;
	*oldest = ring_oldest_block(intent, r->f.nblocks, 0);
	if (*oldest > *newest)
		*oldest = *newest;
	return 0;
}

static void pass_incarnation(struct ringside *r, const uint64_t *words, uint64_t need)
{
	struct ring_stamp_wire stamp;

	if (need < 16 + sizeof(stamp))
		return;
	ring_copy_out(&stamp, words + 2, sizeof(stamp));
	ring_enter_life(r, stamp.u);
}

/* Walks records of the current block until `until` records were passed or nothing more is
 * there; leaves pos and next_seq behind them.  0, or -ESTALE when the block went away
 * under us. */
static int pass_records(struct ringside *r, uint64_t until_seq)
{
	uint64_t block = r->pos >> r->f.shift, avail, need, w0;
	const uint64_t *words;
	int n;

	while (r->pos >> r->f.shift == block && r->next_seq < until_seq) {
		n = ring_view(r, r->pos, &words, &avail);
		if (n <= 0)
			break;
		w0 = ring_relaxed_load(words);
		need = RING_RECORD_BYTES(ring_word0_len(w0));
		if (!ring_word0_type(w0) || need > avail)
			break;
		if (ring_word0_type(w0) != RING_T_BLOCK &&
		    ring_word0_type(w0) != RING_T_PAD)
			r->next_seq++;
		if (ring_word0_type(w0) == RING_T_INCARNATION)
			pass_incarnation(r, words, need);
		r->pos += need;
	}
	n = ring_intact(r, block);
	return n < 0 ? n : n ? 0 : -ESTALE;
}

int ringside_seek_newest(struct ringside *r)
{
	uint64_t oldest, newest;
	int err = -ESTALE;

	for (int i = 0; i < TRIES && err == -ESTALE; i++) {
		err = block_range(r, &oldest, &newest);
		if (!err)
			err = ring_go_to_block(r, newest);
		if (!err)
			err = pass_records(r, UINT64_MAX);
	}
	return err == -ESTALE ? 0 : err;	/* at the newest block's start, then */
}

int ringside_seek_oldest(struct ringside *r)
{
	uint64_t oldest, newest;
	int err = -ESTALE;

	for (int i = 0; i < TRIES && err == -ESTALE; i++) {
		err = block_range(r, &oldest, &newest);
		if (err)
			return err;
		/* each time a little further from the writer */
		oldest += (uint64_t)r->f.nblocks * (uint64_t)i / 16;
		err = ring_go_to_block(r, oldest < newest ? oldest : newest);
	}
	return err == -ESTALE ? 0 : err;
}

/* Does everything in this block stand before the wall time?  The next block's header says
 * up to when it went.  1, 0, -errno. */
static int block_is_before(struct ringside *r, uint64_t block, int64_t time_ns)
{
	struct ring_block b;
	int n = ring_block_header(r, block + 1, &b);

	return n < 0 ? n : n && b.real_ns < time_ns;
}

/* One clock epoch of one incarnation: wall time grows with the blocks, so halve. */
static int first_by_halving(struct ringside *r, uint64_t lo, uint64_t hi, int64_t time_ns,
			    uint64_t *out)
{
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		int n = block_is_before(r, mid, time_ns);

		if (n < 0)
			return n;
		if (n)
			lo = mid + 1;
		else
			hi = mid;
	}
	*out = lo;
	return 0;
}

/* The clock was set meanwhile: only looking at each block finds the first that may hold
 * the time. */
static int first_by_walking(struct ringside *r, uint64_t lo, uint64_t hi, int64_t time_ns,
			    uint64_t *out)
{
	int n = 1;

	for (; lo < hi; lo++) {
		n = block_is_before(r, lo, time_ns);
		if (n <= 0)
			break;
	}
	*out = lo;
	return n < 0 ? n : 0;
}

static int same_epoch(struct ringside *r, uint64_t a, uint64_t b)
{
	struct ring_block x, y;
	int n = ring_block_header(r, a, &x), m = n < 0 ? n : ring_block_header(r, b, &y);

	if (m < 0)
		return m;
	return n && m && x.clock_epoch == y.clock_epoch &&
	       x.incarnation == y.incarnation;
}

int ringside_seek_time(struct ringside *r, int64_t time_ns)
{
	uint64_t oldest, newest, found = 0;
	int err, n;

	for (int i = 0; i < TRIES; i++) {
		err = block_range(r, &oldest, &newest);
		if (err)
			return err;
		n = same_epoch(r, oldest, newest);
		if (n < 0)
			return n;
		err = n ? first_by_halving(r, oldest, newest, time_ns, &found) :
			first_by_walking(r, oldest, newest, time_ns, &found);
		if (!err)
			err = ring_go_to_block(r, found);
		if (err != -ESTALE)
			return err;
	}
	return ringside_seek_oldest(r);
}

/* The newest block whose first number is not above seq. */
static int block_of_seq(struct ringside *r, uint64_t lo, uint64_t hi, uint64_t seq,
			uint64_t *out)
{
	struct ring_block b;

	while (lo < hi) {
		uint64_t mid = hi - (hi - lo) / 2;
		int n = ring_block_header(r, mid, &b);

		if (n < 0)
			return n;
		if (!n)
			lo = mid < hi ? mid + 1 : hi;	/* overtaken there: look later */
		else if (b.first_seq <= seq)
			lo = mid;
		else
			hi = mid - 1;
	}
	*out = lo;
	return 0;
}

int ringside_seek_seq(struct ringside *r, uint64_t seq)
{
	uint64_t oldest, newest, block;
	int err = block_range(r, &oldest, &newest);

	if (!err)
		err = block_of_seq(r, oldest, newest, seq, &block);
	if (!err)
		err = ring_go_to_block(r, block);
	if (!err)
		err = pass_records(r, seq);
	return err == -ESTALE ? ringside_seek_oldest(r) : err;
}

int ringside_seek_last(struct ringside *r, uint64_t n)
{
	int err = ringside_seek_newest(r);

	if (err || !n)
		return err;
	return ringside_seek_seq(r, r->next_seq > n ? r->next_seq - n : 0);
}

int ring_position(struct ringside *r)
{
	return r->options.from_oldest ? ringside_seek_oldest(r) : ringside_seek_newest(r);
}
