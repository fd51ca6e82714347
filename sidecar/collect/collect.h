/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collection: the first stage.  It takes ticks, process events and mappings out of the
 * kernel and gives batches of trusted events (bpf/event.h), in the order of their boot_ns.
 * What comes after it need not check a length again: decode.c did.
 *
 * Two sources stand behind one face: the kernel (bpf_source.c) and a journal
 * (replay_source.c), which needs no right.  One collect belongs to one thread.  Functions
 * return 0 or a negated errno, close accepts NULL; text for people goes into `why`, always
 * NUL-terminated, or through the log callback.
 *
 * All rights are used in collect_open(); afterwards collect_hotplug() alone needs
 * CAP_PERFMON, and below Linux 5.19 collect_rescope() and collect_context_plan() need
 * CAP_BPF.
 */
#ifndef RINGSIDE_COLLECT_H
#define RINGSIDE_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"

struct collect;				/* opaque */
struct journal;				/* sidecar/collect/event_file.h */
struct journal_facts;

#define COLLECT_FREQUENCY_MAX	10000
#define COLLECT_WHY_MAX		512	/* a buffer of this size cuts no message short */
#define COLLECT_PIDS_MAX	8192	/* EV_SCOPE_PIDS: selected processes and their children */

enum collect_log_level { COLLECT_LOG_ERROR, COLLECT_LOG_WARN, COLLECT_LOG_INFO, COLLECT_LOG_DEBUG };

struct collect_options {
	unsigned	 frequency;	/* Hz per CPU, 1..COLLECT_FREQUENCY_MAX */
	enum ev_scope	 scope;		/* auto, host, pidns: EV_SCOPE_PIDNS */
	const char	*cgroup;	/* EV_SCOPE_CGROUP: directory; borrowed for open */
	const uint32_t	*pids;		/* EV_SCOPE_PIDS, in our pid namespace; borrowed for open */
	size_t		 npids;
	unsigned	 stack_depth;	/* frames per part, 1..EV_MAX_FRAMES; 0: EV_MAX_FRAMES */
	bool		 low_latency;	/* drained each 2 ms, not 50: sizes the ring */
	size_t		 ring_bytes;	/* 0: worked out from frequency and CPUs; for tests else */

	/* Where warnings and, at debug level, libbpf's own lines go.  NULL: nowhere. */
	void		(*log)(void *arg, enum collect_log_level level, const char *line);
	void		*log_arg;

	/*
	 * Live source: append every event and the end of every batch to this journal
	 * (borrowed, must outlive the collect).  The pipeline appends what it learns
	 * elsewhere (anchors, readings, names) itself, between two drains.
	 */
	struct journal	*record;

	/*
	 * Replay source: every entry of the journal that is neither an event nor the end of
	 * a batch, in its place: after the batch before it was returned, before the batch
	 * after it is. `data` is valid during the call.
	 */
	void		(*entry)(void *arg, uint32_t type, const void *data, size_t len);
	void		*entry_arg;
};

/*
 * What one drain gave.  Events are sorted by boot_ns, equal stamps in the order of arrival,
 * and stay valid until the next collect_drain() or collect_close().
 *
 * Events of the last fraction of a millisecond wait for the next drain, so that a mapping
 * and the sample inside it, which travel through different rings, come out in order.  An
 * event may still be older than the newest of an earlier batch by a few microseconds (or
 * more, when a virtual CPU stood still inside the kernel): a consumer that keeps order
 * across batches must look at boot_ns.
 */
struct collect_batch {
	const struct ev_head *const *events;
	size_t		 count;
	uint64_t	 newest_ns;	/* boot_ns of the last event; 0 when there is none */
	bool		 more;		/* the batch was full: drain again before sleeping */
	bool		 end;		/* replay: nothing will ever follow */
};

/*
 * Totals since open, only ever growing, except those marked "now".  Replay: as the journal
 * recorded.
 */
