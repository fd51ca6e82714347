/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/main_live.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shm/ring_writer.h"
#include "sidecar/collect/event_file.h"
#include "sidecar/log.h"
#include "sidecar/loop/loop.h"
#include "sidecar/pipeline.h"
#include "sidecar/process/door.h"
#include "sidecar/sd_notify.h"

#define SECOND_NS 1000000000ull
#define RULE_TRIALS 200u	/* labels made until a rule without a match is told of */
#define ANCHOR_SECONDS 10u	/* a safety net: steps are told by the kernel */
#define STOP_NS 200000000ull	/* at the end, how long names may still come */
/*
 * The newest fraction of a millisecond stays in the kernel's rings until the next drain,
 * so an exec just before a reading's end may not be seen yet.  A reading is applied by a
 * pull that begins this much later.
 */
#define READING_HOLD_NS 2000000ull
/*
 * Of one wake-up.  In a flood there is always more to take: signals, the heartbeat and
 * the watchdog must get their turn all the same.  What then finds no room in the kernel's
 * ring is counted there.
 */
#define DRAINS_MAX 64u
#define TURN_NS 50000000ull

/* For the door's time-outs alone: no record ever shows it. */
static uint64_t monotonic_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static void record(struct live *l, uint32_t type, const void *data, size_t n)
{
	if (l->journal)
		journal_append(l->journal, type, data, n);
}

static void tick(struct live *l)
{
	struct journal_tick t = { clock_boot_now() };

	record(l, JOURNAL_TICK, &t, sizeof(t));
	pipeline_tick(l->pipeline, t.boot_ns);
}

/* Takes what the kernel holds into the batch that is filling. */
static void pull(struct live *l)
{
	uint64_t until = monotonic_now() + TURN_NS;
	struct collect_batch batch;

	for (unsigned i = 0; i < DRAINS_MAX && monotonic_now() < until; i++) {
		int err = collect_drain(l->collect, clock_boot_now(), &batch);

		if (err) {
			log_limited(LOG_LEVEL_ERROR, "cannot drain events: BPF ring: %s",
				    strerror(-err));
			return;
		}
		if (pipeline_pull(l->pipeline, &batch))
			log_limited(LOG_LEVEL_ERROR, "events lost: out of memory");
		if (pipeline_held(l->pipeline) > PIPELINE_HELD_MAX)
			tick(l);
		if (!batch.more)
			return;
	}
}

/* All that was stamped until now, also what the source holds back for order (collect.h). */
static void pull_all(struct live *l)
{
	pull(l);
	usleep(2000);
	pull(l);
}

static int take_anchor(struct live *l, bool stepped)
{
	struct journal_anchor a = { .stepped = stepped };
	int err = clock_take_anchor(&a.anchor);

	if (err)
		return err;
	record(l, JOURNAL_ANCHOR, &a, sizeof(a));
	pipeline_anchor(l->pipeline, &a.anchor, stepped);
	return 0;
}

/* Before the first sample: nothing may be stamped without an anchor. */
static int take_first_anchor(struct live *l)
{
	const struct clock_anchor *a;
	int err = take_anchor(l, false);

	if (err) {
		log_error(
			"cannot tell the wall time: %s: %s", strerror(-err),
			err == -EXDEV
				? "the offset of this time namespace is not known; unshare -T --fork ringsided"
				: "no clock can be read; allow clock_gettime in the seccomp profile");
		return 1;
	}
	a = clock_current(pipeline_clock(l->pipeline), NULL);
	if (a && a->source != CLOCK_PAIRED)
		live_warn(
			l,
			"wall time is only right to %.1f s: the clocks cannot be read in pairs; allow "
			"clock_gettime in the seccomp profile",
			(double)a->bound_ns / 1e9);
	return 0;
}

static void tell_system(struct live *l)
{
	char system[PROCESS_SYSTEM_MAX];
	size_t n = process_system_read(system);

	record(l, JOURNAL_SYSTEM, system, n);
	pipeline_system(l->pipeline, system, n);
}

static void stop_if_settled(struct live *l)
{
	if (l->stopping && !pipeline_waits(l->pipeline))
		loop_stop(l->loop);
}

