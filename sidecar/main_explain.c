/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --explain-labels PID: the labels that this configuration would give a process that runs
 * now.  --explain-context PID: what it publishes of itself.  The process is read through the same door and goes through the same table as if
 * it had been sampled once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/clock/clock.h"
#include "sidecar/clock/timens.h"
#include "sidecar/log.h"
#include "sidecar/main_live.h"
#include "sidecar/process/door.h"
#include "sidecar/process/parse.h"
#include "sidecar/process/process.h"
#include "sidecar/symbols/symbols.h"

#define TICK_NS 10000000ull	/* USER_HZ is 100 wherever /proc shows it */
#define WAIT_MS 3000

struct explain {
	struct door		*door;
	struct symbols		*symbols;	/* NULL: nobody looks into the executable */
	struct symbols_decoder	*decoder;
	struct process_table	*table;
	struct image		*image;
	bool			 asked_file, told_file;
	bool			 with_threads;	/* every file matters, not the executable alone */
	void			*buffer;
};

static int identify(uint32_t pid, struct ev_sample *s)
{
	struct proc_stat st;
	char path[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	close(fd);
	if (n <= 0 || stat_parse(text, (size_t)n, &st))
		return -EBADMSG;
	*s = (struct ev_sample){ .head = { .type = EV_SAMPLE, .tgid = pid, .tid = pid } };
	s->head.boot_ns = clock_boot_now();
	s->head.start_ns = st.start_ticks * TICK_NS - (uint64_t)clock_timens()->boot_ns;
	s->head.flags = st.flags & STAT_PF_KTHREAD ? EV_F_KTHREAD : 0;
	memcpy(s->comm, st.comm,
	       sizeof(s->comm) < sizeof(st.comm) ? sizeof(s->comm) : sizeof(st.comm));
	return 0;
}

/* process_file_fn: only the executable is looked into, or all. */
static void on_file(void *arg, struct file *f, int fd, enum mapping_kind kind, bool debug)
{
	struct explain *x = arg;

	if (!x->symbols || (!x->with_threads && f != x->image->exe) || kind != MAPPING_FILE || debug) {
		close(fd);
		return;
	}
	if (symbols_add_file(x->symbols, f->id, fd))
		x->told_file = true;
}

static void take_answers(struct explain *x)
{
	size_t n;
	int fd;

	while (door_take(x->door, x->buffer, DOOR_MESSAGE_MAX, &n, &fd) == 1)
		process_apply(x->table, x->buffer, n, fd);
}

static void take_names(struct explain *x)
{
	struct sym_answer a;
	struct file *f;
	int n;

	while (x->symbols &&
	       (n = symbols_take(x->symbols, x->buffer, SYMBOLS_MESSAGE_MAX)) > 0) {
		if (symbols_decode(x->decoder, x->buffer, (size_t)n, &a) ||
		    a.kind != SYM_FILE)
			continue;
		f = process_file(x->table, a.file_id);
		if (f)
			process_file_facts(x->table, f,
					   &(struct label_executable){
						   .file_id = a.htlhash,
						   .gnu_build_id = a.gnu_build_id,
						   .go_build_id = a.go_build_id,
						   .compiler = a.compiler,
						   .is_elf = a.is_elf,
						   .is_static = a.is_static,
						   .stripped = a.stripped });
		if (f)
			f->state = a.error ? FILE_FAILED : FILE_READY;
		if (f && a.has_tls)
			process_file_tls(x->table, f, &a.tls);
		x->told_file = true;
	}
}

static void want_executable(struct explain *x)
{
	const struct image *i = x->image;

	for (uint32_t k = 0; i->exe && k < i->n_maps && !x->asked_file; k++) {
		if (i->maps[k].file != i->exe)
			continue;
		process_want_file(x->table, x->image, &i->maps[k]);
		x->asked_file = true;
	}
}

static bool settled(struct explain *x)
{
	bool plan;

	if (x->image->pending)
		return false;
	process_thread_plan(x->image, &plan);
	if (x->with_threads && !plan)
		return false;
	want_executable(x);
	return !x->symbols || !x->asked_file || x->told_file;
}

static void wait_for_all(struct explain *x)
{
	struct pollfd p[2] = { { .fd = door_fd(x->door), .events = POLLIN },
			       { .fd = x->symbols ? symbols_fd(x->symbols) : -1,
				 .events = POLLIN } };

	for (int left = WAIT_MS; left > 0 && !settled(x); left -= 50) {
		if (x->symbols)
			symbols_flush(x->symbols);
		poll(p, 2, 50);
		take_answers(x);
		take_names(x);
		process_tick(x->table, clock_boot_now());
	}
}

/* What it publishes, and what its threads have attached now. */
static int explain_context(struct explain *x, struct config *c)
{
	struct explained_threads threads;
	bool is_settled;
	int err;

	explain_threads(c->explain_pid, process_thread_plan(x->image, &is_settled), &threads);
	err = process_explain_context(x->image, &threads, stdout, c->json_output);
	free(threads.thread);
	return err;
}

static int open_all(struct explain *x, struct config *c,
		    struct symbols_launcher *launcher, struct label_pair *external)
{
	struct process_options o = {
		.node = c->node,
		.max_processes = 16,
		.otel_lenient = c->otel_lenient,
		.include_env_vars = (const char *const *)c->include_env_vars,
		.n_include_env_vars = c->n_include_env_vars,
		.container_id = c->container_id,
		.publish_command_line = c->publish_command_line,
		.rules = &c->relabel,
		.external = external,
		.n_external = c->n_external_labels,
		.publish_working_directory = c->publish_working_directory,
		.local_only = c->kubernetes.local_only,
		.revision = PACKAGE_VERSION,
	};
	struct symbols_options so = { .memory_limit = c->memory_limit / 4 };
	char system[PROCESS_SYSTEM_MAX];
	int err = door_create(&x->door);

	if (err)
		return err;
	live_allow_pods(x->door, c);
	if (symbols_create(&x->symbols, launcher, &so))
		x->symbols = NULL;
	err = symbols_decoder_create(&x->decoder);
	if (!err)
		err = process_table_create(&x->table, &o, x->door);
	/* A rule that is yet to be written may want to see it. */
	if (!err)
		err = door_allow(x->door, o.include_env_vars, o.n_include_env_vars, true,
				 o.publish_working_directory);
	if (!err)
		err = process_system(x->table, system, process_system_read(system));
	x->buffer = malloc(DOOR_MESSAGE_MAX);
	return err ? err : x->buffer ? 0 : -ENOMEM;
}

static int explain_one(struct explain *x, struct config *c)
{
	static const char *const why[] = {
		[IMAGE_EVENTS] = "it did not answer in time",
		[IMAGE_GONE] = "it is gone",
		[IMAGE_UNREADABLE] = "permission denied: SYS_PTRACE and DAC_READ_SEARCH are needed (run as root), "
				     "and a security module may forbid it to root too",
		[IMAGE_TIMEOUT] = "it blocks whoever reads it"
	};
	struct ev_sample s;
	int err = identify(c->explain_pid, &s);

	if (err) {
		log_error("cannot read process %u: %s", c->explain_pid,
			  err == -ENOENT ? "no such process" : strerror(-err));
		return 1;
	}
	process_set_file_fn(x->table, on_file, x);
	x->with_threads = c->mode == MODE_EXPLAIN_CONTEXT && x->symbols;
	x->image = process_on_sample(x->table, &s);
	wait_for_all(x);
	if (x->image->state != IMAGE_READ) {
		log_error("cannot read process %u: %s", c->explain_pid,
			  why[x->image->state]);
		return 1;
	}
	if (c->mode == MODE_EXPLAIN_CONTEXT)
		err = explain_context(x, c);
	else
		err = process_explain(x->table, x->image, stdout, c->json_output);
	if (err)
		log_error("cannot explain process %u: %s", c->explain_pid,
			  strerror(-err));
	return err ? 1 : 0;
}

int explain_process(struct config *c, struct symbols_launcher *launcher)
{
	struct label_pair external[LIVE_EXTERNAL];
	struct explain x = { .door = NULL };
	int status = 1, err;

	for (uint32_t i = 0; i < c->n_external_labels && i < LIVE_EXTERNAL; i++)
		external[i] = (struct label_pair){ c->external_labels[i].key,
						   c->external_labels[i].value };
	err = open_all(&x, c, launcher, external);
	if (err)
		log_error("cannot start: %s", strerror(-err));
	else
		status = explain_one(&x, c);
	if (x.image)
		image_put(x.table, x.image);
	process_table_destroy(x.table);
	door_destroy(x.door);
	symbols_destroy(x.symbols);
	symbols_decoder_destroy(x.decoder);
	free(x.buffer);
	return status;
}
