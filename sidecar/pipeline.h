/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From events to records: the one place that sees all stages.  It is a function of its inputs, in their
 * order: events pulled, anchors, readings, names, ticks.  Nothing here reads a clock, a file or a
 * descriptor, so that feeding the same inputs again (main_replay.c) gives the same records.  main_live.c feeds it
 * from the machine.
 *
 *   pull     events are copied into the batch that is filling; execs and exits are noted at once
 *   tick     the batch that waited goes out whole, named or not; the filled one takes its place
 *   reading, names   answers; when the last one that the waiting batch needs is in, it goes out
 */
#ifndef RINGSIDE_PIPELINE_H
#define RINGSIDE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/clock/clock.h"
#include "sidecar/collect/collect.h"
#include "sidecar/process/process.h"
#include "sidecar/publish/publish.h"
#include "sidecar/symbols/symbols.h"

struct pipeline;
struct ring_writer;

struct pipeline_options {
	struct ring_writer	*writer;	/* borrowed */
	struct process_table	*processes;	/* the pipeline's own from a successful create on */
	struct symbols		*symbols;	/* borrowed; NULL on replay: answers come from the journal */
	int			 kallsyms;	/* descriptor, borrowed; -1 none */
	struct publish_options	 publish;
};

/* What went wrong or poorer, beyond what publish and collect count. */
struct pipeline_counts {
	uint64_t skipped_rules;		/* samples of processes that rules drop */
	uint64_t clock_refused, no_memory, worker_answers_refused, kptr_restricted;
};

int	pipeline_create(struct pipeline **out, const struct pipeline_options *o);
void	pipeline_destroy(struct pipeline *p);

int	pipeline_pull(struct pipeline *p, const struct collect_batch *batch);
void	pipeline_tick(struct pipeline *p, uint64_t boot_ns);
/* stepped: the kernel told that the clock was set. Pull first: events before the anchor keep the old time. */
void	pipeline_anchor(struct pipeline *p, const struct clock_anchor *a, bool stepped);
void	pipeline_reading(struct pipeline *p, const void *msg, size_t n, int fd);	/* fd consumed, -1 none */
/* What is the same for all processes; before the first event.  See process_system(). */
void	pipeline_system(struct pipeline *p, const void *msg, size_t n);
void	pipeline_names(struct pipeline *p, const void *msg, size_t n);
void	pipeline_stats(struct pipeline *p, const struct collect_stats *s, uint64_t boot_ns);
/* Memory is short: what may be learnt again goes, the least recently used first. */
void	pipeline_trim(struct pipeline *p);
/* Publishes all that is held. */
void	pipeline_finish(struct pipeline *p, uint64_t boot_ns);
/* Bytes of events not yet in their turn: pull and tick sooner when it grows beyond PIPELINE_HELD_MAX. */
#define PIPELINE_HELD_MAX (4u << 20)
size_t	pipeline_held(const struct pipeline *p);
/* True while a batch waits for names or readings. */
bool	pipeline_waits(const struct pipeline *p);

const struct clock_converter *pipeline_clock(const struct pipeline *p);
void	pipeline_counts(const struct pipeline *p, struct pipeline_counts *own, struct publish_counts *published);

#endif
