/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the process table's files, the symbol worker and the publisher: hands files to the worker,
 * sends what publish/ asks, and applies the worker's answers to the file table and the name cache.
 * Part of the pipeline; symbols is NULL on replay, where questions go nowhere and answers come anyway.
 */
#ifndef RINGSIDE_NAMES_IN_H
#define RINGSIDE_NAMES_IN_H

#include <stddef.h>
#include <stdint.h>

struct names_in;
struct process_table;
struct publisher;
struct symbols;

int	names_in_create(struct names_in **out, struct process_table *t, struct symbols *s, struct publisher *p,
			int kallsyms);
void	names_in_destroy(struct names_in *n);
void	names_in_ask(struct names_in *n);		/* sends the publisher's asks */
/* One raw answer of the worker: 0, or -EBADMSG when the door refused it. */
int	names_in_answer(struct names_in *n, const void *msg, size_t len, uint64_t *kptr_restricted);

#endif
