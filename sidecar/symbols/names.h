/* SPDX-License-Identifier: Apache-2.0 */
/* Names for addresses of one file, from whatever it has: tables, DWARF, perf map, kallsyms. */
#ifndef RINGSIDE_SYMBOLS_NAMES_H
#define RINGSIDE_SYMBOLS_NAMES_H

#include "sidecar/symbols/answer.h"
#include "sidecar/symbols/budget.h"
#include "sidecar/symbols/file_io.h"
#include "sidecar/symbols/kallsyms.h"

struct names_context {
	struct file_io *io;
	struct budget  *budget;
	size_t		dwarf_max;	/* bytes of DWARF of one file */
};

/* Adds the levels of each address to the answer, in order; what has no name is added without one. */
void	names_of_file(struct names_context *c, struct sym_file *f, const uint64_t *addr, uint32_t n,
		      struct answer *a);
void	names_of_kernel(struct kallsyms *k, const uint64_t *addr, uint32_t n, struct answer *a);
void	names_of_jit(struct names_context *c, struct sym_file *f, const uint64_t *addr, uint32_t n,
		     uint64_t now_ns, struct answer *a);
uint64_t names_now(void);	/* monotonic */
/* Where the bytes of f are. */
int	sym_file_source(const struct sym_file *f, struct file_io *io, struct source *out);

#endif