struct collect_stats {
	uint64_t	 ticks;		/* idle ones included */
	uint64_t	 idle;
	uint64_t	 samples;	/* written by BPF */
	uint64_t	 out_of_scope;	/* skipped */
	uint64_t	 paused;	/* skipped */
	uint64_t	 kernel_ring_full; /* lost samples */
	uint64_t	 process_ring_full; /* lost fork, exec and exit events */
	uint64_t	 sideband_lost;	/* lost mapping and kernel symbol events */
	uint64_t	 malformed;	/* refused at the door */
	uint64_t	 throttled;	/* due by the event's own clock, never seen by BPF */
	uint64_t	 bpf_nano;	/* time spent in the tick program */
	uint64_t	 bpf_map_bytes;	/* now: ring included */
	uint32_t	 cpus_online;	/* now */
	uint32_t	 cpus_armed;	/* now */
	uint32_t	 cpus_failed;	/* now: online, yet not armed */
	uint32_t	 rearmed;	/* CPUs that came back and were armed again */
};

/* One source.  Embedded as the first member of the source's own struct. */
struct collect_ops {
	int	(*arm)(struct collect *c, char *why, size_t n);
	int	(*drain)(struct collect *c, uint64_t now_ns, struct collect_batch *batch);
	int	(*pause)(struct collect *c, bool paused);
	int	(*rescope)(struct collect *c, const uint32_t *pids, size_t npids);
	int	(*context_plan)(struct collect *c, uint32_t pid, const struct ev_context_plan *plan);
	int	(*hotplug)(struct collect *c, char *why, size_t n);
	int	(*stats)(struct collect *c, struct collect_stats *stats);
	int	(*fd)(const struct collect *c);
	void	(*close)(struct collect *c);
};

/*
 * Opens the live source: loads BPF, opens events, everything still disarmed.  On failure
 * `why` says in the words of a log line what was refused, which right or kernel feature is
 * missing, and what to do.
 */
int	 collect_open(struct collect **out, const struct collect_options *opt, char *why, size_t n);

/*
 * Opens a journal as source.  Of the options only log and entry are looked at; no right is
 * needed.
 */
int	 collect_open_replay(struct collect **out, const char *path,
			     const struct collect_options *opt, char *why, size_t n);

/*
 * Facts of the host that recorded, valid until close; NULL for a live source.  See
 * event_file.h.
 */
const struct journal_facts *collect_replay_facts(const struct collect *c);

void	 collect_close(struct collect *c);

/*
 * Lets every CPU tick.  Fails when not one does; when some do not, `why` warns of them,
 * else it is empty.
 */
int	 collect_arm(struct collect *c, char *why, size_t n);

/*
 * Takes what the kernel holds, bounded: `more` says that something was left.  Never sleeps.
 * now_ns: the kernel's boot time just before the call, which says how much of the newest must
 * wait; 0: not known.  A replay does not look at it.
 * After the collect_pause(), drains until one gives nothing take everything that was
 * sampled.
 */
int	 collect_drain(struct collect *c, uint64_t now_ns, struct collect_batch *batch);

/*
 * Ticks go on while paused, are skipped before any work, and are counted.  Process events
 * and mappings keep coming, so that the first sample afterwards resolves.
 */
int	 collect_pause(struct collect *c, bool paused);

/* EV_SCOPE_PIDS: replaces the selected processes.  Any other scope: -EOPNOTSUPP. */
int	 collect_rescope(struct collect *c, const uint32_t *pids, size_t npids);

/*
 * How thread contexts of a process are reached; NULL: not any more.  -E2BIG: as many processes as the
 * kernel's table holds have one.  A replay has none and says 0.
 */
int	 collect_context_plan(struct collect *c, uint32_t pid, const struct ev_context_plan *plan);

/*
 * Call it once a second.  Arms CPUs that came online, lets go of those that went, notices
 * an event that died in between, and accounts for throttled ticks.  Returns the number of
 * CPUs whose state changed, with a line about them in `why`, or a negated errno, when a CPU
 * that is online could not be armed (the others go on; it is tried again at the next call;
 * the same failure is reported once).
 */
int	 collect_hotplug(struct collect *c, char *why, size_t n);

int	 collect_stats(struct collect *c, struct collect_stats *stats);

/*
 * For the loop: becomes readable when a ring is more than half full, which is when to drain
 * before the timer says so.  Not per event.  Owned by the collect; collect_drain() makes it
 * unreadable again. -1: a replay has none; drain until `end`.
 */
int	 collect_fd(const struct collect *c);

/* True when we run in the initial pid namespace: scope `auto` is then `host`. */
bool	 collect_in_initial_pidns(void);

#endif
