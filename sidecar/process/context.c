/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context of an image: when to look, and what becomes of what was seen.  It
 * belongs to the image that published it: a fork's child has none until it publishes its
 * own, an exec ends it.  While a publisher changes it the old one stays; when its mapping
 * goes it goes.
 */
#include "sidecar/process/table.h"

#include <string.h>

#include "sidecar/context/context.h"
#include "sidecar/context/read.h"

/* Without the hook: how soon a change is seen. */
#define FIRST_LOOK_NS	(1 * NS_PER_S)
#define KNOWN_LOOK_NS	(5 * NS_PER_S)
#define NONE_LOOK_MAX_S	30u		/* a scan of all maps */
#define BUSY_LOOK_NS	(NS_PER_S / 10)
#define REFUSED_LOOK_NS	(1 * NS_PER_S)	/* the door's queue or budget */
/* With it. */
#define FOLLOW_LOOK_NS	(NS_PER_S / 10)	/* of a quick succession of changes the hook tells the first */
#define GAP_NS		(NS_PER_S / 50)	/* whatever a process does, no more often */
/* A context that is never the same makes new labels each time, and fills the dictionary. */
#define RAPID_NS	(2 * NS_PER_S)	/* two changes within it are rapid */
#define RAPID_MAX	16u		/* so many in a row; then one a second */
#define REFRESH_NS	(1 * NS_PER_S)
#define LOST_NS		(10 * NS_PER_S)	/* an answer that has not come by then never will */


/* An eighth more or less, by pid: those that were seen at one moment are not looked at at
 * one. */
static uint64_t spread(const struct image_own *io, uint64_t ns)
{
	return ns + ns / 8 * (io->i.pid * 2654435761u >> 24) / 256;
}

static uint64_t look_again_after(const struct image_own *io)
{
	const struct image_context *c = &io->context;
	uint32_t looks = c->looks < 6 ? c->looks : 6, seconds;

	switch (c->state) {
	case CONTEXT_LATER:
		return 0;
	case CONTEXT_BUSY:
		return spread(io, BUSY_LOOK_NS << looks);
	case CONTEXT_PAYLOAD:
		return spread(io, KNOWN_LOOK_NS);
	default:
		seconds = (1u << looks) / 2;
		if (seconds > NONE_LOOK_MAX_S)
			seconds = NONE_LOOK_MAX_S;
		return spread(io, seconds ? seconds * NS_PER_S : FIRST_LOOK_NS);
	}
}

static void look(struct process_table *t, struct image_own *io)
{
	struct image_context *c = &io->context;

	if (t->now_ns >= c->changed_ns + RAPID_NS)
		c->rapid = 0;
	c->least_ns = t->now_ns + (c->rapid > RAPID_MAX ? NS_PER_S : GAP_NS);
	if (ask(t, io, DOOR_CONTEXT, NULL)) {
		c->next_ns = t->now_ns + REFUSED_LOOK_NS;
		return;
	}
	c->asked_ns = t->now_ns;
	c->follow = c->told_ns != 0;
	c->told_ns = 0;
}

static bool may_look(const struct process_table *t, const struct image_own *io)
{
	const struct image_context *c = &io->context;

	return !io->i.kthread && !io->ended_ns && io->i.start_ns &&
	       io->i.state == IMAGE_READ && t->now_ns >= c->least_ns &&
	       (!c->asked_ns || t->now_ns >= c->asked_ns + LOST_NS);
}

void want_context(struct process_table *t, struct image_own *io)
{
	struct image_context *c = &io->context;

	if (!may_look(t, io))
		return;
	if (!c->next_ns)
		c->next_ns = t->now_ns + spread(io, FIRST_LOOK_NS);
	if (c->told_ns || t->now_ns >= c->next_ns)
		look(t, io);
}

bool process_want_context(struct process_table *t, struct image *i)
{
	struct image_own *io = own(i);

	if (may_look(t, io) && t->now_ns >= io->context.refresh_ns) {
		io->context.refresh_ns = t->now_ns + REFRESH_NS;
		look(t, io);
	}
	return io->context.asked_ns != 0 && !io->ended_ns;
}

/* Of whom no sample came nothing is read; but where it is, is remembered: of an anonymous
 * mapping that the kernel gave no name nothing else ever tells. */
void process_on_context(struct process_table *t, const struct ev_context *e)
{
	struct process *p = process_lookup(t, e->head.tgid, e->head.start_ns);
	struct image_own *io = p ? p->current : NULL;

	if (e->head.boot_ns > t->now_ns)
		t->now_ns = e->head.boot_ns;
	if (!io || io->i.exec_id != e->head.exec_id)
		return;
	io->context.hint = e->address;
	io->context.told_ns = e->head.boot_ns;
	if (io->i.sampled)
		want_context(t, io);
}

