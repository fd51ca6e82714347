/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Who a task is, in our pid namespace, and whether it is in scope. */
#ifndef RINGSIDE_BPF_IDENTITY_H
#define RINGSIDE_BPF_IDENTITY_H

/* Knobs, set before load and constant to the verifier. */
const volatile __u32 own_pidns_inum = 0;	/* of /proc/self/ns/pid */
const volatile __u32 own_pidns_initial = 0;	/* it is the initial one */
const volatile __u32 scope = EV_SCOPE_PIDNS;

/*
 * The selected processes.  A plain hash: lookups from the tick, updates from fork and exit
 * and by the sidecar.  Preallocated, because a tick may interrupt the allocator.  Sized
 * before load.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} scope_pids SEC(".maps");

/*
 * The cgroup of EV_SCOPE_CGROUP in slot 0: the kernel itself then knows ancestors, at any
 * depth.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} scope_cgroup SEC(".maps");

static __always_inline __u32 pid_number(struct pid *pid, __u32 level)
{
	void *numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	struct upid *upid = numbers + level * bpf_core_type_size(struct upid);

	return BPF_CORE_READ(upid, nr);
}

static __always_inline __u32 pid_inum(struct pid *pid, __u32 level)
{
	void *numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	struct upid *upid = numbers + level * bpf_core_type_size(struct upid);

	return BPF_CORE_READ(upid, ns, ns.inum);
}

/*
 * The task's ids in our namespace; false when it has none.  A pid has a number in every
 * namespace from the initial one down to its own.  Sibling namespaces share a level, so the
 * level alone proves nothing: the namespace of the number must be ours.  Its inode number
 * says so (all namespaces live on the kernel's one nsfs, so there is no second device to
 * tell apart).
 */
static __always_inline bool task_ids(struct task_struct *task, __u32 *tgid, __u32 *tid)
{
	struct pid *pid, *group;
	__u32 level, top;

	if (own_pidns_initial) {
		*tid = BPF_CORE_READ(task, pid);
		*tgid = BPF_CORE_READ(task, tgid);
		return *tgid != 0;
	}
	pid = BPF_CORE_READ(task, thread_pid);
	group = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
	if (!pid || !group)
		return false;		/* already unhashed: nobody can see it any more */
	top = BPF_CORE_READ(pid, level);
	for (level = 1; level < MAX_PID_NS_LEVEL + 1 && level <= top; level++) {
		if (pid_inum(pid, level) != own_pidns_inum)
			continue;
		*tid = pid_number(pid, level);
		*tgid = pid_number(group, level);	/* a process lives in one namespace */
		return *tid != 0 && *tgid != 0;
	}
	return false;
}

/* Current, which has these ids.  The fork of a task is still in its parent's cgroup, or will be moved
 * before it runs; so current is the right one to ask there too. */
static __always_inline bool in_scope(__u32 tgid)
{
	if (scope == EV_SCOPE_CGROUP)
		return bpf_current_task_under_cgroup(&scope_cgroup, 0) == 1;
	if (scope == EV_SCOPE_PIDS)
		return bpf_map_lookup_elem(&scope_pids, &tgid) != NULL;
	return true;
}

static __always_inline __u64 task_cgroup_id(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* Everything of ev_head; every byte is written. */
static __always_inline void fill_head(struct ev_head *head, struct task_struct *task, __u32 type,
				      __u32 size, __u32 tgid, __u32 tid)
{
	head->type = type;
	head->size = size;
	head->boot_ns = bpf_ktime_get_boot_ns();
	head->tgid = tgid;
	head->tid = tid;
	head->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	head->exec_id = BPF_CORE_READ(task, self_exec_id);
	head->cpu = bpf_get_smp_processor_id();
	head->flags = BPF_CORE_READ(task, flags) & PF_KTHREAD ? EV_F_KTHREAD : 0;
}

#endif
