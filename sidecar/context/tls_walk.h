/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a thread's pointer by a way of its process to its record, in user space: the same walk as
 * bpf/thread_context.h, for ringsided --explain-context and for tests.  Memory comes from a function; only
 * a thread that stands still may be read.
 */
#ifndef RINGSIDE_TLS_WALK_H
#define RINGSIDE_TLS_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "ctx/otel_ctx_abi.h"

#define TLS_RECORD_MAX (OTEL_THREAD_CTX_HEADER_SIZE + OTEL_THREAD_CTX_ATTRS_MAX)

struct tls_memory {
	int	(*read)(void *arg, uint64_t address, void *to, size_t n);	/* 0, or not all of it */
	void	*arg;
};

struct tls_slot {
	uint64_t	 slot, record;		/* addresses; 0 unknown, none */
	uint32_t	 n;			/* bytes of the record, when it is OK */
	unsigned char	 bytes[TLS_RECORD_MAX];
};

/* Tries the ways in order until a slot holds something, as BPF does. */
enum ev_context_state tls_walk(const struct ev_context_way *way, uint32_t n_ways, uint64_t thread_pointer,
			       const struct tls_memory *m, struct tls_slot *out);

#endif
