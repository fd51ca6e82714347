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

/* tests/ring_stranger.py, which shares no line with the library, follows the same ring.
 * Without python3 there is none, and it says so. */
struct stranger { pid_t pid; int to, from; };
void	 stranger_start(struct stranger *s, const char *path);
/* Everything up to number final was received or lost, by its own count too?  0 or 1. */
int	 stranger_end(struct stranger *s, uint64_t final);
/* A ring that nobody writes at the moment: both hold the same numbers?  0 or 1. */
int	 stranger_agrees(const char *path);
/* Ends the process unless rec is right and comes after *last_seq. */
void	 record_check(const struct ringside_record *rec, uint64_t *last_seq,
		      const char *name);

#endif
