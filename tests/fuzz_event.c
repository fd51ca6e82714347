/* SPDX-License-Identifier: Apache-2.0 */
/* The door, and the side-band parser behind which its events are made. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/collect/batch.h"
#include "sidecar/collect/decode.h"
#include "sidecar/collect/sideband.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

/*
 * Reads every byte that the event claims to have: a sanitizer sees a claim that is too
 * big.
 */
static uint64_t touch(const struct ev_head *e)
{
	const uint8_t *p = (const uint8_t *)e;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < e->size; i++)
		sum += p[i];
	if (e->type == EV_MMAP)
		sum += strlen(((const struct ev_mmap *)e)->path) !=
		       ((const struct ev_mmap *)e)->path_len;
	if (e->type == EV_EXEC)
		sum += strlen(((const struct ev_exec *)e)->filename);
	if (e->type == EV_KSYMBOL)
		sum += strlen(((const struct ev_ksymbol *)e)->name);
	return sum;
}

static void fuzz_sideband(const uint8_t *data, size_t size)
{
	struct sideband side = { .fd = -1 };
	const struct ev_head *e;
	struct batch b;

	size &= ~(size_t)7;		/* as the ring's reader makes sure */
	if (!size || batch_init(&b, 16 * 1024))
		return;
	batch_begin(&b, 0);
	sideband_record(&side, data, size, &b);
	batch_finish(&b);
	for (size_t i = 0; i < b.n; i++)	/* what the parser makes must pass the door */
		if (event_check(b.slots[i].event, b.slots[i].event->size, &e))
			abort();
	batch_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ev_head *e;
	void *copy;

	if (!size || size > 16 * 1024)
		return 0;
	/* Exactly as long as the input, aligned as the rings are. */
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (!event_check(copy, size, &e))
		sink += touch(e);
	fuzz_sideband(copy, size);
	free(copy);
	return 0;
}
