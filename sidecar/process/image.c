/* SPDX-License-Identifier: Apache-2.0 */
/* Images: made by events, filled by readings, inherited by forks, never carried over an
 * exec. */
#include "sidecar/process/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct text *text_make(const char *s, size_t n)
{
	struct text *x = malloc(sizeof(*x) + n + 1);

	if (!x)
		return NULL;
	x->refs = 1;
	x->n = (uint32_t)n;
	memcpy(x->s, s, n);
	x->s[n] = 0;
	return x;
}

struct text *text_get(struct text *x)
{
	if (x)
		x->refs++;
	return x;
}

void text_put(struct text *x)
{
	if (x && --x->refs == 0)
		free(x);
}

static struct text *text_share(struct text **to, struct text *from)
{
	text_get(from);
	text_put(*to);
	*to = from;
	return from;
}

static struct image_own **bucket(struct process_table *t, uint64_t serial)
{
	return &t->images[serial % IMAGE_BUCKETS];
}

struct image_own *image_by_serial(struct process_table *t, uint64_t serial)
{
	struct image_own *io = *bucket(t, serial);

	while (io && io->i.serial != serial)
		io = io->hash_next;
	return io;
}

struct image_own *image_new(struct process_table *t, const struct process *p,
			    uint64_t exec_id, uint64_t began_ns)
{
	struct image_own *io = calloc(1, sizeof(*io));

	if (!io)
		return NULL;
	io->i.pid = p->pid;
	io->i.start_ns = p->start_ns;
	io->i.exec_id = exec_id;
	io->i.parent_pid = p->parent_pid;
	io->parent_start_ns = p->parent_start_ns;
	io->i.serial = ++t->last_image_serial;
	io->i.refs = 1;
	io->began_ns = began_ns;
	io->labels_dirty = true;
	image_find_end(p, io);
	io->hash_next = *bucket(t, io->i.serial);
	*bucket(t, io->i.serial) = io;
	t->counts.images++;
	t->counts.heap_bytes += sizeof(*io);
	return io;
}

void image_ended(struct image_own *io, uint64_t boot_ns)
{
	if (io && (!io->ended_ns || boot_ns < io->ended_ns))
		io->ended_ns = boot_ns;
}

void image_find_end(const struct process *p, struct image_own *io)
{
	io->ended_ns = p->peek_exit_ns;
	if (p->peek_comm_ns > io->began_ns)
		image_ended(io, p->peek_comm_ns);
	/* The exec that makes an image does not end it, though its event comes after the
	 * first samples. */
	if (p->peek_exec_ns > io->began_ns && p->peek_exec_id > io->i.exec_id)
		image_ended(io, p->peek_exec_ns);
}

void image_ref(struct image_own *io)
{
	io->i.refs++;
}

static void image_free(struct process_table *t, struct image_own *io)
{
	struct image_own **at = bucket(t, io->i.serial);

	if (t->image_free)
		t->image_free(t->image_free_arg, &io->i);
	while (*at != io)
		at = &(*at)->hash_next;
	*at = io->hash_next;
	thread_plan_drop(t, io);
	maps_drop(t, io);
	file_put(t, io->first_file);
	file_put(t, io->perf_file);
	file_put(t, io->i.exe);
	text_put(io->exe);
	text_put(io->cgroup);
	text_put(io->container);
	declared_put(io->declared);
	context_drop(t, io);
	text_put(io->pod);
	label_result_put(io->result);
	free(io->i.perf_map);
	free(io->wanted);
	t->counts.images--;
	t->counts.heap_bytes -= sizeof(*io);
	free(io);
}

void image_unref(struct process_table *t, struct image_own *io)
{
	while (io && --io->i.refs == 0) {
		struct image_own *parent = io->parent;

		image_free(t, io);
		io = parent;
	}
}

void image_get(struct image *i)
{
	i->refs++;
}

void image_put(struct process_table *t, struct image *i)
{
	if (i)
		image_unref(t, own(i));
}

