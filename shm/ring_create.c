/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring is born complete: temporary name, every page allocated, locked while nobody can
 * reach it, formatted, and only then renamed into place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "shm/ring_atomic.h"
#include "shm/ring_testpoint.h"
#include "shm/ring_time.h"
#include "shm/writer_state.h"

#define TMPFS_MAGIC_NUMBER	0x01021994
#define RAMFS_MAGIC_NUMBER	0x858458f6
#define DEFAULT_SHIFT		16

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* Sizes go up to the next legal one: a power of two of blocks, halves of whole 64 KiB. */
static int choose_geometry(struct ring_geometry *g, const struct ring_writer_options *o)
{
	uint64_t block = o->block_bytes ? o->block_bytes : 1u << DEFAULT_SHIFT;

	for (g->shift = RING_MIN_SHIFT; 1ull << g->shift < block; g->shift++)
		if (g->shift == RING_MAX_SHIFT)
			return -EINVAL;
	if (o->ring_bytes > RING_MAX_DATA || o->dict_bytes > 2ull * RING_MAX_HALF)
		return -EINVAL;
	/* data_bytes must be whole 64 KiB too, so small blocks come in larger numbers */
	for (g->nblocks = RING_MIN_BLOCKS;
	     (uint64_t)g->nblocks << g->shift < o->ring_bytes ||
	     (uint64_t)g->nblocks << g->shift < RING_ALIGN_FILE;
	     g->nblocks *= 2)
		if (g->nblocks == RING_MAX_BLOCKS)
			return -EINVAL;
	g->data_bytes = (uint64_t)g->nblocks << g->shift;
	g->half_bytes =
		round_up(o->dict_bytes / 2 + (o->dict_bytes & 1), RING_ALIGN_FILE);
	if (g->half_bytes < RING_MIN_HALF)
		g->half_bytes = RING_MIN_HALF;
	g->file_bytes = RING_DATA_OFF + g->data_bytes + 2 * g->half_bytes;
	return 0;
}

/* --- place -------------------------------------------------------------------------- */

static int open_dir(struct ring_writer *w, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	struct statfs fs;
	char dir[4096];
	int n;

	if (!*base || strlen(base) >= sizeof(w->name))
		return ring_fail(
			-EINVAL,
			"create: on %s: not the name of a file; use DIRECTORY/NAME",
			path);
	if (slash && slash != path)
		n = snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	else
		n = snprintf(dir, sizeof(dir), "%s", slash ? "/" : ".");
	if (n < 0 || (size_t)n >= sizeof(dir))
		return ring_fail(-ENAMETOOLONG,
				 "create: path too long; use a shorter one");
	snprintf(w->path, sizeof(w->path), "%s", path);
	snprintf(w->name, sizeof(w->name), "%s", base);
	snprintf(w->prev_name, sizeof(w->prev_name), "%s.prev", base);
	snprintf(w->lock_name, sizeof(w->lock_name), "%s.lock", base);
	snprintf(w->temp_name, sizeof(w->temp_name), ".%s.new", base);
	w->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dirfd < 0 && errno == ENOENT && !mkdir(dir, 0755))
		w->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dirfd < 0)
		return ring_fail(
			-errno,
			"create: on %s: %s; make the directory, writable by this user",
			dir, strerror(errno));
	if (!fstatfs(w->dirfd, &fs))
		w->on_tmpfs = fs.f_type == TMPFS_MAGIC_NUMBER ||
			      (unsigned long)fs.f_type == RAMFS_MAGIC_NUMBER;
	return 0;
}

/* --- room --------------------------------------------------------------------------- */

/* Where the file system has no fallocate: writing is the other way to own every page. */
static int allocate_by_writing(int fd, uint64_t bytes)
{
	static const uint8_t zeroes[65536];

	for (uint64_t at = 0; at < bytes; at += sizeof(zeroes))
		if (pwrite(fd, zeroes, sizeof(zeroes), (off_t)at) !=
		    (ssize_t)sizeof(zeroes))
			return errno ? -errno : -ENOSPC;
	return 0;
}

