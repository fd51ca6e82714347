/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a sidecar in the order that rights demand: everything privileged first, then the
 * drop. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/ring_writer.h"
#include "sidecar/collect/event_file.h"
#include "sidecar/main_live.h"
#include "sidecar/log.h"
#include "sidecar/loop/loop.h"
#include "sidecar/pipeline.h"
#include "sidecar/privilege.h"
#include "sidecar/process/door.h"
#include "sidecar/process/pods.h"
#include "sidecar/sd_notify.h"

#define DRAIN_NS 50000000ull
#define DRAIN_LOW_LATENCY_NS 2000000ull
#define STACK_ENTRIES 16384u
/*
 * A dead process's last samples come within two drains, its children's a little later.  Each costs some two
 * KiB, so in a storm of processes this is most of the memory.
 */
#define GRACE_NS 10000000000ull
#define MAX_PROCESSES 65536u
#define MAX_MAPS 8192u

void live_warn(struct live *l, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text)
		return;
	for (uint32_t i = 0; i < l->n_warnings; i++) {
		if (!strcmp(l->warnings[i], text)) {
			free(text);
			return;
		}
	}
	log_warn("%s", text);
	if (l->n_warnings < LIVE_WARNINGS)
		l->warnings[l->n_warnings++] = text;
	else
		free(text);
}

/* --- the ring ----------------------------------------------------------------------- */

static int group_by_name(const char *name, gid_t *gid)
{
	struct group *g;
	char *end;
	unsigned long n = strtoul(name, &end, 10);

	if (*name && !*end && n < UINT32_MAX) {
		*gid = (gid_t)n;
		return 0;
	}
	g = getgrnam(name);
	if (!g)
		return -ENOENT;
	*gid = g->gr_gid;
	return 0;
}

static bool group_of_directory(const char *ring, gid_t *gid)
{
	char copy[4096];
	struct stat st;

	snprintf(copy, sizeof(copy), "%s", ring);
	if (stat(dirname(copy), &st) || !(st.st_mode & S_ISGID))
		return false;
	*gid = st.st_gid;
	return true;
}

/* --group, else `ringside`, else the group of a set-group-ID directory (fsGroup), else
 * our own. */
static int choose_group(struct live *l, const struct config *c, gid_t *gid)
{
	if (c->group) {
		if (!group_by_name(c->group, gid))
			return 0;
		log_error(
			"no such group: %s; create it (groupadd --system %s) or name another by --group",
			c->group, c->group);
		return 2;
	}
	if (!group_by_name("ringside", gid) || group_of_directory(c->ring, gid))
		return 0;
	*gid = getegid();
	live_warn(
		l,
		"no group `ringside` here: only uid %u and group %u can read the ring; groupadd --system "
		"ringside, or --group",
		(unsigned)geteuid(), (unsigned)*gid);
	return 0;
}

/* The default place is ours to make; any other directory is the caller's. */
static void make_default_directory(const char *ring)
{
	if (!strcmp(ring, RINGSIDE_DEFAULT_RING) && mkdir("/run/ringside", 0755) &&
	    errno != EEXIST)
		log_debug("cannot make /run/ringside: %s", strerror(errno));
}

int live_open_ring(struct live *l, const struct config *c)
{
	struct ring_writer_options o = { .path = c->ring,
					 .ring_bytes = c->ring_size,
					 .dict_bytes = c->dict_size,
					 .mode = (mode_t)c->ring_mode };
	struct stat st;
	int status = choose_group(l, c, &o.group);

	if (status)
		return status;
	make_default_directory(c->ring);
	if (ring_writer_create(&l->writer, &o)) {
		log_error("%s", ring_writer_error());
		return 1;
	}
	l->first_seq = ring_writer_next_seq(l->writer);
	if (ring_writer_resumed(l->writer))
		log_info("the writer before crashed: its ring goes on in place: %s",
			 c->ring);
	if (!stat(c->ring, &st)) {
		l->ring_dev = st.st_dev;
		l->ring_ino = st.st_ino;
	}
	if (!ring_writer_on_tmpfs(l->writer))
		live_warn(
			l,
			"the ring is not on tmpfs: %s: a busy disk may stall the sidecar; use a path on tmpfs",
			c->ring);
	return 0;
}

/* --- scope -------------------------------------------------------------------------- */

/* True when nobody but us is to be seen: a pod without a shared pid namespace. */
static bool alone_here(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	if (!d)
		return false;
	while ((e = readdir(d)))
		n += e->d_name[0] >= '0' && e->d_name[0] <= '9';
	closedir(d);
	return n <= 2;		/* the symbol launcher is the other one */
}

/* The number may come to life later, so it is no error. */
static void warn_of_absent(struct live *l, const struct config *c)
{
	for (uint32_t i = 0; i < c->n_scope_pids; i++)
		if (kill((pid_t)c->scope_pids[i], 0) && errno == ESRCH)
			live_warn(l, "no process %u is to be seen here: it may have ended, or this pid namespace "
				  "has another number for it; correct --scope", c->scope_pids[i]);
}

