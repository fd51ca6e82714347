/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the writer there, and what does the file hold?
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "shm/reader_state.h"
#include "shm/ring_atomic.h"
#include "shm/ring_time.h"

/* Ask with a read lock: a write lock would take a squatting reader's lock for a live
 * writer. */
static int lock_held(int fd)
{
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_GETLK, &fl))
		return -errno;
	return fl.l_type != F_UNLCK;
}

int ringside_liveness(struct ringside *r, struct ringside_liveness *out)
{
	struct { uint32_t state, incarnation; uint64_t heartbeat; int64_t started; } h;
	uint64_t now = ring_host_boot_ns(r->timens_offset);
	uint32_t pid;
	int held, err;

	/* Anew each time: another writer may have resumed this very file. */
	if ((err = ring_file_read(&r->f, offsetof(struct ring_header, state), &h,
				  sizeof(h))) ||
	    (err = ring_file_read(&r->f, offsetof(struct ring_header, writer_pid), &pid,
				  sizeof(pid))))
		return err;
	held = lock_held(r->f.fd);
	if (held < 0)
		return held;
	*out = (struct ringside_liveness){
		.alive = held, .closed = h.state == RING_CLOSED,
		.superseded = h.state == RING_SUPERSEDED || ring_path_moved(r, true),
		.writer_pid = pid, .incarnation = h.incarnation,
		.heartbeat_age_ns = now > h.heartbeat ? now - h.heartbeat : 0,
		.started_ns = h.started,
	};
	return 0;
}

/* --- what is held ------------------------------------------------------------------- */

/* Time of the first numbered record at or after pos in this block (first), or of the last
 * one; the number that follows the last.  The block's own time where there is none. */
static int scan_block(struct ringside *r, uint64_t block, bool first, int64_t *time_ns,
		      uint64_t *next_seq)
{
	uint64_t pos = block << r->f.shift, avail, w0, need;
	struct ring_stamp_wire stamp;
	struct ring_block b;
	const uint64_t *words;
	int n = ring_block_header(r, block, &b);

	if (n <= 0)
		return n;
	*time_ns = b.real_ns;
	*next_seq = b.first_seq;
	for (pos += RING_RECORD_BYTES(sizeof(b)); pos >> r->f.shift == block;
	     pos += need) {
		n = ring_view(r, pos, &words, &avail);
		if (n <= 0)
			break;
		w0 = ring_relaxed_load(words);
		need = RING_RECORD_BYTES(ring_word0_len(w0));
		if (need > avail || ring_word0_type(w0) == RING_T_PAD ||
		    need < 16 + sizeof(stamp))
			break;
		ring_copy_out(&stamp, words + 2, sizeof(stamp));
		*time_ns = stamp.real_ns;
		(*next_seq)++;
		if (first)
			break;
	}
	n = ring_intact(r, block);
	return n < 0 ? n : n;
}

static int held_range(struct ringside *r, struct ringside_geometry *out)
{
	uint64_t tail, intent, oldest, newest, seq;
	struct ring_block b;
	int n = ring_positions(r, &tail, &intent);

	if (n)
		return n;
	newest = tail ? (tail - 1) >> r->f.shift : 0;
	oldest = ring_oldest_block(intent, r->f.nblocks, 0);
	for (n = 0; !n && oldest <= newest;
	     oldest++) { /* a writer at work takes the very oldest */
		n = ring_block_header(r, oldest, &b);
		if (n > 0)
			n = scan_block(r, oldest, true, &out->oldest_ns, &seq);
	}
	if (n <= 0)
		return n;
	out->first_seq = b.first_seq;
	n = scan_block(r, newest, false, &out->newest_ns, &out->next_seq);
	if (n >= 0 && out->next_seq <= out->first_seq) {
		out->next_seq = out->first_seq;
		out->oldest_ns = out->newest_ns = 0;
	}
	return n < 0 ? n : 0;
}

int ringside_geometry(struct ringside *r, struct ringside_geometry *out)
{
	const struct ring_file *f = &r->f;
	struct ring_half_meta half[2];
	int err =
		ring_file_read(f, offsetof(struct ring_header, half), half, sizeof(half));

	if (err)
		return err;
	*out = (struct ringside_geometry){
		.major = f->major,
		.minor = f->minor,
		.block_bytes = 1u << f->shift,
		.nblocks = f->nblocks,
		.max_payload = f->max_payload,
		.data_bytes = f->data_bytes,
		.dict_bytes = 2 * f->half_bytes,
		.file_bytes = f->file_bytes,
		.dict_used_bytes = half[0].used + half[1].used,
	};
	snprintf(out->path, sizeof(out->path), "%s", r->path);
	return held_range(r, out);
}
