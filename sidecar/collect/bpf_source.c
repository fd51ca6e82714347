/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel as source. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/magic.h>

#include "sidecar/collect/batch.h"
#include "sidecar/collect/bpf_load.h"
#include "sidecar/collect/bpf_ring.h"
#include "sidecar/collect/collect_source.h"
#include "sidecar/collect/cpu_slots.h"
#include "sidecar/collect/decode.h"
#include "sidecar/collect/event_file.h"
#include "sidecar/collect/rights.h"

#define RECENT_EXITS	16

struct live {
	struct collect	 base;
	struct bpf_parts bpf;
	struct bpf_ring	 ring;
	struct cpu_slots cpus;
	struct batch	 batch;
	uint64_t	 ring_newest_ns;
	uint64_t	 malformed;
	int		 cgroup_fd, epoll_fd;
	struct { uint64_t start_ns; uint32_t tgid; } exits[RECENT_EXITS];
	unsigned	 next_exit;
};

/*
 * Two threads that end a process at the same moment may both see signal->live at 0, and
 * both tell of the exit.  They do so within microseconds: remembering a few is enough.
 */
static bool second_exit(struct live *l, const struct ev_head *e)
{
	if (e->type != EV_EXIT)
		return false;
	for (int i = 0; i < RECENT_EXITS; i++)
		if (l->exits[i].tgid == e->tgid && l->exits[i].start_ns == e->start_ns)
			return true;
	l->exits[l->next_exit].tgid = e->tgid;
	l->exits[l->next_exit].start_ns = e->start_ns;
	l->next_exit = (l->next_exit + 1) % RECENT_EXITS;
	return false;
}

/* True: the batch is full, and the ring is not empty. */
static bool drain_ring(struct live *l)
{
	const struct ev_head *e;
	const void *data;
	size_t len;

	while (bpf_ring_peek(&l->ring, &data, &len)) {
		if (event_check(data, len, &e)) {
			l->malformed++;
		} else if (!second_exit(l, e)) {
			struct ev_head *to = batch_reserve(&l->batch, e->size);

			if (!to)
				return true;
			memcpy(to, e, e->size);
			batch_commit(&l->batch, to);
			l->ring_newest_ns = e->boot_ns;
		}
		bpf_ring_pop(&l->ring, len);
	}
	return false;
}

static bool drain_sidebands(struct live *l)
{
	bool left = false;

	for (unsigned cpu = 0; cpu < l->cpus.n; cpu++)
		if (l->cpus.slot[cpu].side.base)
			sideband_look(&l->cpus.slot[cpu].side);
	for (unsigned cpu = 0; cpu < l->cpus.n; cpu++) {
		struct cpu_slot *slot = &l->cpus.slot[cpu];

		if (!slot->side.base)
			continue;
		if (sideband_drain(&slot->side, &l->batch)) {
			batch_limit(&l->batch, slot->side.newest_ns);
			left = true;
		} else if (slot->leaving) {
			cpu_slot_close(&l->cpus, cpu);
		}
	}
	return left;
}

static void record_batch(struct journal *j, const struct collect_batch *batch)
{
	struct journal_drain drain = { .newest_ns = batch->newest_ns,
				       .count = (uint32_t)batch->count };

	for (size_t i = 0; i < batch->count; i++)
		journal_append(j, JOURNAL_EVENT, batch->events[i],
			       batch->events[i]->size);
	journal_append(j, JOURNAL_DRAIN, &drain, sizeof(drain));
}

static int live_drain(struct collect *c, uint64_t now_ns, struct collect_batch *batch)
{
	struct live *l = (struct live *)c;
	struct epoll_event unused[16];

	/*
	 * Edges are taken before the rings are read: one that comes later wakes the loop
	 * again.
	 */
	while (epoll_wait(l->epoll_fd, unused, 16, 0) == 16)
		;
	batch_begin(&l->batch, now_ns);
	/*
	 * Side-bands last: the mappings that a sample in the ring needs were written
	 * before it, so they are seen. The other way round, mappings whose fork is not
	 * yet seen, is what the batch's hold is for.
	 */
	if (drain_ring(l)) {
		batch_limit(&l->batch, l->ring_newest_ns);
		batch->more = true;
	}
	batch->more |= drain_sidebands(l);
	batch_finish(&l->batch);
	batch->events = l->batch.events;
	batch->count = l->batch.given;
	if (batch->count)
		batch->newest_ns = batch->events[batch->count - 1]->boot_ns;
	if (c->opt.record)
		record_batch(c->opt.record, batch);
	return 0;
}

static int live_arm(struct collect *c, char *why, size_t n)
{
	struct live *l = (struct live *)c;
	unsigned ticking = cpu_slots_arm(&l->cpus);

	if (n)
		*why = 0;
	if (ticking < l->cpus.online.count)
		snprintf(why, n, "%u of %u CPUs tick: samples of the others are missing",
			 ticking, l->cpus.online.count);
	return ticking ? 0 : -ENODEV;
}

