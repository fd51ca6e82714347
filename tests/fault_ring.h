/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of writers that end where a test wants them to. */
#ifndef FAULT_RING_H
#define FAULT_RING_H

#include <sys/types.h>

#include "shm/ring_writer.h"

enum fault_action {
	FAULT_KILL,		/* SIGKILL */
	FAULT_EXIT,		/* _exit(FAULT_EXIT_CODE) */
	FAULT_STOP_KILL,	/* stopped, looked at, killed */
	FAULT_STOP_CONT,	/* stopped, looked at, continued */
	FAULT_SCRIBBLE,		/* 0xff over all that is not published, then SIGKILL */
	FAULT_HALF,		/* half a payload, then SIGKILL */
	FAULT_ACTIONS
};
#define FAULT_EXIT_CODE		42
#define FAULT_NOT_REACHED	97

extern const char *const fault_points[];
extern const char *const fault_actions[];
int	 fault_npoints(void);

int	 fault_create(struct ring_writer **w, const char *path);
/* From now on rings have other blocks: what a crash left is replaced, not resumed. */
void	 fault_turn(void);
void	 fault_put(struct ring_writer *w, uint64_t n);
/* A process that creates a writer and works until it comes to point for the nth time.
 * records 0: it only creates and closes. */
pid_t	 fault_life(const char *path, const char *point, enum fault_action action,
		    uint64_t nth, uint64_t records);
/* Reads to the end and follows, until everything published was read or reported lost. */
void	 fault_catch_up(struct ringside *r, uint64_t *last, const char *what);
/* received + lost of a reader that was opened at number start. */
void	 fault_account(struct ringside *r, uint64_t start, const char *what);

/* fault_worlds.c: 0, or 1 when something was wrong (it has said what). */
int	 fault_started_together(const char *path);
int	 fault_boot_id(const char *path);
int	 fault_full_tmpfs(const char *dir);

#endif
