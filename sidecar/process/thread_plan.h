/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How thread contexts of one image are reached: files that define the variable, words of its memory, the
 * plan (sidecar/context/tls_plan.h).  Made only for an image whose process context says that it has them,
 * off the sample path, and made anew when its mappings change.  Inside of the process table.
 */
#ifndef RINGSIDE_THREAD_PLAN_H
#define RINGSIDE_THREAD_PLAN_H

#include "sidecar/context/tls_plan.h"
#include "sidecar/process/process.h"

struct image_own;
struct answer;

enum thread_plan_state {
	THREAD_PLAN_FILES,	/* files are being looked into */
	THREAD_PLAN_WORDS,	/* the door was asked for words */
	THREAD_PLAN_MADE,	/* there are ways */
	THREAD_PLAN_FAILED,	/* there are none, for now: tried again when retry_ns has come */
};

struct thread_plan {
	struct thread_plan *next, **link;	/* in the table's list */
	struct image_own *io;			/* borrowed: the image owns this */
	enum thread_plan_state state;
	bool		 installed;		/* the kernel has it */
	bool		 looking;		/* MADE: at mappings that came since */
	uint32_t	 version;		/* of the image's maps that target is of */
	uint32_t	 rounds;		/* of words */
	uint64_t	 began_ns;		/* of FILES, and of looking */
	uint64_t	 tried_ns, retry_ns, wait_ns;
	struct file	*files[TLS_MAX_MODULES];	/* references, of target.modules */
	uint32_t	 serials[TLS_MAX_MODULES];	/* of the mappings they were found by */
	struct tls_target target;
	struct tls_plan	 plan;
};

/* The image's process context has come, changed or gone. */
void	thread_plan_context(struct process_table *t, struct image_own *io);
void	thread_plan_drop(struct process_table *t, struct image_own *io);
/* Words have come, or will not. */
void	thread_plan_words(struct process_table *t, struct image_own *io, const struct answer *a);
/* All images' plans: what is due. */
void	thread_plan_tick(struct process_table *t);

#endif
