/* SPDX-License-Identifier: Apache-2.0 */
/* --explain-context: how a process's thread contexts are reached, and what its threads have attached. */
#ifndef RINGSIDE_THREAD_EXPLAIN_H
#define RINGSIDE_THREAD_EXPLAIN_H

#include <jansson.h>
#include <stdio.h>

#include "sidecar/context/tls_walk.h"
#include "sidecar/process/process.h"

/* One thread, stopped for a moment. */
struct explained_thread {
	uint32_t	 tid;
	int		 error;		/* 0, or -errno: it could not be stopped */
	char		 comm[16];
	enum ev_context_state state;
	uint64_t	 thread_pointer;
	struct tls_slot	 slot;
};

void	thread_explain_text(const struct image *i, const struct explained_threads *threads, FILE *out);
void	thread_explain_json(const struct image *i, const struct explained_threads *threads, json_t *to);

#endif
