/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/publish/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/ring_writer.h"
#include "sidecar/process/process.h"
#include "sidecar/publish/context.h"
#include "sidecar/publish/frames.h"
#include "sidecar/publish/names.h"
#include "sidecar/publish/resource.h"
#include "sidecar/publish/stacks.h"
#include "sidecar/symbols/symbols.h"

#define ASKS_MAX 8192u
#define KERNEL_RETRY_NS 10000000000ull	/* modules and BPF programs come later */
#define JIT_RETRY_NS 2000000000ull	/* the map file grows */
#define REASK_NS 500000000ull		/* the worker forgot the file: never ask in a circle */

struct publisher {
	struct ring_writer	*w;
	struct names		*names;
	struct stacks		*stacks;
	struct frames		*frames;
	uint64_t		 period_ns;
	uint32_t		 names_version;
	struct publish_counts	 counts;
	uint32_t		 n_asks;
	struct publish_ask	 asks[ASKS_MAX];
	struct context_part	 context;
	struct frame_list	 list;
	struct plain_list	*plain[2];	/* kernel, user; made when the dictionary first fills */
};

/* One part of a sample's stack. */
struct part {
	const __u64	*addr;
	uint32_t	 n;
	const struct image *image;		/* NULL: kernel */
};

int publisher_create(struct publisher **out, struct ring_writer *w,
		     const struct publish_options *o)
{
	struct publisher *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	p->w = w;
	p->period_ns = o->period_ns;
	err = names_create(&p->names, o->names_bytes);
	if (!err)
		err = stacks_create(&p->stacks, o->stack_entries, o->seed);
	if (!err)
		err = frames_create(&p->frames, w, p->names);
	if (err)
		publisher_destroy(p);
	else
		*out = p;
	return err;
}

void publisher_destroy(struct publisher *p)
{
	if (!p)
		return;
	names_destroy(p->names);
	stacks_destroy(p->stacks);
	frames_destroy(p->frames);
	free(p->plain[0]);
	free(p->plain[1]);
	free(p);
}

void publisher_file_free(void *arg, struct file *file)
{
	struct publisher *p = arg;

	names_forget(p->names, file->id);
	frames_file_free(p->frames, file);
}

void publisher_image_free(void *arg, struct image *image)
{
	(void)arg;
	resource_image_free(image);
}

static struct part kernel_part(const struct ev_sample *s)
{
	return (struct part){ .addr = s->frames, .n = s->kernel_frames };
}

static struct part user_part(const struct ev_sample *s, const struct image *image)
{
	return (struct part){ .addr = s->frames + s->kernel_frames,
			      .n = s->user_frames,
			      .image = image };
}

static struct stack_key part_key(const struct publisher *p, const struct part *part)
{
	return stacks_key(p->stacks, part->image ? part->image->serial : 0, part->addr,
			  part->n);
}

static void part_site(const struct part *part, uint32_t i, struct site *site)
{
	if (part->image)
		site_of_user(part->image, part->addr[i], i == 0, site);
	else
		site_of_kernel(part->addr[i], i == 0, site);
}

/*
 * True when the walk has left all code at frame i: in a function without a frame pointer
 * the chain holds other things than return addresses, and what lies in no mapping of a
 * process whose mappings are known is none.  The leaf is where the thread really stood,
 * whatever we know.
 */
static bool walk_left_code(const struct part *part, uint32_t i, const struct site *site)
{
	return i > 0 && site->unmapped && part->image && part->image->n_maps &&
	       !part->image->pending;
}

static bool entry_fresh(const struct publisher *p, const struct stack_entry *e,
			const struct part *part, uint64_t boot_ns)
{
	return e && e->ref && e->names_version == p->names_version &&
	       (!part->image || e->owner_version == part->image->version) &&
	       (!e->expires_ns || boot_ns < e->expires_ns);
}

static void ask(struct publisher *p, struct named *e, const struct site *site,
		uint64_t boot_ns)
{
	if (p->n_asks == ASKS_MAX)
		return;
	p->asks[p->n_asks++] = (struct publish_ask){ site->file_id, site->address };
	e->asked_ns = boot_ns;
	if (e->state == NAMED_NEW)
		e->state = NAMED_ASKED;
}

