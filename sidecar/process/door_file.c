/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the files behind mappings.  Names are only hints: what is opened must be the very
 * file that is mapped, a regular one, and opening it must not block (a container may put
 * a FIFO under the name).
 */
#include "sidecar/process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sidecar/clock/clock.h"

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif
#define VDSO_MAX (64u << 10)
#define MTIME_SLACK_NS 2000000000ll

/* What was found, and whether it may be taken. */
struct opened { int fd; struct stat st; enum answer_how how; };

static bool same_device(const struct door_request *r, const struct stat *st)
{
	return major(st->st_dev) == r->dev_major && minor(st->st_dev) == r->dev_minor;
}

/* These show another device to stat than to maps; there the inode alone must do. */
static bool device_is_vague(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) &&
	       (fs.f_type == (__typeof__(fs.f_type))BTRFS_SUPER_MAGIC ||
		fs.f_type == (__typeof__(fs.f_type))OVERLAYFS_SUPER_MAGIC);
}

static bool is_wanted(const struct door_request *r, int fd, const struct stat *st,
		      enum answer_how how)
{
	if (!r->inode)		/* known by build id only: the worker compares that */
		return how != BY_OWN_PATH || (st->st_uid == 0 && r->build_id[0]);
	if (how == BY_MAP_FILES && !same_device(r, st))
		return true;
	if (st->st_ino != r->inode)
		return false;
	return same_device(r, st) || device_is_vague(fd);
}

/* Takes over path_fd. */
static int accept_file(const struct door_request *r, int path_fd, enum answer_how how,
		       struct opened *o)
{
	int err;

	if (path_fd < 0)
		return path_fd;
	err = stat_quick(path_fd, "", AT_EMPTY_PATH, &o->st);
	if (!err && !is_wanted(r, path_fd, &o->st, how))
		err = -ENOENT;
	if (!err)
		err = reopen_regular(path_fd, &o->st);
	close(path_fd);
	if (err < 0)
		return err;
	o->fd = err;
	o->how = how;
	return 0;
}

static int by_map_files(struct target *t, const struct door_request *r, struct opened *o)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, r->map_start,
		 r->map_end);
	fd = openat(t->dir, name, O_PATH | O_CLOEXEC);
	return accept_file(r, fd < 0 ? -errno : fd, BY_MAP_FILES, o);
}

static int by_exe(struct target *t, const struct door_request *r, struct opened *o)
{
	int fd;

	if (!r->inode)
		return -ENOENT;
	fd = openat(t->base, "exe", O_PATH | O_CLOEXEC);
	return accept_file(r, fd < 0 ? -errno : fd, BY_EXE, o);
}

static int by_target_path(struct target *t, const struct door_request *r,
			  struct opened *o)
{
	int root = target_root(t);

	if (root < 0 || r->path[0] != '/')
		return -ENOENT;
	return accept_file(r, open_below(root, r->path, 0), BY_TARGET_PATH, o);
}

static int by_own_path(const struct door_request *r, struct opened *o)
{
	int fd;

	if (r->path[0] != '/')
		return -ENOENT;
	fd = open(r->path, O_PATH | O_CLOEXEC);
	return accept_file(r, fd < 0 ? -errno : fd, BY_OWN_PATH, o);
}

static int find_file(struct target *t, const struct door_request *r, struct opened *o)
{
	if (!by_map_files(t, r, o) || !by_exe(t, r, o) || !by_target_path(t, r, o))
		return 0;
	return by_own_path(r, o);
}

static void put_opened(struct answer_writer *w, const struct opened *o)
{
	struct answer_file f = {
		.inode = o->st.st_ino,
		.size = o->st.st_size,
		.mtime_ns = mtime_ns(&o->st),
		.dev_major = major(o->st.st_dev),
		.dev_minor = minor(o->st.st_dev),
		.uid = o->st.st_uid,
		.nlink = o->st.st_nlink,
		.how = o->how,
	};

	answer_put(w, TAG_FILE_ID, &f, sizeof(f));
}

