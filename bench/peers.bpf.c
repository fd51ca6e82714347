// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* A peer of the ring: the kernel's own ring buffer, filled by a program that does nothing else. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define MAX_LEN 4096

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} records SEC(".maps");

struct order {
	__u32 len, n;
};

static char payload[MAX_LEN];

static long put(__u32 i, void *data)
{
	struct order *o = data;

	return bpf_ringbuf_output(&records, payload, o->len & (MAX_LEN - 1),
				  BPF_RB_NO_WAKEUP) != 0;
}

SEC("syscall")
int fill(struct order *ctx)
{
	struct order o = *ctx;

	return bpf_loop(o.n, put, &o, 0) != o.n;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
