/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/process/thread_plan.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/ringside.h"
#include "sidecar/context/context.h"
#include "sidecar/process/table.h"

#define FILES_WAIT_NS	(3 * NS_PER_S)		/* then the plan is made without the rest */
#define LOOK_AGAIN_NS	(NS_PER_S / 4)		/* at maps that change all the time */
#define RETRY_MIN_NS	(NS_PER_S / 4)
#define RETRY_MAX_NS	(64 * NS_PER_S)
#define ROUNDS_MAX	4u			/* a word leads to a word, and that is all */
#define FILES_MAX	1024u			/* of one image, looked into */
#define ASKS_MAX	32u			/* of them at a time: others need the door, too */

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

static void forget_modules(struct process_table *t, struct thread_plan *p)
{
	for (uint32_t i = 0; i < TLS_MAX_MODULES; i++) {
		file_put(t, p->files[i]);
		p->files[i] = NULL;
	}
	p->target.n_modules = p->target.n_words = 0;
}

/* --- the kernel's copy --------------------------------------------------------------- */

static void uninstall(struct process_table *t, struct thread_plan *p)
{
	if (!p->installed)
		return;
	p->installed = false;
	if (t->plan_fn)
		t->plan_fn(t->plan_arg, p->io->i.pid, NULL);
}

/* A number has one owner: an image that ended unseen does not take it from this one. */
static void disown_others(struct process_table *t, const struct thread_plan *p)
{
	for (struct thread_plan *o = t->plans; o; o = o->next) {
		if (o != p && o->io->i.pid == p->io->i.pid)
			o->installed = false;
	}
}

static void install(struct process_table *t, struct thread_plan *p)
{
	struct ev_context_plan k = { .start_ns = p->io->i.start_ns,
				     .exec_id = p->io->i.exec_id };
	int err = 0;

	memcpy(k.way, p->plan.way, sizeof(k.way));
	disown_others(t, p);
	if (t->plan_fn)
		err = t->plan_fn(t->plan_arg, p->io->i.pid, &k);
	p->installed = !err;
	t->counts.plans_refused += err != 0;
}

/* --- modules -------------------------------------------------------------------------- */

static bool settled(const struct file *f)
{
	return f->state == FILE_READY || f->state == FILE_FAILED;
}

