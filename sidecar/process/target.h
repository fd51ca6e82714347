/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process as the door's threads read it.  A directory descriptor of /proc/PID stands for that very
 * process: once it is gone, reads through it fail, even when its number belongs to somebody else.  exec
 * is what the descriptor does not guard against; target_check() at the end of a reading does.
 */
#ifndef RINGSIDE_PROCESS_TARGET_H
#define RINGSIDE_PROCESS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sidecar/context/context.h"
#include "sidecar/context/read.h"
#include "sidecar/process/answer.h"
#include "sidecar/process/door.h"
#include "sidecar/process/parse.h"
#include "sidecar/process/pods.h"

#define READ_PATH_MAX	4096
#define READ_ENV_MAX	(1u << 20)
#define READ_CGROUP_MAX	(16u << 10)
#define READ_CMDLINE_MAX (1u << 20)	/* rules see all of it; what is published is cut */
#define READ_MAPS_MAX	8192			/* executable mappings */
#define READ_LINES_MAX	262144
#define READ_CPU_NS	300000000ll
#define READ_KEPT_MAX	(64u << 10)
#define READ_STRINGS_MAX (320u << 10)
/* All of these together fit into one answer; a process context only when they are not at their largest. */

/* What one thread works in: mapped, so that pages never touched cost nothing. */
struct door_scratch {
	_Alignas(8) uint8_t	message[DOOR_MESSAGE_MAX];
	struct answer_map	maps[READ_MAPS_MAX];
	char			strings[READ_STRINGS_MAX];
	char			line[MAPS_LINE_MAX];
	char			env[READ_ENV_MAX];
	char			env_kept[READ_KEPT_MAX];
	char			text[READ_CMDLINE_MAX];
	char			pod[PODS_FACTS_MAX];
	char			path[MAPS_LINE_MAX];
	struct context_places	places;
	uint8_t			payload[CONTEXT_PAYLOAD_MAX];
	struct door_request	request;
};

/* What door_allow() said; fixed before the first request. */
struct door_allowed {
	char		**names;
	uint32_t	  n_names;
	bool		  command_line, working_directory;
	struct pods	  pods;
};

struct target {
	int		dir;		/* /proc/PID */
	int		base;		/* the same, or the thread that stands in for a leader that exited */
	int		root;		/* root directory, O_PATH; -1 not opened (see target_root) */
	bool		leader_gone;
	struct proc_stat stat;		/* of base */
	uint64_t	begin_ns;	/* boot time after the first identity check */
	int64_t		cpu_limit_ns;	/* of this thread's CPU time: stop reading long texts */
};

/* 0; -ESRCH gone or another process; -EACCES; -EAGAIN in the middle of an exec. */
int	target_open(struct target *t, uint32_t pid, uint64_t start_ns);
/* The same process, the same image as at target_open(). */
int	target_check(const struct target *t);
void	target_close(struct target *t);
int	target_root(struct target *t);	/* fd, owned by t, or -errno */

uint64_t door_now(void);		/* CLOCK_MONOTONIC */
int64_t	thread_cpu_ns(void);
/* Reads a whole file of /proc; gives bytes, at most cap. */
int	read_whole(int dirfd, const char *name, char *buf, size_t cap);
/* stat that never asks a file server (FUSE) for news; follows links. */
int	stat_quick(int dirfd, const char *name, int flags, struct stat *st);
/* Opens a name below root so that no link leads out of it; O_PATH. */
int	open_below(int root, const char *name, int flags);
/* O_PATH descriptor to one that can be read; regular files only, never blocks. */
int	reopen_regular(int path_fd, const struct stat *st);
/*
 * Takes the kernel's deleted mark off a path, but not the end of a name that happens to look like it:
 * that one exists below root and is the very file.  Gives the new length.
 */
size_t	true_path(struct target *t, char *path, size_t n, const struct stat *st);
int64_t	mtime_ns(const struct stat *st);

/* Readers: each fills an answer that was begun; gives what answer_head.error shall say. */
int	door_read_process(struct door_scratch *s, struct answer_writer *w, const struct door_request *r,
			  const struct door_allowed *a);
int	door_read_maps(struct target *t, struct door_scratch *s, struct answer_writer *w);
int	door_read_context(struct door_scratch *s, struct answer_writer *w, const struct door_request *r);
/* The context of a process whose maps have just filled s->places. */
void	door_put_context(struct target *t, struct door_scratch *s, struct answer_writer *w);
int	door_read_words(struct answer_writer *w, const struct door_request *r);
int	door_open_file(struct door_scratch *s, struct answer_writer *w, const struct door_request *r, int *fd);
int	door_open_debug(struct door_scratch *s, struct answer_writer *w, const struct door_request *r, int *fd);
int	door_open_perf_map(struct door_scratch *s, struct answer_writer *w, const struct door_request *r,
			   int *fd);
int	door_open_vdso(struct door_scratch *s, struct answer_writer *w, const struct door_request *r, int *fd);

#endif
