/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of process contexts as small as can be, for the tests of their writer. */
#ifndef TESTS_CTX_READER_H
#define TESTS_CTX_READER_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "ctx/otel_ctx_abi.h"
#include "ctx/otelctx.h"

struct ctx_mapping {
	uint64_t start, end;
	char	 perms[5];
	char	 line[256];
};

/* How many mappings of the process have the name; the last one in *m. */
int	ctx_find(pid_t pid, struct ctx_mapping *m);
/* The mapping that an address is in; 0 none. */
int	ctx_mapping_at(pid_t pid, uint64_t address, struct ctx_mapping *m);

/* By /proc/PID/mem.  1 and a context; 0 it was being changed; -1 not readable. */
int	ctx_read(int mem, uint64_t at, struct otel_ctx_header *h, uint8_t *payload);

/* This process's own, without any of it. */
struct otel_ctx_header *ctx_own(void);

/* A process with one string in its resource. */
int	ctx_publish(int (*how)(const struct otelctx_process *), const char *value,
		    size_t n);

/*
 * Records whose parts all say the same number: trace id, span id, flags, and each
 * attribute: key, then number + key, twice.  So a mixture of two shows.
 */
void	ctx_number_ids(uint8_t *trace_id, uint8_t *span_id, uint8_t number);
int	ctx_number_append(struct otelctx_thread *t, uint8_t number, unsigned int key);
int	ctx_is_numbered(const struct otel_thread_ctx *r);

#endif
