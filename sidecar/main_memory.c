/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --memory-limit as a whole.  Each cache has a share of its own (main_setup.c); what has none is what is known
 * of processes, files and their labels, which grows with the machine.  So all of it is measured once a second,
 * and when it comes near the limit, what may be learnt again goes.
 */
#include <malloc.h>

#include "sidecar/collect/event_file.h"
#include "sidecar/main_live.h"
#include "sidecar/pipeline.h"

#define TRIMS_MAX 16u		/* in a row without getting below: somebody should know */

size_t live_heap_bytes(const struct live *l)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd + (l->symbols ? symbols_worker_bytes(l->symbols) : 0);
}

void live_memory(struct live *l)
{
	/* What one busy second adds still has room below the limit. */
	uint64_t near = l->config->memory_limit - l->config->memory_limit / 8;

	l->applied_bytes = 0;
	if (live_heap_bytes(l) + l->bpf_map_bytes <= near) {
		l->trims = 0;
		return;
	}
	if (++l->trims == TRIMS_MAX)
		live_warn(l, "--memory-limit is too small for what runs here: processes are forgotten all the time, "
			  "and read again; make it larger");
	if (l->journal)
		journal_append(l->journal, JOURNAL_TRIM, NULL, 0);
	pipeline_trim(l->pipeline);
	malloc_trim(0);
}
