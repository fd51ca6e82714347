/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The context that a thread has attached (OTEP 4947), copied at the tick: the thread is
 * interrupted, so its record cannot change under us.  Where the slot is was worked out by
 * user space; a process without a plan costs one look-up.
 */
#ifndef RINGSIDE_BPF_THREAD_CONTEXT_H
#define RINGSIDE_BPF_THREAD_CONTEXT_H

#include "ctx/otel_ctx_abi.h"

/*
 * Room behind the frames: a record of 640 bytes, and zeroes up to a multiple of 8 which
 * are written before it is known how many are needed.  A power of two, for a mask.
 */
#define CONTEXT_WORDS	128

/*
 * Written by the sidecar, looked up at the tick; preallocated because of the latter.  It
 * holds no more processes than this; the sidecar counts the others.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, __u32);
	__type(value, struct ev_context_plan);
} context_plans SEC(".maps");

/* The user's TLS base of the task that runs: kept there since clone or arch_prctl set it. */
static __always_inline __u64 thread_pointer(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

static __always_inline bool read_word(__u64 at, __u64 *word)
{
	return bpf_probe_read_user(word, sizeof(*word), (void *)at) == 0;
}

/* dtv[-1] is the capacity, dtv[0] the generation that this thread's vector is of. */
struct glibc_dtv {
	__u64 capacity, unused, generation;
};

static __always_inline __u32 glibc_block(const struct ev_context_way *way, __u64 dtv,
					 __u64 *block)
{
	struct glibc_dtv head;

	if (bpf_probe_read_user(&head, sizeof(head), (void *)(dtv - 16)))
		return EV_CONTEXT_FAULT;
	/* An older vector may hold the block of a module that had this number before. */
	if (way->module > head.capacity || head.generation < way->generation)
		return EV_CONTEXT_UNALLOCATED;
	if (!read_word(dtv + way->module * 16, block))
		return EV_CONTEXT_FAULT;
	return *block && *block != ~0ull ? EV_CONTEXT_OK : EV_CONTEXT_UNALLOCATED;
}

static __always_inline __u32 musl_block(const struct ev_context_way *way, __u64 dtv,
					__u64 *block)
{
	__u64 count;

	if (!read_word(dtv, &count))
		return EV_CONTEXT_FAULT;
	if (way->module > count)
		return EV_CONTEXT_UNALLOCATED;
	if (!read_word(dtv + way->module * 8, block))
		return EV_CONTEXT_FAULT;
	return *block ? EV_CONTEXT_OK : EV_CONTEXT_UNALLOCATED;
}

/* The address of the thread's slot. */
static __always_inline __u32 find_slot(const struct ev_context_way *way, __u64 tp,
				       __u64 *slot)
{
	__u64 dtv = 0, block = 0;
	__u32 state;

	if (way->kind == EV_WAY_STATIC) {
		*slot = tp + way->offset;
		return EV_CONTEXT_OK;
	}
	if (!read_word(tp + way->dtv_at, &dtv))
		return EV_CONTEXT_FAULT;
	if (!dtv)
		return EV_CONTEXT_UNALLOCATED;
	state = way->kind == EV_WAY_GLIBC ? glibc_block(way, dtv, &block)
					  : musl_block(way, dtv, &block);
	*slot = block + way->offset;
	return state;
}

/* What the slot holds: OK and not zero, or why there is nothing. */
static __always_inline __u32 read_slot(const struct ev_context_way *way, __u64 tp,
				       __u64 *record)
{
	__u64 slot = 0;
	__u32 state = find_slot(way, tp, &slot);

	if (state != EV_CONTEXT_OK)
		return state;
	if (!read_word(slot, record))
		return EV_CONTEXT_FAULT;
	return *record ? EV_CONTEXT_OK : EV_CONTEXT_NONE;
}

/* Copies the record to `to`, and zeroes behind it.  Gives its bytes, 0 when it is not OK. */
static __always_inline __u32 copy_record(__u64 record, void *to, __u32 *state)
{
	struct otel_thread_ctx *c = to;
	unsigned char *end;
	__u32 n;

	*state = EV_CONTEXT_FAULT;
	if (bpf_probe_read_user(to, OTEL_THREAD_CTX_HEADER_SIZE, (void *)record))
		return 0;
	if (c->valid != 1) {
		*state = EV_CONTEXT_INVALID;
		return 0;
	}
	n = c->attrs_size;
	if (n > OTEL_THREAD_CTX_ATTRS_MAX)
		n = OTEL_THREAD_CTX_ATTRS_MAX;
	end = to + OTEL_THREAD_CTX_HEADER_SIZE + n;
#pragma unroll
	for (int i = 0; i < 7; i++)
		end[i] = 0;
	if (n && bpf_probe_read_user(to + OTEL_THREAD_CTX_HEADER_SIZE, n,
				     (void *)(record + OTEL_THREAD_CTX_HEADER_SIZE)))
		return 0;
	*state = EV_CONTEXT_OK;
	return OTEL_THREAD_CTX_HEADER_SIZE + n;
}

/* Appends at `to`, sets sample->context, gives context_bytes. */
static __always_inline __u32 take_context(struct task_struct *task,
					  struct ev_sample *sample, void *to)
{
	__u32 tgid = sample->head.tgid, worst = EV_CONTEXT_ABSENT, state, bytes = 0;
	const struct ev_context_plan *plan = bpf_map_lookup_elem(&context_plans, &tgid);
	__u64 tp, record = 0;

	/* A fork has its parent's TLS, an exec its own, and a number may be given again. */
	if (!plan || plan->start_ns != sample->head.start_ns ||
	    plan->exec_id != sample->head.exec_id)
		return 0;
	tp = thread_pointer(task);
#pragma unroll
	for (int i = 0; i < EV_CONTEXT_WAYS; i++) {
		if (plan->way[i].kind == EV_WAY_NONE || record)
			continue;
		state = read_slot(&plan->way[i], tp, &record);
		worst = state > worst ? state : worst;
	}
	if (record)
		bytes = copy_record(record, to, &worst);
	sample->context = worst;
	return bytes;
}

#endif
