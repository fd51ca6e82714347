/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/cpu_slots.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "sidecar/collect/perf_events.h"
#include "sidecar/collect/rights.h"

#define SIDE_BYTES		(64u << 10)
#define SIDE_BYTES_MANY		(32u << 10)
#define MANY_CPUS		32
/*
 * The events' clock may be as coarse as a jiffy: it is asked for progress no more often
 * than this.
 */
#define LOOK_INTERVAL_NS	250000000ULL
/*
 * A tick or two are always under way between the two counts, and a late one is not a lost
 * one.
 */
#define MISSED_SLACK		4
#define IDLE_GRAIN_NS		10000000	/* of /proc/stat */

int cpu_slots_init(struct cpu_slots *s)
{
	s->slot = calloc(s->n, sizeof(*s->slot));
	if (!s->slot)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n; i++)
		s->slot[i].tick_fd = s->slot[i].side_fd = -1;
	s->side_bytes = s->n > MANY_CPUS ? SIDE_BYTES_MANY : SIDE_BYTES;
	s->build_id = true;
	s->cgroup_filter = s->cgroup_fd >= 0;
	return idle_time_open(&s->idle, s->n);
}

void cpu_slots_fini(struct cpu_slots *s)
{
	for (unsigned i = 0; s->slot && i < s->n; i++)
		cpu_slot_close(s, i);
	idle_time_close(&s->idle);
	free(s->slot);
	s->slot = NULL;
}

static int open_tick(struct cpu_slots *s, unsigned cpu)
{
	int fd = perf_open_tick(cpu, s->period_ns, s->prog_fd,
				s->cgroup_filter ? s->cgroup_fd : -1);

	if (fd >= 0 || fd == -ENODEV || !s->cgroup_filter)
		return fd;
	/*
	 * A hierarchy without perf_event (ENOENT, EBADF) or a kernel without the filter:
	 * BPF asks at each tick anyway.  Another cause shows again without the filter.
	 */
	fd = perf_open_tick(cpu, s->period_ns, s->prog_fd, -1);
	if (fd >= 0)
		s->cgroup_filter = false;
	return fd;
}

/*
 * The side-band is not filtered by cgroup: its clock is how a dead event is recognised,
 * and the clock of a filtered event stands still whenever the cgroup does not run.
 */
static int open_side(struct cpu_slots *s, unsigned cpu, struct cpu_slot *slot)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int err;

	slot->side_fd =
		perf_open_sideband(cpu, (uint32_t)s->side_bytes / 2, &s->build_id);
	if (slot->side_fd < 0)
		return slot->side_fd;
	err = sideband_open(&slot->side, slot->side_fd, s->side_bytes);
	if (err)
		return err == -EPERM ? -EDQUOT : err;	/* no right was missing, but locked memory */
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, slot->side_fd, &ev))
		return -errno;
	return 0;
}

/* From here on ticks are due. */
static int slot_enable(struct cpu_slots *s, unsigned cpu)
{
	struct cpu_slot *slot = &s->slot[cpu];

	slot->ticks_before = s->stats[cpu].slot[EV_STAT_TICKS];
	slot->idle_ticks_before = s->stats[cpu].slot[EV_STAT_IDLE];
	slot->idle_ns_before = s->idle.ns[cpu];
	return perf_enable(slot->tick_fd, true);
}

int cpu_slot_open(struct cpu_slots *s, unsigned cpu)
{
	struct cpu_slot *slot = &s->slot[cpu];
	int err;

	memset(slot, 0, sizeof(*slot));
	slot->side_fd = -1;
	slot->tick_fd = open_tick(s, cpu);
	err = slot->tick_fd < 0 ? slot->tick_fd : open_side(s, cpu, slot);
	if (!err && s->armed)
		err = slot_enable(s, cpu);
	if (err) {
		cpu_slot_close(s, cpu);
		slot->failed = -err;
	}
	return err;
}

void cpu_slot_close(struct cpu_slots *s, unsigned cpu)
{
	struct cpu_slot *slot = &s->slot[cpu];

	s->missed += slot->missed;
	s->lost += slot->side.lost;
	s->malformed += slot->side.malformed;
	sideband_close(&slot->side);
	if (slot->side_fd >= 0)
		close(slot->side_fd);
	if (slot->tick_fd >= 0)
		close(slot->tick_fd);
	memset(slot, 0, sizeof(*slot));
	slot->tick_fd = slot->side_fd = -1;
}

unsigned cpu_slots_arm(struct cpu_slots *s)
{
	unsigned n = 0;

	s->armed = true;
	idle_time_read(&s->idle);
	for (unsigned i = 0; i < s->n; i++)
		n += s->slot[i].tick_fd >= 0 && !slot_enable(s, i);
	return n;
}

