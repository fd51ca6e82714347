/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching, and the threads that ever attached something: append may have to move a
 * record, and destroy to take it away, under threads that show it.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctx/fork_lock.h"
#include "ctx/otelctx.h"
#include "ctx/thread_slot.h"

/* thread_slot.S has these numbers. */
_Static_assert(sizeof(struct thread_entry) == 32, "its room");
_Static_assert(offsetof(struct thread_entry, state) == 0, "slot + 8");
_Static_assert(THREAD_REGISTERED == 1, "compared");
_Static_assert(offsetof(struct otelctx_thread, record) == 0, "loaded");
_Static_assert(offsetof(struct otelctx_thread, holder) == 8, "compared");

#define NOT_A_SLOT	((struct otel_thread_ctx **)1)

static struct {
	struct fork_lock	 lock;
	uint64_t		 process;	/* whose threads these are */
	pthread_key_t		 key;		/* tells when a thread ends */
	int			 have_key;
	struct thread_entry	*first;
} registry;

/* 1: otel_thread_ctx_v1 is this module's, so a thread's entry stands behind its slot. */
static int entry_behind_slot;

/*
 * A plug-in that linked the static library is unloaded: threads that end later must not
 * call into it.
 */
static __attribute__((destructor)) void forget_key(void)
{
	if (registry.have_key)
		pthread_key_delete(registry.key);
	registry.have_key = 0;
}

static void lock(void)
{
	uint64_t self = process_token();

	/*
	 * A fork copied the registry; of its threads only the caller's can be in this
	 * process.
	 */
	if (fork_lock(&registry.lock) || registry.process != self) {
		struct thread_entry *mine = otelctx_entry();

		registry.process = self;
		registry.first = NULL;
		if (mine->state == THREAD_REGISTERED) {
			mine->next = mine->prev = NULL;
			registry.first = mine;
		}
	}
}

static void unlock(void)
{
	fork_unlock(&registry.lock);
}

/*
 * So that the thread that came through the fork is in the child's registry whoever asks
 * first.
 */
static void in_child(void)
{
	lock();
	unlock();
}

static __attribute__((constructor)) void find_entry(void)
{
	entry_behind_slot = (void *)(otelctx_slot() + 1) == (void *)otelctx_entry();
	registry.process = process_token();
	pthread_atfork(NULL, NULL, in_child);	/* without it lock() notices the pid */
}

static void link_entry(struct thread_entry *e)
{
	e->prev = NULL;
	e->next = registry.first;
	if (e->next)
		e->next->prev = e;
	registry.first = e;
}

static void unlink_entry(struct thread_entry *e)
{
	if (e->next)
		e->next->prev = e->prev;
	if (e->prev)
		e->prev->next = e->next;
	else if (registry.first == e)
		registry.first = e->next;
}

/* The thread ends, and its slot with it. */
static void thread_ends(void *arg)
{
	struct thread_entry *e = arg;

	lock();
	unlink_entry(e);
	unlock();
	__atomic_store_n(e->slot, NULL, __ATOMIC_RELAXED);
	e->state = THREAD_LEAVING;
}

static int register_thread(struct thread_entry *e, struct otel_thread_ctx **slot)
{
	int err = 0;

	e->slot = slot;
	lock();
	if (!registry.have_key) {
		err = -pthread_key_create(&registry.key, thread_ends);
		registry.have_key = !err;
	}
	if (!err)
		err = -pthread_setspecific(registry.key, e);
	if (!err) {
		link_entry(e);
		e->state = THREAD_REGISTERED;
	}
	unlock();
	return err ? -ENOMEM : 0;
}

/*
 * Who holds t: nobody yet -> this slot -> more than one.  A slot that is another module's is
 * never noted, so that the fast path, which looks behind it, is not taken.
 */
static void note_holder(struct otelctx_thread *t, struct otel_thread_ctx **slot)
{
	struct otel_thread_ctx **holder = NULL, **mine = slot;

	if (!entry_behind_slot)
		mine = NOT_A_SLOT;
	if (!__atomic_compare_exchange_n(&t->holder, &holder, mine, 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED) && holder != slot)
		__atomic_store_n(&t->shared, 1, __ATOMIC_RELAXED);
	if (!entry_behind_slot)
		__atomic_store_n(&t->shared, 1, __ATOMIC_RELAXED);
}

/*
 * The first time in a thread, and of t: otelctx_thread_attach in thread_slot.S does the rest
 * itself.  A reader looks while this thread is interrupted or stopped, so program order is all
 * it takes: no fence but for the compiler.
 */
int otelctx_attach_slowly(struct otelctx_thread *t, struct otel_thread_ctx **slot)
{
	struct thread_entry *e = otelctx_entry();
	int err = 0;

	if (e->state == THREAD_LEAVING)
		return -ECANCELED;
	if (e->state == THREAD_NEW)
		err = register_thread(e, slot);
	if (err)
		return err;
	note_holder(t, slot);
	__atomic_signal_fence(__ATOMIC_RELEASE);
	__atomic_store_n(slot, t->record, __ATOMIC_RELAXED);
	return 0;
}

/*
 * Compare and exchange, since the slot's thread may attach something else at this very
 * moment.
 */
static int replace_one(struct otel_thread_ctx **slot, struct otel_thread_ctx *old,
		       struct otel_thread_ctx *now)
{
	return __atomic_load_n(slot, __ATOMIC_RELAXED) == old &&
		__atomic_compare_exchange_n(slot, &old, now, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
}

static int replace_all(struct otelctx_thread *t, struct otel_thread_ctx *old,
		       struct otel_thread_ctx *now)
{
	int n = 0;

	lock();
	for (struct thread_entry *e = registry.first; e; e = e->next)
		if (t->shared || e->slot == t->holder)
			n += replace_one(e->slot, old, now);
	unlock();
	return n;
}

/*
 * A reader on the CPU of a thread whose slot was just cleared may still be in the
 * record; it runs with interrupts off, so it is done once that CPU has answered.
 * Without this call such a reader may copy freed memory.
 */
static void wait_for_readers(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) &&
	    !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

int otelctx_slots_replace(struct otelctx_thread *t, struct otel_thread_ctx *old,
			  struct otel_thread_ctx *now)
{
	struct otel_thread_ctx **slot = otelctx_slot();
	int others = 0;

	if (!t->holder)
		return 0;
	replace_one(slot, old, now);
	if (t->shared || t->holder != slot)
		others = replace_all(t, old, now);
	if (others && !now)
		wait_for_readers();
	return others > 0;
}