static int live_pause(struct collect *c, bool paused)
{
	struct live *l = (struct live *)c;

	*l->bpf.paused = paused;
	return 0;
}

static bool selected(uint32_t pid, const uint32_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static int live_rescope(struct collect *c, const uint32_t *pids, size_t npids)
{
	struct live *l = (struct live *)c;
	uint32_t *gone, key, *prev = NULL;
	uint8_t one = 1;
	size_t n = 0;
	int err = 0;

	if (c->opt.scope != EV_SCOPE_PIDS)
		return -EOPNOTSUPP;
	if (!npids || npids > COLLECT_PIDS_MAX)
		return -EINVAL;
	gone = malloc(COLLECT_PIDS_MAX * sizeof(*gone));
	if (!gone)
		return -ENOMEM;
	/* Collected first: deleting while walking starts the walk anew. */
	while (n < COLLECT_PIDS_MAX &&
	       !bpf_map_get_next_key(l->bpf.scope_pids_fd, prev, &key)) {
		if (!selected(key, pids, npids))
			gone[n++] = key;
		prev = &key;
	}
	for (size_t i = 0; i < n; i++)
		bpf_map_delete_elem(l->bpf.scope_pids_fd, &gone[i]);
	for (size_t i = 0; i < npids && !err; i++)
		err = bpf_map_update_elem(l->bpf.scope_pids_fd, &pids[i], &one, BPF_ANY);
	free(gone);
	return err;
}

static int live_context_plan(struct collect *c, uint32_t pid,
			     const struct ev_context_plan *plan)
{
	struct live *l = (struct live *)c;
	int err;

	if (plan)
		return bpf_map_update_elem(l->bpf.context_plans_fd, &pid, plan, BPF_ANY);
	err = bpf_map_delete_elem(l->bpf.context_plans_fd, &pid);
	return err == -ENOENT ? 0 : err;
}

static int live_hotplug(struct collect *c, char *why, size_t n)
{
	return cpu_slots_check(&((struct live *)c)->cpus, why, n);
}

static int live_stats(struct collect *c, struct collect_stats *st)
{
	struct live *l = (struct live *)c;

	for (unsigned i = 0; i < l->bpf.ncpu; i++) {
		const uint64_t *slot = l->bpf.stats[i].slot;

		st->ticks += slot[EV_STAT_TICKS];
		st->idle += slot[EV_STAT_IDLE];
		st->samples += slot[EV_STAT_SAMPLES];
		st->out_of_scope += slot[EV_STAT_OUT_OF_SCOPE];
		st->paused += slot[EV_STAT_PAUSED];
		st->kernel_ring_full += slot[EV_STAT_RING_FULL];
		st->process_ring_full += slot[EV_STAT_PROC_RING_FULL];
		st->bpf_nano += slot[EV_STAT_RUN_NS];
		st->throttled += l->cpus.slot[i].missed;
		st->sideband_lost += l->cpus.slot[i].side.lost;
		st->malformed += l->cpus.slot[i].side.malformed;
	}
	st->throttled += l->cpus.missed;
	st->sideband_lost += l->cpus.lost;
	st->malformed += l->cpus.malformed + l->malformed;
	st->bpf_map_bytes = l->bpf.map_bytes;
	st->cpus_online = l->cpus.online.count;
	st->cpus_armed = l->cpus.armed ? cpu_slots_open_count(&l->cpus) : 0;
	st->cpus_failed = cpu_slots_failed_count(&l->cpus);
	st->rearmed = l->cpus.rearmed;
	if (c->opt.record)
		journal_append(c->opt.record, JOURNAL_STATS, st, sizeof(*st));
	return 0;
}

static int live_fd(const struct collect *c)
{
	return ((const struct live *)c)->epoll_fd;
}

static void live_close(struct collect *c)
{
	struct live *l = (struct live *)c;

	cpu_slots_fini(&l->cpus);	/* no tick runs after this */
	bpf_ring_close(&l->ring);
	bpf_unload(&l->bpf);
	batch_fini(&l->batch);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->cgroup_fd >= 0)
		close(l->cgroup_fd);
	free(l);
}

static const struct collect_ops live_ops = {
	.arm = live_arm,
	.drain = live_drain,
	.pause = live_pause,
	.rescope = live_rescope,
	.context_plan = live_context_plan,
	.hotplug = live_hotplug,
	.stats = live_stats,
	.fd = live_fd,
	.close = live_close,
};