/* Has every mapped file looked into; true when that is done, or has taken too long. */
static bool files_settled(struct process_table *t, struct thread_plan *p)
{
	struct image *i = &p->io->i;
	uint32_t left = 0, looked = 0, asked = 0;

	for (uint32_t k = 0; k < i->n_maps && looked < FILES_MAX; k++) {
		const struct mapping *m = &i->maps[k];

		if (m->kind != MAPPING_FILE || !m->file)
			continue;
		looked++;
		if (asked < ASKS_MAX && (m->file->state == FILE_UNKNOWN ||
					 m->file->state == FILE_FAILED)) {
			process_want_file(t, i, m);
			asked += m->file->state == FILE_OPENING;
		}
		left += !settled(m->file);
	}
	return !left || t->now_ns >= p->began_ns + FILES_WAIT_NS;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static bool is_musl(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strncmp(name, "ld-musl-", 8) || !strncmp(name, "libc.musl-", 10) ||
	       ends_with(path, "-linux-musl/libc.so") ||
	       ends_with(path, "/musl/lib/libc.so");
}

static bool known(const struct thread_plan *p, const struct file *f)
{
	for (uint32_t i = 0; i < p->target.n_modules; i++) {
		if (p->files[i] == f)
			return true;
	}
	return false;
}

/* The program first: what it defines goes before what libraries do. */
static void add_module(struct process_table *t, struct thread_plan *p,
		       const struct mapping *m)
{
	struct tls_target *to = &p->target;
	const struct tls_facts *f = m->file->tls;
	uint32_t at = to->n_modules;
	struct tls_module module = { .facts = f };
	uint64_t vaddr;

	if (at == TLS_MAX_MODULES || known(p, m->file) ||
	    !tls_facts_vaddr(f, m->file_offset, &vaddr))
		return;
	module.bias = m->start - vaddr;
	module.is_main = m->file == p->io->i.exe;
	to->n_modules++;
	if (module.is_main && at) {
		to->modules[at] = to->modules[0];
		p->files[at] = p->files[0];
		p->serials[at] = p->serials[0];
		at = 0;
	}
	to->modules[at] = module;
	p->files[at] = file_get(t, m->file);
	p->serials[at] = m->serial;
}

static void take_modules(struct process_table *t, struct thread_plan *p)
{
	const struct image *i = &p->io->i;

	forget_modules(t, p);
	p->target.machine = OWN_MACHINE;
	p->target.libc = TLS_LIBC_GLIBC;
	for (uint32_t k = 0; k < i->n_maps; k++) {
		const struct mapping *m = &i->maps[k];

		if (m->kind != MAPPING_FILE || !m->file)
			continue;
		if (is_musl(m->file->path))
			p->target.libc = TLS_LIBC_MUSL;
		if (m->file->tls)
			add_module(t, p, m);
	}
}

/* The same mappings as before: what else was mapped or unmapped says nothing. */
static bool modules_changed(struct process_table *t, struct thread_plan *p)
{
	uint32_t before[TLS_MAX_MODULES], n = p->target.n_modules;
	struct tls_target kept = p->target;

	memcpy(before, p->serials, sizeof(before));
	take_modules(t, p);
	if (p->target.n_modules != n || p->target.libc != kept.libc ||
	    memcmp(before, p->serials, n * sizeof(before[0])))
		return true;
	memcpy(p->target.words, kept.words, sizeof(kept.words));
	p->target.n_words = kept.n_words;
	return false;
}

/* --- steps ---------------------------------------------------------------------------- */

static void retry_later(struct process_table *t, struct thread_plan *p)
{
	p->tried_ns = t->now_ns;
	p->wait_ns = p->wait_ns ? p->wait_ns * 2 : RETRY_MIN_NS;
	if (p->wait_ns > RETRY_MAX_NS)
		p->wait_ns = RETRY_MAX_NS;
	p->retry_ns = t->now_ns + p->wait_ns;
}

static void finish(struct process_table *t, struct thread_plan *p)
{
	tls_plan_make(&p->target, &p->plan);
	if (p->plan.n_ways) {
		p->state = THREAD_PLAN_MADE;
		p->wait_ns = 0;
		p->tried_ns = t->now_ns;
		p->io->i.context_state = RINGSIDE_CONTEXT_UNRESOLVED;
		install(t, p);
		return;
	}
	p->state = THREAD_PLAN_FAILED;
	p->io->i.context_state = p->plan.why == TLS_WHY_NO_SYMBOL
					 ? RINGSIDE_CONTEXT_NO_SYMBOL
					 : RINGSIDE_CONTEXT_UNRESOLVED;
	uninstall(t, p);
	retry_later(t, p);
}

/* Asks for the words that are missing; when there are none, the plan is made. */
static void next_round(struct process_table *t, struct thread_plan *p)
{
	uint64_t addresses[DOOR_WORDS_MAX];
	uint32_t n = tls_plan_needs(&p->target, addresses, DOOR_WORDS_MAX);

	if (!n || p->rounds == ROUNDS_MAX) {
		finish(t, p);
		return;
	}
	p->rounds++;
	if (ask_words(t, p->io, addresses, n)) {
		p->state = THREAD_PLAN_FAILED;
		retry_later(t, p);
	} else {
		p->state = THREAD_PLAN_WORDS;
	}
}

static void begin_files(struct process_table *t, struct thread_plan *p)
{
	p->state = THREAD_PLAN_FILES;
	p->began_ns = t->now_ns;
}

/* Mappings came or went. */
static void look_again(struct process_table *t, struct thread_plan *p)
{
	if (!p->looking) {
		p->looking = true;
		p->began_ns = t->now_ns;
	}
	if (!files_settled(t, p))
		return;
	p->looking = false;
	p->tried_ns = t->now_ns;
	p->version = p->io->i.version;
	if (!modules_changed(t, p))
		return;
	p->rounds = 0;
	next_round(t, p);
}

static void step(struct process_table *t, struct thread_plan *p)
{
	struct image_own *io = p->io;
	bool changed;

	if (io->ended_ns) {
		uninstall(t, p);
		return;
	}
	changed = p->version != io->i.version && t->now_ns >= p->tried_ns + LOOK_AGAIN_NS;
	switch (p->state) {
	case THREAD_PLAN_WORDS:
		return;
	case THREAD_PLAN_MADE:
		if (changed)
			look_again(t, p);
		return;
	case THREAD_PLAN_FAILED:
		if (!changed && t->now_ns < p->retry_ns)
			return;
		begin_files(t, p);
		break;
	case THREAD_PLAN_FILES:
		break;
	}
	if (!files_settled(t, p))
		return;
	p->version = io->i.version;
	take_modules(t, p);
	p->rounds = 0;
	next_round(t, p);
}

void thread_plan_tick(struct process_table *t)
{
	struct thread_plan *p, *next;

	/* Those that ended first: a number may have a new owner. */
	for (p = t->plans; p; p = p->next) {
		if (p->io->ended_ns)
			uninstall(t, p);
	}
	for (p = t->plans; p; p = next) {
		next = p->next;
		step(t, p);
	}
}

void thread_plan_words(struct process_table *t, struct image_own *io,
		       const struct answer *a)
{
	struct thread_plan *p = io->plan;
	uint32_t n = 0;

	if (!p || p->state != THREAD_PLAN_WORDS)
		return;
	if (a->head->error || io->ended_ns) {
		p->state = THREAD_PLAN_FAILED;
		retry_later(t, p);
		return;
	}
	for (; n < a->n_words && p->target.n_words < TLS_MAX_WORDS; n++)
		p->target.words[p->target.n_words++] = a->words[n];
	next_round(t, p);
}

/* --- with the context ------------------------------------------------------------------ */

void thread_plan_drop(struct process_table *t, struct image_own *io)
{
	struct thread_plan *p = io->plan;

	if (!p)
		return;
	uninstall(t, p);
	forget_modules(t, p);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	io->plan = NULL;
	t->counts.heap_bytes -= sizeof(*p);
	free(p);
}

static void begin(struct process_table *t, struct image_own *io)
{
	struct thread_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return;
	p->io = io;
	p->next = t->plans;
	p->link = &t->plans;
	if (p->next)
		p->next->link = &p->next;
	t->plans = p;
	io->plan = p;
	t->counts.heap_bytes += sizeof(*p);
	io->i.context_state = RINGSIDE_CONTEXT_UNRESOLVED;
	begin_files(t, p);
	step(t, p);
}

void thread_plan_context(struct process_table *t, struct image_own *io)
{
	enum context_schema schema = io->i.context ? io->i.context->schema
						   : CONTEXT_SCHEMA_ABSENT;

	if (schema == CONTEXT_SCHEMA_TLS) {
		if (!io->plan)
			begin(t, io);
		return;
	}
	thread_plan_drop(t, io);
	io->i.context_state = schema == CONTEXT_SCHEMA_ABSENT ? RINGSIDE_CONTEXT_ABSENT
							      : RINGSIDE_CONTEXT_SCHEMA;
}

const struct tls_plan *process_thread_plan(const struct image *i, bool *settled)
{
	const struct thread_plan *p = ((const struct image_own *)i)->plan;

	*settled = !p || p->state == THREAD_PLAN_MADE || p->state == THREAD_PLAN_FAILED;
	return p ? &p->plan : NULL;
}