void image_set_comm(struct image_own *io, const char *comm, size_t n)
{
	size_t len = strnlen(comm, n < COMM_MAX ? n : COMM_MAX - 1);

	if (strlen(io->i.comm) == len && !memcmp(io->i.comm, comm, len))
		return;
	memset(io->i.comm, 0, COMM_MAX);
	memcpy(io->i.comm, comm, len);
	io->labels_dirty = true;
}

void image_set_exe(struct image_own *io, struct text *path)
{
	char *slash;

	if (!path || (io->exe && !strcmp(io->exe->s, path->s))) {
		text_put(path);
		return;
	}
	text_put(io->exe);
	io->exe = path;
	io->i.exe_path = path->s;
	slash = strrchr(path->s, '/');
	io->i.exe_name = slash && slash[1] ? slash + 1 : path->s;
	io->labels_dirty = true;
}

void image_set_state(struct process_table *t, struct image_own *io, enum image_state s)
{
	if (io->i.state == s)
		return;
	io->i.state = s;
	t->counts.gone += s == IMAGE_GONE;
	t->counts.unreadable += s == IMAGE_UNREADABLE;
	t->counts.timeouts += s == IMAGE_TIMEOUT;
}

/* --- inheriting --- */

void image_inherit(struct process_table *t, struct image_own *to, struct image_own *from)
{
	maps_share(t, to, from);
	text_share(&to->cgroup, from->cgroup);
	to->i.cgroup = to->cgroup ? to->cgroup->s : NULL;
	text_share(&to->container, from->container);
	text_share(&to->pod, from->pod);
	if (from->exe)
		image_set_exe(to, text_get(from->exe));
	if (from->declared)
		from->declared->refs++;
	declared_put(to->declared);
	to->declared = from->declared;
	file_put(t, to->i.exe);
	to->i.exe = file_get(t, from->i.exe);
	to->exe_major = from->exe_major;
	to->exe_minor = from->exe_minor;
	to->exe_inode = from->exe_inode;
	to->i.kthread = from->i.kthread;
	to->maps_read_ns = from->maps_read_ns;
	to->labels_dirty = true;
	if (from->i.state == IMAGE_READ)
		image_set_state(t, to, IMAGE_READ);
}

struct image_own *image_fork(struct process_table *t, const struct process *child,
			     struct image_own *parent, uint64_t exec_id,
			     uint64_t began_ns)
{
	struct image_own *io = image_new(t, child, exec_id, began_ns), *source = parent;

	if (!io || !parent)
		return io;
	image_inherit(t, io, parent);
	io->cgroup_id = parent->cgroup_id;
	if (parent->i.state != IMAGE_EVENTS)
		return io;
	/* Its reading may still come, and then serves the child as well; chains stay one
	 * step long. */
	if (parent->parent)
		source = parent->parent;
	image_ref(source);
	io->parent = source;
	return io;
}

/* --- cgroups --- */

static void set_container(struct image_own *io, const struct cgroup_identity *id)
{
	struct text *fresh;
	bool any = id->container_id[0] || id->pod_uid[0];

	if (io->container ? !memcmp(io->container->s, id, sizeof(*id)) : !any)
		return;
	fresh = any ? text_make((const char *)id, sizeof(*id)) : NULL;
	text_put(io->container);
	io->container = fresh;
	io->labels_dirty = true;
}

/* The line of the v2 hierarchy alone names the container. */
static bool v2_names(const char *text, size_t n, const char *container)
{
	const char *line = n > 3 && !memcmp(text, "0::", 3) ? text
							    : memmem(text, n, "\n0::", 4);
	struct cgroup_identity id;
	const char *nl;

	if (!line)
		return false;
	line += *line == '\n';
	nl = memchr(line, '\n', text + n - line);
	cgroup_identify(line, nl ? (size_t)(nl - line) : (size_t)(text + n - line), &id);
	return id.container_id[0] && !strcmp(id.container_id, container);
}