/* The directory of scope cgroup: must be of a v2 hierarchy. */
static int open_cgroup(struct live *l, const char *path, char *why, size_t n)
{
	struct statfs fs;
	int err;

	l->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->cgroup_fd < 0 || fstatfs(l->cgroup_fd, &fs)) {
		err = -errno;
		snprintf(why, n, "scope cgroup: %.200s: %s", path, strerror(-err));
		return err;
	}
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		snprintf(
			why, n,
			"scope cgroup: %.200s: not in a cgroup v2 hierarchy; v1 cannot be a scope",
			path);
		return -EINVAL;
	}
	return 0;
}

static int open_epoll(struct live *l)
{
	/*
	 * Edge-triggered: a ring with one record in it is "readable" at any time, but BPF
	 * makes an edge only when it is more than half full.  A level would wake the loop
	 * for each sample.
	 */
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0 ||
	    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->bpf.events_fd, &ev))
		return -errno;
	return 0;
}

static int open_rings(struct live *l, char *why, size_t n)
{
	size_t arena;
	int err = bpf_ring_open(&l->ring, l->bpf.events_fd, l->bpf.ring_bytes);

	if (err) {
		snprintf(why, n, "mapping the BPF ring buffer: %s", strerror(-err));
		return err;
	}
	err = open_epoll(l);
	/* An event of the side-band is up to twice its record. */
	arena = l->bpf.ring_bytes + 2 * 64 * 1024 * (size_t)l->cpus.online.count +
		64 * 1024;
	if (!err)
		err = batch_init(&l->batch, arena);
	if (err)
		snprintf(why, n, "collect: %s", strerror(-err));
	return err;
}

/* Two descriptors a CPU: the usual soft limit of 1024 ends at 500 CPUs. */
static void raise_file_limit(unsigned ncpu)
{
	struct rlimit lim;
	rlim_t need = 2 * (rlim_t)ncpu + 128;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur >= need)
		return;
	lim.rlim_cur = need < lim.rlim_max ? need : lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);		/* refused: EMFILE is named when it comes */
}

/* Every CPU that is online.  One that fails is a warning; all of them an error. */
static int open_cpus(struct live *l, char *why, size_t n)
{
	struct cpu_slots *s = &l->cpus;
	int err, last = -ENODEV;

	s->prog_fd = l->bpf.tick_fd;
	s->cgroup_fd = l->cgroup_fd;
	s->epoll_fd = l->epoll_fd;
	s->stats = l->bpf.stats;
	s->n = l->bpf.ncpu;
	s->period_ns = 1000000000ULL / l->base.opt.frequency;
	raise_file_limit(s->online.count);
	err = cpu_slots_init(s);
	if (err) {
		snprintf(why, n, "collect: %s", strerror(-err));
		return err;
	}
	for (unsigned cpu = 0; cpu < s->n; cpu++) {
		if (!cpus_has(&s->online, cpu))
			continue;
		err = cpu_slot_open(s, cpu);
		if (!err)
			continue;
		last = err;
		rights_explain_perf(why, n, -err);
		collect_logf(&l->base.opt, COLLECT_LOG_DEBUG, "CPU %u: %s", cpu, why);
	}
	if (!cpu_slots_open_count(s))
		return last;
	if (cpu_slots_failed_count(s))
		collect_logf(&l->base.opt, COLLECT_LOG_WARN,
			     "%u of %u CPUs cannot be opened: %s",
			     cpu_slots_failed_count(s), s->online.count, why);
	return 0;
}

static int open_live(struct live *l, char *why, size_t n)
{
	const struct collect_options *opt = &l->base.opt;
	struct cpu_set possible;
	int err;

	err = cpus_read(&possible, "possible");
	if (!err)
		err = cpus_read(&l->cpus.online, "online");
	if (err || !l->cpus.online.count) {
		err = err ? err : -ENODEV;
		snprintf(
			why, n,
			"/sys/devices/system/cpu: %s: which CPUs there are cannot be told; mount /sys",
			strerror(-err));
		return err;
	}
	if (opt->scope == EV_SCOPE_CGROUP) {
		err = open_cgroup(l, opt->cgroup, why, n);
		if (err)
			return err;
	}
	err = bpf_load(&l->bpf, opt, bpf_ring_bytes(opt, l->cpus.online.count),
		       possible.end, l->cgroup_fd, why, n);
	if (!err)
		err = open_rings(l, why, n);
	if (!err)
		err = open_cpus(l, why, n);
	return err;
}

int collect_open(struct collect **out, const struct collect_options *opt, char *why,
		 size_t n)
{
	struct live *l;
	int err = collect_check_options(opt, why, n);

	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l) {
		snprintf(why, n, "collect: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	l->base.ops = &live_ops;
	l->base.opt = *opt;
	l->cgroup_fd = l->epoll_fd = -1;
	err = open_live(l, why, n);
	if (err) {
		live_close(&l->base);
		return err;
	}
	l->base.opt.cgroup = NULL;	/* borrowed for the call only */
	l->base.opt.pids = NULL;
	*out = &l->base;
	return 0;
}
