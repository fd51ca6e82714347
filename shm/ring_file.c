/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file: the checks at its door, and the two ways to read it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shm/reader_state.h"
#include "shm/ring_atomic.h"

static _Thread_local char error_text[4608];

const char *ringside_open_error(void)
{
	return error_text;
}

int ring_open_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error_text, sizeof(error_text), fmt, ap);
	va_end(ap);
	return err;
}

/* --- the door ----------------------------------------------------------------------- */

static int fail_open(int err, const char *path)
{
	switch (err) {
	case -ENOENT:
		return ring_open_fail(
			err,
			"open: on %s: no ring there; start ringsided, or name its ring "
			"(--ring, RINGSIDE_RING)",
			path);
	case -EACCES:
		return ring_open_fail(
			err,
			"open: on %s: permission denied; join the group that owns it",
			path);
	case -ELOOP:
		return ring_open_fail(
			-EPERM,
			"open: on %s: a symbolic link is not followed; name the file "
			"itself",
			path);
	default:
		return ring_open_fail(err, "open: on %s: %s", path, strerror(-err));
	}
}

/* Who may have written this?  Whoever may is believed in nothing but bytes, yet a
 * stranger's ring is refused: it would be taken for the sidecar's word. */
static int check_owner(const struct stat *st, const struct ringside_options *o)
{
	if (!S_ISREG(st->st_mode))
		return ring_open_fail(-EBADMSG,
				      "open: on %s: not a regular file; name a ring",
				      o->path);
	if (st->st_uid != 0 && st->st_uid != geteuid() &&
	    !(o->has_owner && st->st_uid == o->owner))
		return ring_open_fail(
			-EPERM,
			"open: on %s: owned by uid %lu, neither root nor you; if that "
			"is right, say so (--owner %lu)",
			o->path, (unsigned long)st->st_uid, (unsigned long)st->st_uid);
	if (st->st_mode & 022)
		return ring_open_fail(
			-EPERM,
			"open: on %s: others may write it (mode %o), so it proves "
			"nothing; chmod go-w",
			o->path, (unsigned)(st->st_mode & 07777));
	return 0;
}

static int check_version(const struct ring_header *h, const struct ringside_options *o)
{
	if (memcmp(h->magic, RING_MAGIC, sizeof(h->magic)))
		return ring_open_fail(
			-EBADMSG, "open: on %s: not a ring (no magic); name another file",
			o->path);
	if (h->endian != RING_ENDIAN)
		return ring_open_fail(
			-ENOTSUP,
			"open: on %s: written on a machine of the other byte order; "
			"read it there",
			o->path);
	if (h->major != RING_MAJOR)
		return ring_open_fail(
			-ENOTSUP,
			"open: on %s: format %u.%u, this library reads %u.x; use the "
			"matching version of ringside",
			o->path, h->major, h->minor, RING_MAJOR);
	return 0;
}

static bool geometry_sound(const struct ring_header *h)
{
	uint64_t half = h->dict_bytes / 2;

	if (h->block_shift < RING_MIN_SHIFT || h->block_shift > RING_MAX_SHIFT ||
	    h->nblocks < RING_MIN_BLOCKS || h->nblocks > RING_MAX_BLOCKS ||
	    h->nblocks & (h->nblocks - 1) || h->max_payload != 1u << (h->block_shift - 2))
		return false;
	if (h->data_bytes != (uint64_t)h->nblocks << h->block_shift ||
	    h->data_bytes > RING_MAX_DATA || half < RING_MIN_HALF ||
	    half > RING_MAX_HALF || half % 4096 || h->dict_bytes % 2)
		return false;
	return h->header_bytes >= RING_HEADER_BYTES && h->data_off >= h->header_bytes &&
	       h->data_off % 4096 == 0 && h->dict_off % 4096 == 0 &&
	       h->data_off <= 1u << 24 && h->dict_off >= h->data_off + h->data_bytes &&
	       h->dict_off <= h->file_bytes &&
	       h->dict_bytes <= h->file_bytes - h->dict_off;
}

