/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses are called like one that is known already: functions of whose lines nothing is
 * known, the kernel's for one. So an address that was never seen needs no question when its function was.
 * Takes ranges, gives the known address; used by names.c. Bounded; when it is full all are forgotten.
 * One thread.
 */
#ifndef RINGSIDE_PUBLISH_SPANS_H
#define RINGSIDE_PUBLISH_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#define SPANS_MAX 2048u

struct span {
	uint64_t	 first, last;	/* both included; spans of one file do not overlap */
	uint64_t	 known;		/* in between */
	uint32_t	 file_id;
};

struct spans {
	uint32_t	 n, room;
	struct span	*span;		/* by file, then address; zeroed: empty */
};

void	 spans_fini(struct spans *s);
/* Contradicts another one: that one goes.  Without memory nothing is kept. */
void	 spans_put(struct spans *s, const struct span *span);
/* The span that holds the address, or NULL.  Valid until the next change. */
const struct span *spans_find(const struct spans *s, uint32_t file_id, uint64_t address);
/* All that touch first..last. */
void	 spans_forget(struct spans *s, uint32_t file_id, uint64_t first, uint64_t last);

#endif
