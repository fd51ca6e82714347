/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that survives fork: its word tells the process whose thread holds it, so a
 * child that finds its parent's knows that nobody is left to give it back.
 */
#ifndef OTELCTX_FORK_LOCK_H
#define OTELCTX_FORK_LOCK_H

#include <stdint.h>

struct fork_lock {
	uint64_t	owner;	/* a process_token(); 0: free */
	int		cancelling;	/* the owner's cancel state, off meanwhile */
};

/*
 * Which process this is, to be compared with what a process before a fork got.  Not the pid
 * alone: the first child in a pid namespace has pid 1, as its parent may have.
 */
uint64_t process_token(void);
/*
 * 1 when it was taken from a thread that did not come through a fork: what it guards
 * may be half written.
 */
int	fork_lock(struct fork_lock *l);
void	fork_unlock(struct fork_lock *l);

#endif
