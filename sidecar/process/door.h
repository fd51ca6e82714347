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
 *
 * All threads are made by door_create(), so create the door when rights have been dropped (capabilities
 * belong to a thread) and before the seccomp filter, or give the filter to all threads (TSYNC).  What the
 * threads call: openat, openat2, newfstatat, statx, readlinkat, read, pread64, write, close, getdents64,
 * memfd_create, clock_gettime, clock_nanosleep, futex, madvise and what malloc needs.
 */
#ifndef RINGSIDE_DOOR_H
#define RINGSIDE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOOR_THREADS 4
#define DOOR_TIMEOUT_NS 1000000000ull

enum door_ask {
	DOOR_PROCESS	= 1,	/* stat, comm, exe, cgroup, environ, maps, process context */
	DOOR_FILE	= 2,	/* open the file behind a mapping */
	DOOR_DEBUG	= 3,	/* open a separate debug file */
	DOOR_CGROUP	= 4,	/* cgroup only */
	DOOR_PERF_MAP	= 5,
	DOOR_VDSO	= 6,	/* bytes of the target's vDSO */
	DOOR_MAPS	= 7,	/* stat and maps only */
	DOOR_CONTEXT	= 8,	/* process context only */
	DOOR_TLS	= 9,	/* words of memory */
};

#define DOOR_WORDS_MAX 64u

struct door_request {
	uint32_t	ask;			/* enum door_ask */
	uint32_t	pid;
	uint64_t	start_ns;		/* identity asked for */
	uint64_t	image_serial;		/* echoed */
	uint32_t	file_id;		/* FILE, DEBUG, PERF_MAP, VDSO: echoed */
	uint64_t	map_start, map_end;	/* FILE: for map_files */
	uint32_t	dev_major, dev_minor;
	uint64_t	inode;			/* FILE: what the opened file must be */
	/* CONTEXT: where the hook saw it, where it was last found and with which stamp; 0 unknown. */
	uint64_t	context_hint, context_address, context_seen_ns;
	uint32_t	flags;			/* DOOR_F_* */
	uint32_t	n_words;		/* TLS */
	uint64_t	words[DOOR_WORDS_MAX];	/* TLS: their addresses */
	char		build_id[41];		/* DEBUG, FILE: hex */
	char		link[256];		/* DEBUG: debug link's base name */
	char		path[4096];		/* FILE: as mapped; DEBUG: of the stripped file.  Last: only as much
						 * of it as is used gets copied */
};
#define DOOR_F_OWN_VDSO	0x1			/* VDSO: our own image will do when it has that size */
#define DOOR_F_GONE	0x2			/* FILE: the process is gone, only our own root is left */

/* Longest answer. */
#define DOOR_MESSAGE_MAX (3u << 20)

struct door;
int	door_create(struct door **out);
void	door_destroy(struct door *d);
/* What DOOR_PROCESS may read beside the usual; before the first request.  The names are copied. */
int	door_allow(struct door *d, const char *const *env_names, uint32_t n, bool command_line,
		   bool working_directory);
/* What is known of pods; *pods is taken over and left empty.  Before the first request. */
struct pods;
void	door_allow_pods(struct door *d, struct pods *pods);
int	door_fd(const struct door *d);		/* readable when answers wait */
/*
 * -EAGAIN queue full, or first resolutions (PROCESS) have used up their tenth of a CPU for now, or
 * looking for contexts (CONTEXT) its twentieth: ask again later; -EBUSY no thread left.
 */
int	door_ask(struct door *d, const struct door_request *r);
/* 1 answer: *n bytes in buf, *fd an open descriptor or -1; 0 none. */
int	door_take(struct door *d, void *buf, size_t cap, size_t *n, int *fd);
/* Every 100 ms or so: gives up requests that block. Each gives an answer that says timeout. */
void	door_tick(struct door *d, uint64_t monotonic_ns);
uint64_t door_lost_threads(const struct door *d);	/* ever; one that comes back serves again */

#endif
