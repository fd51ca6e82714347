/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A life after a crash goes on in the same file: no memory twice, no reader has to open
 * anything, and the last minutes stay where they are.  Whatever differs from what this
 * writer would have made itself, or breaks a rule, makes the file one to be replaced.
 *
 * What a killed writer leaves behind: records that it published, bytes behind tail that
 * nobody may look at, and perhaps announcements ahead of them.  So the new life starts
 * at tail, overwrites what was torn, and announces nothing older than what was announced;
 * nothing needs repair.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "shm/ring_atomic.h"
#include "shm/ring_testpoint.h"
#include "shm/ring_time.h"
#include "shm/writer_state.h"

/* What the published part of the file says. */
struct past {
	uint64_t tail, intent;
	uint64_t seq;			/* of the record behind tail */
	struct ring_stamp last;
	uint32_t process_bytes;
};

/* --- may it be resumed? ------------------------------------------------------------- */

/* The geometry that the options ask for, in this version of the format, of this boot:
 * boot times go on in it. */
static bool made_alike(const struct ring_header *h, const struct ring_geometry *g)
{
	uint8_t boot_id[16] = { 0 };

	ring_boot_id(boot_id);
	return h->major == RING_MAJOR && h->minor == RING_MINOR && !h->flags &&
	       h->header_bytes == RING_HEADER_BYTES && h->block_shift == g->shift &&
	       h->nblocks == g->nblocks && h->max_payload == 1u << (g->shift - 2) &&
	       h->data_off == RING_DATA_OFF && h->data_bytes == g->data_bytes &&
	       h->dict_off == RING_DATA_OFF + g->data_bytes &&
	       h->dict_bytes == 2 * g->half_bytes && h->file_bytes == g->file_bytes &&
	       !memcmp(h->boot_id, boot_id, sizeof(boot_id));
}

/* One name, the access that the options ask for, and every page there: a hole would be
 * filled at a bad moment, and where there is no room that is a signal. */
static bool kept_alike(int fd, const struct ring_writer_options *o,
		       const struct ring_geometry *g)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_nlink == 1 &&
	       (st.st_mode & 07777) == ring_mode(o) &&
	       (o->group == (gid_t)-1 || st.st_gid == o->group) &&
	       (uint64_t)st.st_size == g->file_bytes &&
	       (uint64_t)st.st_blocks * 512 >= g->file_bytes;
}

/* Only after a crash: a file that was closed stays as it was closed, and one that was
 * superseded has sent its readers on. */
static bool resumable(const struct ring_writer_options *o, const struct ring_geometry *g,
		      const struct ring_predecessor *old)
{
	struct ring_header h;

	return old->fd >= 0 && pread(old->fd, &h, sizeof(h), 0) == sizeof(h) &&
	       h.state == RING_LIVE && made_alike(&h, g) && kept_alike(old->fd, o, g);
}

/* A reader may hold a read lock on what it can open.  Then the file is replaced: without
 * the write lock nobody could tell that we live. */
static bool set_lock(int fd, short type)
{
	struct flock fl = { .l_type = type, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_SETLK, &fl);
}

/* --- what was published ------------------------------------------------------------- */

/* Counts one record; its size, or 0 when it breaks a rule of ringside-ring(5). */
static uint64_t pass_record(const struct ring_writer *w, const uint64_t *words,
			    uint64_t left, uint64_t to_block_end, struct past *p)
{
	uint16_t type = ring_word0_type(words[0]);
	uint32_t len = ring_word0_len(words[0]);
	uint64_t need = RING_RECORD_BYTES(len);
	struct ring_stamp_wire stamp;

	if (need > left || type == RING_T_ILLEGAL || type == RING_T_BLOCK)
		return 0;
	if (type == RING_T_PAD)
		return need == to_block_end ? need : 0;
	if (len < sizeof(stamp) || len > w->max_payload ||
	    (uint32_t)words[1] != (uint32_t)p->seq)
		return 0;
	memcpy(&stamp, words + 2, sizeof(stamp));
	if (stamp.clock_epoch != p->last.clock_epoch || stamp.boot_ns > p->last.boot_ns)
		p->last = (struct ring_stamp){ .boot_ns = stamp.boot_ns,
					       .wall_ns = stamp.real_ns,
					       .clock_epoch = stamp.clock_epoch };
	if (type == RING_T_PROCESS)
		p->process_bytes += (uint32_t)need;
	p->seq++;
	return need;
}

/* Walks the block that holds tail - 1, from its header. */
static bool walk_last_block(const struct ring_writer *w, struct past *p)
{
	uint64_t block = (p->tail - 1) >> w->shift, pos = block << w->shift, need;
	uint64_t end = pos + (1ull << w->shift);
	const uint8_t *at = w->data + (pos & w->data_mask);
	const uint64_t *words = (const uint64_t *)(const void *)at;
	struct ring_block b;

	memcpy(&b, words + 2, sizeof(b));
	if (words[0] != ring_word0(sizeof(b), RING_T_BLOCK, 0) || b.block_no != block ||
	    !ring_number_possible(w->hdr, b.first_seq))
		return false;
	p->seq = b.first_seq;
	p->last = (struct ring_stamp){ .boot_ns = b.boot_ns, .wall_ns = b.real_ns,
				       .clock_epoch = b.clock_epoch };
	for (pos += RING_RECORD_BYTES(sizeof(b)); pos < p->tail; pos += need) {
		words = (const uint64_t *)(const void *)(w->data + (pos & w->data_mask));
		need = pass_record(w, words, p->tail - pos, end - pos, p);
		if (!need)
			return false;
	}
	return pos == p->tail;
}

