/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading processes for the tests that kill writers.  Each record's content follows from
 * its number, in every field: that is its checksum.  A reader ends with an error at the
 * first one that is torn, stale, repeated or wrongly resolved, and at the end when
 * received + lost is not what was produced.
 */
#ifndef RING_READERS_H
#define RING_READERS_H

#include <sys/types.h>

#include "shm/ringside.h"

#define MAX_READERS	8

/* Between the processes. */
struct board {
	uint64_t final_seq;		/* 0 while writing goes on */
	uint64_t published;		/* numbers below it were published for certain */
	uint32_t ready;
	struct { uint64_t received, lost, samples, files; } r[MAX_READERS];
};
extern struct board *board;

/* nap_ms after nap_every samples; the test stops and continues the one named "stopped". */
struct reader_kind {
	const char *name;
	bool paranoid;
	unsigned int nap_every, nap_ms;
};

void	 board_make(void);
void	 board_clear(void);
void	 readers_start(const struct reader_kind *kinds, int n, const char *path,
		       pid_t *pids);
/* Says how many of them failed, and what they counted. */
int	 readers_end(const struct reader_kind *kinds, int n, const pid_t *pids);
/* A reader that ended early has said why: the test ends, naming what it did last. */
void	 readers_alive(const struct reader_kind *kinds, int n, const pid_t *pids,
		       const char *what);
uint64_t readers_verified(int n);
/* Ends the process unless rec is right and comes after *last_seq. */
void	 record_check(const struct ringside_record *rec, uint64_t *last_seq,
		      const char *name);

#endif