static void on_drain(void *arg, uint64_t info)
{
	struct live *l = arg;

	(void)info;
	door_tick(l->door, monotonic_now());
	pull(l);
	tick(l);
	symbols_flush(l->symbols);
}

/* Once each: how the worker works, when it has told, and that there will be none any
 * more. */
static void worker_warnings(struct live *l)
{
	const char *io = symbols_io_backend(l->symbols);

	if (symbols_given_up(l->symbols) && !l->worker_lost) {
		l->worker_lost = true;
		live_warn(
			l,
			"the launcher of the symbol worker has ended: what is new stays without names; "
			"restart ringsided");
	}
	if (l->worker_told || !io)
		return;
	l->worker_told = true;
	if (l->config->io_backend == IO_URING && strcmp(io, "uring"))
		live_warn(
			l,
			"--io-backend uring: io_uring is forbidden or missing here; plain reads are used");
	if (!symbols_own_uid(l->symbols))
		live_warn(
			l,
			"the symbol worker has no uid of its own; CAP_SETUID and CAP_SETGID at start give it one");
}

static void on_names(void *arg, uint64_t info)
{
	struct live *l = arg;
	uint64_t until = monotonic_now() + TURN_NS;
	int n;

	(void)info;
	while (monotonic_now() < until &&
	       (n = symbols_take(l->symbols, l->buffer, l->buffer_bytes)) > 0) {
		record(l, JOURNAL_NAMES, l->buffer, (size_t)n);
		pipeline_names(l->pipeline, l->buffer, (size_t)n);
	}
	worker_warnings(l);
	symbols_flush(l->symbols);
	stop_if_settled(l);
}

/* --- readings: see READING_HOLD_NS -------------------------------------------------- */

static void apply_held(struct live *l)
{
	/* Readings are what makes memory grow fast. */
	l->applied_bytes += l->held_bytes;
	for (uint32_t i = 0; i < l->n_held; i++) {
		struct held_reading *h = &l->held[i];

		record(l, JOURNAL_READING, h->msg, h->n);
		pipeline_reading(l->pipeline, h->msg, h->n, h->fd);
		free(h->msg);
	}
	l->n_held = 0;
	l->held_bytes = 0;
	if (l->applied_bytes > l->config->memory_limit / 32)
		live_memory(l);
}

static void take_readings(struct live *l)
{
	size_t n;
	int fd;

	while (l->n_held < LIVE_HELD && l->held_bytes < LIVE_HELD_BYTES &&
	       door_take(l->door, l->buffer, l->buffer_bytes, &n, &fd) == 1) {
		void *copy = malloc(n ? n : 1);

		if (!copy) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		memcpy(copy, l->buffer, n);
		l->held[l->n_held++] = (struct held_reading){ copy, n, fd };
		l->held_bytes += n;
	}
}

static void arm_reading(struct live *l)
{
	l->reading_armed = !loop_set_timer(l->reading, READING_HOLD_NS, 0);
}

static void on_reading(void *arg, uint64_t info)
{
	struct live *l = arg;

	(void)info;
	l->reading_armed = false;
	if (l->n_held)
		pull(l);
	apply_held(l);
	take_readings(l);
	if (l->n_held)
		arm_reading(l);
	stop_if_settled(l);
}

static void on_door(void *arg, uint64_t info)
{
	struct live *l = arg;

	(void)info;
	if (!l->reading_armed) {
		take_readings(l);
		if (l->n_held)
			arm_reading(l);
	}
}

/* --- once a second ------------------------------------------------------------------ */

static void check_cpus(struct live *l)
{
	char why[COLLECT_WHY_MAX];
	int changed = collect_hotplug(l->collect, why, sizeof(why));

	if (changed > 0)
		log_info("%s", why);
	else if (changed < 0 && why[0])
		live_warn(l, "%s", why);
}

/* Somebody removed or replaced the file: we go on, but no new reader can find us. */
static void check_ring(struct live *l)
{
	struct stat st;

	if (!stat(l->config->ring, &st) && st.st_dev == l->ring_dev &&
	    st.st_ino == l->ring_ino)
		return;
	log_limited(
		LOG_LEVEL_ERROR,
		"the ring is not at its path any more: %s: it was removed or replaced, and "
		"readers cannot find it; restart ringsided",
		l->config->ring);
}