static void set_path(struct image_own *io, struct text *fresh)
{
	if (!fresh || !io->cgroup || strcmp(fresh->s, io->cgroup->s))
		io->labels_dirty = true;
	text_put(io->cgroup);
	io->cgroup = fresh;
	io->i.cgroup = fresh ? fresh->s : NULL;
}

void image_set_pod(struct image_own *io, const char *facts, size_t n)
{
	if (io->pod ? io->pod->n == n && !memcmp(io->pod->s, facts, n) : !n)
		return;
	text_put(io->pod);
	io->pod = n ? text_make(facts, n) : NULL;
	io->labels_dirty = true;
}

void image_set_cgroup(struct process_table *t, struct image_own *io, const char *text,
		      size_t n)
{
	struct cgroup_identity id;
	const char *path = NULL;
	size_t len = 0;

	cgroup_identify(text, n, &id);
	if (!id.container_id[0] && t->private_cgroups && !memmem(text, n, ":/..", 4))
		strncat(id.container_id, t->o.container_id, sizeof(id.container_id) - 1);
	set_container(io, &id);
	io->v2_names_container = v2_names(text, n, id.container_id);
	set_path(io, cgroup_choose(text, n, &path, &len) ? text_make(path, len) : NULL);
}

struct text *cgroup_known(struct process_table *t, uint64_t cgroup_id)
{
	struct cgroup_slot *s = &t->cgroups[cgroup_id % CGROUP_SLOTS];

	return cgroup_id && s->id == cgroup_id ? s->container : NULL;
}

/*
 * The container of a v2 cgroup, for processes that are gone before they can be read. Only
 * when the v2 path itself names it: with the container on a v1 line, all share the id of
 * the v2 root.
 */
void cgroup_learn(struct process_table *t, const struct image_own *io)
{
	struct cgroup_slot *s = &t->cgroups[io->cgroup_id % CGROUP_SLOTS];

	if (!io->cgroup_id || !io->container || !io->v2_names_container)
		return;
	s->id = io->cgroup_id;
	text_share(&s->container, io->container);
}

/* --- what it declares --- */

static uint32_t count_entries(const char *text, size_t n)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += !text[i];
	return count;
}

/* NAME=VALUE entries beside the two that have a meaning of their own. */
static int split_environment(struct declared *d, size_t n)
{
	char *p = d->text, *end = p + n;

	d->environment = calloc(count_entries(p, n), sizeof(*d->environment));
	if (!d->environment)
		return -ENOMEM;
	for (; p < end; p += strlen(p) + 1) {
		char *eq = strchr(p, '=');

		if (!eq || !strncmp(p, "OTEL_SERVICE_NAME=", 18) ||
		    !strncmp(p, "OTEL_RESOURCE_ATTRIBUTES=", 25))
			continue;
		*eq = 0;
		d->environment[d->n_environment++] =
			(struct label){ .key = p, .string = eq + 1 };
		p = eq + 1;
	}
	return 0;
}

struct declared *declared_make(const struct answer *a, bool lenient)
{
	const struct answer_bytes *env = &a->section[TAG_ENV];
	struct declared *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return NULL;
	d->refs = 1;
	d->command_line = answer_text(a, TAG_CMDLINE);
	d->working_directory = answer_text(a, TAG_CWD);
	err = otel_env_parse(environ_get(env->p, env->n, "OTEL_RESOURCE_ATTRIBUTES"),
			     environ_get(env->p, env->n, "OTEL_SERVICE_NAME"), lenient,
			     &d->env);
	if (!err && env->n) {
		d->text = malloc(env->n);
		if (d->text)
			memcpy(d->text, env->p, env->n);
		err = d->text ? split_environment(d, env->n) : -ENOMEM;
	}
	if (!d->n_environment) {
		free(d->environment);
		free(d->text);
		d->environment = NULL;
		d->text = NULL;
	}
	if (err) {
		declared_put(d);
		return NULL;
	}
	return d;
}

void declared_put(struct declared *d)
{
	if (!d || --d->refs)
		return;
	otel_env_free(&d->env);
	free(d->environment);
	free(d->text);
	free(d->command_line);
	free(d->working_directory);
	free(d);
}
