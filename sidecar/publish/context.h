/* SPDX-License-Identifier: Apache-2.0 */
/* The thread context of a sample: its bytes and its process's key map into fields of the record. */
#ifndef RINGSIDE_PUBLISH_CONTEXT_H
#define RINGSIDE_PUBLISH_CONTEXT_H

#include "shm/ring_writer.h"
#include "sidecar/context/thread_record.h"

struct ev_sample;
struct image;

/* Room for one sample's; r points into it until the record is put. */
struct context_part {
	struct thread_record	 record;
	struct ring_attribute	 attributes[THREAD_RECORD_KEYS];
};

/* Sets context_state, link and attributes of r.  References are of the block that is open. */
void	context_fill(struct context_part *c, struct ring_writer *w, const struct ev_sample *s,
		     const struct image *image, struct ring_sample *r);
/* An attribute of s has a key that image's process has not told of, as far as is known. */
bool	context_unknown_key(const struct ev_sample *s, const struct image *image);

#endif
