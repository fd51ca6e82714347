/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-made events and answers for the tests of the process table. */
#ifndef CHECK_PROCESS_H
#define CHECK_PROCESS_H

#include <check.h>

#include "sidecar/process/table.h"

#define SEC NS_PER_S
#define N(t) (sizeof(t) / sizeof((t)[0]))

extern struct process_table *table;
void	table_open(void);	/* fixture: a table that asks nobody (replay) */
void	table_close(void);

/* --- events --- */
struct image *sample(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint64_t at, const char *comm,
		     uint64_t frame);
void	forked(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint32_t parent, uint64_t parent_start,
	       uint64_t parent_exec, uint64_t at);
void	comm_exec(uint32_t pid, uint64_t at, const char *comm);
struct image *execed(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint64_t at, const char *filename,
		     uint64_t inode);
void	exited(uint32_t pid, uint64_t start_ns, uint64_t at);
void	peek_exec(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint64_t at);
void	peek_comm(uint32_t pid, uint64_t at);
void	peek_exit(uint32_t pid, uint64_t start_ns, uint64_t at);
/* By device 8:1 and inode; inode 0: anonymous. */
void	mapped(uint32_t pid, uint64_t at, uint64_t addr, uint64_t len, uint64_t inode, const char *path);
/* By build id: 20 bytes of this value. */
void	mapped_id(uint32_t pid, uint64_t at, uint64_t addr, uint64_t len, uint8_t id, const char *path);

/* --- answers --- */
struct reading {
	int		ask, error;		/* ask 0: DOOR_PROCESS */
	uint64_t	begin, end;
	const char	*comm, *exe, *cgroup, *env;	/* env: entries between newlines */
	uint32_t	flags, ppid;
	uint64_t	exe_inode;
	struct { uint64_t start, end, offset, inode; uint32_t minor; int64_t mtime; const char *path; } maps[8];
	size_t		n_maps;
};
int	answer(const struct image *i, const struct reading *r);
int	file_answer(enum door_ask what, const struct image *i, const struct file *f, int error, uint64_t size,
		    int64_t mtime, uint32_t uid, int fd);

/* A label's value, or "(none)". */
const char *label(const struct image *i, const char *key);
/* `start-end:offset ...` of all mappings, in hex. */
const char *layout(const struct image *i);

Suite	*table_suite(void);
Suite	*bounds_suite(void);
Suite	*process_context_suite(void);
Suite	*process_threads_suite(void);
Suite	*files_suite(void);
Suite	*parse_suite(void);

#endif