static bool has_name(const struct named *e)
{
	return e->n && e->names[0].function;
}

/* How long an unnamed address of this site stays unnamed before it is asked again; 0: for
 * good. */
static uint64_t retry_after(const struct site *site)
{
	return site->type == RINGSIDE_FRAME_KERNEL ? KERNEL_RETRY_NS :
	       site->type == RINGSIDE_FRAME_JIT ? JIT_RETRY_NS : 0;
}

/* *again: the process table should look again at what lies there. */
static bool site_ready(struct publisher *p, const struct site *site, uint64_t boot_ns,
		       bool *again)
{
	struct named *e;

	if (site->pending)
		return false;
	if (!site->file_id)
		return true;
	e = names_get(p->names, site->file_id, site->address);
	if (!e)
		return true;
	if (e->state == NAMED_NEW && (!e->asked_ns || boot_ns > e->asked_ns + REASK_NS))
		ask(p, e, site, boot_ns);
	else if (e->state == NAMED_READY && !has_name(e) && retry_after(site) &&
		 boot_ns > e->asked_ns + retry_after(site)) {
		ask(p, e, site, boot_ns);
		if (site->anonymous)	/* the map file may have grown */
			*again = true;
	}
	return e->state == NAMED_READY;
}

/* Looks at every site even after the first that is not ready: all questions go out in one
 * batch. */
static bool part_ready(struct publisher *p, const struct part *part, uint64_t boot_ns,
		       uint64_t *missed)
{
	struct stack_key key;
	struct site site;
	bool ready = true, again;

	if (!part->n)
		return true;
	key = part_key(p, part);
	if (entry_fresh(p, stacks_find(p->stacks, key), part, boot_ns))
		return true;
	for (uint32_t i = 0; i < part->n; i++) {
		part_site(part, i, &site);
		again = site.unmapped || site.unopened;
		if (!site_ready(p, &site, boot_ns, &again))
			ready = false;
		if (again)
			*missed = part->addr[i] - (i > 0);
	}
	return ready;
}

bool publisher_ready(struct publisher *p, const struct ev_sample *s,
		     const struct image *image, uint64_t boot_ns, uint64_t *missed)
{
	struct part kernel = kernel_part(s), user = user_part(s, image);
	bool ready;

	*missed = 0;
	ready = part_ready(p, &kernel, boot_ns, missed);
	if (!part_ready(p, &user, boot_ns, missed))
		ready = false;
	return ready && !image->pending;
}

