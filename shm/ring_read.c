/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record out of the ring: copy, then judge.  Nothing here waits, and every hop moves
 * on, so that one call is bounded whatever the file holds.
 */
#include <errno.h>
#include <string.h>

#include "shm/reader_state.h"
#include "shm/ring_atomic.h"
#include "shm/ring_crc.h"

#define SIZE_CHECK_BLOCKS 16 /* a system call a block costs as much as reading it */

enum { STEP_AGAIN = 2 };		/* beside 1 record, 0 nothing, -errno */

/* A record's head, copied once. */
struct head {
	uint64_t block, need, avail;
	const uint64_t *words;
	uint32_t len, seq, crc;
	uint16_t type, flags;
	bool	 at_start;
};

uint64_t ring_oldest_block(uint64_t intent, uint32_t nblocks, uint32_t margin)
{
	return intent < nblocks ? 0 : intent - (nblocks - 1) + margin;
}

/* Inlined below: a record is read in little more than its memcpy, so calls would show. */
static inline int intact(const struct ringside *r, uint64_t block)
{
	uint64_t intent;
	int err = ring_file_intent(&r->f, &intent);

	return err ? err : intent - block < r->f.nblocks;
}

int ring_intact(const struct ringside *r, uint64_t block)
{
	return intact(r, block);
}

/*
 * A writer announces a block before it publishes in it.  With that, there are at most N
 * blocks before the end, whatever they hold; without it a planted tail would lead us
 * through 2^50 of them.
 */
int ring_positions(const struct ringside *r, uint64_t *tail, uint64_t *intent)
{
	int err;

	if ((err = ring_file_tail(&r->f, tail)) ||
	    (err = ring_file_intent(&r->f, intent)))
		return err;
	if (*intent > UINT64_MAX >> RING_MAX_SHIFT ||
	    (*tail && (*tail - 1) >> r->f.shift > *intent))
		return -EBADMSG;
	return 0;
}

/* --- views -------------------------------------------------------------------------- */

/* Paranoid: one pread for many records, proven intact as a whole.  1, 0 lapped,
 * -errno. */
static int fill_chunk(struct ringside *r, uint64_t pos, uint64_t end)
{
	uint64_t len = end - pos;
	int n;

	if (len > r->chunk_cap)
		len = r->chunk_cap;
	r->chunk_end = r->chunk_pos = 0;
	n = ring_file_read(&r->f, r->f.data_off + (pos & (r->f.data_bytes - 1)), r->chunk,
			   len);
	if (n)
		return n;
	n = ring_intact(r, pos >> r->f.shift);
	if (n <= 0)
		return n;
	r->chunk_pos = pos;
	r->chunk_end = pos + len;
	return 1;
}

static bool in_chunk(const struct ringside *r, uint64_t pos, uint64_t need)
{
	return pos >= r->chunk_pos && pos < r->chunk_end && r->chunk_end - pos >= need;
}

/* The record at pos, whole: a head that is not in the chunk together with its payload is
 * read anew. */
static bool chunk_has_record(const struct ringside *r, uint64_t pos)
{
	uint64_t w;

	if (!in_chunk(r, pos, 16))
		return false;
	memcpy(&w, r->chunk + (pos - r->chunk_pos), sizeof(w));
	return in_chunk(r, pos, RING_RECORD_BYTES(ring_word0_len(w)));
}

static int view_by_pread(struct ringside *r, uint64_t pos, const uint64_t **words,
			 uint64_t *avail)
{
	uint64_t tail, end = ((pos >> r->f.shift) + 1) << r->f.shift;
	int n;

	if (chunk_has_record(r, pos)) {
		*words =
			(const uint64_t *)(const void *)(r->chunk + (pos - r->chunk_pos));
		*avail = r->chunk_end - pos;
		return 1;
	}
	n = ring_file_tail(&r->f, &tail);
	if (n)
		return n;
	if (pos >= tail || tail - pos < 16)
		return 0;
	if (end > tail)
		end = tail;
	n = fill_chunk(r, pos, end);
	if (n <= 0)
		return n ? n : -ESTALE;
	*words = (const uint64_t *)(const void *)r->chunk;
	*avail = r->chunk_end - pos;
	return 1;
}