int door_open_file(struct door_scratch *s, struct answer_writer *w,
		   const struct door_request *r, int *fd)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	struct opened o = { .fd = -1 };
	struct target t;
	int err = r->flags & DOOR_F_GONE ? -ESRCH : target_open(&t, r->pid, r->start_ns);

	(void)s;
	if (err) {
		h->begin_ns = clock_boot_now();
		err = by_own_path(r, &o);
	} else {
		h->begin_ns = t.begin_ns;
		err = find_file(&t, r, &o);
		/* After an exec the range may belong to another file: only a checked
		 * identity stands. */
		if (!err && target_check(&t) && !r->inode)
			err = -ESRCH;
		target_close(&t);
	}
	if (err) {
		if (o.fd >= 0)
			close(o.fd);
		return err;
	}
	put_opened(w, &o);
	*fd = o.fd;
	return 0;
}

/* --- separate debug files: whatever is found, the worker compares build id or checksum
 * --- */

static int try_debug(int root, const char *dir, const char *sub, const char *name,
		     struct door_scratch *s, const struct door_request *r,
		     struct opened *o)
{
	int n = snprintf(s->path, sizeof(s->path), "%s%s%s", dir, sub, name), fd, err;

	if (root < 0 || n < 0 || n > READ_PATH_MAX)
		return -ENOENT;
	fd = open_below(root, s->path, 0);
	if (fd < 0)
		return fd;
	err = stat_quick(fd, "", AT_EMPTY_PATH, &o->st);
	/* A link to itself is no debug file. */
	if (!err && r->inode && o->st.st_ino == r->inode && same_device(r, &o->st))
		err = -ENOENT;
	if (!err)
		err = reopen_regular(fd, &o->st);
	close(fd);
	if (err < 0)
		return err;
	o->fd = err;
	o->how = BY_TARGET_PATH;
	return 0;
}

static int debug_below(int root, struct door_scratch *s, const struct door_request *r,
		       struct opened *o)
{
	const char *slash = strrchr(r->path, '/');
	char *dir = s->line;
	char id[64];
	int n;

	if (strlen(r->build_id) > 2) {
		snprintf(id, sizeof(id), "%.2s/%s.debug", r->build_id, r->build_id + 2);
		if (!try_debug(root, "/usr/lib/debug", "/.build-id/", id, s, r, o))
			return 0;
	}
	if (!r->link[0] || strchr(r->link, '/') || !slash)
		return -ENOENT;
	n = slash - r->path;
	snprintf(dir, sizeof(s->line), "%.*s", n, r->path);
	if (!try_debug(root, dir, "/", r->link, s, r, o) ||
	    !try_debug(root, dir, "/.debug/", r->link, s, r, o))
		return 0;
	snprintf(dir, sizeof(s->line), "/usr/lib/debug%.*s", n, r->path);
	return try_debug(root, dir, "/", r->link, s, r, o);
}

int door_open_debug(struct door_scratch *s, struct answer_writer *w,
		    const struct door_request *r, int *fd)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	struct opened o = { .fd = -1 };
	struct target t;
	int err = -ENOENT, own;

	if (!(r->flags & DOOR_F_GONE) && !target_open(&t, r->pid, r->start_ns)) {
		err = debug_below(target_root(&t), s, r, &o);
		target_close(&t);
	}
	h->begin_ns = clock_boot_now();
	if (err) {
		own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = debug_below(own, s, r, &o);
		if (own >= 0)
			close(own);
	}
	if (err)
		return err;
	put_opened(w, &o);
	*fd = o.fd;
	return 0;
}

/* --- perf-PID.map --- */

/* Written by the process itself (or by root for it), in its life: not left behind by a
 * namesake. */
static bool map_belongs(const struct proc_status *ps, const struct stat *st,
			uint64_t start_ns)
{
	int64_t age = (int64_t)(clock_boot_now() - start_ns);
	bool owner = st->st_uid == 0;

	for (int i = 0; i < 4; i++)
		owner |= st->st_uid == ps->uid[i];
	return owner && mtime_ns(st) >= clock_real_now() - age - MTIME_SLACK_NS;
}

