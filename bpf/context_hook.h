/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A process that publishes its context (OTEP 4719) ends with naming the mapping:
 * prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, address, length, "OTEL_CTX").  That call is told
 * of, whether or not it succeeds (without CONFIG_ANON_VMA_NAME it never does).  At its
 * exit, so that the name can be seen; at the tracepoint of this one system call, never of
 * all.
 */
#ifndef RINGSIDE_BPF_CONTEXT_HOOK_H
#define RINGSIDE_BPF_CONTEXT_HOOK_H

#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#define CONTEXT_NAME		"OTEL_CTX"	/* with its NUL: nine bytes */

/* Nobody publishes more often but to flood us. */
#define CONTEXT_INTERVAL_NS	10000000

/* When each process was last told of.  The coldest go: then one is told of too early. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} context_told SEC(".maps");

/*
 * What user space had in its registers at the call.  The helper is there from 5.15; before
 * it they lie at the end of the stack, whose size is that of a kernel without KASAN.
 */
#define KERNEL_STACK_BYTES	(16 * 1024)
static __always_inline struct pt_regs *call_registers(void)
{
	struct task_struct *task;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	task = (void *)bpf_get_current_task();
	return (void *)BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES -
	       bpf_core_type_size(struct pt_regs);
}

struct prctl_call {
	__u64 option, kind, address, name;
};

#if defined(__TARGET_ARCH_x86)
static __always_inline void read_call(struct prctl_call *c, struct pt_regs *regs)
{
	c->option = BPF_CORE_READ(regs, di);
	c->kind = BPF_CORE_READ(regs, si);
	c->address = BPF_CORE_READ(regs, dx);
	c->name = BPF_CORE_READ(regs, r8);
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline void read_call(struct prctl_call *c, struct pt_regs *regs)
{
	c->option = BPF_CORE_READ(regs, orig_x0);	/* regs[0] is the result by now */
	c->kind = BPF_CORE_READ(regs, regs[1]);
	c->address = BPF_CORE_READ(regs, regs[2]);
	c->name = BPF_CORE_READ(regs, regs[4]);
}
#endif

/* Go's runtime names its mappings by the hundred: the name decides, all nine bytes of it. */
static __always_inline bool names_a_context(const struct prctl_call *c)
{
	char name[sizeof(CONTEXT_NAME)];
	__u64 eight, wanted;

	if ((__u32)c->option != PR_SET_VMA || c->kind != PR_SET_VMA_ANON_NAME ||
	    bpf_probe_read_user(name, sizeof(name), (const void *)c->name))
		return false;
	__builtin_memcpy(&eight, name, sizeof(eight));
	__builtin_memcpy(&wanted, CONTEXT_NAME, sizeof(wanted));
	return eight == wanted && name[sizeof(eight)] == 0;
}

static __always_inline bool told_lately(__u32 tgid)
{
	__u64 now = bpf_ktime_get_boot_ns();
	__u64 *last = bpf_map_lookup_elem(&context_told, &tgid);

	if (last && now - *last < CONTEXT_INTERVAL_NS)
		return true;
	bpf_map_update_elem(&context_told, &tgid, &now, BPF_ANY);
	return false;
}

SEC("tracepoint/syscalls/sys_exit_prctl")
int ringside_context(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tgid = 0, tid = 0;
	struct prctl_call call;
	struct ev_context *e;

	read_call(&call, call_registers());
	if (!names_a_context(&call) || !task_ids(task, &tgid, &tid) || !in_scope(tgid) ||
	    told_lately(tgid))
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		count_process_loss();
		return 0;
	}
	fill_head(&e->head, task, EV_CONTEXT, sizeof(*e), tgid, tid);
	e->address = call.address;
	bpf_ringbuf_submit(e, wake_flag(e->head.boot_ns));
	return 0;
}

#endif