static inline int view(struct ringside *r, uint64_t pos, const uint64_t **words,
		       uint64_t *avail)
{
	uint64_t tail, end = ((pos >> r->f.shift) + 1) << r->f.shift;

	if (__builtin_expect(r->f.paranoid, 0))
		return view_by_pread(r, pos, words, avail);
	tail = ring_published(&ring_file_header(&r->f)->tail);
	if (pos >= tail || tail - pos < 16)
		return 0;
	*words = (const uint64_t *)(const void *)(r->f.map + r->f.data_off +
						  (pos & (r->f.data_bytes - 1)));
	*avail = (end > tail ? tail : end) - pos;
	return 1;
}

int ring_view(struct ringside *r, uint64_t pos, const uint64_t **words, uint64_t *avail)
{
	return view(r, pos, words, avail);
}

/* --- moving on ---------------------------------------------------------------------- */

static void skip_to_block(struct ringside *r, uint64_t block, uint8_t cause)
{
	r->pos = block << r->f.shift;
	if (!r->skipped)
		r->gap_cause = cause;
	r->skipped = true;
}

/* Overtaken: to the oldest block that the writer will not catch at once.  Always
 * forwards. */
static int lapped(struct ringside *r)
{
	uint64_t tail, intent, block = r->pos >> r->f.shift, to;
	int err = ring_positions(r, &tail, &intent);

	if (err)
		return err;
	to = ring_oldest_block(intent, r->f.nblocks, r->f.nblocks / 8);
	if (to <= block)
		to = block + 1;
	skip_to_block(r, to, RINGSIDE_LOST_LAPPED);
	return STEP_AGAIN;
}

/* Bytes that break the rules: of a block that is gone, or really. */
static int broken(struct ringside *r)
{
	uint64_t block = r->pos >> r->f.shift, tail, intent;
	int n = ring_intact(r, block);

	if (!n)
		return lapped(r);
	if (n > 0)
		n = ring_positions(r, &tail, &intent);
	if (n < 0)
		return n;
	r->counts.corrupt_events++;
	skip_to_block(r, block + 1, RINGSIDE_LOST_CORRUPT);
	return STEP_AGAIN;
}

/* --- records ------------------------------------------------------------------------ */

static void finish(struct ringside *r, struct ringside_record *rec)
{
	if (rec->kind == RINGSIDE_INCARNATION)
		ring_enter_life(r, rec->incarnation.incarnation);
	rec->incarnation_changed = r->changed || rec->kind == RINGSIDE_INCARNATION;
	r->changed = false;
}

/* The record that tells of a new life may have been overwritten; every block header
 * tells too. */
void ring_enter_life(struct ringside *r, uint32_t incarnation)
{
	if (r->incarnation && r->incarnation != incarnation)
		r->changed = true;
	r->incarnation = incarnation;
}

static int lost_record(struct ringside *r, struct ringside_record *rec, uint8_t cause,
		       uint64_t count)
{
	rec->kind = RINGSIDE_LOST;
	rec->lost = (struct ringside_lost){
		.count = count,
		.cause = cause,
		.by_reader = true,
		.first_seq = r->next_seq,
	};
	r->counts.lost[cause] += count;
	finish(r, rec);
	return 1;
}

static bool read_head(const struct ringside *r, const uint64_t *words, uint64_t avail,
		      struct head *h)
{
	uint64_t w0 = ring_relaxed_load(words), w1 = ring_relaxed_load(words + 1);

	h->words = words;
	h->avail = avail;
	h->len = ring_word0_len(w0);
	h->type = ring_word0_type(w0);
	h->flags = ring_word0_flags(w0);
	h->seq = (uint32_t)w1;
	h->crc = (uint32_t)(w1 >> 32);
	h->need = RING_RECORD_BYTES(h->len);
	h->block = r->pos >> r->f.shift;
	h->at_start = !(r->pos & ((1ull << r->f.shift) - 1));
	if (h->type == RING_T_ILLEGAL || h->need > avail)
		return false;
	return h->at_start == (h->type == RING_T_BLOCK);
}

