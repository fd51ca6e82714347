/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/ring_writer.h"
#include "sidecar/pipeline_batch.h"
#include "sidecar/log.h"
#include "sidecar/pipeline_names.h"
#include "sidecar/publish/context.h"

/* A clock record's place among the events.  Never leaves this file. */
#define EV_CLOCK 0x1000u
struct ev_clock { struct ev_head head; struct ringside_clock clock; };

#define SETTLE_CREDIT 256u		/* items that one answer pays for */

struct pipeline {
	struct pipeline_options	 o;
	struct publisher	*publisher;
	struct pipeline_names		*pipeline_names;
	struct clock_converter	 clock;
	struct clock_anchor	 last_anchor;	/* taken, whether or not it began an epoch */
	struct event_batch		 batches[2];
	struct event_batch		*filling, *waiting;
	uint64_t		 tick_ns;	/* of the last tick: what "now" means here */
	struct pipeline_counts	 counts;
	uint64_t		 announced[RINGSIDE_LOST_MAX];
};

/* Nobody knows the file any more: nor need the publisher and the worker, whose descriptor it is. */
static void forget_file(void *arg, struct file *file)
{
	struct pipeline *p = arg;

	publisher_file_free(p->publisher, file);
	pipeline_names_forget(p->pipeline_names, file);
}

int pipeline_create(struct pipeline **out, const struct pipeline_options *o)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	p->o = *o;
	clock_converter_init(&p->clock);
	event_batch_init(&p->batches[0]);
	event_batch_init(&p->batches[1]);
	p->filling = &p->batches[0];
	p->waiting = &p->batches[1];
	err = publisher_create(&p->publisher, o->writer, &o->publish);
	if (!err)
		err = pipeline_names_create(&p->pipeline_names, o->processes, o->symbols,
					    p->publisher, o->kallsyms);
	if (err) {
		p->o.processes = NULL;
		pipeline_destroy(p);
		return err;
	}
	process_set_file_free_fn(o->processes, forget_file, p);
	process_set_image_free_fn(o->processes, publisher_image_free, p->publisher);
	*out = p;
	return 0;
}

static void drop_items(struct pipeline *p, struct event_batch *b)
{
	for (uint32_t i = 0; i < b->n_items; i++)
		if (b->items[i].image)
			image_put(p->o.processes, b->items[i].image);
	b->n_items = 0;
}

void pipeline_destroy(struct pipeline *p)
{
	if (!p)
		return;
	drop_items(p, p->waiting);
	drop_items(p, p->filling);
	event_batch_fini(&p->batches[0]);
	event_batch_fini(&p->batches[1]);
	/* Images and files hold what the publisher remembers of them. */
	process_table_destroy(p->o.processes);
	pipeline_names_destroy(p->pipeline_names);
	publisher_destroy(p->publisher);
	free(p);
}

/* --- going out ---------------------------------------------------------------------- */

static int stamp_of(struct pipeline *p, uint64_t boot_ns, struct publish_stamp *out)
{
	struct clock_stamp s;
	int err = clock_convert(&p->clock, boot_ns, &s);

	if (err) {
		p->counts.clock_refused++;
		return err;
	}
	*out = (struct publish_stamp){ s.wall_ns, s.boot_ns, s.epoch, s.error_ns };
	return 0;
}

static struct ring_stamp ring_stamp_of(const struct publish_stamp *s)
{
	return (struct ring_stamp){ s->wall_ns, s->boot_ns, s->epoch, s->error_ns };
}

static void publish_sample(struct pipeline *p, const struct batch_item *item,
			   const struct publish_stamp *stamp)
{
	struct image *image = item->image;

	if (!image->seen_published) {
		image->seen_published = true;
		image->sampled = true;
		publisher_process(p->publisher, RINGSIDE_SEEN, NULL, image, stamp);
	}
	publisher_sample(p->publisher, (const struct ev_sample *)item->ev, image, stamp,
			 item->waiting);
}

static void publish_clock(struct pipeline *p, const struct ev_clock *e,
			  const struct publish_stamp *stamp)
{
	struct ring_stamp s = ring_stamp_of(stamp);

	ring_writer_open_block(p->o.writer, NULL);
	ring_put_clock(p->o.writer, &s, &e->clock);
}

static void publish_item(struct pipeline *p, const struct batch_item *item)
{
	struct publish_stamp stamp;

	if (item->image && item->image->dropped) {
		p->counts.skipped_rules += item->ev->type == EV_SAMPLE;
		return;
	}
	if (stamp_of(p, item->ev->boot_ns, &stamp))
		return;
	switch (item->ev->type) {
	case EV_SAMPLE:
		publish_sample(p, item, &stamp);
		break;
	case EV_FORK:
		publisher_process(p->publisher, RINGSIDE_FORK, item->ev, item->image,
				  &stamp);
		break;
	case EV_EXEC:
		publisher_process(p->publisher, RINGSIDE_EXEC, item->ev, item->image,
				  &stamp);
		break;
	case EV_EXIT:
		publisher_process(p->publisher, RINGSIDE_EXIT, item->ev, item->image,
				  &stamp);
		break;
	case EV_CLOCK:
		publish_clock(p, (const struct ev_clock *)item->ev, &stamp);
		break;
	}
}

