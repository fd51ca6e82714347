/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The way out: ring buffer, counters, and when the sidecar is woken. */
#ifndef RINGSIDE_BPF_OUTPUT_H
#define RINGSIDE_BPF_OUTPUT_H

const volatile __u64 ring_half = 0;	/* bytes; half of the ring */

/*
 * Events on their way to the sidecar.  A ring buffer and not a perf buffer: one buffer for
 * all CPUs, so that events come out nearly sorted and memory is shared.  Sized by the
 * sidecar before load.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

struct cpu_stats {
	__u64 slot[EV_STAT_MAX];
};

/*
 * One cache line a CPU, mapped by the sidecar: reading them takes no system call and, after
 * start, no right.  A per-CPU map would need both.  Sized to the possible CPUs before load.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_stats);
} stats SEC(".maps");

/* Written by the sidecar through its mapping of .bss. */
volatile __u32 paused;
/* When the sidecar was last woken; racing CPUs at worst wake it once more. */
volatile __u64 last_wake_ns;

#define WAKE_INTERVAL_NS	1000000

/*
 * A wake-up costs more than a sample, and bends the profile: the waker's work is what runs
 * next.  So the timer drains, and BPF wakes only when the ring would not last until then.
 */
static __always_inline __u64 wake_flag(__u64 now)
{
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <= ring_half)
		return BPF_RB_NO_WAKEUP;
	if (now - last_wake_ns < WAKE_INTERVAL_NS)
		return BPF_RB_NO_WAKEUP;
	last_wake_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline struct cpu_stats *own_stats(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&stats, &cpu);
}

/*
 * Process programs can be preempted by one another, on some kernels: hence the atomic add.
 */
static __always_inline void count_process_loss(void)
{
	struct cpu_stats *st = own_stats();

	if (st)
		__sync_fetch_and_add(&st->slot[EV_STAT_PROC_RING_FULL], 1);
}

#endif