static int allocate(int fd, uint64_t bytes)
{
	int n;

	do
		n = fallocate(fd, 0, 0, (off_t)bytes);
	while (n && errno == EINTR);
	if (!n)
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? allocate_by_writing(fd, bytes)
						      : -errno;
}

static uint64_t free_bytes(const struct ring_writer *w)
{
	struct statvfs v;

	if (fstatvfs(w->dirfd, &v))
		return 0;
	return (geteuid() ? v.f_bavail : v.f_bfree) * (uint64_t)v.f_frsize;
}

/* A full file system gives the previous rings back first: PATH.prev, then the one being
 * replaced, which only happens when that helps. */
static int allocate_or_free(struct ring_writer *w, struct ring_predecessor *old,
			    const struct ring_geometry *g)
{
	int err;

	RING_TESTPOINT("create.empty");
	err = allocate(w->fd, g->file_bytes);
	if (err == -ENOSPC) {
		ring_prev_remove(w);
		err = allocate(w->fd, g->file_bytes);
	}
	if (err == -ENOSPC && old->fd >= 0) {
		if (ftruncate(w->fd, 0))
			return -errno;
		if (free_bytes(w) + old->bytes > g->file_bytes) {
			ring_punch(old);
			err = allocate(w->fd, g->file_bytes);
		}
	}
	if (err)
		return ring_fail(
			err,
			"create: on %s: %s: the ring needs %llu bytes (%llu of records, %llu of "
			"dictionary), free are %llu; make the file system larger or the ring "
			"smaller (--ring-size, --dict-size)",
			w->path, strerror(-err), (unsigned long long)g->file_bytes,
			(unsigned long long)g->data_bytes,
			(unsigned long long)(2 * g->half_bytes),
			(unsigned long long)free_bytes(w));
	return 0;
}

static int open_temp(struct ring_writer *w)
{
	/* We hold RING.lock: a file of this name is left over from a crash, or
	 * planted. */
	RING_TESTPOINT("create.predecessor");
	unlinkat(w->dirfd, w->temp_name, 0);
	RING_TESTPOINT("create.no_temp");
	w->fd = openat(w->dirfd, w->temp_name,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (w->fd < 0)
		return ring_fail(
			-errno,
			"create: on %s: %s; is the directory writable for this user?",
			w->temp_name, strerror(errno));
	return 0;
}

/* Liveness: taken while nobody else can reach the file, dropped by the kernel whatever
 * kills us. */
static int lock_ring(struct ring_writer *w)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	RING_TESTPOINT("create.allocated");
	if (fcntl(w->fd, F_OFD_SETLK, &fl))
		return ring_fail(
			-errno, "lock: on %s: %s; use a file system with open-file locks",
			w->temp_name, strerror(errno));
	return 0;
}

/* --- format ------------------------------------------------------------------------- */

