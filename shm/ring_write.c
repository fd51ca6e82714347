/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The put path: reserve in place, commit, publish.  No allocation, no lock, no system
 * call but the bounded wake-up in publish, and nothing that a reader could write is ever
 * read.
 */
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <errno.h>

#include "shm/ring_atomic.h"
#include "shm/ring_testpoint.h"
#include "shm/ring_time.h"
#include "shm/writer_state.h"

#define FUTEX_WAKE_SHARED	1 /* without _PRIVATE, which would never wake anybody */
#define PREFETCH_UP_TO		128	/* bytes of payload: two lines a record */
#define PREFETCH_AHEAD		1024
#define WAKE_AT_MOST		2 /* the woken wake two more: no crowd stalls us */
#define WAKE_PAUSE_NS		1000000u
#define WAKE_PAUSE_MAX_NS	100000000u
#define WAKE_SHARE		20

static uint64_t *words_at(struct ring_writer *w, uint64_t pos)
{
	return (uint64_t *)(void *)(w->data + (pos & w->data_mask));
}

/* Newest stamp, per clock epoch: after a step back a block must not claim the time before
 * it. */
static void note_stamp(struct ring_writer *w, const struct ring_stamp *s)
{
	if (s->clock_epoch != w->last.clock_epoch || s->boot_ns > w->last.boot_ns)
		w->last = *s;
}

static void write_block_header(struct ring_writer *w)
{
	struct ring_block b = {
		.block_no = w->block,
		.first_seq = w->seq,
		.boot_ns = w->last.boot_ns,
		.real_ns = w->last.wall_ns,
		.lost_total = w->lost_total,
		.incarnation = w->incarnation,
		.clock_epoch = w->last.clock_epoch,
	};
	uint64_t *words = words_at(w, w->pos);

	RING_TESTPOINT("block.announced");
	ring_copy_in(words + 2, &b, sizeof(b));
	RING_TESTPOINT("block.payload");
	ring_relaxed_store(words + 1, 0);
	RING_TESTPOINT("block.word1");
	ring_relaxed_store(words, ring_word0(sizeof(b), RING_T_BLOCK, 0));
	RING_TESTPOINT("block.word0");
	w->pos += RING_RECORD_BYTES(sizeof(b));
	w->block_end = (w->block + 1) << w->shift;
	w->process_bytes = 0;
}

void ring_first_block(struct ring_writer *w)
{
	ring_announce(&w->hdr->intent, 0);
	write_block_header(w);
}

/* The announcement never moves back: a life before this one may have announced more than
 * it published, and what it stored there is torn. */
static void announce_block(struct ring_writer *w)
{
	if (w->announced < w->block)
		w->announced = w->block;
	ring_announce(&w->hdr->intent, w->announced);
}

/*
 * Pad, announce, header.  A batch that is as long as half the ring is published on the
 * way: else a reader would find the tail itself overwritten.
 */
void ring_next_block(struct ring_writer *w)
{
	uint64_t *words, left = w->block_end - w->pos;

	if (left) {
		words = words_at(w, w->pos);
		RING_TESTPOINT("pad.before");
		ring_relaxed_store(words + 1, 0);
		RING_TESTPOINT("pad.word1");
		ring_relaxed_store(words, ring_word0((uint32_t)left - 16, RING_T_PAD, 0));
		RING_TESTPOINT("pad.word0");
	}
	w->pos = w->block_end;
	if (w->pos - w->published >= (w->data_mask + 1) / 2)
		ring_writer_publish(w);
	w->block++;
	RING_TESTPOINT("block.unannounced");
	announce_block(w);
	write_block_header(w);
}

/*
 * A safe point between records.  Opening a block does not wait for it: ring_reserve()
 * opens blocks as needed and never changes the generation, and a record counts as a
 * reference from the block in which it really stands.
 */
void ring_writer_open_block(struct ring_writer *w, uint32_t *generation)
{
	dict_flip_if_due(w);
	if (generation)
		*generation = ring_writer_generation(w);
}

/* Inlined into ring_put(): a record costs little more than its memcpy, so calls would
 * show. */
static inline int reserve(struct ring_writer *w, uint32_t len, uint64_t **words)
{
	uint64_t need = RING_RECORD_BYTES(len);

	if (__builtin_expect(len > w->max_payload, 0))
		return -EMSGSIZE;
	if (__builtin_expect(w->block_end - w->pos < need, 0))
		ring_next_block(w);
	*words = words_at(w, w->pos);
	/* Short records wait for each line of a ring larger than the cache; long ones are
	 * streams that the processor sees by itself, and this would only disturb it. */
	if (len <= PREFETCH_UP_TO) {
		__builtin_prefetch(*words + PREFETCH_AHEAD / 8, 1);
		__builtin_prefetch(*words + PREFETCH_AHEAD / 8 + 8, 1);
	}
	return 0;
}

static inline void commit(struct ring_writer *w, uint64_t *words, uint16_t type,
			  uint16_t flags, uint32_t len)
{
	RING_TESTPOINT("commit.payload");
	ring_relaxed_store(words + 1, ring_word1((uint32_t)w->seq, 0));
	RING_TESTPOINT("commit.word1");
	ring_relaxed_store(words, ring_word0(len, type, flags));
	RING_TESTPOINT("commit.word0");
	w->seq++;
	w->pos += RING_RECORD_BYTES(len);
}

