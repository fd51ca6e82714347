/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/publish/spans.h"

#include <stdlib.h>
#include <string.h>

#define SPANS_FIRST 64u

void spans_fini(struct spans *s)
{
	free(s->span);
	*s = (struct spans){ 0 };
}

/* How many end before the address. */
static uint32_t before(const struct spans *s, uint32_t file_id, uint64_t address)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct span *m = &s->span[mid];

		if (m->file_id < file_id || (m->file_id == file_id && m->last < address))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct span *spans_find(const struct spans *s, uint32_t file_id, uint64_t address)
{
	uint32_t i = before(s, file_id, address);
	const struct span *m = i < s->n ? &s->span[i] : NULL;

	return m && m->file_id == file_id && m->first <= address ? m : NULL;
}

void spans_forget(struct spans *s, uint32_t file_id, uint64_t first, uint64_t last)
{
	uint32_t from = before(s, file_id, first), to = from;

	while (to < s->n && s->span[to].file_id == file_id && s->span[to].first <= last)
		to++;
	if (to == from)
		return;
	memmove(s->span + from, s->span + to, (s->n - to) * sizeof(*s->span));
	s->n -= to - from;
}

static bool make_room(struct spans *s)
{
	uint32_t room = s->room ? s->room * 2 : SPANS_FIRST;
	struct span *more;

	if (s->n == SPANS_MAX)
		s->n = 0;
	if (s->n < s->room)
		return true;
	more = reallocarray(s->span, room, sizeof(*more));
	if (!more)
		return false;
	s->span = more;
	s->room = room;
	return true;
}

void spans_put(struct spans *s, const struct span *span)
{
	uint32_t at;

	spans_forget(s, span->file_id, span->first, span->last);
	if (!make_room(s))
		return;
	at = before(s, span->file_id, span->first);
	memmove(s->span + at + 1, s->span + at, (s->n - at) * sizeof(*s->span));
	s->span[at] = *span;
	s->n++;
}
