/* SPDX-License-Identifier: Apache-2.0 */
/* Who lives and who died: processes by pid and start time, in bounded memory. */
#include "sidecar/process/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_INIT_INODE "cgroup:[4026531835]"	/* fixed in the kernel: PROC_CGROUP_INIT_INO */

static struct process **bucket(struct process_table *t, uint32_t pid)
{
	return &t->processes[(pid * 2654435761u) % PROCESS_BUCKETS];
}

static void list_add(struct process_list *l, struct process *p)
{
	p->newer = NULL;
	p->older = l->newest;
	if (l->newest)
		l->newest->newer = p;
	else
		l->oldest = p;
	l->newest = p;
	l->n++;
}

static void list_remove(struct process_list *l, struct process *p)
{
	if (p->newer)
		p->newer->older = p->older;
	else
		l->newest = p->older;
	if (p->older)
		p->older->newer = p->newer;
	else
		l->oldest = p->newer;
	l->n--;
}

static struct process_list *list_of(struct process_table *t, const struct process *p)
{
	return p->dead ? &t->dead : &t->living;
}

static void process_free(struct process_table *t, struct process *p)
{
	struct process **at = bucket(t, p->pid);

	while (*at != p)
		at = &(*at)->hash_next;
	*at = p->hash_next;
	list_remove(list_of(t, p), p);
	image_unref(t, p->current);
	image_unref(t, p->previous);
	image_unref(t, p->next);
	t->counts.heap_bytes -= sizeof(*p);
	t->counts.processes--;
	free(p);
}

/* The dead go first, the longest dead of them; then who was not heard of for longest. */
static void make_room(struct process_table *t)
{
	while (t->dead.n > DEAD_MAX)
		process_free(t, t->dead.oldest);
	while (t->counts.processes >= t->o.max_processes)
		process_free(t, t->dead.oldest ? t->dead.oldest : t->living.oldest);
}

void process_die(struct process_table *t, struct process *p, uint64_t exit_ns)
{
	if (p->dead)
		return;
	list_remove(&t->living, p);
	p->dead = true;
	p->exit_ns = exit_ns ? exit_ns : 1;
	list_add(&t->dead, p);
}

struct process *process_lookup(struct process_table *t, uint32_t pid, uint64_t start_ns)
{
	for (struct process *p = *bucket(t, pid); p; p = p->hash_next) {
		if (p->pid == pid && p->start_ns == start_ns)
			return p;
	}
	return NULL;
}

struct process *process_at(struct process_table *t, uint32_t pid, uint64_t boot_ns)
{
	struct process *best = NULL;

	for (struct process *p = *bucket(t, pid); p; p = p->hash_next) {
		uint64_t start = p->start_ns ? p->start_ns : p->created_ns;

		if (p->pid != pid || start > boot_ns ||
		    (p->exit_ns && p->exit_ns < boot_ns))
			continue;
		if (!best || start > (best->start_ns ? best->start_ns : best->created_ns))
			best = p;
	}
	return best;
}

/* One that was first heard of without its start time, by an event after start_ns. */
static struct process *adopt(struct process_table *t, uint32_t pid, uint64_t start_ns)
{
	struct process *p = start_ns ? process_lookup(t, pid, 0) : NULL;

	if (!p || p->created_ns < start_ns)
		return NULL;
	p->start_ns = start_ns;
	if (p->current)
		p->current->i.start_ns = start_ns;
	if (p->next)
		p->next->i.start_ns = start_ns;
	return p;
}

/* A pid has one living owner: whose exit was lost is dead since the next one started. */
static void bury_namesakes(struct process_table *t, struct process *fresh)
{
	struct process *p, *next;

	for (p = *bucket(t, fresh->pid); p; p = next) {
		next = p->hash_next;
		if (p == fresh || p->pid != fresh->pid)
			continue;
		if (p->start_ns > fresh->start_ns && fresh->start_ns)
			process_die(t, fresh, p->start_ns);
		else
			process_die(t, p,
				    fresh->start_ns ? fresh->start_ns
						    : fresh->created_ns);
	}
}

struct process *process_enter(struct process_table *t, uint32_t pid, uint64_t start_ns,
			      uint64_t now_ns)
{
	struct process *p = process_lookup(t, pid, start_ns);

	if (now_ns > t->now_ns)
		t->now_ns = now_ns;
	if (!p)
		p = adopt(t, pid, start_ns);
	if (p) {
		list_remove(list_of(t, p), p);
		list_add(list_of(t, p), p);
		return p;
	}
	make_room(t);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->start_ns = start_ns;
	p->created_ns = now_ns;
	p->hash_next = *bucket(t, pid);
	*bucket(t, pid) = p;
	list_add(&t->living, p);
	t->counts.heap_bytes += sizeof(*p);
	t->counts.processes++;
	bury_namesakes(t, p);
	return p;
}

struct image *process_find(struct process_table *t, uint32_t pid, uint64_t start_ns)
{
	struct process *p = process_lookup(t, pid, start_ns);

