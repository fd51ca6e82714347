/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar/symbols/file_io.h"
#include "sidecar/symbols/uring_read.h"

struct file_io {
	struct uring_read *ring;
};

int file_io_create(struct file_io **out, enum symbols_io want)
{
	struct file_io *io = calloc(1, sizeof(*io));
	int err = 0;

	if (!io)
		return -ENOMEM;
	if (want != SYMBOLS_IO_PLAIN)
		err = uring_read_create(&io->ring, FILE_IO_BATCH);
	/* Containers often forbid it: then pread does the same, and SYM_INFO tells. */
	(void)err;
	*out = io;
	return 0;
}

void file_io_destroy(struct file_io *io)
{
	if (!io)
		return;
	uring_read_destroy(io->ring);
	free(io);
}

bool file_io_is_uring(const struct file_io *io)
{
	return io && io->ring;
}

/* From what is there already: short reads are completed, the end of the file is not an
 * error. */
static void read_on(struct file_read *r)
{
	while (r->got >= 0 && (size_t)r->got < r->len) {
		ssize_t n = pread(r->fd, (char *)r->buf + r->got, r->len - (size_t)r->got,
				  (off_t)(r->offset + (uint64_t)r->got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r->got = -errno;
		if (n <= 0)
			break;
		r->got += n;
	}
}

void file_io_batch(struct file_io *io, struct file_read *reads, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		reads[i].got = 0;
	/* One read gains nothing by the ring; several save the system calls, and the
	 * waits when cold. */
	if (file_io_is_uring(io) && n > 1)
		uring_read_batch(io->ring, reads, n);
	for (unsigned int i = 0; i < n; i++)
		read_on(&reads[i]);
}

/*
 * libc's fstat() is a newfstatat() with an empty path, which a filter cannot tell from
 * one with a path. On x86-64 and arm64 the kernel's struct is libc's.
 */
int file_stat(int fd, struct stat *st)
{
	return syscall(SYS_fstat, fd, st) ? -errno : 0;
}

int source_from_fd(struct source *s, struct file_io *io, int fd)
{
	struct stat st;
	int err = file_stat(fd, &st);

	if (err)
		return err;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*s = (struct source){ .io = io, .fd = fd, .size = (uint64_t)st.st_size };
	return 0;
}

void source_from_memory(struct source *s, const void *mem, size_t n)
{
	*s = (struct source){ .fd = -1, .mem = mem, .size = n };
}

ssize_t source_read_some(const struct source *s, uint64_t offset, void *buf, size_t len)
{
	struct file_read r = { .fd = s->fd, .buf = buf, .len = len, .offset = offset };

	if (offset >= s->size)
		return 0;
	if (len > s->size - offset)
		r.len = len = (size_t)(s->size - offset);
	if (s->fd < 0) {
		memcpy(buf, s->mem + offset, len);
		return (ssize_t)len;
	}
	for (int i = 0; i < 2; i++) {
		const struct window *w = &s->have[i];

		if (offset >= w->offset && offset - w->offset <= w->len &&
		    len <= w->len - (offset - w->offset)) {
			memcpy(buf, w->bytes + (offset - w->offset), len);
			return (ssize_t)len;
		}
	}
	file_io_batch(s->io, &r, 1);
	return r.got;
}

int source_read(const struct source *s, uint64_t offset, void *buf, size_t len)
{
	ssize_t got;

	if (offset > s->size || len > s->size - offset)
		return -ERANGE;
	if (!len)
		return 0;
	got = source_read_some(s, offset, buf, len);
	if (got < 0)
		return (int)got;
	return (size_t)got == len ? 0 : -ENODATA;
}

int source_load(const struct source *s, uint64_t offset, uint64_t len, uint64_t max,
		void **out)
{
	void *buf;
	int err;

	*out = NULL;
	if (len > max)
		return -EFBIG;
	if (offset > s->size || len > s->size - offset)
		return -ERANGE;
	buf = malloc(len ? (size_t)len : 1);
	if (!buf)
		return -ENOMEM;
	err = source_read(s, offset, buf, (size_t)len);
	if (err) {
		free(buf);
		return err;
	}
	*out = buf;
	return 0;
}