/* Ticks that an idle CPU did not wake for.  The clock of a filtered event stands still
 * there. */
static uint64_t slept_through(struct cpu_slots *s, unsigned cpu)
{
	struct cpu_slot *slot = &s->slot[cpu];
	uint64_t due, seen;

	if (s->cgroup_filter || s->idle.ns[cpu] < slot->idle_ns_before)
		return 0;		/* iowait may run backwards */
	due = (s->idle.ns[cpu] - slot->idle_ns_before + IDLE_GRAIN_NS) / s->period_ns;
	seen = s->stats[cpu].slot[EV_STAT_IDLE] - slot->idle_ticks_before;
	return due > seen ? due - seen : 0;
}

/*
 * The event's own clock says how many ticks were due; BPF counted those that came.  The
 * difference only grows: a late tick makes it smaller again for a moment.
 */
static void count_missed(struct cpu_slots *s, unsigned cpu)
{
	struct cpu_slot *slot = &s->slot[cpu];
	uint64_t ns, due, seen;

	if (!s->armed || perf_count(slot->tick_fd, &ns))
		return;
	due = ns / s->period_ns;
	seen = s->stats[cpu].slot[EV_STAT_TICKS] - slot->ticks_before + MISSED_SLACK +
	       slept_through(s, cpu);
	if (due > seen && due - seen > slot->missed)
		slot->missed = due - seen;
}

/*
 * A CPU that went and came between two looks left its events dead behind: their clock
 * stands still.
 */
static bool slot_alive(struct cpu_slot *slot)
{
	uint64_t enabled;

	if (perf_enabled_time(slot->side_fd, &enabled) || enabled == slot->enabled_ns)
		return false;
	slot->enabled_ns = enabled;
	return true;
}

static bool time_to_look(struct cpu_slots *s)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
	if (now - s->looked_ns < LOOK_INTERVAL_NS)
		return false;
	s->looked_ns = now;
	return true;
}

struct report {
	char		*why;
	size_t		 n, used;
	int		 changed, err;
};

static void __attribute__((format(printf, 2, 3)))
report_add(struct report *r, const char *fmt, ...)
{
	va_list ap;
	int got;

	if (r->used >= r->n)
		return;
	if (r->used)
		r->used += (size_t)snprintf(r->why + r->used, r->n - r->used, "; ");
	if (r->used >= r->n)
		return;
	va_start(ap, fmt);
	got = vsnprintf(r->why + r->used, r->n - r->used, fmt, ap);
	va_end(ap);
	r->used += got > 0 ? (size_t)got : 0;
}

static void check_online(struct cpu_slots *s, unsigned cpu, bool look, struct report *r)
{
	struct cpu_slot *slot = &s->slot[cpu];
	int failed_before = slot->failed, err;
	char cause[256];

	if (slot->tick_fd >= 0 && !slot->leaving && (!look || slot_alive(slot))) {
		count_missed(s, cpu);
		return;
	}
	cpu_slot_close(s, cpu);
	err = cpu_slot_open(s, cpu);
	if (!err) {
		s->rearmed++;
		r->changed++;
		report_add(r, "CPU %u is back and armed", cpu);
	} else if (err == -ENODEV) {
		slot->failed = 0;	/* gone again since we looked */
	} else if (slot->failed != failed_before) {
		rights_explain_perf(cause, sizeof(cause), -err);
		r->err = err;
		report_add(r, "CPU %u cannot be armed, its samples are missing: %s", cpu,
			   cause);
	}
}

static void check_offline(struct cpu_slots *s, unsigned cpu, struct report *r)
{
	struct cpu_slot *slot = &s->slot[cpu];

	slot->failed = 0;
	if (slot->tick_fd < 0 || slot->leaving)
		return;
	slot->leaving = true;
	r->changed++;
	report_add(r, "CPU %u went offline", cpu);
}

int cpu_slots_check(struct cpu_slots *s, char *why, size_t n)
{
	struct report r = { .why = why, .n = n };
	int err = cpus_read(&s->online, "online");
	bool look = time_to_look(s);

	idle_time_read(&s->idle);
	if (n)
		*why = 0;
	if (err) {
		snprintf(why, n, "/sys/devices/system/cpu/online: %s", strerror(-err));
		return err;
	}
	for (unsigned cpu = 0; cpu < s->n; cpu++) {
		if (cpus_has(&s->online, cpu))
			check_online(s, cpu, look, &r);
		else
			check_offline(s, cpu, &r);
	}
	return r.err ? r.err : r.changed;
}

unsigned cpu_slots_open_count(const struct cpu_slots *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		n += s->slot[i].tick_fd >= 0 && !s->slot[i].leaving;
	return n;
}

unsigned cpu_slots_failed_count(const struct cpu_slots *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		n += s->slot[i].failed != 0;
	return n;
}
