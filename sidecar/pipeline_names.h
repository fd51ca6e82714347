/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the process table's files, the symbol worker and the publisher: hands files to the worker,
 * sends what publish/ asks, and applies the worker's answers to the file table and the name cache.
 * Part of the pipeline; symbols is NULL on replay, where questions go nowhere and answers come anyway.
 */
#ifndef RINGSIDE_PIPELINE_NAMES_H
#define RINGSIDE_PIPELINE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct file;
struct pipeline_names;
struct process_table;
struct publisher;
struct symbols;

int	pipeline_names_create(struct pipeline_names **out, struct process_table *t, struct symbols *s, struct publisher *p,
			int kallsyms);
/* The process table forgets the file. */
void	pipeline_names_forget(struct pipeline_names *n, const struct file *f);
void	pipeline_names_destroy(struct pipeline_names *n);
void	pipeline_names_ask(struct pipeline_names *n);		/* sends the publisher's asks */
/* One raw answer of the worker: 0, or -EBADMSG when the door refused it. */
int	pipeline_names_answer(struct pipeline_names *n, const void *msg, size_t len, uint64_t *kptr_restricted);

#endif
