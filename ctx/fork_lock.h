/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that survives fork: its word is the pid of the process whose thread holds it,
 * so a child that finds its parent's knows that nobody is left to give it back.
 */
#ifndef OTELCTX_FORK_LOCK_H
#define OTELCTX_FORK_LOCK_H

#include <sys/types.h>

struct fork_lock {
	pid_t	owner;		/* 0: free */
	int	cancelling;	/* the owner's cancel state, off meanwhile */
};

/*
 * 1 when it was taken from a thread that did not come through a fork: what it guards
 * may be half written.
 */
int	fork_lock(struct fork_lock *l);
void	fork_unlock(struct fork_lock *l);

#endif