int live_scope(struct live *l, const struct config *c, struct collect_options *o)
{
	struct config resolved = *c;
	bool initial = collect_in_initial_pidns();

	switch (c->scope) {
	case SCOPE_AUTO:
		resolved.scope = initial ? SCOPE_HOST : SCOPE_PIDNS;
		break;
	case SCOPE_HOST:
		if (!initial) {
			log_error(
				"scope host is not to be had: this is not the initial pid namespace; use hostPID: "
				"true in a pod, or --scope pidns");
			return 1;
		}
		break;
	case SCOPE_CGROUP:
		o->scope = EV_SCOPE_CGROUP;
		o->cgroup = c->scope_cgroup;
		break;
	case SCOPE_PIDS:
		warn_of_absent(l, c);
		o->scope = EV_SCOPE_PIDS;
		o->pids = c->scope_pids;
		o->npids = c->n_scope_pids;
		break;
	case SCOPE_PIDNS:
		break;
	}
	if (resolved.scope == SCOPE_PIDNS && alone_here())
		live_warn(
			l,
			"this pid namespace holds only ringsided: there is nothing to sample; set "
			"shareProcessNamespace: true in the pod, or hostPID: true");
	config_scope_text(&resolved, l->scope, sizeof(l->scope));
	return 0;
}

/* --- collection --------------------------------------------------------------------- */

void live_collect_says(void *arg, enum collect_log_level level, const char *line)
{
	(void)arg;
	log_at((enum log_level)level, "%s", line);
}

static int open_journal(struct live *l, const struct config *c,
			const struct collect_options *o)
{
	struct journal_facts facts = { .frequency = c->frequency,
				       .ncpu = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
				       .stack_depth = c->stack_depth,
				       .scope = o->scope,
				       .scope_text = l->scope,
				       .node = l->node };
	int err;

	if (!c->record_events)
		return 0;
	err = journal_create(&l->journal, c->record_events, &facts);
	if (err) {
		log_error("cannot record events: %s: %s", c->record_events,
			  strerror(-err));
		return 1;
	}
	return 0;
}

/* process_plan_fn: into the kernel. */
static int give_plan(void *arg, uint32_t pid, const struct ev_context_plan *plan)
{
	struct live *l = arg;
	int err = collect_context_plan(l->collect, pid, plan);

	if (err)
		log_limited(LOG_LEVEL_WARN, "thread contexts of process %u are not read: %s",
			    pid, err == -E2BIG ? "too many processes publish some"
					       : strerror(-err));
	return err;
}

static int open_collect(struct live *l, const struct config *c)
{
	struct collect_options o = { .frequency = c->frequency,
				     .stack_depth = c->stack_depth,
				     .low_latency = c->low_latency,
				     .log = live_collect_says,
				     .scope = EV_SCOPE_PIDNS };
	char why[COLLECT_WHY_MAX];
	int status = live_scope(l, c, &o);

	if (!status)
		status = open_journal(l, c, &o);
	if (status)
		return status;
	o.record = l->journal;
	if (collect_open(&l->collect, &o, why, sizeof(why))) {
		log_error("%s", why);
		return 1;
	}
	return 0;
}

void live_external(struct live *l, const struct config *c)
{
	for (uint32_t i = 0; i < c->n_external_labels && i < LIVE_EXTERNAL; i++)
		l->external[i] = (struct label_pair){ c->external_labels[i].key,
						      c->external_labels[i].value };
}

/* --- everything after the drop ------------------------------------------------------ */

int live_open_pipeline(struct live *l, const struct config *c)
{
	struct process_options po = {
		.grace_ns = GRACE_NS,
		.max_processes = MAX_PROCESSES,
		.max_maps = MAX_MAPS,
		.node = l->node,
		.otel_lenient = c->otel_lenient,
		.include_env_vars = (const char *const *)c->include_env_vars,
		.n_include_env_vars = c->n_include_env_vars,
		.publish_command_line = c->publish_command_line,
		.publish_working_directory = c->publish_working_directory,
		.container_id = c->container_id,
		.replay = c->replay != NULL,
		.rules = &l->config->relabel,
		.external = l->external,
		.n_external = c->n_external_labels,
		.revision = PACKAGE_VERSION,
		.label_ttl_ns = c->label_ttl_ns,
		.label_cache_size = c->label_cache_size,
		.local_only = c->kubernetes.local_only,
		.rules_may_come = c->config_path != NULL,
		/* Each costs about as much again as labels of its process. */
		.context_bytes_max = c->memory_limit / 8,
	};
	struct pipeline_options o = {
		.writer = l->writer,
		.symbols = l->symbols,
		.kallsyms = l->kallsyms,
		.publish = { .period_ns = 1000000000ull / c->frequency,
			     .names_bytes = c->memory_limit / 4,
			     .stack_entries = STACK_ENTRIES },
	};
	int err;

	live_external(l, c);
	err = process_table_create(&l->processes, &po, l->door);
	if (!err)
		process_set_plan_fn(l->processes, give_plan, l);
	if (getrandom(&o.publish.seed, sizeof(o.publish.seed), 0) < 0)
		o.publish.seed = (uint64_t)(uintptr_t)&o ^ clock_boot_now();
	o.processes = l->processes;
	if (!err)
		err = pipeline_create(&l->pipeline, &o);
	if (err)
		log_error("cannot start: %s", strerror(-err));
	return err ? 1 : 0;
}

