// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The floor under any profiler that samples by BPF: take both stacks, hand them to user
 * space through a ring buffer, wake nobody.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define MAX_FRAMES 127

struct sample {
	__u64 boot_ns, pid_tgid;
	__s64 kernel_bytes, user_bytes;
	__u64 frames[2 * MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} samples SEC(".maps");

/* Too big for the stack, and a reservation of the largest size would cost what nobody
 * needs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} scratch SEC(".maps");

const volatile __u32 target_tgid = 0;		/* 0: all but idle */

SEC("perf_event")
int floor_tick(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 zero = 0;
	struct sample *s;
	__s64 n, max = MAX_FRAMES * sizeof(__u64);

	if (!id || (target_tgid && id >> 32 != target_tgid))
		return 0;
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	s->boot_ns = bpf_ktime_get_boot_ns();
	s->pid_tgid = id;
	n = bpf_get_stack(ctx, s->frames, MAX_FRAMES * sizeof(__u64), 0);
	s->kernel_bytes = n < 0 ? 0 : n;
	if (s->kernel_bytes < 0 || s->kernel_bytes > max)
		return 0;
	n = bpf_get_stack(ctx, (char *)s->frames + s->kernel_bytes,
			  MAX_FRAMES * sizeof(__u64), BPF_F_USER_STACK);
	s->user_bytes = n < 0 ? 0 : n;
	n = s->kernel_bytes + s->user_bytes;
	if (n < 0 || n > 2 * max)
		return 0;
	bpf_ringbuf_output(&samples, s, __builtin_offsetof(struct sample, frames) + n,
		BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
