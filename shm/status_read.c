/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status page: the newer of two slots that is whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/reader_state.h"
#include "shm/ring_atomic.h"
#include "shm/ring_crc.h"

#define ROWS_BYTES	(RING_STATUS_BYTES - sizeof(struct ring_status_head))
#define MAX_TEXTS	1024u

struct ringside_status {
	uint64_t number[RINGSIDE_N_MAX];
	bool	 has[RINGSIDE_N_MAX];
	uint32_t ntexts;
	struct { uint16_t id; const char *text; } texts[MAX_TEXTS];
	uint32_t used;
	char bytes[RING_STATUS_BYTES]; /* each text needs less than its row did */
	uint8_t	 rows[ROWS_BYTES];
};

static uint64_t slot_off(uint32_t slot)
{
	return RING_STATUS_OFF + (uint64_t)slot * RING_STATUS_BYTES;
}

static int read_stamp(const struct ringside *r, uint32_t slot, uint64_t *stamp)
{
	int err;

	if (r->f.paranoid) {
		err = ring_file_read(&r->f, slot_off(slot), stamp, sizeof(*stamp));
		ring_fence_copied();
		return err;
	}
	*stamp = ring_slot_enter(
		(const uint64_t *)(const void *)(r->f.map + slot_off(slot)));
	return 0;
}

/* 1 when the stamp is still the one of before. */
static int same_stamp(const struct ringside *r, uint32_t slot, uint64_t stamp)
{
	uint64_t again;
	int err = 0;

	ring_fence_copied();
	if (r->f.paranoid)
		err = ring_file_read(&r->f, slot_off(slot), &again, sizeof(again));
	else
		again = ring_slot_leave(
			(const uint64_t *)(const void *)(r->f.map + slot_off(slot)));
	return err ? err : again == stamp;
}

/* 1 whole, 0 torn or never written. */
static int read_slot(const struct ringside *r, uint32_t slot, uint64_t stamp,
		     struct ringside_status *s, uint32_t *length)
{
	struct ring_status_head head;
	int n;

	if (!stamp)
		return 0;
	n = ring_file_read(&r->f, slot_off(slot), &head, sizeof(head));
	if (n)
		return n;
	if (head.length > sizeof(s->rows))
		return 0;
	n = ring_file_read(&r->f, slot_off(slot) + sizeof(head), s->rows, head.length);
	if (n)
		return n;
	n = same_stamp(r, slot, stamp);
	if (n <= 0)
		return n;
	*length = head.length;
	return ring_crc32c(s->rows, head.length) == head.crc;
}

static void take_text(struct ringside_status *s, uint16_t id, const uint8_t *p,
		      uint32_t len)
{
	char *to = s->bytes + s->used;

	if (s->ntexts == MAX_TEXTS || len >= sizeof(s->bytes) - s->used)
		return;
	memcpy(to, p, len);
	to[len] = 0;
	s->used += len + 1;
	s->texts[s->ntexts].id = id;
	s->texts[s->ntexts++].text = to;
}

static void take_rows(struct ringside_status *s, uint32_t length)
{
	struct ring_status_row row;

	memset(s->has, 0, sizeof(s->has));
	s->ntexts = s->used = 0;
	for (uint32_t at = 0; length - at >= sizeof(row);) {
		memcpy(&row, s->rows + at, sizeof(row));
		at += (uint32_t)sizeof(row);
		if (row.len > length - at)
			return;
		if (row.kind == RING_S_NUMBER && row.len == 8 &&
		    row.id < RINGSIDE_N_MAX) {
			memcpy(&s->number[row.id], s->rows + at, 8);
			s->has[row.id] = true;
		} else if (row.kind == RING_S_TEXT) {
			take_text(s, row.id, s->rows + at, row.len);
		}
		if (((row.len + 7) & ~7u) > length - at)
			return;
		at += (row.len + 7) & ~7u;
	}
}

int ringside_status(struct ringside *r, const struct ringside_status **out)
{
	uint64_t stamp[RING_STATUS_SLOTS];
	uint32_t slot, length = 0;
	int n = 0;

	*out = NULL;
	if (!r->status)
		r->status = calloc(1, sizeof(*r->status));
	if (!r->status)
		return -ENOMEM;
	/* Twice: one slot is always whole, but which one may change while we look. */
	for (int tries = 0; tries < 4 && !n; tries++) {
		if ((n = read_stamp(r, 0, &stamp[0])) ||
		    (n = read_stamp(r, 1, &stamp[1])))
			return n;
		slot = stamp[1] > stamp[0];
		n = read_slot(r, slot, stamp[slot], r->status, &length);
		if (!n)
			n = read_slot(r, !slot, stamp[!slot], r->status, &length);
	}
	if (n <= 0)
		return n ? n : -ENODATA;
	take_rows(r->status, length);
	*out = r->status;
	return 0;
}

bool ringside_status_number(const struct ringside_status *s, uint32_t id, uint64_t *out)
{
	if (id >= RINGSIDE_N_MAX || !s->has[id])
		return false;
	*out = s->number[id];
	return true;
}

const char *ringside_status_text(const struct ringside_status *s, uint32_t id, uint32_t n)
{
	for (uint32_t i = 0; i < s->ntexts; i++)
		if (s->texts[i].id == id && !n--)
			return s->texts[i].text;
	return NULL;
}