/* The waiting batch goes out, whole and in event order. */
static void publish_waiting(struct pipeline *p)
{
	struct event_batch *b = p->waiting;

	for (uint32_t i = 0; i < b->n_items; i++)
		publish_item(p, &b->items[i]);
	if (b->n_items)
		ring_writer_publish(p->o.writer);
	drop_items(p, b);
	event_batch_reset(b);
}

/* --- coming in ---------------------------------------------------------------------- */

static void look_again(struct pipeline *p, struct image *image, uint64_t addr)
{
	const struct mapping *m = image_find(image, addr);

	if (m && m->file && m->file->state == FILE_UNKNOWN)
		process_want_file(p->o.processes, image, m);
	else
		process_miss(p->o.processes, image, addr);
}

static bool item_ready(struct pipeline *p, struct batch_item *item)
{
	const struct ev_sample *s = (const struct ev_sample *)item->ev;
	uint64_t missed;
	bool ready;

	/* Rules drop it: names are not spent on it. */
	if (item->image->dropped && !item->image->pending)
		return true;
	ready = publisher_ready(p->publisher, s, item->image, p->tick_ns, &missed);
	if (context_unknown_key(s, item->image) &&
	    process_want_context(p->o.processes, item->image))
		ready = false;
	if (!missed)
		return ready;
	look_again(p, item->image, missed);
	return ready && !item->image->pending;
}

/*
 * Looks again at what waits; publishes when nothing does any more.  An answer may free
 * any item, but to look at all of them for every answer is quadratic, and a busy second
 * has tens of thousands of items and hundreds of answers.  So the first that waits is
 * always looked at, the others when enough answers have come to pay for it.  Counted, not
 * timed: a replay decides alike.
 */
static void settle(struct pipeline *p)
{
	struct event_batch *b = p->waiting;
	bool all;

	b->credit += SETTLE_CREDIT;
	all = b->credit >= b->n_waiting;
	if (all)
		b->credit = 0;
	for (uint32_t i = b->first_waiting; b->n_waiting && i < b->n_items; i++) {
		struct batch_item *item = &b->items[i];

		if (item->waiting && item_ready(p, item)) {
			item->waiting = false;
			b->n_waiting--;
		}
		if (!item->waiting && i == b->first_waiting)
			b->first_waiting++;
		if (item->waiting && !all)
			break;
	}
	pipeline_names_ask(p->pipeline_names);
	if (!b->n_waiting)
		publish_waiting(p);
}

static struct image *image_of(struct pipeline *p, const struct ev_head *e)
{
	struct image *image = NULL;

	switch (e->type) {
	case EV_SAMPLE:
		return process_on_sample(p->o.processes, (const struct ev_sample *)e);
	case EV_EXEC:
		image = process_on_exec(p->o.processes, (const struct ev_exec *)e);
		break;
	case EV_EXIT:
		image = process_on_exit(p->o.processes, (const struct ev_exit *)e);
		break;
	}
	if (image)
		image_get(image);
	return image;
}

/* Applies one event in its turn; makes an item of it when it becomes a record. */
static void take_event(struct pipeline *p, struct event_batch *b, const struct ev_head *e)
{
	struct batch_item *item;
	struct image *image;

	switch (e->type) {
	case EV_MMAP:
		process_on_mmap(p->o.processes, (const struct ev_mmap *)e);
		return;
	case EV_COMM_EXEC:
		process_on_comm_exec(p->o.processes, (const struct ev_comm_exec *)e);
		return;
	case EV_CONTEXT:
		process_on_context(p->o.processes, (const struct ev_context *)e);
		return;
	case EV_KSYMBOL:
		/* Kernel text came or went: an address there may have another name now.
		 */
		publisher_range_changed(p->publisher, SYMBOLS_KERNEL_FILE,
					((const struct ev_ksymbol *)e)->addr,
					((const struct ev_ksymbol *)e)->len);
		return;
	case EV_FORK:
		process_on_fork(p->o.processes, (const struct ev_fork *)e);
		break;
	}
	image = image_of(p, e);
	item = event_batch_item(b, e, image);
	if (!item) {
		p->counts.no_memory++;
		if (image)
			image_put(p->o.processes, image);
		return;
	}
	if (e->type == EV_SAMPLE && !item_ready(p, item)) {
		item->waiting = true;
		b->n_waiting++;
	}
}

int pipeline_pull(struct pipeline *p, const struct collect_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct ev_head *e = batch->events[i];

		if (e->type == EV_EXEC || e->type == EV_EXIT || e->type == EV_COMM_EXEC)
			process_peek(p->o.processes, e);
		if (event_batch_add(p->filling, e)) {
			p->counts.no_memory += batch->count - i;
			return -ENOMEM;
		}
	}
	return 0;
}