static void account(struct live *l)
{
	struct journal_losses s = { .boot_ns = clock_boot_now() };

	if (collect_stats(l->collect, &s.stats))
		return;
	record(l, JOURNAL_LOSSES, &s, sizeof(s));
	pipeline_stats(l->pipeline, &s.stats, s.boot_ns);
	l->bpf_map_bytes = s.stats.bpf_map_bytes;
	live_memory(l);
}

/* Rules that look as if they were meant otherwise: told once each. */
static void check_rules(struct live *l)
{
	const struct relabel_rules *rules = &l->config->relabel;

	for (uint32_t i = 0; rules->runs >= RULE_TRIALS && i < rules->n; i++) {
		if (!rules->rules[i].matched)
			live_warn(
				l,
				"rule %u of relabel_configs (%s, line %u) matched no process yet; "
				"--explain-labels PID shows what it sees",
				i + 1, relabel_action_name(rules->rules[i].action),
				rules->rules[i].line);
	}
	if (process_rule_limits(l->processes))
		live_warn(
			l,
			"a rule of relabel_configs was given up for the size of its match or result, and counted "
			"as no match; make its regex or its replacement smaller");
}

static void on_second(void *arg, uint64_t info)
{
	struct live *l = arg;

	(void)info;
	l->seconds++;
	check_cpus(l);
	check_ring(l);
	check_rules(l);
	if (l->seconds % ANCHOR_SECONDS == 0)
		take_anchor(l, false);
	account(l);
	ring_writer_heartbeat(l->writer, clock_boot_now());
	symbols_flush(l->symbols);
	worker_warnings(l);
	live_status(l);
	if (l->journal)
		journal_flush(l->journal);
}

static void on_watchdog(void *arg, uint64_t info)
{
	struct live *l = arg;

	(void)info;
	notify_watchdog(l->notify);
}

/* The clock was set: new anchor first, then what was sampled before it, then the rest. */
static void on_step(void *arg, uint64_t info)
{
	struct live *l = arg;

	(void)info;
	if (!clock_step_take(l->steps))
		return;
	take_anchor(l, true);
	pull_all(l);
	tick(l);
	log_info("the wall clock was set: a new clock epoch begins");
}

/* --- signals ------------------------------------------------------------------------ */

static void on_stop_timer(void *arg, uint64_t info)
{
	struct live *l = arg;

	(void)info;
	loop_stop(l->loop);
}

/* Takes what the kernel holds and lets its names come, for a short while. */
static void begin_stop(struct live *l)
{
	if (l->stopping) {
		loop_stop(l->loop);
		return;
	}
	l->stopping = true;
	notify_stopping(l->notify);
	collect_pause(l->collect, true);
	loop_set_timer(l->drain, 0, 0);
	pull_all(l);
	account(l);
	tick(l);
	if (!pipeline_waits(l->pipeline) || loop_set_timer(l->stop_timer, STOP_NS, 0))
		loop_stop(l->loop);
}

static void on_terminate(void *arg, uint64_t signo)
{
	log_debug("stopping: signal %d", (int)signo);
	begin_stop(arg);
}

static void on_duration(void *arg, uint64_t info)
{
	(void)info;
	begin_stop(arg);
}

static void on_pause(void *arg, uint64_t signo)
{
	struct live *l = arg;

	(void)signo;
	if (collect_pause(l->collect, !l->paused)) {
		log_error("cannot %s sampling", l->paused ? "resume" : "pause");
		return;
	}
	l->paused = !l->paused;
	/* What was sampled before goes out now, so that from here on no count moves. */
	pull_all(l);
	tick(l);
	tick(l);
	log_info("sampling is %s", l->paused ? "paused: SIGUSR2 resumes it" : "resumed");
	live_status(l);
}

/* What labels are made with changes hands: fresh then holds the old ones, to be freed with it. */
static void take_rules(struct live *l, struct config *fresh)
{
	struct config *c = l->config;
	struct relabel_rules rules = c->relabel;
	struct config_pair *external = c->external_labels;
	uint32_t n = c->n_external_labels;

	c->relabel = fresh->relabel;
	fresh->relabel = rules;
	c->external_labels = fresh->external_labels;
	c->n_external_labels = fresh->n_external_labels;
	fresh->external_labels = external;
	fresh->n_external_labels = n;
	c->label_ttl_ns = fresh->label_ttl_ns;
	c->label_cache_size = fresh->label_cache_size;
	live_external(l, c);
	process_set_rules(l->processes, &c->relabel, l->external, c->n_external_labels, c->label_ttl_ns,
			  c->label_cache_size);
	if (l->journal)
		log_warn("a recording goes on under other labels: %s: its replay knows one set of rules, that of its "
			 "own --config", c->record_events);
}