/* A block begins: is a gap behind us? */
static int enter_block(struct ringside *r, const struct ring_block *b,
		       struct ringside_record *rec)
{
	uint64_t gap = b->first_seq - r->next_seq;
	uint8_t cause = r->skipped ? r->gap_cause : RINGSIDE_LOST_CORRUPT;

	if (!r->seq_known || (r->rebase && b->first_seq < r->next_seq)) {
		r->seq_known = true;
		r->next_seq = b->first_seq;
		gap = 0;
	} else if (b->first_seq < r->next_seq) {
		return broken(r);
	}
	ring_enter_life(r, b->incarnation);
	r->pos += RING_RECORD_BYTES(sizeof(*b));
	r->rebase = r->skipped = false;
	if (!gap)
		return STEP_AGAIN;
	*rec = (struct ringside_record){
		.time_ns = b->real_ns,
		.boot_ns = b->boot_ns,
		.clock_epoch = b->clock_epoch,
	};
	lost_record(r, rec, cause, gap);
	r->next_seq = b->first_seq;
	return 1;
}

/*
 * Everything after a block is judged by its first number, so a damaged one would make us
 * blind to what is sound: the file must be able to hold it, and the record behind the
 * header, when it is there already, must have it too.
 */
static bool number_holds(const struct ringside *r, uint64_t block, uint64_t first_seq,
			 const uint64_t *next)
{
	uint64_t w0 = next ? ring_relaxed_load(next) : ring_word0(0, RING_T_PAD, 0);

	if (first_seq <= r->f.prev_final_seq ||
	    first_seq - r->f.prev_final_seq - 1 > (block << r->f.shift) / RING_MIN_RECORD)
		return false;
	return ring_word0_type(w0) == RING_T_PAD ||
	       (uint32_t)ring_relaxed_load(next + 1) == (uint32_t)first_seq;
}

static int step_block(struct ringside *r, const struct head *h,
		      struct ringside_record *rec)
{
	struct ring_block b;
	bool holds;
	int n;

	if (h->len != sizeof(b))
		return broken(r);
	/* Now and then, beside every wait: a file that shrinks is an error, not a
	 * signal. */
	n = h->block % SIZE_CHECK_BLOCKS && !r->skipped ? 0 : ring_file_check_size(&r->f);
	if (n)
		return n;
	ring_copy_out(&b, h->words + 2, sizeof(b));
	holds = number_holds(r, h->block, b.first_seq,
			     h->avail - h->need >= 16 ? h->words + h->need / 8 : NULL);
	n = ring_intact(r, h->block);
	if (n < 0)
		return n;
	if (!n)
		return lapped(r);
	if (b.block_no != h->block || !holds)
		return broken(r);
	return enter_block(r, &b, rec);
}

static int step_pad(struct ringside *r, const struct head *h)
{
	uint64_t end = (h->block + 1) << r->f.shift;
	int n = ring_intact(r, h->block);

	if (n < 0)
		return n;
	if (!n || r->pos + h->need != end)
		return broken(r);
	r->pos = end;
	return STEP_AGAIN;
}

/* Decodes what lies in r->payload; a cache that is full is emptied and filled once
 * more. */
static int decode(struct ringside *r, const struct head *h, struct ringside_record *rec)
{
	int err;

	if (h->flags & RING_F_CRC && ring_crc32c(r->payload, h->len) != h->crc)
		return -EBADMSG;
	if (r->arena.used)
		arena_reset(&r->arena);
	err = ring_decode(r, h->type, h->flags, h->len, rec);
	if (err != -ENOBUFS)
		return err;
	dict_drop(&r->cache[0]);
	dict_drop(&r->cache[1]);
	arena_reset(&r->arena);
	err = ring_decode(r, h->type, h->flags, h->len, rec);
	return err == -ENOBUFS ? -EBADMSG : err;
}

static void count_announced(struct ringside *r, const struct ringside_record *rec)
{
	if (rec->kind == RINGSIDE_LOST && rec->lost.cause < RINGSIDE_LOST_MAX)
		r->counts.lost[rec->lost.cause] += rec->lost.count;
}

