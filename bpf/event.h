/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Events as they leave the kernel: the one header that bpf/ and sidecar/ share.
 *
 * Every event begins with struct ev_head; ev_head.size is the whole length in bytes, a multiple of
 * eight.  Events are written to one BPF ring buffer in reserve order; two CPUs may reserve in an order
 * that differs from their boot_ns by a few microseconds.  The reader (sidecar/collect/decode.c) checks
 * type, size and every inner length once, at that door; after it the event is trusted.
 *
 * Pids are those of the sidecar's own pid namespace (ev_head.tgid is what user space calls pid): the
 * program walks the task's pid levels and takes the one whose namespace is ours.  A task without such
 * a level never makes an event; it is counted (EV_STAT_OUT_OF_SCOPE).
 */
#ifndef RINGSIDE_BPF_EVENT_H
#define RINGSIDE_BPF_EVENT_H

#ifndef __bpf__	/* bpf/ brings its own __u32 and friends: bpf/kernel_types.h */
#include <linux/types.h>
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

enum ev_type {
	EV_SAMPLE	= 1,	/* struct ev_sample: one tick on one CPU */
	EV_FORK		= 2,	/* struct ev_fork: a new process (not a new thread) */
	EV_EXEC		= 3,	/* struct ev_exec: the process has a new image */
	EV_EXIT		= 4,	/* struct ev_exit: the last thread of the process is gone */
	EV_CONTEXT	= 5,	/* struct ev_context: the process has named a mapping OTEL_CTX */
	/* 16 and above are made by sidecar/collect from the kernel's own side-band events */
	EV_MMAP		= 16,	/* struct ev_mmap: an executable mapping; in scope or not */
	EV_KSYMBOL	= 17,	/* struct ev_ksymbol: kernel text came or went (modules, BPF) */
	EV_COMM_EXEC	= 18,	/* struct ev_comm_exec: an exec begins; the mappings that follow are the
				 * new image's (they come before EV_EXEC, which is stamped when it ends) */
};

#define EV_COMM_LEN	16	/* TASK_COMM_LEN, NUL-terminated */
#define EV_MAX_FRAMES	127	/* frames of one part; kernel.perf_event_max_stack default */
#define EV_PATH_MAX	4096
#define EV_BUILD_ID_MAX	20

struct ev_head {
	__u32	type;		/* enum ev_type */
	__u32	size;		/* bytes, header included, multiple of 8 */
	__u64	boot_ns;	/* CLOCK_BOOTTIME of the host */
	__u32	tgid;		/* process, in the sidecar's pid namespace */
	__u32	tid;		/* thread, likewise */
	__u64	start_ns;	/* group leader's start_boottime: with tgid, the process identity */
	__u64	exec_id;	/* task->self_exec_id: which image of the process */
	__u32	cpu;
	__u32	flags;		/* EV_F_* */
};

#define EV_F_KTHREAD		0x1	/* kernel thread: no mm, no user stack */
#define EV_F_KERNEL		0x2	/* the tick hit kernel code */
#define EV_F_USER_CUT		0x4	/* user stack longer than what was taken */
#define EV_F_KERNEL_CUT		0x8
#define EV_F_USER_FAULT		0x10	/* user stack helper failed (-EFAULT): no frame at all */
#define EV_F_MMAP_BUILD_ID	0x20	/* ev_mmap carries a build id instead of dev:inode */
#define EV_F_KSYM_UNREGISTER	0x40
#define EV_F_MISC_CUT		0x80	/* ev_exec.filename or ev_ksymbol.name was cut */

/*
 * A tick.  The frames follow: kernel_frames addresses, then user_frames addresses, leaf first, u64
 * each.  When context is EV_CONTEXT_OK, context_bytes more follow them (padded to 8): the thread's
 * record as it stood, a struct otel_thread_ctx of ctx/otel_ctx_abi.h whose attributes are cut at
 * OTEL_THREAD_CTX_ATTRS_MAX; valid is 1.  Else context_bytes is 0.
 */
struct ev_sample {
	struct ev_head	head;
	__u64		cgroup_id;	/* v2 cgroup of the task, 0 unknown */
	char		comm[EV_COMM_LEN]; /* the thread's name */
	__u16		kernel_frames;
	__u16		user_frames;
	__u16		context_bytes;
	__u8		user_end;	/* enum ev_end: how the user walk ended, as far as BPF knows */
	__u8		context;	/* enum ev_context_state */
	__u64		frames[];
};

/* Why a user stack stopped.  Values are those of enum ringside_stack_end (shm/ringside.h). */
enum ev_end {
	EV_END_NONE = 0, EV_END_COMPLETE = 1, EV_END_FRAME_POINTER = 2, EV_END_NO_TABLE = 3,
	EV_END_READ_FAULT = 4, EV_END_ANONYMOUS = 5, EV_END_TOO_DEEP = 6,
};

/* What became of the thread's context.  Values are those of enum ringside_context_state (shm/ringside.h),
 * which has more: what user space knows. */
