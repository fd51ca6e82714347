/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an image, given to the resolver; and what came back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "sidecar/context/context.h"
#include "sidecar/process/table.h"

#define KTHREADD_PID 2u

/* --- the machine --- */

/* release NUL machine NUL, and 1 or 0 for the cluster. */
size_t process_system_read(char buf[PROCESS_SYSTEM_MAX])
{
	const char *cluster = getenv("KUBERNETES_SERVICE_HOST");
	struct utsname u;

	if (uname(&u))
		memset(&u, 0, sizeof(u));
	return (size_t)snprintf(buf, PROCESS_SYSTEM_MAX, "%.64s%c%.64s%c%c", u.release, 0,
				u.machine, 0, cluster && cluster[0] ? '1' : '0');
}

int process_system(struct process_table *t, const void *msg, size_t n)
{
	const char *release = msg, *machine, *end = release + n;

	machine = memchr(release, 0, n);
	if (!machine || !memchr(machine + 1, 0, (size_t)(end - machine - 1)))
		return -EBADMSG;
	machine++;
	snprintf(t->kernel_release, sizeof(t->kernel_release), "%s", release);
	snprintf(t->kernel_machine, sizeof(t->kernel_machine), "%s", machine);
	t->in_cluster = machine + strlen(machine) + 1 < end &&
			machine[strlen(machine) + 1] == '1';
	return 0;
}

static struct resolver *resolver_of(struct process_table *t)
{
	const struct process_options *o = &t->o;
	struct resolver_options ro = {
		.config = { .node = o->node,
			    .in_cluster = t->in_cluster,
			    .kernel_release = t->kernel_release,
			    .kernel_machine = t->kernel_machine,
			    .revision = o->revision,
			    .executables = true,
			    .local_only = o->local_only,
			    .publish_command_line = o->publish_command_line,
			    .publish_working_directory = o->publish_working_directory },
		.rules = o->rules,
		.external = o->external,
		.n_external = o->n_external,
		.ttl_ns = o->label_ttl_ns,
		.cache_size = o->label_cache_size,
	};

	if (!t->resolver && resolver_create(&t->resolver, &ro))
		return NULL;
	return t->resolver;
}

/* --- one process --- */

static const struct label_executable *executable_of(const struct image_own *io)
{
	return io->i.exe && io->i.exe->facts ? &io->i.exe->facts->e : NULL;
}

static void describe(struct process_table *t, const struct image_own *io,
		     struct label_process *p)
{
	struct text *known = io->i.state == IMAGE_READ ? NULL
						       : cgroup_known(t, io->cgroup_id);
	struct text *container = io->container ? io->container : known;
	const struct declared *d = io->declared;

	*p = (struct label_process){
		.pid = io->i.pid,
		.parent_pid = io->i.parent_pid,
		.start_ns = io->i.start_ns,
		/* The image, not the exec: what events and readings tell apart. */
		.exec_id = io->i.serial,
		.comm = io->i.comm,
		.exe_path = io->i.exe_path,
		.exe_name = io->i.exe_name,
		.cgroup = io->i.cgroup,
		.kthread = io->i.kthread,
		.executable = executable_of(io),
		.container = container ? (const struct cgroup_identity *)container->s
				       : NULL,
		.pod_facts = io->pod ? io->pod->s : NULL,
		.n_pod_facts = io->pod ? io->pod->n : 0,
		.complete = io->i.state == IMAGE_READ,
	};
	/* They are all children of kthreadd. */
	if (p->kthread && !p->parent_pid && p->pid != KTHREADD_PID)
		p->parent_pid = KTHREADD_PID;
	if (io->i.context)
		p->context = &io->i.context->resource;
	if (!d)
		return;
	p->env = &d->env;
	p->command_line = d->command_line;
	p->working_directory = d->working_directory;
	p->environment = d->environment;
	p->n_environment = d->n_environment;
}