static int find_perf_map(struct target *t, struct door_scratch *s,
			 const struct door_request *r, struct opened *o)
{
	struct proc_status ps;
	char name[64];
	int n = read_whole(t->dir, "status", s->text, sizeof(s->text)), root, fd, err;

	if (n <= 0 || status_parse(s->text, n, &ps))
		return -ENOENT;
	root = target_root(t);
	if (root < 0)
		return root;
	snprintf(name, sizeof(name), "/tmp/perf-%u.map", ps.ns_pid);
	fd = open_below(root, name, O_NOFOLLOW);
	if (fd < 0)
		return fd;
	err = stat_quick(fd, "", AT_EMPTY_PATH, &o->st);
	if (!err && !map_belongs(&ps, &o->st, r->start_ns))
		err = -EPERM;
	if (!err)
		err = reopen_regular(fd, &o->st);
	close(fd);
	if (err < 0)
		return err;
	o->fd = err;
	o->how = BY_TARGET_PATH;
	return 0;
}

int door_open_perf_map(struct door_scratch *s, struct answer_writer *w,
		       const struct door_request *r, int *fd)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	struct opened o = { .fd = -1 };
	struct target t;
	int err = target_open(&t, r->pid, r->start_ns);

	if (err)
		return err;
	h->begin_ns = t.begin_ns;
	err = find_perf_map(&t, s, r, &o);
	if (!err && target_check(&t)) {
		close(o.fd);
		err = -ESRCH;
	}
	target_close(&t);
	if (err)
		return err;
	put_opened(w, &o);
	*fd = o.fd;
	return 0;
}

/* --- vDSO --- */

static int own_vdso_line(void *arg, const struct maps_line *l)
{
	struct maps_line *out = arg;

	if (l->path_len != 6 || memcmp(l->path, "[vdso]", 6))
		return 0;
	*out = *l;
	return 1;
}

/* Copies our own image when it has the size that is asked for: it is the kernel's, never
 * tampered with. */
static int own_vdso(struct door_scratch *s, size_t n)
{
	struct maps_line found = { 0 };
	struct maps_stream stream = { .fn = own_vdso_line,
				      .arg = &found,
				      .buf = s->line };
	int got = read_whole(AT_FDCWD, "/proc/self/maps", s->env, sizeof(s->env));

	if (got <= 0)
		return -ENOENT;
	maps_stream_feed(&stream, s->env, got);
	if (found.end - found.start != n || found.start != getauxval(AT_SYSINFO_EHDR) ||
	    n > VDSO_MAX)
		return -ENOENT;
	memcpy(s->text, (const void *)(uintptr_t)found.start, n);
	return 0;
}

static int target_vdso(struct door_scratch *s, struct answer_head *h,
		       const struct door_request *r)
{
	uint64_t n = r->map_end - r->map_start;
	struct target t;
	int err = target_open(&t, r->pid, r->start_ns), fd;

	if (err)
		return err;
	h->begin_ns = t.begin_ns;
	fd = openat(t.base, "mem", O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	if (!err && pread(fd, s->text, n, (off_t)r->map_start) != (ssize_t)n)
		err = -EIO;
	if (fd >= 0)
		close(fd);
	if (!err)
		err = target_check(&t);
	target_close(&t);
	return err;
}

static int sealed_memory(const char *name, const void *data, size_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, data, n) != (ssize_t)n)
		err = -EIO;
	else if (fcntl(fd, F_ADD_SEALS,
		       F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int door_open_vdso(struct door_scratch *s, struct answer_writer *w,
		   const struct door_request *r, int *fd)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	uint64_t n = r->map_end - r->map_start;
	struct answer_file f = { .size = n, .how = BY_MEMORY };
	int err = -ENOENT;

	if (r->map_end <= r->map_start || n > VDSO_MAX)
		return -EINVAL;
	h->begin_ns = clock_boot_now();
	if (r->flags & DOOR_F_OWN_VDSO)
		err = own_vdso(s, n);
	if (err)
		err = target_vdso(s, h, r);
	if (err)
		return err;
	err = sealed_memory("ringside-vdso", s->text, n);
	if (err < 0)
		return err;
	answer_put(w, TAG_FILE_ID, &f, sizeof(f));
	*fd = err;
	return 0;
}
