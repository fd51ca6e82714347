/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door to other processes: the only code that reads /proc/PID and opens a target's files.  Takes
 * requests, gives answers as flat bytes (plus at most one descriptor), so that they can be journaled and
 * replayed.  Runs on at most DOOR_THREADS helper threads, because a target can make any read of its
 * memory or files block for ever (userfaultfd, FUSE).  A request that takes more than DOOR_TIMEOUT_NS is
 * given up: its thread is written off, that pid is not read again, another thread takes its place; after
 * DOOR_THREADS such losses new processes stay unlabelled, and that is counted.
 *
 * Memory is read by /proc/PID/mem, never by process_vm_readv (which hangs on an unserved page).
 */
#ifndef RINGSIDE_DOOR_H
#define RINGSIDE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOOR_THREADS 4
#define DOOR_TIMEOUT_NS 1000000000ull

enum door_ask {
	DOOR_PROCESS	= 1,	/* stat, comm, exe, cgroup, environ, maps */
	DOOR_FILE	= 2,	/* open the file behind a mapping */
	DOOR_DEBUG	= 3,	/* open a separate debug file */
	DOOR_CGROUP	= 4,	/* cgroup only */
	DOOR_PERF_MAP	= 5,
	DOOR_VDSO	= 6,	/* bytes of the target's vDSO */
	DOOR_MAPS	= 7,	/* stat and maps only */
};

struct door_request {
	uint32_t	ask;			/* enum door_ask */
	uint32_t	pid;
	uint64_t	start_ns;		/* identity asked for */
	uint64_t	image_serial;		/* echoed */
	uint32_t	file_id;		/* FILE, DEBUG, PERF_MAP, VDSO: echoed */
	uint64_t	map_start, map_end;	/* FILE: for map_files */
	uint32_t	dev_major, dev_minor;
	uint64_t	inode;			/* FILE: what the opened file must be */
	char		path[4096];		/* FILE: as mapped; DEBUG: debug link's base name */
	char		build_id[41];		/* DEBUG: hex */
};

struct door;
int	door_create(struct door **out);
void	door_destroy(struct door *d);
int	door_fd(const struct door *d);		/* readable when answers wait */
int	door_ask(struct door *d, const struct door_request *r);	/* -EAGAIN queue full, -EBUSY no thread left */
/* 1 answer: *n bytes in buf, *fd an open descriptor or -1; 0 none. */
int	door_take(struct door *d, void *buf, size_t cap, size_t *n, int *fd);
/* Every 100 ms or so: gives up requests that block. Each gives an answer that says timeout. */
void	door_tick(struct door *d, uint64_t monotonic_ns);
uint64_t door_lost_threads(const struct door *d);

#endif
