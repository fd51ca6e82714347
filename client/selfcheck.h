/* SPDX-License-Identifier: Apache-2.0 */
/* The end-to-end check of doctor: a child that burns CPU in a known function, looked for in a ring. */
#ifndef CLIENT_SELFCHECK_H
#define CLIENT_SELFCHECK_H

#include <sys/types.h>

#include "client/json.h"
#include "client/ring.h"

/* What the child spins in.  Exported, so that a stripped program still names it. */
#define SELFCHECK_FUNCTION "ringside_doctor_burn"

struct selfcheck {
	pid_t	 child;
	char	 comm[16];		/* unique: it finds the child whatever its pid is called */
	char	 exe[4096];
	int64_t	 start_ns;		/* wall clock, before the child burns */
	/* what was found */
	uint64_t samples;
	uint32_t pid;			/* as the ring says */
	bool	 named, exe_seen, writer_here;
	int64_t	 time_error_ns;		/* farthest outside of the child's life; 0: inside */
	int64_t	 first_after_ns;	/* from the start to the first sample in hand */
	uint64_t clock_error_ns;
	char	 other_function[128];	/* what stood there instead */
};

/* Forks the child; it burns at once and ends with us, or after 60 s.  0 or -errno. */
int	 selfcheck_start(struct selfcheck *s);
/* Reads the ring until enough samples were seen or time is up.  0 or a negative error. */
int	 selfcheck_look(struct selfcheck *s, struct ring *r);
void	 selfcheck_stop(struct selfcheck *s);

/* One row a property; returns whether all hold. */
bool	 selfcheck_judge(const struct selfcheck *s, void (*row)(void *arg, const char *name, bool ok,
								  const char *detail), void *arg);

#endif