static void format(struct ring_writer *w, const struct ring_geometry *g,
		   const struct ring_predecessor *old, uint64_t boot_ns)
{
	struct ring_header *h = w->hdr;

	h->endian = RING_ENDIAN;
	h->major = RING_MAJOR;
	h->minor = RING_MINOR;
	h->header_bytes = RING_HEADER_BYTES;
	h->block_shift = g->shift;
	h->nblocks = g->nblocks;
	h->max_payload = 1u << (g->shift - 2);
	RING_TESTPOINT("create.half_formatted");
	h->data_off = RING_DATA_OFF;
	h->data_bytes = g->data_bytes;
	h->dict_off = RING_DATA_OFF + g->data_bytes;
	h->dict_bytes = 2 * g->half_bytes;
	h->file_bytes = g->file_bytes;
	if (getrandom(h->uuid, sizeof(h->uuid), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(h->uuid))
		memcpy(h->uuid, &boot_ns, sizeof(boot_ns));
	ring_boot_id(h->boot_id);
	memcpy(h->prev_uuid, old->uuid, sizeof(h->prev_uuid));
	h->prev_final_seq = old->final_seq;
	ring_sign(w, boot_ns);
}

int ring_map(struct ring_writer *w, const struct ring_geometry *g)
{
	w->map = mmap(NULL, g->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (w->map == MAP_FAILED) {
		w->map = NULL;
		return ring_fail(
			-errno,
			"create: on %s: mmap of %llu bytes: %s; make the ring smaller",
			w->path, (unsigned long long)g->file_bytes, strerror(errno));
	}
	w->map_bytes = g->file_bytes;
	w->hdr = (struct ring_header *)(void *)w->map;
	w->data = w->map + RING_DATA_OFF;
	w->data_mask = g->data_bytes - 1;
	w->shift = g->shift;
	w->nblocks = g->nblocks;
	w->max_payload = 1u << (g->shift - 2);
	w->process_limit = (1u << g->shift) / 10;
	w->scratch = calloc(1, w->max_payload + 16);
	w->rows = calloc(1, RING_STATUS_BYTES);
	if (!w->scratch || !w->rows)
		return ring_fail(-ENOMEM, "create: on %s: out of memory", w->path);
	return 0;
}

void ring_unmap(struct ring_writer *w)
{
	dict_fini(&w->dict);
	if (w->map)
		munmap(w->map, w->map_bytes);
	free(w->scratch);
	free(w->rows);
	w->map = w->scratch = w->rows = NULL;
	w->dict = (struct dict){ 0 };
}

/* The first block, and after a predecessor the record that says so. */
static void first_records(struct ring_writer *w, bool replaces, uint64_t boot_ns)
{
	struct ring_stamp stamp = { .boot_ns = boot_ns };

	stamp.wall_ns = (int64_t)ring_clock_ns(CLOCK_REALTIME);
	w->last = stamp;
	ring_first_block(w);
	if (replaces)
		ring_put_incarnation(w, &stamp);
	else
		ring_writer_publish(w);
}

/* --- create, close ------------------------------------------------------------------ */

mode_t ring_mode(const struct ring_writer_options *o)
{
	return (o->mode ? o->mode : 0640) & 07777;
}

static int give_away(struct ring_writer *w, const struct ring_writer_options *o)
{
	mode_t mode = ring_mode(o);

	if (o->group != (gid_t)-1 && o->group != getegid() &&
	    fchown(w->fd, (uid_t)-1, o->group))
		return ring_fail(
			-errno,
			"create: on %s: group %lu: %s; needs CAP_CHOWN or membership",
			w->path, (unsigned long)o->group, strerror(errno));
	if (fchmod(w->fd, mode))
		return ring_fail(-errno, "create: on %s: mode %o: %s", w->path,
				 (unsigned)mode, strerror(errno));
	return 0;
}

/* From here on readers can find it. */
static int install(struct ring_writer *w, struct ring_predecessor *old, uint64_t boot_ns)
{
	if (old->fd >= 0)
		ring_prev_keep(w, old);
	RING_TESTPOINT("rename.before");
	if (renameat(w->dirfd, w->temp_name, w->dirfd, w->name))
		return ring_fail(
			-errno,
			"create: on %s: rename into place: %s; remove what stands there",
			w->path, strerror(errno));
	w->renamed = true;
	RING_TESTPOINT("rename.after");
	if (old->fd < 0) { /* somebody removed the ring, but not what was before it */
		w->prev_deadline = boot_ns + RING_PREV_CRASHED_NS;
		return 0;
	}
	ring_supersede(old);
	RING_TESTPOINT("supersede.after");
	w->prev_deadline = boot_ns + (old->closed ? RING_PREV_CLOSED_NS : RING_PREV_CRASHED_NS);
	return 0;
}

static int check_options(const struct ring_writer_options *o, struct ring_geometry *g)
{
	if (!o->path || !*o->path)
		return ring_fail(-EINVAL, "create: no path given; use --ring PATH");
	if (o->mode & 022)
		return ring_fail(
			-EINVAL,
			"create: on %s: mode %o lets others write: readers would refuse it; "
			"use 0640",
			o->path, (unsigned)o->mode);
	if (choose_geometry(g, o))
		return ring_fail(
			-EINVAL,
			"create: on %s: sizes out of range: blocks 4 KiB to 16 MiB, at most "
			"%u of them, dictionary at most %u MiB; see ringside-ring(5)",
			o->path, RING_MAX_BLOCKS, 2 * (RING_MAX_HALF >> 20));
	return 0;
}

/* A new file, which takes the place of what stands at the path. */
static int build(struct ring_writer *w, const struct ring_writer_options *o,
		 const struct ring_geometry *g, struct ring_predecessor *old,
		 uint64_t boot_ns)
{
	int err;

	if ((err = open_temp(w)) || (err = allocate_or_free(w, old, g)) ||
	    (err = lock_ring(w)) || (err = ring_map(w, g)) ||
	    (err = dict_init(&w->dict, w->map + RING_DATA_OFF + g->data_bytes,
			     g->half_bytes)))
		return err;
	w->seq = old->final_seq + 1;
	w->incarnation = old->incarnation + 1;
	RING_TESTPOINT("create.mapped");
	format(w, g, old, boot_ns);
	RING_TESTPOINT("create.formatted");
	first_records(w, old->fd >= 0, boot_ns);
	RING_TESTPOINT("create.stateless");
	ring_state_store(&w->hdr->state, RING_LIVE);
	RING_TESTPOINT("create.without_magic");
	ring_magic_store(w->hdr->magic, RING_MAGIC);
	RING_TESTPOINT("create.whole");
	if ((err = give_away(w, o)))
		return err;
	return install(w, old, boot_ns);
}

static int take_path(struct ring_writer *w, const struct ring_writer_options *o,
		     const struct ring_geometry *g, struct ring_predecessor *old)
{
	uint64_t boot_ns = ring_host_boot_ns(ring_timens_offset());
	int n;

	if ((n = open_dir(w, o->path)) || (n = ring_lock_take(w)) ||
	    (n = ring_predecessor_open(w, old)) ||
	    (n = ring_resume(w, o, g, old, boot_ns)))
		return n < 0 ? n : 0;
	return build(w, o, g, old, boot_ns);
}

int ring_writer_create(struct ring_writer **out, const struct ring_writer_options *o)
{
	struct ring_predecessor old = { .fd = -1 };
	struct ring_geometry g = { 0 };
	struct ring_writer *w;
	int err = check_options(o, &g);

	*out = NULL;
	if (err)
		return err;
	w = calloc(1, sizeof(*w));
	if (!w)
		return ring_fail(-ENOMEM, "create: on %s: out of memory", o->path);
	w->dirfd = w->fd = w->lock_fd = w->prev_fd = -1;
	err = take_path(w, o, &g, &old);
	ring_predecessor_close(&old);
	if (err) {
		ring_writer_close(w, false);
		return err;
	}
	*out = w;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void ring_writer_close(struct ring_writer *w, bool clean)
{
	if (!w)
		return;
	if (w->renamed) {
		ring_writer_publish(w);
		RING_TESTPOINT("close.published");
		if (clean)
			ring_state_store(&w->hdr->state, RING_CLOSED);
		RING_TESTPOINT("close.stated");
	} else if (w->fd >= 0) {
		unlinkat(w->dirfd, w->temp_name, 0);
	}
	ring_unmap(w);
	close_fd(w->fd);
	close_fd(w->prev_fd);
	close_fd(w->lock_fd);
	close_fd(w->dirfd);
	free(w);
}

bool ring_writer_on_tmpfs(const struct ring_writer *w)
{
	return w->on_tmpfs;
}

bool ring_writer_resumed(const struct ring_writer *w)
{
	return w->resumed;
}
