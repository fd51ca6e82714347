/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal as source: the same batches, in the same order, with nothing asked of the
 * kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/collect/collect_source.h"
#include "sidecar/collect/decode.h"
#include "sidecar/collect/event_file.h"

#define BATCH_EVENTS_MAX	65536	/* a longer batch is given in pieces */
#define BATCH_BYTES_MAX		(16u << 20)

struct replay {
	struct collect	 base;
	struct journal	*journal;
	uint8_t		*arena;
	size_t		 used, size;
	size_t		*offsets;	/* of events in the arena, which may move while it grows */
	const struct ev_head **events;
	size_t		 n, max;
	uint64_t	 newest_ns;
	uint64_t	 malformed;
	struct collect_stats recorded;
};

static int grow(void **p, size_t n, size_t each)
{
	void *q = realloc(*p, n * each);

	if (!q)
		return -ENOMEM;
	*p = q;
	return 0;
}

static int make_room(struct replay *r, size_t bytes)
{
	if (r->used + bytes > r->size) {
		size_t size = r->size ? r->size * 2 : 64 * 1024;

		while (size < r->used + bytes)
			size *= 2;
		if (grow((void **)&r->arena, size, 1))
			return -ENOMEM;
		r->size = size;
	}
	if (r->n == r->max) {
		size_t max = r->max ? r->max * 2 : 256;

		if (grow((void **)&r->offsets, max, sizeof(*r->offsets)) ||
		    grow((void **)&r->events, max, sizeof(*r->events)))
			return -ENOMEM;
		r->max = max;
	}
	return 0;
}

static int take_event(struct replay *r, const void *data, size_t len)
{
	const struct ev_head *e;
	int err;

	if (event_check(data, len, &e)) {
		r->malformed++;
		return 0;
	}
	err = make_room(r, e->size);
	if (err)
		return err;
	memcpy(r->arena + r->used, e, e->size);
	r->offsets[r->n++] = r->used;
	r->used += e->size;
	if (e->boot_ns > r->newest_ns)
		r->newest_ns = e->boot_ns;
	return 0;
}

/* What is neither event nor end of batch. */
static void take_entry(struct replay *r, uint32_t type, const void *data, size_t len)
{
	if (type == JOURNAL_STATS && len == sizeof(r->recorded))
		memcpy(&r->recorded, data, len);
	if (r->base.opt.entry)
		r->base.opt.entry(r->base.opt.entry_arg, type, data, len);
}

static void give(struct replay *r, struct collect_batch *batch)
{
	for (size_t i = 0; i < r->n; i++)
		r->events[i] = (const struct ev_head *)(r->arena + r->offsets[i]);
	batch->events = r->events;
	batch->count = r->n;
	batch->newest_ns = r->newest_ns;
}

static int replay_drain(struct collect *c, uint64_t now_ns, struct collect_batch *batch)
{
	struct replay *r = (struct replay *)c;
	int got;

	(void)now_ns;
	r->n = r->used = 0;
	r->newest_ns = 0;
	for (;;) {
		const void *data;
		uint32_t type;
		size_t len;

		if (r->n == BATCH_EVENTS_MAX || r->used > BATCH_BYTES_MAX) {
			batch->more = true;
			break;
		}
		got = journal_next(r->journal, &type, &data, &len);
		if (got < 0)
			return got;
		batch->end = got == 0;
		if (batch->end || type == JOURNAL_DRAIN)
			break;
		if (type != JOURNAL_EVENT) {
			take_entry(r, type, data, len);
			continue;
		}
		got = take_event(r, data, len);
		if (got)
			return got;
	}
	if (batch->end && journal_truncated(r->journal))
		collect_logf(&r->base.opt, COLLECT_LOG_WARN,
			     "replay: the recording was cut: its last %llu "
			     "bytes make no whole entry",
			     (unsigned long long)journal_truncated(r->journal));
	give(r, batch);
	return 0;
}

static int replay_arm(struct collect *c, char *why, size_t n)
{
	(void)c;
	if (n)
		*why = 0;
	return 0;
}

static int replay_pause(struct collect *c, bool paused)
{
	(void)c;
	(void)paused;
	return -EOPNOTSUPP;
}

static int replay_rescope(struct collect *c, const uint32_t *pids, size_t npids)
{
	(void)c;
	(void)pids;
	(void)npids;
	return -EOPNOTSUPP;
}

static int replay_context_plan(struct collect *c, uint32_t pid,
			       const struct ev_context_plan *plan)
{
	(void)c;
	(void)pid;
	(void)plan;
	return 0;
}

static int replay_hotplug(struct collect *c, char *why, size_t n)
{
	return replay_arm(c, why, n);
}

static int replay_stats(struct collect *c, struct collect_stats *stats)
{
	struct replay *r = (struct replay *)c;

	*stats = r->recorded;
	stats->malformed += r->malformed;
	return 0;
}

static int replay_fd(const struct collect *c)
{
	(void)c;
	return -1;
}

static void replay_close(struct collect *c)
{
	struct replay *r = (struct replay *)c;

	journal_close(r->journal);
	free(r->arena);
	free(r->offsets);
	free(r->events);
	free(r);
}

static const struct collect_ops replay_ops = {
	.arm = replay_arm,
	.drain = replay_drain,
	.pause = replay_pause,
	.rescope = replay_rescope,
	.context_plan = replay_context_plan,
	.hotplug = replay_hotplug,
	.stats = replay_stats,
	.fd = replay_fd,
	.close = replay_close,
};

int collect_open_replay(struct collect **out, const char *path,
			const struct collect_options *opt, char *why,
			size_t n)
{
	struct replay *r = calloc(1, sizeof(*r));
	char cause[COLLECT_WHY_MAX / 2];
	int err;

	if (!r) {
		snprintf(why, n, "replay: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	r->base.ops = &replay_ops;
	r->base.opt = *opt;
	err = journal_open(&r->journal, path, cause, sizeof(cause));
	if (err) {
		snprintf(why, n, "replay: %.200s: %s", path, cause);
		free(r);
		return err;
	}
	*out = &r->base;
	return 0;
}

const struct journal_facts *collect_replay_facts(const struct collect *c)
{
	return c->ops == &replay_ops ? journal_facts(((const struct replay *)c)->journal)
				     : NULL;
}