static const char *env_of(const char *name, const char *usual)
{
	return getenv(name ? name : usual);
}

/* What we know of our own pod, and where others' facts lie. */
void live_allow_pods(struct door *door, const struct config *c)
{
	const struct config_kubernetes *k = &c->kubernetes;
	struct pods pods = { .local_only = k->local_only };

	if (pods_set(&pods.facts_dir, c->pod_facts) ||
	    pods_set(&pods.podinfo_dir,
		     k->podinfo_dir ? k->podinfo_dir : "/etc/podinfo") ||
	    pods_set(&pods.own_name, env_of(k->pod_name_env, "POD_NAME")) ||
	    pods_set(&pods.own_namespace, env_of(k->namespace_env, "POD_NAMESPACE")) ||
	    pods_set(&pods.own_uid, env_of(k->pod_uid_env, "POD_UID")))
		log_warn("pods get no names: out of memory");
	pods_look(&pods);
	door_allow_pods(door, &pods);
}

static int open_helpers(struct live *l, const struct config *c,
			struct symbols_launcher *launcher)
{
	struct symbols_options so = { .io = (enum symbols_io)c->io_backend,
				      .memory_limit = c->memory_limit / 4 };
	int err = door_create(&l->door);

	if (err) {
		log_error("cannot start helper threads: %s", strerror(-err));
		return 1;
	}
	live_allow_pods(l->door, c);
	err = symbols_create(&l->symbols, launcher, &so);
	if (err) {
		log_error("cannot start the symbol worker: %s", strerror(-err));
		return 1;
	}
	err = loop_create(&l->loop);
	if (err) {
		log_error("cannot build the event loop: %s", strerror(-err));
		return 1;
	}
	if (clock_step_open(&l->steps))
		live_warn(
			l,
			"clock steps are not noticed at once: no timer with cancel-on-set; they are found within "
			"ten seconds");
	return 0;
}

static int drop_rights(struct live *l)
{
	int err = privilege_drop();

	if (err) {
		log_error("cannot drop rights: %s", strerror(-err));
		return 1;
	}
	err = privilege_filter_sidecar();
	if (err)
		live_warn(
			l,
			"no system-call filter: seccomp: %s; this kernel or container has none, the rights were "
			"dropped all the same",
			strerror(-err));
	return 0;
}

/* What is missing and costs something; the status page has all of it. */
static void probe(struct live *l, const struct config *c)
{
	if (probe_run(&l->probe, c)) {
		l->probe = NULL;	/* the status page then has no probe rows */
		return;
	}
	for (uint32_t i = 0; i < l->probe->n; i++) {
		const struct probe_row *r = &l->probe->rows[i];

		if (r->warn)
			live_warn(l, "missing: %s: %s; %s", r->need, r->effect,
				  r->remedy);
	}
}

int live_open(struct live *l, struct config *c, struct symbols_launcher *launcher)
{
	int status, err;

	l->buffer_bytes = DOOR_MESSAGE_MAX;
	l->buffer = malloc(l->buffer_bytes);
	if (!l->buffer) {
		log_error("cannot start: out of memory");
		return 1;
	}
	err = notify_open(&l->notify, c->ready_fd);
	if (err) {
		log_error(
			"cannot reach the service manager: NOTIFY_SOCKET: %s; correct it or unset it",
			strerror(-err));
		return 1;
	}
	l->drain_ns = c->low_latency ? DRAIN_LOW_LATENCY_NS : DRAIN_NS;
	l->kallsyms = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	/* Before the ring: without the rights for it nothing is left behind. */
	status = open_collect(l, c);
	if (!status)
		status = live_open_ring(l, c);
	if (!status)
		probe(l, c);
	if (!status)
		status = drop_rights(l);
	if (!status)
		status = open_helpers(l, c, launcher);
	return status ? status : live_open_pipeline(l, c);
}

void live_close(struct live *l)
{
	bool clean = l->pipeline != NULL;

	loop_destroy(l->loop);
	clock_step_close(l->steps);
	if (l->pipeline)
		pipeline_destroy(l->pipeline);
	else
		process_table_destroy(l->processes);
	door_destroy(l->door);
	symbols_destroy(l->symbols);
	collect_close(l->collect);
	if (journal_close(l->journal))
		log_warn("the recording is not complete: %s: the disk may be full",
			 l->config->record_events);
	ring_writer_close(l->writer, clean);
	probe_free(l->probe);
	notify_close(l->notify);
	if (l->kallsyms >= 0)
		close(l->kallsyms);
	for (uint32_t i = 0; i < l->n_warnings; i++)
		free(l->warnings[i]);
	free(l->buffer);
}