/* --- what was read --- */

static void set_context(struct process_table *t, struct image_own *io,
			struct process_context *fresh)
{
	if (io->i.context) {
		t->counts.contexts--;
		t->counts.heap_bytes -= io->i.context->bytes;
		t->context_bytes -= io->i.context->bytes;
	}
	process_context_put(io->i.context);
	io->i.context = fresh;
	if (fresh) {
		t->counts.contexts++;
		t->counts.heap_bytes += fresh->bytes;
		t->context_bytes += fresh->bytes;
	}
	thread_plan_context(t, io);
}

void context_drop(struct process_table *t, struct image_own *io)
{
	if (!io->i.context)
		return;
	set_context(t, io, NULL);
	io->i.context_version++;
	io->labels_dirty = true;
}

static void take_payload(struct process_table *t, struct image_own *io,
			 const struct answer *a)
{
	const struct answer_bytes *b = &a->section[TAG_CONTEXT_PAYLOAD];
	struct process_context *fresh = NULL;
	int err = process_context_parse(&fresh, b->p, b->n, a->context->published_ns);

	io->context.malformed = err != 0;
	if (!err && t->context_bytes + fresh->bytes > t->o.context_bytes_max) {
		process_context_put(fresh);
		err = -1;
	}
	if (err) {
		t->counts.contexts_refused++;
		context_drop(t, io);
		return;
	}
	/* Published anew without a change, as some do at start: nothing is made anew. */
	if (io->i.context && process_context_same(io->i.context, fresh)) {
		process_context_put(fresh);
		return;
	}
	set_context(t, io, fresh);
	io->i.context_version++;
	io->labels_dirty = true;
	io->context.rapid++;
	io->context.changed_ns = t->now_ns;
}

/* Found, and no context: told once of each state that it is in. */
static void refuse(struct process_table *t, struct image_own *io,
		   const struct answer_context *x)
{
	const struct answer_context *last = &io->context.read;

	if (last->verdict != x->verdict || last->address != x->address ||
	    last->published_ns != x->published_ns)
		t->counts.contexts_refused++;
	context_drop(t, io);
}

static void take_verdict(struct process_table *t, struct image_own *io,
			 const struct answer *a, const struct answer_context *x)
{
	struct image_context *c = &io->context;

	switch (x->verdict) {
	case CONTEXT_BUSY:
		t->counts.contexts_busy++;
		return;
	case CONTEXT_UNCHANGED:
	case CONTEXT_LATER:
	case CONTEXT_DENIED:
		return;
	case CONTEXT_PAYLOAD:
		take_payload(t, io, a);
		break;
	case CONTEXT_NONE:
		context_drop(t, io);
		break;
	default:
		refuse(t, io, x);
		break;
	}
	c->read = *x;
	c->address = x->address;
	c->stamp_ns = x->verdict == CONTEXT_PAYLOAD || x->verdict == CONTEXT_SIZE
			      ? x->published_ns
			      : 0;
	if (x->address == c->hint || x->verdict == CONTEXT_PAYLOAD)
		c->hint = 0;
}

void take_context(struct process_table *t, struct image_own *io, const struct answer *a)
{
	static const struct answer_context none = { .verdict = CONTEXT_NONE };
	const struct answer_context *x = a->context ? a->context : &none;
	struct image_context *c = &io->context;

	take_verdict(t, io, a, x);
	c->state = x->verdict == CONTEXT_UNCHANGED ? c->read.verdict : x->verdict;
	c->looks = c->state == CONTEXT_PAYLOAD ? 0 : c->looks + 1;
	c->next_ns = t->now_ns + (c->follow ? FOLLOW_LOOK_NS : look_again_after(io));
	c->follow = false;
}

void context_apply(struct process_table *t, const struct answer *a)
{
	const struct answer_head *h = a->head;
	struct image_own *io = image_by_serial(t, h->image_serial);

	if (!io || io->i.pid != h->pid || io->i.start_ns != h->start_ns)
		return;
	io->context.asked_ns = 0;
	if (h->error || (io->ended_ns && h->end_ns >= io->ended_ns)) {
		io->context.next_ns = t->now_ns + REFUSED_LOOK_NS;
		return;
	}
	take_context(t, io, a);
	image_refresh(t, io);
	/* Told of another change in the meantime. */
	if (io->context.told_ns)
		want_context(t, io);
}
