/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "ctx/fork_lock.h"

static uint32_t forks;		/* between the first process that had this memory and this one */

static void in_child(void)
{
	forks++;
}

/* Before other constructors: their handlers of forks run after this one, and ask. */
static __attribute__((constructor(101))) void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* A child that was made past libc, by clone(), still has another pid, in its own namespace. */
uint64_t process_token(void)
{
	return (uint64_t)forks << 32 | (uint32_t)getpid();
}

/* Pairs with the release in fork_unlock(). */
static int take(struct fork_lock *l, uint64_t *owner, uint64_t self)
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
	uint64_t self = process_token(), owner;
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
