/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last stage: takes a sample with its image and its wall-clock stamp, gives a record in the ring.
 * Names and references are remembered, so that a stack seen before costs a hash, a look-up and a
 * hundred bytes.  Used by sidecar/pipeline.c; one thread; no system call.
 */
#ifndef RINGSIDE_PUBLISH_H
#define RINGSIDE_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "shm/ringside.h"

struct file;
struct image;
struct publisher;
struct ring_writer;
struct sym_answer;

struct publish_stamp { int64_t wall_ns; uint64_t boot_ns; uint32_t epoch; uint64_t error_ns; };

struct publish_options {
	uint64_t	 period_ns;	/* weight of one sample */
	size_t		 names_bytes;	/* cap on the name cache */
	uint32_t	 stack_entries;	/* of the stack cache */
	uint64_t	 seed;		/* of its hash; random in live use */
};

/* What became of samples and records.  Totals. */
struct publish_counts {
	uint64_t samples, processes;
	uint64_t record_too_big, process_burst;			/* lost */
	uint64_t process_gone, unreadable, names_late, dictionary_full;	/* degraded */
	uint64_t stack_end[RINGSIDE_END_MAX], context[RINGSIDE_CONTEXT_MAX];
	size_t	 heap_bytes;
};

int	publisher_create(struct publisher **out, struct ring_writer *w, const struct publish_options *o);
void	publisher_destroy(struct publisher *p);

/* An address that the worker should name. */
struct publish_ask { uint32_t file_id; uint64_t address; };

/*
 * True when nothing more can be learnt about the sample by waiting.  What is not known yet and not
 * asked yet is put on the list of asks.  *missed: a run-time address
 * that the process table should look at again (no known mapping, a file that nobody opened, made code
 * that stayed unnamed); 0 none.
 */
bool	publisher_ready(struct publisher *p, const struct ev_sample *s, const struct image *image,
			uint64_t boot_ns, uint64_t *missed);
/* Takes the asks gathered so far, sorted by file; valid until the next call on p. */
const struct publish_ask *publisher_asks(struct publisher *p, uint32_t *n);
/* An ask could not be sent: it is asked again on next use. */
void	publisher_unask(struct publisher *p, const struct publish_ask *ask);
/* Stores names that the worker gave. */
int	publisher_names(struct publisher *p, const struct sym_answer *a);
/* The worker has forgotten the file (forget), or a file became readable: cached stacks are looked at again. */
void	publisher_file_changed(struct publisher *p, uint32_t file_id, bool forget);
/* Kernel text came or went there: what else is known of the kernel stays. */
void	publisher_range_changed(struct publisher *p, uint32_t file_id, uint64_t start, uint64_t len);

/* late: the sample did not wait for all of its names.  0 or -errno (counted). */
int	publisher_sample(struct publisher *p, const struct ev_sample *s, struct image *image,
			 const struct publish_stamp *stamp, bool late);
/* image may be NULL.  action: enum ringside_action; e: the event that told, or NULL for RINGSIDE_SEEN. */
int	publisher_process(struct publisher *p, uint8_t action, const struct ev_head *e, struct image *image,
			  const struct publish_stamp *stamp);
/* Between batches: gives back memory beyond the cap. */
void	publisher_trim(struct publisher *p);
/* Memory is short: gives back half of what may be learnt again. */
void	publisher_shrink(struct publisher *p);
void	publisher_counts(const struct publisher *p, struct publish_counts *out);

/* For process_set_file_free_fn() and process_set_image_free_fn(). */
void	publisher_file_free(void *arg, struct file *file);
void	publisher_image_free(void *arg, struct image *image);

#endif
