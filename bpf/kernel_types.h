/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The few kernel types that bpf/ reads, and of each only the members that it reads.
 * Offsets here mean nothing: preserve_access_index makes every access a CO-RE relocation,
 * which libbpf fills in from the BTF of the kernel that runs.  So the object does not
 * depend on the machine that built it.
 *
 * A member must keep the kernel's own name and a type of the same kind; when a kernel
 * renames one, add a second struct with a ___suffix and ask bpf_core_field_exists().
 */
#ifndef RINGSIDE_BPF_KERNEL_TYPES_H
#define RINGSIDE_BPF_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;		/* bpf_helper_defs.h names these three */
typedef __u32 __be32;
typedef __u32 __wsum;

/* Kernel numbers, unchanged since 5.10 (stable by use, not by promise). */
#define PF_IO_WORKER		0x00000010	/* io_uring's: has an mm, never runs user code */
#define PF_KTHREAD		0x00200000
#define PIDTYPE_TGID		1
#define SIGNAL_GROUP_EXIT	0x00000004
#define MAX_PID_NS_LEVEL	32
#define MINORBITS		20		/* of the kernel's own dev_t */

/* UAPI numbers of linux/bpf.h, which cannot be included beside these types. */
enum {
	BPF_MAP_TYPE_HASH		= 1,
	BPF_MAP_TYPE_ARRAY		= 2,
	BPF_MAP_TYPE_PERCPU_ARRAY	= 6,
	BPF_MAP_TYPE_CGROUP_ARRAY	= 8,
	BPF_MAP_TYPE_LRU_HASH		= 9,
	BPF_MAP_TYPE_RINGBUF		= 27,
	BPF_ANY				= 0,
	BPF_F_USER_STACK		= 1 << 8,
	BPF_F_MMAPABLE			= 1 << 10,
	BPF_RB_NO_WAKEUP		= 1 << 0,
	BPF_RB_FORCE_WAKEUP		= 1 << 1,
	BPF_RB_AVAIL_DATA		= 0,
};

/*
 * What a perf_event program gets.  This is UAPI (asm/ptrace.h): fixed offsets, checked and
 * translated by the verifier, hence outside the preserve_access_index region.
 */
#if defined(__TARGET_ARCH_x86)
struct bpf_perf_event_data {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	__u64 ip, cs, flags, sp, ss;
	__u64 sample_period, addr;
};
#define tick_hit_user(ctx)	(((ctx)->cs & 3) != 0)
#elif defined(__TARGET_ARCH_arm64)
struct bpf_perf_event_data {
	__u64 regs[31], sp, pc, pstate;
	__u64 sample_period, addr;
};
#define tick_hit_user(ctx)	(((ctx)->pstate & 0xf) == 0)
#else
#error "no register layout for this architecture"
#endif

/* Whether this kernel has a helper: its number is asked for by name. */
enum bpf_func_id {
	BPF_FUNC_task_pt_regs		= 175,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
	struct pid *pids[4];
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

struct mm_struct {
	struct file *exe_file;
};

/* Where the thread pointer is kept. */
#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};
#else
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#endif

/* As they lie on a task's kernel stack. */
struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long r8, dx, si, di;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__u64 orig_x0;
#endif
};

struct task_struct {
	void *stack;
	unsigned int flags;
	struct mm_struct *mm;
	int exit_code;
	int pid, tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	char comm[16];
	__u64 self_exec_id;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct thread_struct thread;
};

struct linux_binprm {
	const char *filename;
};

#pragma clang attribute pop

#endif