static void on_reload(void *arg, uint64_t signo)
{
	struct live *l = arg;
	struct config fresh;

	(void)signo;
	if (config_reload(l->config, &fresh, stderr)) {
		log_error("configuration not reloaded: %s: the old one stays in force",
			  l->config->config_path ? l->config->config_path : "no file");
		return;
	}
	log_init((enum log_level)fresh.log_level, fresh.log_json);
	take_rules(l, &fresh);
	log_info(
		"configuration reloaded: relabel_configs, external_labels, label_ttl, label_cache_size, log level and "
		"format are in force; other changes need a restart");
	config_free(&fresh);
}

/* --- the loop ----------------------------------------------------------------------- */

static int add_sources(struct live *l)
{
	int fd = collect_fd(l->collect);
	int err =
		loop_add_timer(l->loop, &l->drain, l->drain_ns, l->drain_ns, on_drain, l);

	err = err ? err : loop_add_timer(l->loop, &l->reading, 0, 0, on_reading, l);
	err = err ? err : loop_add_timer(l->loop, &l->stop_timer, 0, 0, on_stop_timer, l);
	err = err ? err
		  : loop_add_timer(l->loop, &l->second, SECOND_NS, SECOND_NS, on_second,
				   l);
	err = err ? err
		  : loop_add_fd(l->loop, &l->door_ready, door_fd(l->door),
				EPOLLIN | EPOLLET, on_door, l);
	err = err ? err
		  : loop_add_fd(l->loop, &l->names, symbols_fd(l->symbols), EPOLLIN,
				on_names, l);
	if (!err && fd >= 0)
		err = loop_add_fd(l->loop, &l->ring_full, fd, EPOLLIN, on_drain, l);
	if (!err && l->steps)
		err = loop_add_fd(l->loop, &l->stepped, clock_step_fd(l->steps), EPOLLIN,
				  on_step, l);
	if (!err && notify_watchdog_ns(l->notify))
		err = loop_add_timer(l->loop, &l->watchdog, notify_watchdog_ns(l->notify),
				     notify_watchdog_ns(l->notify), on_watchdog, l);
	if (!err && l->config->duration_ns)
		err = loop_add_timer(l->loop, &l->duration, l->config->duration_ns, 0,
				     on_duration, l);
	err = err ? err : loop_add_signal(l->loop, &l->term, SIGTERM, on_terminate, l);
	err = err ? err : loop_add_signal(l->loop, &l->intr, SIGINT, on_terminate, l);
	err = err ? err : loop_add_signal(l->loop, &l->hup, SIGHUP, on_reload, l);
	return err ? err : loop_add_signal(l->loop, &l->usr2, SIGUSR2, on_pause, l);
}

static void announce_ready(struct live *l)
{
	struct collect_stats s = { 0 };

	collect_stats(l->collect, &s);
	log_info("ready: %s, %u CPUs, %u Hz, scope %s", l->config->ring, s.cpus_armed,
		 l->config->frequency, l->scope);
	notify_ready(l->notify, l->scope);
}

int live_run(struct live *l)
{
	char why[COLLECT_WHY_MAX];
	int err = add_sources(l);

	if (err) {
		log_error("cannot build the event loop: %s", strerror(-err));
		return 1;
	}
	if (take_first_anchor(l))
		return 1;
	tell_system(l);
	if (collect_arm(l->collect, why, sizeof(why))) {
		log_error("%s", why);
		return 1;
	}
	if (why[0])
		live_warn(l, "%s", why);
	ring_writer_heartbeat(l->writer, clock_boot_now());
	live_status(l);
	announce_ready(l);
	err = loop_run(l->loop);
	if (err)
		log_error("the event loop failed: %s", strerror(-err));
	apply_held(l);
	pipeline_finish(l->pipeline, clock_boot_now());
	account(l);
	live_status(l);
	return err ? 1 : 0;
}