int ring_reserve(struct ring_writer *w, uint32_t len, uint8_t **payload)
{
	uint64_t *words;
	int err = reserve(w, len, &words);

	if (!err)
		*payload = (uint8_t *)(words + 2);
	return err;
}

void ring_commit(struct ring_writer *w, uint16_t type, uint16_t flags, uint32_t len)
{
	commit(w, words_at(w, w->pos), type, flags, len);
}

int ring_put(struct ring_writer *w, uint16_t type, uint16_t flags, const void *payload,
	     uint32_t len, const struct ring_stamp *stamp)
{
	uint64_t *words;
	int err = reserve(w, len, &words);

	if (err)
		return err;
	RING_TESTPOINT("put.reserved");
	ring_copy_in(words + 2, payload, len);
	commit(w, words, type, flags, len);
	if (stamp)
		note_stamp(w, stamp);
	return 0;
}

void ring_put_incarnation(struct ring_writer *w, const struct ring_stamp *stamp)
{
	struct ring_incarnation_wire r = {
		.stamp.boot_ns = stamp->boot_ns,
		.stamp.real_ns = stamp->wall_ns,
		.stamp.u = w->incarnation,
		.writer_pid = (uint32_t)getpid(),
	};

	ring_put(w, RING_T_INCARNATION, 0, &r, sizeof(r), stamp);
	ring_writer_publish(w);
}

/*
 * How long after a wake that took so long the next may come.  The kernel looks for our
 * waiters in a list that strangers can make long, by waiting on any word of any file that
 * falls into it.  So it is the price that is bounded: a twentieth of our time.  Readers
 * look by themselves every 100 ms.
 */
uint64_t ring_wake_pause(uint64_t took_ns)
{
	if (took_ns < WAKE_PAUSE_NS / WAKE_SHARE)
		return WAKE_PAUSE_NS;
	return took_ns < WAKE_PAUSE_MAX_NS / WAKE_SHARE ? took_ns * WAKE_SHARE
							: WAKE_PAUSE_MAX_NS;
}

/* What is owed is paid by a later publish or heartbeat. */
static void wake_readers(struct ring_writer *w)
{
	uint64_t now, took;

	if (!w->wake_owed)
		return;
	now = ring_clock_ns(CLOCK_MONOTONIC);
	if (now < w->next_wake_ns)
		return;
	/* Not by the wall: somebody else may have had the processor meanwhile. */
	took = ring_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	syscall(SYS_futex, &w->hdr->tail, FUTEX_WAKE_SHARED, WAKE_AT_MOST, NULL, NULL, 0);
	took = ring_clock_ns(CLOCK_THREAD_CPUTIME_ID) - took;
	w->next_wake_ns = now + ring_wake_pause(took);
	w->wake_owed = false;
}

void ring_writer_publish(struct ring_writer *w)
{
	if (w->pos != w->published) {
		RING_TESTPOINT("publish.before");
		ring_publish(&w->hdr->tail, w->pos);
		RING_TESTPOINT("publish.after");
		w->published = w->pos;
		w->wake_owed = true;
	}
	wake_readers(w);
}

void ring_writer_heartbeat(struct ring_writer *w, uint64_t boot_ns)
{
	ring_relaxed_store(&w->hdr->heartbeat, boot_ns);
	RING_TESTPOINT("heartbeat.stored");
	wake_readers(w);
	if (w->prev_deadline && boot_ns >= w->prev_deadline)
		ring_prev_remove(w);
}

/* Slot rule: see ring_slot_begin(). */
void ring_writer_anchor(struct ring_writer *w, const struct ring_anchor *a)
{
	uint64_t stamp = ++w->anchor_stamp;
	struct ring_anchor_slot *s = &w->hdr->anchors[stamp % RING_ANCHORS];

	RING_TESTPOINT("anchor.before");
	ring_slot_begin(&s->stamp);
	RING_TESTPOINT("anchor.begun");
	ring_relaxed_store(&s->boot_ns, a->boot_ns);
	ring_relaxed_store(&s->real_ns, a->real_ns);
	ring_relaxed_store(&s->offset_ns, a->offset_ns);
	RING_TESTPOINT("anchor.half");
	ring_relaxed_store(&s->bound_ns, a->bound_ns);
	ring_relaxed_store(&s->clock_epoch, a->clock_epoch);
	ring_relaxed_store(&s->source, a->source);
	ring_relaxed_store(&s->taken_boot_ns, a->taken_boot_ns);
	RING_TESTPOINT("anchor.fields");
	ring_slot_end(&s->stamp, stamp);
	RING_TESTPOINT("anchor.ended");
}

void ring_writer_lost_total(struct ring_writer *w, uint32_t cause, uint64_t total)
{
	if (cause == RINGSIDE_LOST_LAPPED || cause >= RING_CAUSES)
		return;
	w->lost_total += total - w->lost[cause];
	w->lost[cause] = total;
	ring_relaxed_store(&w->hdr->lost[cause], w->lost_before[cause] + total);
}

uint64_t ring_writer_next_seq(const struct ring_writer *w)
{
	return w->seq;
}