enum ev_context_state {
	EV_CONTEXT_ABSENT = 0,		/* no plan for this process */
	EV_CONTEXT_OK = 1,
	EV_CONTEXT_NONE = 2,		/* nothing is attached */
	EV_CONTEXT_UNALLOCATED = 5,	/* this thread never touched the module's TLS block */
	EV_CONTEXT_FAULT = 6,		/* memory could not be read */
	EV_CONTEXT_INVALID = 7,		/* the record says that it is not valid */
	EV_CONTEXT_LAST = EV_CONTEXT_INVALID,
};

/* How a thread's slot is found.  Worked out by sidecar/context/tls_plan.c, walked at the tick. */
enum ev_way {
	EV_WAY_NONE = 0,
	EV_WAY_STATIC = 1,	/* thread pointer + offset */
	EV_WAY_GLIBC = 2,	/* by the DTV: entries of 16 bytes, capacity and generation before them */
	EV_WAY_MUSL = 3,	/* by the DTV: entries of 8 bytes, their count before them */
};

struct ev_context_way {
	__u32	kind;		/* enum ev_way */
	__s32	dtv_at;		/* the DTV's address stands at thread pointer + this */
	__u64	module;		/* number in the DTV, from 1 */
	__s64	offset;		/* in the module's block, or from the thread pointer */
	__u64	generation;	/* GLIBC: of the module; 0 unknown */
};

/* Value of map context_plans, whose key is a tgid; only for this image of this process.  The ways are
 * tried in order until a slot holds something. */
#define EV_CONTEXT_WAYS	2
struct ev_context_plan {
	__u64	start_ns, exec_id;	/* as in ev_head */
	struct ev_context_way way[EV_CONTEXT_WAYS];
};

/* head names the child.  The child inherits the parent's image until it execs. */
struct ev_fork {
	struct ev_head	head;
	__u64		parent_start_ns;
	__u32		parent_tgid;	/* 0 when the parent is not visible in our namespace */
	__u32		pad0;
	__u64		parent_exec_id;
	__u64		cgroup_id;
	char		comm[EV_COMM_LEN];
};

struct ev_exec {
	struct ev_head	head;
	__u64		cgroup_id;
	__u64		inode;		/* of the executable */
	__u32		dev_major, dev_minor;
	__u32		parent_tgid;	/* 0 when not visible */
	__u32		filename_len;	/* bytes, without NUL; the name, at least one NUL and
					 * padding to 8 follow: so for every name below */
	char		comm[EV_COMM_LEN];
	char		filename[];	/* as given to execve, not resolved */
};

struct ev_exit {
	struct ev_head	head;
	__u32		exit_code;	/* 0..255 */
	__u32		exit_signal;	/* signal number that killed it, else 0 */
};

/* head names the process, tid whichever of its threads called prctl().  Some of a quick succession are left out. */
struct ev_context {
	struct ev_head	head;
	__u64		address;	/* of the mapping, as given */
};

/* Made by sidecar/collect from PERF_RECORD_MMAP2.  start_ns 0: identity by tgid and time. */
struct ev_mmap {
	struct ev_head	head;
	__u64		addr, len, pgoff;
	__u64		inode, inode_generation;
	__u32		dev_major, dev_minor;
	__u8		build_id[EV_BUILD_ID_MAX];
	__u32		build_id_len;	/* 0..20 */
	__u32		path_len;	/* the path follows, NUL-padded to 8 */
	__u32		pad0;
	char		path[];
};

/* Made by sidecar/collect from PERF_RECORD_KSYMBOL. */
struct ev_ksymbol {
	struct ev_head	head;
	__u64		addr;
	__u32		len;
	__u32		name_len;	/* the name follows, NUL-padded to 8 */
	char		name[];
};

/* Made by sidecar/collect from PERF_RECORD_COMM with PERF_RECORD_MISC_COMM_EXEC.  start_ns 0. */
struct ev_comm_exec {
	struct ev_head	head;
	char		comm[EV_COMM_LEN];
};

/* Slots of a CPU's line in the mapped array `stats` (u64 each, only ever growing). */
enum ev_stat {
	EV_STAT_TICKS		= 0,	/* program runs, idle included */
	EV_STAT_IDLE		= 1,	/* ticks on the idle task: neither sampled nor counted as skipped */
	EV_STAT_OUT_OF_SCOPE	= 2,	/* ticks skipped by scope */
	EV_STAT_SAMPLES		= 3,	/* EV_SAMPLE written */
	EV_STAT_RING_FULL	= 4,	/* EV_SAMPLE not written: ring buffer full */
	EV_STAT_PROC_RING_FULL	= 5,	/* fork/exec/exit not written: ring buffer (or scope_pids) full */
	EV_STAT_PAUSED		= 6,	/* ticks skipped while paused */
	EV_STAT_RUN_NS		= 7,	/* nanoseconds spent on ticks that were sampled */
	EV_STAT_MAX		= 8,	/* one cache line */
};

/* Scope, set as rodata before load. */
enum ev_scope {
	EV_SCOPE_PIDNS	= 0,	/* every task visible in our pid namespace (in the initial one: the host) */
	EV_SCOPE_CGROUP	= 1,	/* below one v2 cgroup, descendants included */
	EV_SCOPE_PIDS	= 2,	/* tgids in map scope_pids; a fork of a selected one is selected */
};

#pragma GCC diagnostic pop
#endif
