/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded event stream, fed to the same pipeline in the same order.  Needs no right,
 * asks no door. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/ring_writer.h"
#include "sidecar/collect/event_file.h"
#include "sidecar/main_live.h"
#include "sidecar/log.h"
#include "sidecar/pipeline.h"

struct replay { struct live *live; uint64_t malformed; uint64_t last_ns; };

/* Copies an entry of a fixed size; false (and counted) when it is shorter. */
static bool fixed(struct replay *r, void *out, size_t want, const void *data, size_t n)
{
	if (n != want) {
		r->malformed++;
		return false;
	}
	memcpy(out, data, want);
	return true;
}

static void on_entry(void *arg, uint32_t type, const void *data, size_t n)
{
	struct replay *r = arg;
	struct pipeline *p = r->live->pipeline;
	struct journal_anchor a;
	struct journal_tick t;
	struct journal_losses s;

	switch (type) {
	case JOURNAL_TICK:
		if (fixed(r, &t, sizeof(t), data, n)) {
			r->last_ns = t.boot_ns;
			pipeline_tick(p, t.boot_ns);
		}
		break;
	case JOURNAL_ANCHOR:
		if (fixed(r, &a, sizeof(a), data, n))
			pipeline_anchor(p, &a.anchor, a.stepped);
		break;
	case JOURNAL_LOSSES:
		if (fixed(r, &s, sizeof(s), data, n))
			pipeline_stats(p, &s.stats, s.boot_ns);
		break;
	case JOURNAL_TRIM:
		pipeline_trim(p);
		break;
	case JOURNAL_SYSTEM:
		pipeline_system(p, data, n);
		break;
	case JOURNAL_READING:
		pipeline_reading(p, data, n, -1);
		break;
	case JOURNAL_NAMES:
		pipeline_names(p, data, n);
		break;
	default:		/* of a later version */
		break;
	}
}

static int feed(struct replay *r)
{
	struct collect_batch batch = { 0 };
	int err;

	do {
		err = collect_drain(r->live->collect, 0, &batch);
		if (!err)
			err = pipeline_pull(r->live->pipeline, &batch);
	} while (!err && !batch.end);
	if (err)
		log_error("replay stopped: %s: %s", r->live->config->replay,
			  strerror(-err));
	if (r->malformed)
		log_warn("replay: %s: %llu entries of a wrong size were skipped",
			 r->live->config->replay, (unsigned long long)r->malformed);
	pipeline_finish(r->live->pipeline, r->last_ns);
	return err ? 1 : 0;
}

/* What the recording host was set to, not what this command line says. */
static int take_facts(struct live *l, struct config *c)
{
	char why[COLLECT_WHY_MAX];
	const struct journal_facts *facts;
	struct journal *j;

	if (journal_open(&j, c->replay, why, sizeof(why))) {
		log_error("%s", why);
		return 1;
	}
	facts = journal_facts(j);
	if (facts->frequency >= 1 && facts->frequency <= COLLECT_FREQUENCY_MAX)
		c->frequency = facts->frequency;
	strncpy(l->scope, facts->scope_text ? facts->scope_text : "",
		sizeof(l->scope) - 1);
	if (!c->node && facts->node)
		strncpy(l->node, facts->node, sizeof(l->node) - 1);
	journal_close(j);
	return 0;
}

int replay_run(struct live *l, struct config *c)
{
	struct replay r = { .live = l };
	struct collect_options o = { .entry = on_entry,
				     .entry_arg = &r,
				     .log = live_collect_says };
	char why[COLLECT_WHY_MAX];
	int status = take_facts(l, c);

	if (!status)
		status = live_open_ring(l, c);
	if (status)
		return status;
	if (collect_open_replay(&l->collect, c->replay, &o, why, sizeof(why))) {
		log_error("%s", why);
		return 1;
	}
	status = live_open_pipeline(l, c);
	if (status)
		return status;
	status = feed(&r);
	ring_writer_heartbeat(l->writer, clock_boot_now());
	live_status(l);
	return status;
}