	return p && p->current ? &p->current->i : NULL;
}

/*
 * In a cgroup namespace of its own a path without `..` lies in the container that we are
 * in.  In the host's it says nothing of the kind.
 */
static bool cgroups_are_private(const struct process_options *o)
{
	char link[64];
	ssize_t n;

	if (!o->container_id || !o->container_id[0])
		return false;
	if (o->replay)
		return true;
	n = readlink("/proc/self/ns/cgroup", link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	link[n] = 0;
	return strcmp(link, CGROUP_INIT_INODE) != 0;
}

int process_table_create(struct process_table **out, const struct process_options *o,
			 struct door *door)
{
	struct process_table *t = calloc(1, sizeof(*t));
	const char *cluster = getenv("KUBERNETES_SERVICE_HOST");
	struct process nobody = { .pid = 0 };
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->o = *o;
	if (!t->o.grace_ns)
		t->o.grace_ns = 10 * NS_PER_S;
	if (!t->o.max_processes)
		t->o.max_processes = 65536;
	if (!t->o.context_bytes_max)
		t->o.context_bytes_max = 16u << 20;
	if (!t->o.max_maps)
		t->o.max_maps = 8192;
	t->in_cluster = cluster && cluster[0];
	t->private_cgroups = cgroups_are_private(o);
	t->door = o->replay ? NULL : door;
	t->last_file_id = FIRST_FILE_ID - 1;
	t->counts.heap_bytes = sizeof(*t);
	t->nobody = image_new(t, &nobody, 0, 0);
	if (!t->nobody)
		err = -ENOMEM;
	if (!err && t->door)
		/* Rules may look at the command line, whether or not it is published by
		 * itself. */
		err = door_allow(t->door, o->include_env_vars, o->n_include_env_vars,
				 o->publish_command_line || o->rules_may_come ||
				 (o->rules && o->rules->n),
				 o->publish_working_directory);
	if (err) {
		process_table_destroy(t);
		return err;
	}
	*out = t;
	return 0;
}

/* Children that wait for a reading hold their parent, and it holds them. */
static void drop_heirs(struct process_table *t)
{
	for (int i = 0; i < IMAGE_BUCKETS; i++) {
		struct image_own *io = t->images[i];

		while (io) {
			bool changes = io->heirs != NULL;

			if (changes)
				settle_heirs(t, io);
			io = changes ? t->images[i] : io->hash_next;
		}
	}
}

void process_table_destroy(struct process_table *t)
{
	if (!t)
		return;
	while (t->living.oldest)
		process_free(t, t->living.oldest);
	while (t->dead.oldest)
		process_free(t, t->dead.oldest);
	drop_heirs(t);
	image_unref(t, t->nobody);
	files_destroy(t);
	for (int i = 0; i < CGROUP_SLOTS; i++)
		text_put(t->cgroups[i].container);
	resolver_destroy(t->resolver);
	free(t);
}

void process_tick(struct process_table *t, uint64_t boot_ns)
{
	struct process *p = t->dead.oldest, *newer;

	if (boot_ns > t->now_ns)
		t->now_ns = boot_ns;
	thread_plan_tick(t);
	if (boot_ns < t->next_tick_ns)
		return;
	t->next_tick_ns = boot_ns + NS_PER_S / 2;
	/* Their order is that of being heard of last; the sampled ones stay longer than
	 * the others. */
	for (; p; p = newer) {
		uint64_t grace = p->sampled ? t->o.grace_ns : DEAD_UNSAMPLED_NS;

		newer = p->newer;
		if (p->exit_ns + DEAD_UNSAMPLED_NS > boot_ns)
			break;
		if (p->exit_ns + grace <= boot_ns)
			process_free(t, p);
	}
}

void process_trim(struct process_table *t)
{
	uint32_t keep = t->dead.n / 2;

	if (!t->dead.n)
		for (uint32_t left = t->living.n / 4; left && t->living.oldest; left--)
			process_free(t, t->living.oldest);
	while (t->dead.n > keep)
		process_free(t, t->dead.oldest);
	files_trim(t);
	if (t->resolver)
		resolver_trim(t->resolver);
}

void process_counts(const struct process_table *t, struct process_counts *out)
{
	*out = t->counts;
}

void process_set_file_fn(struct process_table *t, process_file_fn fn, void *arg)
{
	t->file_fn = fn;
	t->file_arg = arg;
}

void process_set_plan_fn(struct process_table *t, process_plan_fn fn, void *arg)
{
	t->plan_fn = fn;
	t->plan_arg = arg;
}

void process_set_file_free_fn(struct process_table *t,
			      void (*fn)(void *arg, struct file *f), void *arg)
{
	t->file_free = fn;
	t->file_free_arg = arg;
}

void process_set_image_free_fn(struct process_table *t,
			       void (*fn)(void *arg, struct image *i), void *arg)
{
	t->image_free = fn;
	t->image_free_arg = arg;
}
