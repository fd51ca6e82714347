/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring that stands where a new one will: what the new one learns from it, how readers
 * are sent on, and how its memory comes back although a reader may hold it for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/ring_atomic.h"
#include "shm/ring_testpoint.h"
#include "shm/writer_state.h"

/* Geometry of a file that is a ring of ours; anything inconsistent is not. */
static bool header_sound(const struct ring_header *h, uint64_t file_bytes)
{
	if (h->endian != RING_ENDIAN || h->major != RING_MAJOR ||
	    h->file_bytes != file_bytes || h->prev_final_seq > UINT64_MAX / 4 ||
	    h->tail > UINT64_MAX / 4)
		return false;
	if (h->block_shift < RING_MIN_SHIFT || h->block_shift > RING_MAX_SHIFT ||
	    h->nblocks < RING_MIN_BLOCKS || h->nblocks > RING_MAX_BLOCKS ||
	    h->nblocks & (h->nblocks - 1))
		return false;
	return h->data_bytes == (uint64_t)h->nblocks << h->block_shift &&
	       h->data_off >= RING_HEADER_BYTES && h->data_off < file_bytes &&
	       h->data_bytes <= file_bytes - h->data_off && h->dict_off < file_bytes &&
	       h->dict_bytes <= file_bytes - h->dict_off;
}

static bool read_words(int fd, uint64_t off, void *out, size_t len)
{
	return pread(fd, out, len, (off_t)off) == (ssize_t)len;
}

/*
 * Number of the last published record: walk the block that holds tail - 1.  Where the
 * block breaks the rules, say more than there can have been: a gap is reported as lost, a
 * number used twice is a lie.
 */
static uint64_t final_seq(int fd, const struct ring_header *h)
{
	uint64_t block = (h->tail - 1) >> h->block_shift, pos = block << h->block_shift,
		 w[2], seq;
	struct ring_block b;
	uint32_t count = 0;

	if (!h->tail)
		return h->prev_final_seq;
	if (ring_number_possible(h, h->final_seq)) /* its memory may be gone already */
		return h->final_seq;
	if (!read_words(fd, h->data_off + (pos & (h->data_bytes - 1)) + 16, &b,
			sizeof(b)) ||
	    b.block_no != block || !ring_number_possible(h, b.first_seq))
		return h->prev_final_seq + h->tail / RING_MIN_RECORD;
	seq = b.first_seq;
	for (pos += RING_RECORD_BYTES(sizeof(b)); pos < h->tail;
	     pos += RING_RECORD_BYTES((uint32_t)w[0])) {
		if (!read_words(fd, h->data_off + (pos & (h->data_bytes - 1)), w,
				sizeof(w)) ||
		    !ring_word0_type(w[0]))
			return seq + (1u << h->block_shift) / 32;
		if (ring_word0_type(w[0]) != RING_T_PAD)
			count++;
	}
	return seq + count - 1;
}

/* 1: a ring of ours; 0: not one (or of another version). */
static int load(int fd, struct ring_predecessor *p)
{
	struct ring_header h;
	struct stat st;

	if (fstat(fd, &st) || !read_words(fd, 0, &h, sizeof(h)) ||
	    !header_sound(&h, (uint64_t)st.st_size))
		return 0;
	p->fd = fd;
	p->closed = h.state == RING_CLOSED;
	p->final_seq = final_seq(fd, &h);
	p->incarnation = h.incarnation;
	memcpy(p->uuid, h.uuid, sizeof(p->uuid));
	p->data_off = h.data_off;
	p->data_bytes = h.data_bytes;
	p->dict_off = h.dict_off;
	p->dict_bytes = h.dict_bytes;
	p->bytes = (uint64_t)st.st_blocks * 512;
	return 1;
}

static bool has_magic(int fd)
{
	char magic[8];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, RING_MAGIC, sizeof(magic));
}

/* A live writer without RING.lock: somebody removed the lock file under it. */
static bool writer_alive(int fd)
{
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_GETLK, &fl) && fl.l_type != F_UNLCK;
}

