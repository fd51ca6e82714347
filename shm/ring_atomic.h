/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every memory ordering of the ring, in one place.  No other file of shm/ names an order.
 *
 *	writer, per block	ring_announce(): intent relaxed, RELEASE FENCE      --.
 *	writer, per record	ring_copy_in(): relaxed words                         |
 *	writer, per batch	ring_publish(): tail release                   --.    |
 *	                                                                         |    |
 *	reader			ring_published(): tail acquire                 <-'    |
 *	reader			ring_copy_out(): relaxed words                        |
 *	reader			ring_announced(): ACQUIRE FENCE, intent relaxed    <--'
 *
 * Not too old: what ring_published() returned was released after the record's words were
 * stored. Not too new: a reader that copied a word of the next lap has, after its fence,
 * the intent that was stored before the writer's fence, and so discards the copy. Swapping
 * a fence for a release store or an acquire load of intent is the classic bug: release
 * orders what stands before the store, and here it is what stands after it.  x86 hides it;
 * the models do not.
 */
#ifndef RING_ATOMIC_H
#define RING_ATOMIC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RING_COMPILER_BARRIER()	__asm__ __volatile__("" ::: "memory")

/* Words that are read or written on their own; what orders them stands around the
 * call. */
#define ring_relaxed_load(p)		__atomic_load_n((p), __ATOMIC_RELAXED)
#define ring_relaxed_store(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* Writer.  Partner: ring_announced().  Everything stored after it belongs to block
 * `block`. */
static inline void ring_announce(uint64_t *intent, uint64_t block)
{
	__atomic_store_n(intent, block, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Reader.  Partner: ring_announce().  Orders every copy made before it. */
static inline uint64_t ring_announced(const uint64_t *intent)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(intent, __ATOMIC_RELAXED);
}

/* Writer.  Partner: ring_published(). */
static inline void ring_publish(uint64_t *tail, uint64_t pos)
{
	__atomic_store_n(tail, pos, __ATOMIC_RELEASE);
}

/* Reader.  Partner: ring_publish(). */
static inline uint64_t ring_published(const uint64_t *tail)
{
	return __atomic_load_n(tail, __ATOMIC_ACQUIRE);
}

/* Reader: the paranoid door.  pread() has copied; the fence keeps the check behind the
 * copy. */
static inline void ring_fence_copied(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* State of the file.  The release half makes the last tail of a closed file visible
 * to whoever sees that it is closed: a reader then drains to the real end before it
 * follows. */
static inline void ring_state_store(uint32_t *state, uint32_t v)
{
	__atomic_store_n(state, v, __ATOMIC_RELEASE);
}

static inline uint32_t ring_state_load(const uint32_t *state)
{
	return __atomic_load_n(state, __ATOMIC_ACQUIRE);
}

/*
 * Slots (anchors, status).  Writer: ring_slot_begin(), relaxed fields, ring_slot_end().
 * Reader: ring_slot_enter(), relaxed fields, ring_slot_leave() must give the same stamp.
 * Writing the stamp only at the end is torn: a stopped reader sees the old stamp,
 * half-new fields, the old stamp again.  The fences pair with each other: a field of the
 * new life implies stamp 0 or later at leave.
 */
static inline void ring_slot_begin(uint64_t *stamp)
{
	__atomic_store_n(stamp, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void ring_slot_end(uint64_t *stamp, uint64_t v)
{
	__atomic_store_n(stamp, v, __ATOMIC_RELEASE);
}

static inline uint64_t ring_slot_enter(const uint64_t *stamp)
{
	return __atomic_load_n(stamp, __ATOMIC_ACQUIRE);
}

static inline uint64_t ring_slot_leave(const uint64_t *stamp)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(stamp, __ATOMIC_RELAXED);
}

/* The magic is stored last: whoever sees it sees the whole header.  Readers get at the
 * file only by its final name, which comes later still; this is for whoever finds the
 * temporary file. */
static inline void ring_magic_store(uint8_t magic[8], const char *value)
{
	uint64_t v;

	memcpy(&v, value, sizeof(v));
	__atomic_store_n((uint64_t *)(void *)magic, v, __ATOMIC_RELEASE);
}

/*
 * Payload copies.  Formally they race with the other side, so they must be atomic; the
 * words may be torn from each other, which the intent check catches.  RING_ATOMIC_COPY
 * (tests, TSan) copies relaxed 8-byte words.  Otherwise a plain memcpy stands between
 * compiler barriers: 3-4 times faster, and the compiler can neither move it nor split it
 * from its neighbours in a way that matters.  The mapped side is 8-byte aligned and owns
 * whole words up to its record's end.
 */
#if defined(__SANITIZE_THREAD__) && !defined(RING_ATOMIC_COPY)
#define RING_ATOMIC_COPY 1
#endif
#if defined(__has_feature) && !defined(RING_ATOMIC_COPY)
#if __has_feature(thread_sanitizer)
#define RING_ATOMIC_COPY 1
#endif
#endif

static inline void ring_copy_in(void *mapped, const void *src, size_t len)
{
#ifdef RING_ATOMIC_COPY
	uint64_t *d = mapped;
	const char *s = src;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t w = 0;

		memcpy(&w, s + i, len - i < 8 ? len - i : 8);
		__atomic_store_n(d + i / 8, w, __ATOMIC_RELAXED);
	}
#else
	RING_COMPILER_BARRIER();
	memcpy(mapped, src, len);
	RING_COMPILER_BARRIER();
#endif
}

static inline void ring_copy_out(void *dst, const void *mapped, size_t len)
{
#ifdef RING_ATOMIC_COPY
	const uint64_t *s = mapped;
	char *d = dst;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t w = __atomic_load_n(s + i / 8, __ATOMIC_RELAXED);

		memcpy(d + i, &w, len - i < 8 ? len - i : 8);
	}
#else
	RING_COMPILER_BARRIER();
	memcpy(dst, mapped, len);
	RING_COMPILER_BARRIER();
#endif
}

#endif
