/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's slot, and which threads have one. */
#ifndef OTELCTX_THREAD_SLOT_H
#define OTELCTX_THREAD_SLOT_H

#include <stdint.h>

#include "ctx/otel_ctx_abi.h"

enum thread_state {
	THREAD_NEW,
	THREAD_REGISTERED,
	THREAD_LEAVING,		/* its destructors run: it attaches nothing any more */
};

/* Of each thread, behind its slot (thread_slot.S). */
struct thread_entry {
	uint64_t		 state;		/* own thread only */
	struct otel_thread_ctx	**slot;
	struct thread_entry	*next, *prev;	/* of the registry */
};

struct otelctx_thread {
	struct otel_thread_ctx	*record;	/* what slots point to */
	struct otel_thread_ctx	**holder;	/* the first slot that had it */
	uint16_t		 room;		/* bytes for attributes in record */
	uint8_t			 shared;	/* another thread attached it, too */
	uint8_t			 truncated;
	uint32_t		 pad0;
	struct record_block	*blocks;	/* former and present, but the first */
};

/* thread_slot.S */
struct otel_thread_ctx	**otelctx_slot(void);
struct thread_entry	*otelctx_entry(void);
/* thread_registry.c, for thread_slot.S */
int	otelctx_attach_slowly(struct otelctx_thread *t, struct otel_thread_ctx **slot);

/* In every slot that has old: now.  Returns whether another thread's had it. */
int	otelctx_slots_replace(struct otelctx_thread *t, struct otel_thread_ctx *old,
			      struct otel_thread_ctx *now);

#endif