/* A ring of another user: planted, or somebody's who runs a writer there right now. */
static int check_foreign(const struct ring_writer *w, const struct stat *st)
{
	int fd, err = 0;

	if (!S_ISREG(st->st_mode))
		return 0;
	fd = openat(w->dirfd, w->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (has_magic(fd) && writer_alive(fd))
		err = ring_fail(
			-EBUSY,
			"create: on %s: a live writer of uid %lu holds it; stop that one or "
			"choose another ring",
			w->path, (unsigned long)st->st_uid);
	close(fd);
	return err;
}

/*
 * What stands at the path and is ours but no ring is somebody's mistake in --ring: refuse
 * to destroy it.  What belongs to somebody else was planted: it goes, and nothing in it
 * is believed.
 */
int ring_predecessor_open(struct ring_writer *w, struct ring_predecessor *p)
{
	struct stat st;
	int fd;

	p->fd = -1;
	if (fstatat(w->dirfd, w->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0
				       : ring_fail(-errno, "create: on %s: %s", w->path,
						   strerror(errno));
	if (st.st_uid != geteuid())
		return check_foreign(w, &st);
	fd = S_ISREG(st.st_mode) ? openat(w->dirfd, w->name,
					  O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
				 : -1;
	if (fd < 0 || !has_magic(fd)) {
		if (fd >= 0)
			close(fd);
		return ring_fail(
			-EEXIST,
			"create: on %s: something stands there that is not a ring; remove "
			"it or choose another path",
			w->path);
	}
	if (writer_alive(fd)) {
		close(fd);
		return ring_fail(
			-EBUSY,
			"create: on %s: a live writer holds it without %s; stop it",
			w->path, w->lock_name);
	}
	if (!load(fd, p))
		close(fd);
	return 0;
}

void ring_predecessor_close(struct ring_predecessor *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* By pwrite, not through a mapping: the file may be anything by now, and pwrite cannot
 * fault. */
static void write_at(int fd, uint64_t off, const void *v, size_t len)
{
	if (pwrite(fd, v, len, (off_t)off) != (ssize_t)len)
		return; /* no room to tell readers: they look at the path by themselves */
}

void ring_supersede(const struct ring_predecessor *p)
{
	uint32_t state = RING_SUPERSEDED;

	write_at(p->fd, offsetof(struct ring_header, state), &state, sizeof(state));
}

/*
 * First the announcement that every block is overwritten, then the holes: a reader that
 * copies zeroes finds itself lapped, as by any fast writer, and goes on to the new file
 * with the exact loss.
 */
void ring_punch(const struct ring_predecessor *p)
{
	uint64_t intent = UINT64_MAX / 2 >> RING_MAX_SHIFT;

	RING_TESTPOINT("punch.before");
	ring_supersede(p);
	RING_TESTPOINT("punch.superseded");
	/* Who dies here leaves the next writer a file without records to count. */
	write_at(p->fd, offsetof(struct ring_header, final_seq), &p->final_seq,
		 sizeof(p->final_seq));
	RING_TESTPOINT("punch.counted");
	write_at(p->fd, offsetof(struct ring_header, intent), &intent, sizeof(intent));
	RING_TESTPOINT("punch.announced");
	/* With the status page before them: what stays is page 0, which says all this. */
	fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, RING_PAGE0_BYTES,
		  (off_t)(p->data_off + p->data_bytes - RING_PAGE0_BYTES));
	RING_TESTPOINT("punch.data");
	fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->dict_off,
		  (off_t)p->dict_bytes);
	RING_TESTPOINT("punch.dictionary");
}

/* A writer died between giving the ring its second name and renaming the new one over
 * it: that is no ring of before, but the one at the path. */
static bool is_twin(const struct ring_writer *w, const struct stat *st)
{
	struct stat at_path;

	return !fstatat(w->dirfd, w->name, &at_path, AT_SYMLINK_NOFOLLOW) &&
	       at_path.st_ino == st->st_ino && at_path.st_dev == st->st_dev;
}

void ring_prev_untwin(struct ring_writer *w)
{
	struct stat st;

	if (!fstatat(w->dirfd, w->prev_name, &st, AT_SYMLINK_NOFOLLOW) &&
	    is_twin(w, &st))
		unlinkat(w->dirfd, w->prev_name, 0);
}

/* Whatever PATH.prev is: freed when it is a ring of ours, and gone. */
void ring_prev_remove(struct ring_writer *w)
{
	struct ring_predecessor p = { .fd = -1 };
	struct stat st;
	int fd = openat(w->dirfd, w->prev_name,
			O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0) {
		if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		    has_magic(fd) && !writer_alive(fd) && load(fd, &p))
			ring_punch(&p);
		close(fd);
	}
	RING_TESTPOINT("prev.before");
	unlinkat(w->dirfd, w->prev_name, 0);
	RING_TESTPOINT("prev.unlinked");
	if (w->prev_fd >= 0) {		/* the link may have failed, or been moved away */
		if (load(w->prev_fd, &p))
			ring_punch(&p);
		close(w->prev_fd);
		w->prev_fd = -1;
	}
	w->prev_deadline = 0;
}

/* The older one makes room; this one gets its second name while it still has the first,
 * so that there is never a moment without a ring at the path. */
void ring_prev_keep(struct ring_writer *w, struct ring_predecessor *p)
{
	ring_prev_remove(w);
	w->prev_fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	if (linkat(w->dirfd, w->name, w->dirfd, w->prev_name, 0))
		return; /* hard links forbidden: no post-mortem file; its memory still
			   goes */
}
