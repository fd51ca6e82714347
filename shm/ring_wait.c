/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting on the low half of the tail, through the read-only mapping.  Always with a
 * timeout: any other reader may requeue our wait to a word of its own, or wake us for
 * nothing.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm/reader_state.h"
#include "shm/ring_time.h"

/* Without _PRIVATE, which would silently never match the writer's wake. */
#define FUTEX_WAIT_SHARED	0
#define FUTEX_WAKE_SHARED	1
#define WAKE_MORE		2	/* the writer woke two at most: hand it on */

static const uint32_t *tail_word(const struct ring_file *f)
{
	return (const uint32_t *)(const void *)(f->map +
						offsetof(struct ring_header, tail));
}

/* 1 something is there, 0 not yet. */
static int ready(struct ringside *r, uint64_t *tail)
{
	uint32_t state;
	int err;

	if ((err = ring_file_tail(&r->f, tail)) || (err = ring_file_state(&r->f, &state)))
		return err;
	if (r->pos < *tail)
		return 1;
	if (r->options.no_follow)
		return 0;
	if (!r->replaced)
		r->replaced = ring_path_moved(r, state == RING_SUPERSEDED);
	return r->replaced;
}

/* 0 woken or timed out, -EINTR. */
static int sleep_slice(const struct ring_file *f, uint64_t tail, uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000u),
			       .tv_nsec = (long)(ns % 1000000000u) };
	long n = syscall(SYS_futex, tail_word(f), FUTEX_WAIT_SHARED, (uint32_t)tail, &ts,
			 NULL, 0);

	if (!n) {
		syscall(SYS_futex, tail_word(f), FUTEX_WAKE_SHARED, WAKE_MORE, NULL, NULL,
			0);
		return 0;
	}
	if (errno == EINTR)
		return -EINTR;
	if (errno != EAGAIN && errno != ETIMEDOUT)
		return errno == EFAULT ? -EBADMSG : -errno;
	return 0;
}

int ringside_wait(struct ringside *r, int timeout_ms)
{
	uint64_t start = ring_clock_ns(CLOCK_MONOTONIC), spent = 0, tail, slice;
	uint64_t limit = timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * 1000000u;
	int n;

	for (;;) {
		n = ready(r, &tail);
		if (n)
			return n;
		if (spent >= limit)
			return 0;
		slice = RING_SLICE_MS * 1000000ull;
		if (slice > limit - spent)
			slice = limit - spent;
		n = sleep_slice(&r->f, tail, slice);
		if (!n)
			n = ring_file_check_size(&r->f);
		if (n)
			return n;
		spent = ring_clock_ns(CLOCK_MONOTONIC) - start;
	}
}