static int check_header(struct ring_file *f, const struct ring_header *h,
			const struct stat *st, const struct ringside_options *o)
{
	int err = check_version(h, o);

	if (err)
		return err;
	if ((uint64_t)st->st_size != h->file_bytes)
		return ring_open_fail(
			-EBADMSG,
			"open: on %s: %llu bytes long, its header says %llu: "
			"truncated, or a copy that is not complete",
			o->path, (unsigned long long)st->st_size,
			(unsigned long long)h->file_bytes);
	if (!geometry_sound(h))
		return ring_open_fail(
			-EBADMSG, "open: on %s: its header contradicts itself: damaged",
			o->path);
	f->shift = h->block_shift;
	f->nblocks = h->nblocks;
	f->max_payload = h->max_payload;
	f->data_off = h->data_off;
	f->data_bytes = h->data_bytes;
	f->dict_off = h->dict_off;
	f->half_bytes = h->dict_bytes / 2;
	f->file_bytes = h->file_bytes;
	f->prev_final_seq = h->prev_final_seq;
	f->major = h->major;
	f->minor = h->minor;
	memcpy(f->uuid, h->uuid, sizeof(f->uuid));
	return 0;
}

/* Paranoid readers map page 0 too, for the kernel's eyes only: FUTEX_WAIT on a page that
 * is gone is an error code, not a signal. */
static int map_file(struct ring_file *f, const char *path)
{
	void *map;

	f->map_bytes = f->paranoid ? RING_PAGE0_BYTES : f->file_bytes;
	map = mmap(NULL, f->map_bytes, PROT_READ, MAP_SHARED, f->fd, 0);
	if (map == MAP_FAILED)
		return ring_open_fail(-errno,
				      "open: on %s: mmap: %s; try paranoid reading", path,
				      strerror(errno));
	f->map = map;
	return 0;
}

int ring_file_open(struct ring_file *f, const struct ringside_options *o)
{
	struct ring_header h;
	struct stat st;
	ssize_t n;
	int err;

	*f = (struct ring_file){ .fd = -1, .paranoid = o->paranoid };
	f->fd = open(o->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return fail_open(-errno, o->path);
	if (fstat(f->fd, &st)) {
		err = fail_open(-errno, o->path);
		goto out;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	err = check_owner(&st, o);
	if (err)
		goto out;
	n = pread(f->fd, &h, sizeof(h), 0);
	if (n != (ssize_t)sizeof(h)) {
		err = ring_open_fail(
			-EBADMSG, "open: on %s: too short for a ring; name another file",
			o->path);
		goto out;
	}
	err = check_header(f, &h, &st, o);
	if (!err)
		err = map_file(f, o->path);
out:
	if (err)
		ring_file_close(f);
	return err;
}

void ring_file_close(struct ring_file *f)
{
	if (f->map)
		munmap((void *)(uintptr_t)f->map, f->map_bytes);
	if (f->fd >= 0)
		close(f->fd);
	f->map = NULL;
	f->fd = -1;
}

/* --- reading ------------------------------------------------------------------------ */

static int read_fully(int fd, void *dst, size_t len, uint64_t off)
{
	ssize_t n;

	do
		n = pread(fd, dst, len, (off_t)off);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EBADMSG;
}

int ring_file_read(const struct ring_file *f, uint64_t off, void *dst, size_t len)
{
	if (off > f->file_bytes || len > f->file_bytes - off)
		return -EBADMSG;
	if (f->paranoid)
		return read_fully(f->fd, dst, len, off);
	ring_copy_out(dst, f->map + off, len);
	return 0;
}

int ring_file_pread_tail(const struct ring_file *f, uint64_t *tail)
{
	int err = read_fully(f->fd, tail, sizeof(*tail),
			     offsetof(struct ring_header, tail));

	ring_fence_copied();
	return err;
}

int ring_file_pread_intent(const struct ring_file *f, uint64_t *intent)
{
	ring_fence_copied();
	return read_fully(f->fd, intent, sizeof(*intent),
			  offsetof(struct ring_header, intent));
}

int ring_file_state(const struct ring_file *f, uint32_t *state)
{
	int err = 0;

	if (f->paranoid) {
		err = read_fully(f->fd, state, sizeof(*state),
				 offsetof(struct ring_header, state));
		ring_fence_copied();
	} else {
		*state = ring_state_load(&ring_file_header(f)->state);
	}
	return err;
}

int ring_file_check_size(const struct ring_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return -errno;
	return (uint64_t)st.st_size == f->file_bytes ? 0 : -EBADMSG;
}