static bool recall(const struct ring_writer *w, struct past *p)
{
	p->tail = ring_published(&w->hdr->tail);
	p->intent = ring_announced(&w->hdr->intent);
	/* A batch is published before it is half the ring, so no writer is further ahead. */
	return p->tail && !(p->tail % RING_ALIGN) &&
	       p->intent <= UINT64_MAX >> RING_MAX_SHIFT &&
	       (p->tail - 1) >> w->shift <= p->intent &&
	       p->intent - ((p->tail - 1) >> w->shift) < w->nblocks &&
	       walk_last_block(w, p);
}

/* --- going on ----------------------------------------------------------------------- */

static uint64_t newest_stamp(const uint8_t *slots, uint32_t n, uint64_t stride)
{
	uint64_t newest = 0, stamp;

	for (uint32_t i = 0; i < n; i++) {
		stamp = ring_relaxed_load(
			(const uint64_t *)(const void *)(slots + i * stride));
		if (stamp > newest)
			newest = stamp;
	}
	return newest;
}

static void remember(struct ring_writer *w, const struct past *p)
{
	const struct ring_header *h = w->hdr;

	w->pos = w->published = p->tail;
	w->block = (p->tail - 1) >> w->shift;
	w->block_end = (w->block + 1) << w->shift;
	w->announced = p->intent;
	w->seq = p->seq;
	w->last = p->last;
	w->process_bytes = p->process_bytes;
	w->incarnation = h->incarnation + 1;
	w->fallbacks = h->dict_fallbacks;
	for (uint32_t i = 0; i < RING_CAUSES; i++) {
		w->lost_before[i] = h->lost[i];
		w->lost_total += h->lost[i];
	}
	w->anchor_stamp = newest_stamp((const uint8_t *)h->anchors, RING_ANCHORS,
				       sizeof(h->anchors[0]));
	w->status_stamp = newest_stamp(w->map + RING_STATUS_OFF, RING_STATUS_SLOTS,
				       RING_STATUS_BYTES);
}

/* Anchors of epochs that were counted by another, and a status page of somebody who is
 * dead: slots that are being written, until we write them. */
static void forget_slots(struct ring_writer *w)
{
	for (uint32_t i = 0; i < RING_ANCHORS; i++)
		ring_slot_begin(&w->hdr->anchors[i].stamp);
	for (uint32_t i = 0; i < RING_STATUS_SLOTS; i++)
		ring_slot_begin((uint64_t *)(void *)(w->map + RING_STATUS_OFF +
						     i * RING_STATUS_BYTES));
}

/* From here on the file is ours, whoever looks. */
static void go_on(struct ring_writer *w, uint64_t boot_ns)
{
	struct ring_stamp stamp = { .boot_ns = boot_ns };

	stamp.wall_ns = (int64_t)ring_clock_ns(CLOCK_REALTIME);
	w->renamed = w->resumed = true;
	RING_TESTPOINT("resume.mapped");
	ring_sign(w, boot_ns);
	RING_TESTPOINT("resume.signed");
	forget_slots(w);
	RING_TESTPOINT("resume.cleared");
	/* What is stored from now on must not be seen before an announcement that covers
	 * it, as in ring_next_block(); the one of the life before was its own. */
	ring_announce(&w->hdr->intent, w->announced);
	RING_TESTPOINT("resume.announced");
	ring_put_incarnation(w, &stamp);
	RING_TESTPOINT("resume.published");
}

/* What the crash left lying about. */
static void tidy(struct ring_writer *w, uint64_t boot_ns)
{
	struct stat st;

	unlinkat(w->dirfd, w->temp_name, 0);
	if (!fstatat(w->dirfd, w->prev_name, &st, AT_SYMLINK_NOFOLLOW))
		w->prev_deadline = boot_ns + RING_PREV_CRASHED_NS;
}

static int take_over(struct ring_writer *w, const struct ring_geometry *g)
{
	struct past p = { 0 };
	int err = ring_map(w, g);

	if (err)
		return err;
	if (!recall(w, &p))
		return -EBADMSG;
	err = dict_resume(&w->dict, w->map + RING_DATA_OFF + g->data_bytes,
			  g->half_bytes, (p.tail - 1) >> w->shift);
	if (!err)
		remember(w, &p);
	return err;
}

int ring_resume(struct ring_writer *w, const struct ring_writer_options *o,
		const struct ring_geometry *g, struct ring_predecessor *old,
		uint64_t boot_ns)
{
	int err;

	if (old->fd >= 0)
		ring_prev_untwin(w);
	if (!resumable(o, g, old) || !set_lock(old->fd, F_WRLCK))
		return 0;
	RING_TESTPOINT("resume.locked");
	w->fd = old->fd;
	err = take_over(w, g);
	if (err) {
		ring_unmap(w);
		set_lock(w->fd, F_UNLCK); /* it stays open, as PATH.prev */
		w->fd = -1;
		return err == -EBADMSG ? 0 : err;
	}
	old->fd = -1;
	tidy(w, boot_ns);
	go_on(w, boot_ns);
	return 1;
}
