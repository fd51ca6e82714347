/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the door, as a journal that somebody edited may hold them, into a live
 * table. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/process/answer.h"
#include "sidecar/process/door.h"
#include "sidecar/process/process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_image(const struct image *i)
{
	for (uint32_t k = 0; k < i->n_maps; k++) {
		const struct mapping *m = &i->maps[k];

		if (m->start >= m->end || (k && m->start < i->maps[k - 1].end) ||
		    (m->kind != MAPPING_ANON && !m->file) || image_find(i, m->start) != m)
			abort();
	}
}

static struct image *sample(struct process_table *t, uint64_t at)
{
	union {
		struct ev_sample s;
		uint8_t room[sizeof(struct ev_sample) + 16];
	} e = { .s = { .head = { .type = EV_SAMPLE,
				 .tgid = 10,
				 .tid = 10,
				 .start_ns = 1,
				 .exec_id = 1,
				 .boot_ns = at },
		       .comm = "fuzz",
		       .user_frames = 2 } };

	e.s.frames[0] = 0x1000;
	e.s.frames[1] = 0x7f0000000000;
	return process_on_sample(t, &e.s);
}

/* Fits the fixed part to what the table expects, so that the fuzzer works on what comes
 * after it. */
static void aim(struct answer_head *h, const struct image *i, size_t n)
{
	h->magic = ANSWER_MAGIC;
	h->size = n;
	h->pid = i->pid;
	h->start_ns = i->start_ns;
	h->image_serial = i->serial;
	if (h->error > 0)
		h->error = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_options o = { .node = "n", .replay = true, .max_maps = 32 };
	struct process_table *t;
	struct image *i;
	uint8_t *copy = malloc(size + 1);

	if (process_table_create(&t, &o, NULL))
		abort();
	i = sample(t, 10);
	memcpy(copy, data, size);
	process_apply(t, copy, size, -1);
	if (size >= sizeof(struct answer_head)) {
		aim((struct answer_head *)copy, i, size);
		process_apply(t, copy, size, -1);
		check_image(i);
		image_put(t, sample(t, 20));
		process_apply(t, copy, size, -1);
		check_image(i);
	}
	process_miss(t, i, 0x1000);
	image_put(t, i);
	process_table_destroy(t);
	free(copy);
	return 0;
}
