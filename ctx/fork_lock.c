/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "ctx/fork_lock.h"

/* Pairs with the release in fork_unlock(). */
static int take(struct fork_lock *l, pid_t *owner, pid_t self)
{
	return __atomic_compare_exchange_n(&l->owner, owner, self, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/*
 * Sleeping between tries: the lock is held for microseconds, and nearly never fought
 * for.
 */
int fork_lock(struct fork_lock *l)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 };
	pid_t self = getpid(), owner;
	int cancelling;

	/* A thread that was cancelled in close(), say, would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
	for (;;) {
		owner = 0;
		if (take(l, &owner, self))
			break;
		if (owner != self && take(l, &owner, self))
			break;
		nanosleep(&pause, NULL);
	}
	l->cancelling = cancelling;
	return owner != 0;
}

void fork_unlock(struct fork_lock *l)
{
	int cancelling = l->cancelling;

	__atomic_store_n(&l->owner, 0, __ATOMIC_RELEASE);
	pthread_setcancelstate(cancelling, NULL);
}