static int by_file(const void *a, const void *b)
{
	const struct publish_ask *x = a, *y = b;

	if (x->file_id != y->file_id)
		return x->file_id < y->file_id ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

const struct publish_ask *publisher_asks(struct publisher *p, uint32_t *n)
{
	*n = p->n_asks;
	p->n_asks = 0;
	qsort(p->asks, *n, sizeof(p->asks[0]), by_file);
	return p->asks;
}

void publisher_unask(struct publisher *p, const struct publish_ask *a)
{
	struct named *e = names_get(p->names, a->file_id, a->address);

	if (e && e->state == NAMED_ASKED)
		e->state = NAMED_NEW;
}

int publisher_names(struct publisher *p, const struct sym_answer *a)
{
	int err = 0;

	for (uint32_t i = 0, n; i < a->n_names && !err; i += n) {
		for (n = 1;
		     i + n < a->n_names && a->names[i + n].address == a->names[i].address;
		     n++)
			;
		err = names_put(p->names, a->file_id, a->names[i].address, &a->names[i],
				n);
	}
	return err;
}

void publisher_file_changed(struct publisher *p, uint32_t file_id, bool forget)
{
	if (forget)
		names_forget(p->names, file_id);
	p->names_version++;
}

void publisher_range_changed(struct publisher *p, uint32_t file_id, uint64_t start,
			     uint64_t len)
{
	uint64_t last = start + (len ? len - 1 : 0);

	names_forget_range(p->names, file_id, start, last < start ? UINT64_MAX : last);
	p->names_version++;
}

/* Earliest time at which some unnamed address of the part is worth another question; 0
 * never. */
static uint64_t part_expiry(struct publisher *p, const struct part *part,
			    uint64_t boot_ns)
{
	uint64_t expiry = 0;
	struct site site;

	for (uint32_t i = 0; i < part->n; i++) {
		struct named *e;

		part_site(part, i, &site);
		if (!site.file_id || !retry_after(&site))
			continue;
		e = names_get(p->names, site.file_id, site.address);
		if (e && !has_name(e) &&
		    (!expiry || boot_ns + retry_after(&site) < expiry))
			expiry = boot_ns + retry_after(&site);
	}
	return expiry;
}

static int intern_part(struct publisher *p, const struct part *part, ringside_ref *ref)
{
	struct site site;
	int err = 0;

	p->list.n = 0;
	p->list.cut = false;
	for (uint32_t i = 0; i < part->n && !err; i++) {
		part_site(part, i, &site);
		if (walk_left_code(part, i, &site))
			break;
		err = frames_intern(p->frames, &site, &p->list);
	}
	return err ? err : ring_intern_stack(p->w, p->list.refs, p->list.n, ref);
}

/* The reference of a part.  complete: it may be reused as it stands. */
static int part_ref(struct publisher *p, const struct part *part, uint64_t boot_ns,
		    bool complete, ringside_ref *ref)
{
	uint32_t generation = ring_writer_generation(p->w);
	struct stack_key key;
	struct stack_entry *e;
	int err;

	*ref = 0;
	if (!part->n)
		return 0;
	key = part_key(p, part);
	e = stacks_find(p->stacks, key);
	if (e && e->generation == generation && entry_fresh(p, e, part, boot_ns)) {
		*ref = e->ref;
		return 0;
	}
	err = intern_part(p, part, ref);
	if (err || !complete)
		return err;
	e = stacks_take(p->stacks, key);
	e->ref = *ref;
	e->generation = generation;
	e->names_version = p->names_version;
	e->owner_version = part->image ? part->image->version : 0;
	e->expires_ns = part_expiry(p, part, boot_ns);
	return 0;
}

/* The self-contained form, for when the dictionary is full. */
static const struct ringside_stack *part_plain(struct publisher *p,
					       const struct part *part, unsigned which,
					       struct ringside_stack *stack)
{
	struct plain_list *l = p->plain[which];
	struct site site;

	if (!l)
		l = p->plain[which] = malloc(sizeof(*l));
	if (!l)
		return NULL;
	l->n = 0;
	for (uint32_t i = 0; i < part->n; i++) {
		part_site(part, i, &site);
		if (walk_left_code(part, i, &site))
			break;
		frames_plain(p->frames, &site, l);
	}
	*stack = (struct ringside_stack){ .n = l->n, .frames = l->pointers };
	return stack;
}

static struct ring_stamp ring_stamp(const struct publish_stamp *s)
{
	return (struct ring_stamp){ .wall_ns = s->wall_ns,
				    .boot_ns = s->boot_ns,
				    .clock_epoch = s->epoch,
				    .clock_error_ns = s->error_ns };
}

static void count_sample(struct publisher *p, const struct ev_sample *s,
			 const struct image *image, const struct ring_sample *r, bool late, bool full)
{
	p->counts.samples++;
	p->counts.stack_end[s->user_end < RINGSIDE_END_MAX ? s->user_end
							   : RINGSIDE_END_NONE]++;
	p->counts.context[r->context_state]++;
	p->counts.names_late += late;
	p->counts.dictionary_full += full;
	p->counts.process_gone += image->state == IMAGE_GONE;
	p->counts.unreadable += image->state == IMAGE_UNREADABLE ||
				image->state == IMAGE_TIMEOUT;
}

int publisher_sample(struct publisher *p, const struct ev_sample *s, struct image *image,
		     const struct publish_stamp *stamp, bool late)
{
	struct part kernel = kernel_part(s), user = user_part(s, image);
	struct ringside_stack kernel_plain, user_plain;
	struct resource_plain resource_plain;
	struct ring_sample r = {
		.stamp = ring_stamp(stamp),
		.pid = s->head.tgid,
		.tid = s->head.tid,
		.cpu = s->head.cpu,
		.process_start_ns = s->head.start_ns,
		.event = RINGSIDE_EVENT_CPU,
		.unit = RINGSIDE_UNIT_NANOSECONDS,
		.user_end = s->user_end,
		.weight = p->period_ns,
		.kernel_end = !s->kernel_frames			? RINGSIDE_END_NONE
			      : s->head.flags & EV_F_KERNEL_CUT ? RINGSIDE_END_TOO_DEEP
								: RINGSIDE_END_COMPLETE,
	};
	bool full = false;
	int err;

	memcpy(r.comm, s->comm, sizeof(r.comm));
	/* First the block, then the references: see ring_writer.h. */
	ring_writer_open_block(p->w, NULL);
	if (part_ref(p, &kernel, stamp->boot_ns, !late, &r.kernel_stack)) {
		r.inline_kernel = part_plain(p, &kernel, 0, &kernel_plain);
		full = true;
	}
	if (part_ref(p, &user, stamp->boot_ns, !late, &r.user_stack)) {
		r.inline_user = part_plain(p, &user, 1, &user_plain);
		full = true;
	}
	if (resource_ref(p->w, image, &r.resource)) {
		r.inline_resource = resource_plain_of(image, &resource_plain);
		full = true;
	}
	context_fill(&p->context, p->w, s, image, &r);
	err = ring_put_sample(p->w, &r);
	if (err)
		p->counts.record_too_big++;
	else
		count_sample(p, s, image, &r, late, full);
	return err;
}

static void describe_event(struct ring_process *r, const struct ev_head *e)
{
	switch (e->type) {
	case EV_FORK:
		r->parent_pid = ((const struct ev_fork *)e)->parent_tgid;
		memcpy(r->comm, ((const struct ev_fork *)e)->comm, sizeof(r->comm));
		break;
	case EV_EXEC:
		r->parent_pid = ((const struct ev_exec *)e)->parent_tgid;
		memcpy(r->comm, ((const struct ev_exec *)e)->comm, sizeof(r->comm));
		break;
	case EV_EXIT:
		r->exit_code = ((const struct ev_exit *)e)->exit_code;
		r->exit_signal = ((const struct ev_exit *)e)->exit_signal;
		break;
	}
}

int publisher_process(struct publisher *p, uint8_t action, const struct ev_head *e,
		      struct image *image, const struct publish_stamp *stamp)
{
	struct ring_process r = { .stamp = ring_stamp(stamp), .action = action };
	struct resource_plain plain;
	int err;

	if (image) {
		r.pid = image->pid;
		r.parent_pid = image->parent_pid;
		r.process_start_ns = image->start_ns;
		memcpy(r.comm, image->comm, sizeof(r.comm));
	}
	if (e) {
		r.pid = e->tgid;
		r.process_start_ns = e->start_ns;
		describe_event(&r, e);
	}
	ring_writer_open_block(p->w, NULL);
	/* A storm of processes that nobody sampled must not fill the dictionary. */
	if (image && image->sampled && resource_ref(p->w, image, &r.resource))
		r.inline_resource = resource_plain_of(image, &plain);
	err = ring_put_process(p->w, &r);
	if (err == -EDQUOT)
		p->counts.process_burst++;
	else if (err)
		p->counts.record_too_big++;
	else
		p->counts.processes++;
	return err;
}

void publisher_trim(struct publisher *p)
{
	names_evict(p->names);
}

void publisher_shrink(struct publisher *p)
{
	names_trim(p->names);
}

void publisher_counts(const struct publisher *p, struct publish_counts *out)
{
	*out = p->counts;
	out->heap_bytes = names_bytes(p->names) + stacks_bytes(p->stacks) + sizeof(*p) +
			  (p->plain[0] ? sizeof(*p->plain[0]) : 0) +
			  (p->plain[1] ? sizeof(*p->plain[1]) : 0);
}
