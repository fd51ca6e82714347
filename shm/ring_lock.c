/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RING.lock: writers exclude each other by a file of their own, 0600.  The ring itself
 * will not do: a reader may lock a file that it can open, and would keep the next writer
 * out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/ring_testpoint.h"
#include "shm/writer_state.h"

#define LOCK_FILE_BYTES	32		/* a pid, in words */

static _Thread_local char error_text[768];

const char *ring_writer_error(void)
{
	return error_text;
}

int ring_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error_text, sizeof(error_text), fmt, ap);
	va_end(ap);
	return err;
}

/* The holder's pid, as it wrote it; 0 unknown. */
static long holder_pid(int fd)
{
	char buf[LOCK_FILE_BYTES];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return 0;
	buf[n] = 0;
	return strtol(buf, NULL, 10);
}

/* In a directory that others may write, somebody may have planted a lock file of
 * his own, or moved or linked a file of ours here that is dear to us: a lock file is
 * short and has one name. */
static int lock_file_trusted(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & 077) && st->st_nlink == 1 &&
	       st->st_size < LOCK_FILE_BYTES;
}

static int write_pid(int fd)
{
	char buf[LOCK_FILE_BYTES];
	int n = snprintf(buf, sizeof(buf), "%ld\n", (long)getpid());

	RING_TESTPOINT("lock.taken");
	if (ftruncate(fd, 0) || pwrite(fd, buf, (size_t)n, 0) != n)
		return -errno;
	return 0;
}

/* 1: locked and still the file of that name; 0: try again; -errno. */
static int lock_once(struct ring_writer *w)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st, at_path;
	int fd;

	fd = openat(w->dirfd, w->lock_name,
		    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 && errno != ELOOP && errno != ENXIO && errno != EISDIR)
		return -errno;
	if (fd < 0 || fstat(fd, &st) || !lock_file_trusted(&st)) {
		if (fd >= 0)
			close(fd);
		return unlinkat(w->dirfd, w->lock_name, 0) && errno != ENOENT ? -errno
									      : 0;
	}
	RING_TESTPOINT("lock.opened");
	if (fcntl(fd, F_OFD_SETLK, &fl)) {
		int err = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;

		w->lock_fd = fd;	/* the caller reads the holder's pid */
		return err;
	}
	if (fstatat(w->dirfd, w->lock_name, &at_path, AT_SYMLINK_NOFOLLOW) ||
	    at_path.st_ino != st.st_ino || at_path.st_dev != st.st_dev) {
		close(fd);
		return 0;
	}
	w->lock_fd = fd;
	return 1;
}

int ring_lock_take(struct ring_writer *w)
{
	int err = 0;

	for (int tries = 0; tries < 8 && !err; tries++)
		err = lock_once(w);
	if (err == -EBUSY) {
		long pid = holder_pid(w->lock_fd);

		return ring_fail(
			err,
			"lock: on %s: another writer holds it (pid %ld); stop that one or "
			"choose another ring",
			w->lock_name, pid);
	}
	if (err <= 0)
		return ring_fail(err ? err : -EPERM,
				 "lock: on %s: %s; use a directory that only the "
				 "writer may write",
				 w->lock_name,
				 err ? strerror(-err) : "somebody keeps replacing it");
	err = write_pid(w->lock_fd);
	if (err)
		return ring_fail(err, "lock: on %s: %s; free some room", w->lock_name,
				 strerror(-err));
	return 0;
}
