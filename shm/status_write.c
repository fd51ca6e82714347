/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status page: rows collected in private memory, then written to the older of two
 * slots, so that a reader always finds one whole.
 */
#include <string.h>

#include "shm/ring_atomic.h"
#include "shm/ring_crc.h"
#include "shm/ring_testpoint.h"
#include "shm/writer_state.h"

#define ROWS_BYTES	(RING_STATUS_BYTES - sizeof(struct ring_status_head))

void ring_status_begin(struct ring_writer *w)
{
	w->rows_used = 0;
	w->rows_full = false;
}

/* A row that does not fit closes the page: what comes later is less important. */
static void add_row(struct ring_writer *w, uint16_t kind, uint32_t id, const void *data,
		    uint32_t len)
{
	struct ring_status_row row = { .kind = kind, .id = (uint16_t)id, .len = len };
	uint32_t need = (uint32_t)sizeof(row) + ((len + 7) & ~7u);

	if (id >= RINGSIDE_N_MAX)
		return;
	if (need > ROWS_BYTES - w->rows_used) {
		w->rows_full = true;
		return;
	}
	memset(w->rows + w->rows_used, 0, need);
	memcpy(w->rows + w->rows_used, &row, sizeof(row));
	memcpy(w->rows + w->rows_used + sizeof(row), data, len);
	w->rows_used += need;
}

void ring_status_number(struct ring_writer *w, uint32_t id, uint64_t value)
{
	if (!w->rows_full)
		add_row(w, RING_S_NUMBER, id, &value, sizeof(value));
}

void ring_status_text(struct ring_writer *w, uint32_t id, const char *text)
{
	if (!w->rows_full && text)
		add_row(w, RING_S_TEXT, id, text,
			(uint32_t)strnlen(text, RING_MAX_STRING));
}

void ring_status_end(struct ring_writer *w)
{
	uint64_t stamp = ++w->status_stamp;
	uint8_t *slot =
		w->map + RING_STATUS_OFF + stamp % RING_STATUS_SLOTS * RING_STATUS_BYTES;
	struct ring_status_head *head = (struct ring_status_head *)(void *)slot;

	ring_slot_begin(&head->stamp);
	RING_TESTPOINT("status.begun");
	ring_relaxed_store(&head->length, w->rows_used);
	ring_relaxed_store(&head->crc, ring_crc32c(w->rows, w->rows_used));
	RING_TESTPOINT("status.head");
	ring_copy_in(slot + sizeof(*head), w->rows, w->rows_used);
	RING_TESTPOINT("status.rows");
	ring_slot_end(&head->stamp, stamp);
	RING_TESTPOINT("status.ended");
}
