/* SPDX-License-Identifier: Apache-2.0 */
/* What `ringside status` and `ringside doctor` show, once a second, into the ring file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "shm/ring_writer.h"
#include "sidecar/main_live.h"
#include "sidecar/pipeline.h"
#include "sidecar/privilege.h"
#include "sidecar/process/door.h"

static void number(struct live *l, uint32_t id, uint64_t value)
{
	ring_status_number(l->writer, id, value);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_usec * 1000ull;
}

static void cost(struct live *l, const struct collect_stats *s)
{
	struct rusage self;

	number(l, RINGSIDE_N_HEAP_BYTES, live_heap_bytes(l));
	number(l, RINGSIDE_N_BPF_MAP_BYTES, s->bpf_map_bytes);
	number(l, RINGSIDE_N_MEMORY_LIMIT, l->config->memory_limit);
	number(l, RINGSIDE_N_CPU_BPF_NS, s->bpf_nano);
	if (getrusage(RUSAGE_SELF, &self))
		return;
	number(l, RINGSIDE_N_CPU_USER_NS, timeval_ns(self.ru_utime));
	number(l, RINGSIDE_N_CPU_SYSTEM_NS, timeval_ns(self.ru_stime));
}

static void losses(struct live *l, const struct collect_stats *s,
		   const struct pipeline_counts *own, const struct publish_counts *c)
{
	number(l, RINGSIDE_N_LOST + RINGSIDE_LOST_KERNEL_RING_FULL,
	       s->kernel_ring_full + own->no_memory);
	number(l, RINGSIDE_N_LOST + RINGSIDE_LOST_MALFORMED, s->malformed);
	number(l, RINGSIDE_N_LOST + RINGSIDE_LOST_CLOCK_REFUSED, own->clock_refused);
	number(l, RINGSIDE_N_LOST + RINGSIDE_LOST_RECORD_TOO_BIG, c->record_too_big);
	number(l, RINGSIDE_N_LOST + RINGSIDE_LOST_THROTTLED, s->throttled);
	number(l, RINGSIDE_N_LOST + RINGSIDE_LOST_PROCESS_BURST, c->process_burst);
	number(l, RINGSIDE_N_SKIPPED + RINGSIDE_SKIPPED_OUT_OF_SCOPE, s->out_of_scope);
	number(l, RINGSIDE_N_SKIPPED + RINGSIDE_SKIPPED_RULES, own->skipped_rules);
	number(l, RINGSIDE_N_SKIPPED + RINGSIDE_SKIPPED_PAUSED, s->paused);
	number(l, RINGSIDE_N_DEGRADED + RINGSIDE_DEGRADED_PROCESS_GONE, c->process_gone);
	number(l, RINGSIDE_N_DEGRADED + RINGSIDE_DEGRADED_UNREADABLE, c->unreadable);
	number(l, RINGSIDE_N_DEGRADED + RINGSIDE_DEGRADED_NAMES_LATE, c->names_late);
	number(l, RINGSIDE_N_DEGRADED + RINGSIDE_DEGRADED_DICTIONARY_FULL,
	       c->dictionary_full);
	number(l, RINGSIDE_N_DEGRADED + RINGSIDE_DEGRADED_WORKER_RESTARTS,
	       l->symbols ? symbols_restarts(l->symbols) : 0);
}

static void verdicts(struct live *l, const struct publish_counts *c)
{
	for (uint32_t i = 0; i < RINGSIDE_END_MAX; i++)
		number(l, RINGSIDE_N_STACK_END + i, c->stack_end[i]);
	for (uint32_t i = 0; i < RINGSIDE_CONTEXT_MAX; i++)
		number(l, RINGSIDE_N_CONTEXT + i, c->context[i]);
}

static void clock_numbers(struct live *l)
{
	uint32_t epoch;
	const struct clock_anchor *a = clock_current(pipeline_clock(l->pipeline), &epoch);

	if (!a)
		return;
	number(l, RINGSIDE_N_CLOCK_EPOCH, epoch);
	number(l, RINGSIDE_N_CLOCK_SOURCE, a->source);
	number(l, RINGSIDE_N_CLOCK_ERROR_NS, a->bound_ns);
}

static void texts(struct live *l)
{
	const char *io = l->symbols ? symbols_io_backend(l->symbols) : NULL;
	char **names;
	uint32_t n;

	ring_status_text(l->writer, RINGSIDE_T_SCOPE, l->scope);
	if (io)
		ring_status_text(l->writer, RINGSIDE_T_IO_BACKEND, io);
	ring_status_text(l->writer, RINGSIDE_T_VERSION, PACKAGE_VERSION);
	ring_status_text(l->writer, RINGSIDE_T_NODE, l->node);
	for (uint32_t i = 0; i < l->n_warnings; i++)
		ring_status_text(l->writer, RINGSIDE_T_WARNING, l->warnings[i]);
	if (privilege_list(&names, &n))
		return;
	for (uint32_t i = 0; i < n; i++)
		ring_status_text(l->writer, RINGSIDE_T_CAPABILITY, names[i]);
	free(names);
}

static void probe_rows(struct live *l)
{
	char row[2048];

	for (uint32_t i = 0; l->probe && i < l->probe->n; i++) {
		const struct probe_row *r = &l->probe->rows[i];

		snprintf(row, sizeof(row), "%s\x1f%d\x1f%s\x1f%s\x1f%s", r->name, r->ok,
			 r->need, r->effect, r->remedy);
		ring_status_text(l->writer, RINGSIDE_T_PROBE, row);
	}
}

void live_status(struct live *l)
{
	struct collect_stats s = { 0 };
	struct process_counts pc = { 0 };
	struct pipeline_counts own;
	struct publish_counts c;

	collect_stats(l->collect, &s);
	process_counts(l->processes, &pc);
	pipeline_counts(l->pipeline, &own, &c);
	ring_status_begin(l->writer);
	number(l, RINGSIDE_N_FREQUENCY_HZ, l->config->frequency);
	number(l, RINGSIDE_N_CPUS, s.cpus_armed);
	number(l, RINGSIDE_N_PAUSED, l->paused);
	number(l, RINGSIDE_N_STARTED_NS, l->started_wall_ns);
	number(l, RINGSIDE_N_RECORDS, ring_writer_next_seq(l->writer) - l->first_seq);
	number(l, RINGSIDE_N_SAMPLES, c.samples);
	number(l, RINGSIDE_N_PROCESSES, pc.processes);
	number(l, RINGSIDE_N_PROCESS_CONTEXTS, pc.contexts);
	number(l, RINGSIDE_N_PROCESS_CONTEXTS_REFUSED, pc.contexts_refused);
	number(l, RINGSIDE_N_PROCESS_CONTEXTS_BUSY, pc.contexts_busy);
	clock_numbers(l);
	losses(l, &s, &own, &c);
	verdicts(l, &c);
	cost(l, &s);
	texts(l);
	probe_rows(l);
	ring_status_end(l->writer);
}
