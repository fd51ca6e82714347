/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What runs in the kernel: one program per tick of a CPU's clock, three that tell of
 * processes, one that tells of their contexts (context_hook.h). Loads on 5.10 and later (ring buffer, boot clock, BTF); attached by
 * sidecar/collect/bpf_source.c.
 */
#include <stdbool.h>
#include <stddef.h>

#include "bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/event.h"
#include "bpf/identity.h"
#include "bpf/output.h"
#include "bpf/thread_context.h"
#include "bpf/context_hook.h"

/*
 * struct ev_sample and ev_exec end in a flexible member; what holds its bytes follows
 * them here.
 */
#pragma clang diagnostic ignored "-Wgnu-variable-sized-type-not-at-end"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 stack_depth = EV_MAX_FRAMES;	/* frames kept of one part */
const volatile __u32 stack_ask = EV_MAX_FRAMES * 8;	/* bytes asked for */
const volatile __u32 stack_max = EV_MAX_FRAMES;	/* kernel.perf_event_max_stack: never more come */

/*
 * A sample under construction.  Two parts of up to 127 frames, and one more to see that
 * it was cut.
 */
#define SCRATCH_FRAMES	256
struct scratch {
	struct ev_sample sample;
	__u64 frames[SCRATCH_FRAMES + CONTEXT_WORDS];	/* the context follows the last frame */
};

/*
 * Too big for the BPF stack.  One per CPU is enough: ticks do not nest, and nobody else
 * uses it.  Not reserved in the ring, because 5.10 reserves only constant sizes, and the
 * largest is ten times the usual.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* Frames kept of what bpf_get_stack() returned. */
static __always_inline __u32 frames_kept(long bytes, __u32 cut_flag, __u32 *flags)
{
	__u32 n = (__u32)bytes >> 3;

	if (n > stack_depth || n >= stack_max)
		*flags |= cut_flag;
	if (n > stack_depth)
		n = stack_depth;
	return n > EV_MAX_FRAMES ? EV_MAX_FRAMES : n;
}

static __always_inline __u32 take_kernel_stack(struct bpf_perf_event_data *ctx,
					       struct scratch *s, __u32 *flags)
{
	long n = bpf_get_stack(ctx, s->frames, stack_ask, 0);

	return n > 0 ? frames_kept(n, EV_F_KERNEL_CUT, flags) : 0;
}

/*
 * The one place that knows how user stacks are walked: by the kernel's frame-pointer
 * helper.  Appends at frames[at] and gives the verdict; an unwinder by tables takes its
 * place here and nowhere else.
 */
static __always_inline __u32 take_user_stack(struct bpf_perf_event_data *ctx,
					     struct scratch *s, __u32 at,
					     __u32 *flags, __u8 *end)
{
	__u32 n;
	long got;

	if (at > EV_MAX_FRAMES)		/* never; tells the verifier */
		return 0;
	got = bpf_get_stack(ctx, &s->frames[at], stack_ask, BPF_F_USER_STACK);
	if (got < 0) {
		*flags |= EV_F_USER_FAULT;
		*end = EV_END_READ_FAULT;
		return 0;
	}
	n = frames_kept(got, EV_F_USER_CUT, flags);
	if (n)
		*end = *flags & EV_F_USER_CUT ? EV_END_TOO_DEEP : EV_END_FRAME_POINTER;
	return n;
}

static __always_inline bool has_user_stack(struct task_struct *task)
{
	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER))
		return false;
	return BPF_CORE_READ(task, mm) != NULL;
}

static __always_inline void take_sample(struct bpf_perf_event_data *ctx,
					struct task_struct *task, struct cpu_stats *st,
					__u32 tgid, __u32 tid)
{
	__u32 zero = 0, kernel = 0, user = 0, frames, context = 0, flags, size;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	struct ev_sample *sample;
	__u8 end = EV_END_NONE;

	if (!s)
		return;
	sample = &s->sample;
	fill_head(&sample->head, task, EV_SAMPLE, 0, tgid, tid);
	flags = sample->head.flags;
	if (!tick_hit_user(ctx)) {
		flags |= EV_F_KERNEL;
		kernel = take_kernel_stack(ctx, s, &flags);
	}
	sample->context = EV_CONTEXT_ABSENT;
	if (has_user_stack(task)) {
		user = take_user_stack(ctx, s, kernel, &flags, &end);
		frames = (kernel + user) & (SCRATCH_FRAMES - 1);
		context = take_context(task, sample, (void *)&s->frames[frames]);
	}
	sample->cgroup_id = task_cgroup_id(task);
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	sample->kernel_frames = kernel;
	sample->user_frames = user;
	sample->context_bytes = context;
	sample->user_end = end;
	size = sizeof(*sample) + ((kernel + user) & (SCRATCH_FRAMES - 1)) * sizeof(__u64) +
	       ((context + 7) & (CONTEXT_WORDS * 8 - 8));
	sample->head.flags = flags;
	sample->head.size = size;
	if (bpf_ringbuf_output(&events, s, size, wake_flag(sample->head.boot_ns)))
		st->slot[EV_STAT_RING_FULL]++;
	else
		st->slot[EV_STAT_SAMPLES]++;
	st->slot[EV_STAT_RUN_NS] += bpf_ktime_get_boot_ns() - sample->head.boot_ns;
}