/* The one check, after the record and everything it refers to were copied. */
static int judge(struct ringside *r, const struct head *h, int err,
		 struct ringside_record *rec)
{
	int n = 1;

	if (!r->f.paranoid || r->touched || err)
		n = intact(r, h->block);
	if (n <= 0 || err)
		dict_forget_fresh(r);
	else if (r->touched)
		dict_keep(r);
	if (n < 0)
		return n;
	if (!n)
		return lapped(r);
	if (err && err != -EBADMSG)
		return err;
	r->pos += h->need;
	if (err) {
		r->counts.corrupt_events++;
		lost_record(r, rec, RINGSIDE_LOST_CORRUPT, 1);
		rec->seq = 0;
		r->next_seq++;
		return 1;
	}
	rec->seq = r->next_seq++;
	r->counts.received++;
	count_announced(r, rec);
	finish(r, rec);
	return 1;
}

static int step_record(struct ringside *r, const struct head *h,
		       struct ringside_record *rec)
{
	int err;

	if (h->len > r->f.max_payload || h->len < sizeof(struct ring_stamp_wire) ||
	    !r->seq_known || h->seq != (uint32_t)r->next_seq)
		return broken(r);
	ring_copy_out(r->payload, h->words + 2, h->len);
	memset(rec, 0, offsetof(struct ringside_record, sample)); /* decode has the rest */
	r->touched = false;
	err = decode(r, h, rec);
	return judge(r, h, err, rec);
}

static int step(struct ringside *r, struct ringside_record *rec)
{
	const uint64_t *words;
	uint64_t avail;
	struct head h;
	int n = view(r, r->pos, &words, &avail);

	if (n == -ESTALE)
		return lapped(r);
	if (n < 0)
		return n;
	if (!n) {
		n = ring_follow(r);
		return n == 1 ? STEP_AGAIN : n;
	}
	if (!read_head(r, words, avail, &h))
		return broken(r);
	if (h.type == RING_T_BLOCK)
		return step_block(r, &h, rec);
	if (h.type == RING_T_PAD)
		return step_pad(r, &h);
	return step_record(r, &h, rec);
}

/*
 * In a sound file three hops reach a record: pad, block header, record.  More are needed
 * only behind damage or a very fast writer; then what is known so far is said, so that
 * "0" always means the end.
 */
int ringside_next(struct ringside *r, struct ringside_record *rec)
{
	int n = STEP_AGAIN;

	for (int hop = 0; hop < RING_HOPS && n == STEP_AGAIN; hop++)
		n = step(r, rec);
	if (n != STEP_AGAIN)
		return n;
	*rec = (struct ringside_record){ .kind = 0 };
	return lost_record(r, rec, r->skipped ? r->gap_cause : RINGSIDE_LOST_CORRUPT, 0);
}

int ring_block_header(struct ringside *r, uint64_t block, struct ring_block *out)
{
	struct { uint64_t words[2]; struct ring_block b; uint64_t next[2]; } raw;
	uint64_t pos = block << r->f.shift, tail, len = sizeof(raw);
	int n = ring_file_tail(&r->f, &tail);

	if (n)
		return n;
	if (tail < pos + sizeof(raw))
		len = offsetof(typeof(raw), next);
	if (tail < pos + len)
		return 0;
	n = ring_file_read(&r->f, r->f.data_off + (pos & (r->f.data_bytes - 1)), &raw,
			   len);
	if (n)
		return n;
	n = ring_intact(r, block);
	if (n <= 0)
		return n;
	*out = raw.b;
	return raw.words[0] == ring_word0(sizeof(raw.b), RING_T_BLOCK, 0) &&
	       raw.b.block_no == block &&
	       number_holds(r, block, raw.b.first_seq,
			    len == sizeof(raw) ? raw.next : NULL);
}

uint64_t ringside_position(const struct ringside *r)
{
	return r->next_seq;
}

void ringside_counts(const struct ringside *r, struct ringside_counts *out)
{
	*out = r->counts;
}
