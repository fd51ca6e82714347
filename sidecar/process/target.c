/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of a process while it is read, and the careful ways of opening what belongs to
 * it. */
#include "sidecar/process/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "sidecar/clock/clock.h"

#define EXEC_TRIES	5			/* a millisecond each */
#define THREADS_TRIED	4096

uint64_t door_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

int64_t thread_cpu_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
		return 0;
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

int read_whole(int dirfd, const char *name, char *buf, size_t cap)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, buf + n, cap - n);
		if (got > 0)
			n += got;
	} while (n < cap && (got > 0 || (got < 0 && errno == EINTR)));
	if (got < 0)
		got = -errno;
	close(fd);
	return got < 0 && !n ? (int)got : (int)n;
}

static int read_stat(int dirfd, struct proc_stat *st)
{
	char text[2048];
	int n = read_whole(dirfd, "stat", text, sizeof(text));

	if (n <= 0)
		return n == -EACCES || n == -EPERM ? -EACCES : -ESRCH;
	return stat_parse(text, n, st) ? -ESRCH : 0;
}

/* The leader has exited and other threads run on: its maps and environ are empty, theirs
 * are not. */
static int open_live_thread(struct target *t)
{
	int task = openat(t->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    err = -ESRCH;
	DIR *d = task < 0 ? NULL : fdopendir(task);
	struct dirent *e;

	if (!d) {
		if (task >= 0)
			close(task);
		return -ESRCH;
	}
	for (int tried = 0; err && tried < THREADS_TRIED && (e = readdir(d)); tried++) {
		struct proc_stat st;
		int fd;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		fd = openat(task, e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!read_stat(fd, &st) && st.state != 'Z' && st.state != 'X') {
			t->base = fd;
			t->stat = st;
			t->leader_gone = true;
			err = 0;
		} else {
			close(fd);
		}
	}
	closedir(d);
	return err;
}

static int open_checked(struct target *t, uint64_t start_ns)
{
	int err = read_stat(t->dir, &t->stat);

	if (err)
		return err;
	if (t->stat.start_ticks != stat_ticks(start_ns, clock_timens_boot_offset()))
		return -ESRCH;
	t->base = t->dir;
	if (t->stat.state == 'Z' || t->stat.state == 'X')
		err = t->stat.threads > 1 ? open_live_thread(t) : -ESRCH;
	return err;
}

int target_open(struct target *t, uint32_t pid, uint64_t start_ns)
{
	char name[32];
	int err;

	*t = (struct target){ .dir = -1, .base = -1, .root = -1 };
	t->cpu_limit_ns = thread_cpu_ns() + READ_CPU_NS;
	snprintf(name, sizeof(name), "/proc/%u", pid);
	t->dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0)
		return -ESRCH;
	err = open_checked(t, start_ns);
	for (int i = 0; !err && stat_in_exec(&t->stat) && i < EXEC_TRIES; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		err = read_stat(t->base, &t->stat);
	}
	if (!err && stat_in_exec(&t->stat))
		err = -EAGAIN;
	t->begin_ns = clock_boot_now();
	if (err)
		target_close(t);
	return err;
}

int target_check(const struct target *t)
{
	struct proc_stat now;
	int err = read_stat(t->base, &now);

	if (err)
		return err;
	/* What was read of a process that is dying is right, if incomplete: its addresses
	 * are zero now. */
	if (now.state == 'Z' || now.state == 'X')
		return now.start_ticks == t->stat.start_ticks ? 0 : -ESRCH;
	return stat_same_image(&t->stat, &now) ? 0 : -EAGAIN;
}

void target_close(struct target *t)
{
	if (t->root >= 0)
		close(t->root);
	if (t->base >= 0 && t->base != t->dir)
		close(t->base);
	if (t->dir >= 0)
		close(t->dir);
	t->root = t->base = t->dir = -1;
}

int target_root(struct target *t)
{
	if (t->root < 0)
		t->root = openat(t->base, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return t->root < 0 ? -errno : t->root;
}

int stat_quick(int dirfd, const char *name, int flags, struct stat *st)
{
	struct statx x;

	if (statx(dirfd, name, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS, &x))
		return -errno;
	memset(st, 0, sizeof(*st));
	st->st_mode = x.stx_mode;
	st->st_ino = x.stx_ino;
	st->st_size = x.stx_size;
	st->st_nlink = x.stx_nlink;
	st->st_uid = x.stx_uid;
	st->st_dev = makedev(x.stx_dev_major, x.stx_dev_minor);
	st->st_mtim.tv_sec = x.stx_mtime.tv_sec;
	st->st_mtim.tv_nsec = x.stx_mtime.tv_nsec;
	return 0;
}

int64_t mtime_ns(const struct stat *st)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)st->st_mtim.tv_sec, (int64_t)1000000000,
				   &ns) ||
	    __builtin_add_overflow(ns, (int64_t)st->st_mtim.tv_nsec, &ns))
		return 0;
	return ns;
}

int open_below(int root, const char *name, int flags)
{
	struct open_how how = {
		.flags = flags | O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	while (*name == '/')
		name++;
	if (!*name)
		return -EINVAL;
	fd = syscall(SYS_openat2, root, name, &how, sizeof(how));
	/* Before 5.6 an absolute link leads into our own tree; every caller checks what
	 * it got. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root, name, flags | O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int reopen_regular(int path_fd, const struct stat *st)
{
	char name[32];
	int fd;

	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

size_t true_path(struct target *t, char *path, size_t n, const struct stat *st)
{
	char name[READ_PATH_MAX + 1];
	struct stat found;
	int root;

	if (!path_has_deleted_mark(path, n))
		return n;
	root = target_root(t);
	if (root >= 0 && n <= READ_PATH_MAX && path[0] == '/' && n > 1) {
		memcpy(name, path + 1, n - 1);
		name[n - 1] = 0;
		if (!stat_quick(root, name, AT_SYMLINK_NOFOLLOW, &found) &&
		    found.st_ino == st->st_ino && found.st_dev == st->st_dev)
			return n;
	}
	return n - strlen(DELETED_MARK);
}