SEC("perf_event")
int ringside_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cpu_stats *st = own_stats();
	__u32 tgid = 0, tid = 0;

	if (!st)
		return 0;
	st->slot[EV_STAT_TICKS]++;
	if ((__u32)bpf_get_current_pid_tgid() == 0) {
		st->slot[EV_STAT_IDLE]++;
		return 0;
	}
	if (paused) {
		st->slot[EV_STAT_PAUSED]++;
		return 0;
	}
	if (!task_ids(task, &tgid, &tid) || !in_scope(tgid)) {
		st->slot[EV_STAT_OUT_OF_SCOPE]++;
		return 0;
	}
	take_sample(ctx, task, st, tgid, tid);
	return 0;
}

/* A new process, not a new thread.  Runs in the parent, before the child does. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(ringside_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = 0, tid = 0, parent_tgid = 0, parent_tid = 0;
	struct ev_fork *e;
	__u8 one = 1;

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid) ||
	    !task_ids(child, &tgid, &tid))
		return 0;
	if (!task_ids(parent, &parent_tgid, &parent_tid))
		parent_tgid = 0;
	if (!in_scope(parent_tgid))
		return 0;
	if (scope == EV_SCOPE_PIDS &&
	    bpf_map_update_elem(&scope_pids, &tgid, &one, BPF_ANY)) {
		count_process_loss();	/* full: this one will not be sampled, so nothing is told of it */
		return 0;
	}
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		count_process_loss();
		return 0;
	}
	fill_head(&e->head, child, EV_FORK, sizeof(*e), tgid, tid);
	e->parent_start_ns = BPF_CORE_READ(parent, group_leader, start_boottime);
	e->parent_tgid = parent_tgid;
	e->pad0 = 0;
	e->parent_exec_id = BPF_CORE_READ(parent, self_exec_id);
	e->cgroup_id = task_cgroup_id(child);
	BPF_CORE_READ_INTO(&e->comm, child, comm);
	bpf_ringbuf_submit(e, wake_flag(e->head.boot_ns));
	return 0;
}

/* Longer names are cut and flagged; the mapping events carry the whole path. */
#define FILENAME_MAX	256
struct exec_event {
	struct ev_exec exec;
	char filename[FILENAME_MAX];
};

static __always_inline void fill_exec(struct exec_event *e, struct task_struct *task,
				      struct linux_binprm *bprm)
{
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
	__u32 dev = BPF_CORE_READ(inode, i_sb, s_dev), parent_tid;
	long n;

	e->exec.cgroup_id = task_cgroup_id(task);
	e->exec.inode = BPF_CORE_READ(inode, i_ino);
	e->exec.dev_major = dev >> MINORBITS;
	e->exec.dev_minor = dev & ((1u << MINORBITS) - 1);
	e->exec.parent_tgid = 0;
	if (!task_ids(BPF_CORE_READ(task, real_parent), &e->exec.parent_tgid,
		      &parent_tid))
		e->exec.parent_tgid = 0;
	BPF_CORE_READ_INTO(&e->exec.comm, task, comm);
	__builtin_memset(e->filename, 0, sizeof(e->filename));
	n = bpf_probe_read_kernel_str(e->filename, sizeof(e->filename),
				      BPF_CORE_READ(bprm, filename));
	n = n > 0 ? n - 1 : 0;
	if (n == FILENAME_MAX - 1)
		e->exec.head.flags |= EV_F_MISC_CUT;
	e->exec.filename_len = n;
	/*
	 * With its NUL, padded to 8.  The record is longer: the rest is zeroes and no
	 * part of the event.
	 */
	e->exec.head.size = sizeof(e->exec) + (((__u32)n + 8) & ~7u);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ringside_exec, struct task_struct *task, int old_pid,
	     struct linux_binprm *bprm)
{
	struct exec_event *e;
	__u32 tgid = 0, tid = 0;

	if (!task_ids(task, &tgid, &tid) || !in_scope(tgid))
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		count_process_loss();
		return 0;
	}
	fill_head(&e->exec.head, task, EV_EXEC, 0, tgid, tid);
	fill_exec(e, task, bprm);
	bpf_ringbuf_submit(e, wake_flag(e->exec.head.boot_ns));
	return 0;
}

/*
 * The code that a waiter will see: the group's when it was killed as a group, else the
 * leader's.
 */
static __always_inline __u32 process_exit_code(struct task_struct *task)
{
	if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(task, signal, group_exit_code);
	return BPF_CORE_READ(task, group_leader, exit_code);
}

/* Every thread comes by; the last one, after which signal->live is 0, ends the process.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(ringside_exit, struct task_struct *task)
{
	__u32 tgid = 0, tid = 0, code;
	struct ev_exit *e;
	bool wanted;

	if (BPF_CORE_READ(task, signal, live.counter) != 0 ||
	    !task_ids(task, &tgid, &tid))
		return 0;
	wanted = in_scope(tgid);
	if (scope == EV_SCOPE_PIDS)
		bpf_map_delete_elem(&scope_pids, &tgid);
	if (!wanted)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		count_process_loss();
		return 0;
	}
	fill_head(&e->head, task, EV_EXIT, sizeof(*e), tgid, tid);
	code = process_exit_code(task);
	e->exit_code = (code >> 8) & 0xff;
	e->exit_signal = code & 0x7f;
	bpf_ringbuf_submit(e, wake_flag(e->head.boot_ns));
	return 0;
}