static bool same(const struct label_set *a, const struct label_set *b)
{
	if (!a || !b || a->n != b->n)
		return a == b;
	for (uint32_t i = 0; i < a->n; i++) {
		if (!label_same(&a->labels[i], &b->labels[i]))
			return false;
	}
	return true;
}

static void take_result(struct process_table *t, struct image_own *io,
			struct label_result *fresh)
{
	bool changed = !same(io->i.labels, fresh->attributes);

	label_result_put(io->result);
	io->result = fresh;
	io->i.labels = fresh->attributes;
	io->i.dropped = !fresh->keep;
	io->i.label_version += changed;
	io->labels_dirty = false;
	io->labels_expire_ns =
		fresh->complete ? fresh->made_ns + resolver_ttl_ns(t->resolver) : 0;
}

void image_refresh(struct process_table *t, struct image_own *io)
{
	struct resolver *r;
	struct label_result *fresh;
	struct label_process p;

	if (!io->i.sampled)
		return;
	/* After a while all is looked at again: the cgroup, what files say of the pod. */
	if (io->labels_expire_ns && t->now_ns >= io->labels_expire_ns) {
		io->labels_dirty = true;
		want_cgroup(t, io);
	}
	if (!io->labels_dirty)
		return;
	r = resolver_of(t);
	if (!r)
		return;				/* out of memory: the old ones stay, tried again later */
	describe(t, io, &p);
	resolver_forget(r, &p);
	if (!resolver_resolve(r, &p, t->now_ns, &fresh))
		take_result(t, io, fresh);
}

int process_explain(struct process_table *t, struct image *i, FILE *out, bool json)
{
	struct resolver *r = resolver_of(t);
	struct label_process p;

	if (!r)
		return -ENOMEM;
	describe(t, own(i), &p);
	return resolver_explain(r, &p, out, json);
}

void process_set_rules(struct process_table *t, struct relabel_rules *rules, const struct label_pair *external,
		       uint32_t n_external, uint64_t label_ttl_ns, uint32_t label_cache_size)
{
	t->o.rules = rules;
	t->o.external = external;
	t->o.n_external = n_external;
	t->o.label_ttl_ns = label_ttl_ns;
	t->o.label_cache_size = label_cache_size;
	resolver_destroy(t->resolver);		/* its results live on in the images */
	t->resolver = NULL;
	for (struct process *p = t->living.newest; p; p = p->older)
		if (p->current)
			p->current->labels_dirty = true;
}

uint64_t process_rule_limits(const struct process_table *t)
{
	return t->o.rules ? t->o.rules->limit_hits : 0;
}

/* --- what runs --- */

static const char *keep(char **to, const char *s)
{
	char *start = *to;

	if (!s || !s[0])
		return NULL;
	*to = stpcpy(start, s) + 1;
	return start;
}

static size_t room(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

static struct file_facts *facts_make(const struct label_executable *e)
{
	struct file_facts *f =
		malloc(sizeof(*f) + room(e->file_id) + room(e->gnu_build_id) +
		       room(e->go_build_id) + room(e->compiler));
	char *to;

	if (!f)
		return NULL;
	f->e = *e;
	to = f->text;
	f->e.file_id = keep(&to, e->file_id);
	f->e.gnu_build_id = keep(&to, e->gnu_build_id);
	f->e.go_build_id = keep(&to, e->go_build_id);
	f->e.compiler = keep(&to, e->compiler);
	return f;
}

void process_file_facts(struct process_table *t, struct file *f,
			const struct label_executable *e)
{
	struct file_facts *fresh = facts_make(e);

	if (!fresh)
		return;
	free(f->facts);
	f->facts = fresh;
	for (struct process *p = t->living.newest; p; p = p->older) {
		if (!p->current || p->current->i.exe != f)
			continue;
		p->current->labels_dirty = true;
		image_refresh(t, p->current);
	}
}