void pipeline_tick(struct pipeline *p, uint64_t boot_ns)
{
	struct event_batch *b = p->filling;

	publish_waiting(p);
	p->tick_ns = boot_ns;
	p->filling = p->waiting;
	p->waiting = b;
	event_batch_sort(b);
	for (uint32_t i = 0; i < b->n_events; i++)
		take_event(p, b, b->events[i]);
	process_tick(p->o.processes, boot_ns);
	settle(p);
	publisher_trim(p->publisher);
}

void pipeline_trim(struct pipeline *p)
{
	process_trim(p->o.processes);
	publisher_shrink(p->publisher);
}

void pipeline_finish(struct pipeline *p, uint64_t boot_ns)
{
	pipeline_tick(p, boot_ns);
	publish_waiting(p);
}

void pipeline_anchor(struct pipeline *p, const struct clock_anchor *a, bool stepped)
{
	struct ev_clock e = {
		.head = { .type = EV_CLOCK, .size = sizeof(e), .boot_ns = a->boot_ns }
	};
	const struct clock_anchor *now;
	struct ring_anchor r;
	uint32_t epoch;

	/* A sleep needs no new epoch: the boot clock went on.  But a reader wants to know
	 * of the gap. */
	e.clock.suspended_ns = clock_suspended_between(&p->last_anchor, a);
	p->last_anchor = *a;
	if (clock_converter_feed(&p->clock, a, stepped, &e.clock.step_ns) != CLOCK_SAME ||
	    e.clock.suspended_ns) {
		e.clock.offset_ns = a->offset_ns;
		e.clock.source = (uint8_t)a->source;
		if (event_batch_add(p->filling, &e.head))
			p->counts.no_memory++;
	}
	now = clock_current(&p->clock, &epoch);
	r = (struct ring_anchor){ .boot_ns = now->boot_ns,
				  .real_ns = now->real_ns,
				  .offset_ns = now->offset_ns,
				  .bound_ns = now->bound_ns,
				  .clock_epoch = epoch,
				  .source = now->source,
				  .taken_boot_ns = a->boot_ns };
	ring_writer_anchor(p->o.writer, &r);
}

void pipeline_reading(struct pipeline *p, const void *msg, size_t n, int fd)
{
	process_apply(p->o.processes, msg, n, fd);
	settle(p);
}

void pipeline_system(struct pipeline *p, const void *msg, size_t n)
{
	process_system(p->o.processes, msg, n);
}

void pipeline_names(struct pipeline *p, const void *msg, size_t n)
{
	if (pipeline_names_answer(p->pipeline_names, msg, n, &p->counts.kptr_restricted))
		p->counts.worker_answers_refused++;
	settle(p);
}

/* --- losses ------------------------------------------------------------------------- */

static void announce(struct pipeline *p, uint32_t cause, uint64_t total,
		     const struct publish_stamp *stamp)
{
	struct ring_stamp s = ring_stamp_of(stamp);

	if (total <= p->announced[cause])
		return;
	ring_writer_open_block(p->o.writer, NULL);
	ring_put_lost(p->o.writer, &s, cause, total - p->announced[cause]);
	ring_writer_lost_total(p->o.writer, cause, total);
	p->announced[cause] = total;
}

void pipeline_stats(struct pipeline *p, const struct collect_stats *s, uint64_t boot_ns)
{
	struct publish_counts c;
	struct publish_stamp stamp;

	if (stamp_of(p, boot_ns, &stamp))
		return;
	publisher_counts(p->publisher, &c);
	/* An event that we had no memory for is lost for the same reason: nobody had room
	 * for it. */
	announce(p, RINGSIDE_LOST_KERNEL_RING_FULL,
		 s->kernel_ring_full + p->counts.no_memory, &stamp);
	announce(p, RINGSIDE_LOST_MALFORMED, s->malformed, &stamp);
	announce(p, RINGSIDE_LOST_THROTTLED, s->throttled, &stamp);
	announce(p, RINGSIDE_LOST_CLOCK_REFUSED, p->counts.clock_refused, &stamp);
	announce(p, RINGSIDE_LOST_RECORD_TOO_BIG, c.record_too_big, &stamp);
	announce(p, RINGSIDE_LOST_PROCESS_BURST, c.process_burst, &stamp);
	ring_writer_publish(p->o.writer);
}

size_t pipeline_held(const struct pipeline *p)
{
	return p->filling->bytes;
}

bool pipeline_waits(const struct pipeline *p)
{
	return p->waiting->n_waiting != 0;
}

const struct clock_converter *pipeline_clock(const struct pipeline *p)
{
	return &p->clock;
}

void pipeline_counts(const struct pipeline *p, struct pipeline_counts *own,
		     struct publish_counts *published)
{
	*own = p->counts;
	publisher_counts(p->publisher, published);
}
