/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of files by descriptor, into own memory: never a mapping of a target's file, which could be
 * cut under us.  Worker only.  Reads go through io_uring when it is to be had, many files in one batch,
 * else through pread.
 */
#ifndef RINGSIDE_SYMBOLS_FILE_IO_H
#define RINGSIDE_SYMBOLS_FILE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "sidecar/symbols/symbols.h"

struct file_io;

/* Before the system-call filter: the ring is made, restricted to reads, and enabled here. */
int	file_io_create(struct file_io **out, enum symbols_io want);
void	file_io_destroy(struct file_io *io);
bool	file_io_is_uring(const struct file_io *io);	/* NULL: plain */

int	file_stat(int fd, struct stat *st);

struct file_read {
	int	 fd;
	void	*buf;
	size_t	 len;
	uint64_t offset;
	ssize_t	 got;		/* out: bytes, fewer than len only at the end of the file, or -errno */
};
#define FILE_IO_BATCH 64u
void	file_io_batch(struct file_io *io, struct file_read *reads, unsigned int n);

/* Where an ELF file's bytes are: a descriptor, or memory (vDSO, unpacked mini debuginfo, tests). */
struct window { uint64_t offset; size_t len; const uint8_t *bytes; };
struct source {
	struct file_io	*io;	/* may be NULL: plain */
	int		 fd;	/* -1: mem */
	const uint8_t	*mem;
	uint64_t	 size;
	struct window	 have[2];	/* parts of the file that were read before; borrowed */
};
/* The size is taken from the descriptor; regular files only. */
int	source_from_fd(struct source *s, struct file_io *io, int fd);
void	source_from_memory(struct source *s, const void *mem, size_t n);
/* All of [offset, offset + len), or -errno: -ERANGE outside the file, -ENODATA when it has shrunk. */
int	source_read(const struct source *s, uint64_t offset, void *buf, size_t len);
/* The same into fresh memory of at most max bytes (-EFBIG); free() it. */
int	source_load(const struct source *s, uint64_t offset, uint64_t len, uint64_t max, void **out);
/* As much as there is, up to len; bytes or -errno. */
ssize_t	source_read_some(const struct source *s, uint64_t offset, void *buf, size_t len);

#endif
