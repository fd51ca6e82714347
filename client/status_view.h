/* SPDX-License-Identifier: Apache-2.0 */
/* What status and doctor know of a ring, gathered once; and as text and JSON. */
#ifndef CLIENT_STATUS_VIEW_H
#define CLIENT_STATUS_VIEW_H

#include "client/ring.h"
#include "client/text.h"

struct status_view {
	struct ringside_geometry geometry;
	struct ringside_liveness liveness;
	const struct ringside_status *page;	/* NULL: the writer has put none yet */
};

int	 status_view_read(struct status_view *v, struct ring *r);	/* 0 or negative */
/* False when the writer did not say. */
bool	 status_view_number(const struct status_view *v, uint32_t id, uint64_t *out);
const char *status_view_text(const struct status_view *v, uint32_t id, uint32_t n);

void	 status_json(struct text *t, const struct status_view *v);
void	 status_text(struct text *t, const struct status_view *v, bool utc);

/* A group of counters that stand side by side on the status page. */
struct status_group {
	const char	*key, *title;
	uint32_t	 base, first, end;	/* ids base + first .. base + end - 1 */
	const char	*(*name)(uint32_t i);
};
extern const struct status_group status_groups[];	/* ends with a NULL key */

#endif
