/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's symbols.  Read on the first question, and again on an unknown address at most every 10 s
 * (modules and BPF programs come and go).
 */
#ifndef RINGSIDE_SYMBOLS_KALLSYMS_H
#define RINGSIDE_SYMBOLS_KALLSYMS_H

#include "sidecar/symbols/file_io.h"
#include "sidecar/symbols/symbol_table.h"

struct kallsyms;
int	kallsyms_create(struct kallsyms **out, int fd);		/* fd is owned; -1: bytes by kallsyms_parse */
void	kallsyms_destroy(struct kallsyms *k);
/*
 * Would reading the file (again) help with these addresses?  Then read_begin, and read_some, a few
 * milliseconds each time, until it returns 0 (or -errno, and there are no names).  now_ns: monotonic.
 */
bool	kallsyms_due(struct kallsyms *k, const uint64_t *addr, uint32_t n, uint64_t now_ns);
void	kallsyms_read_begin(struct kallsyms *k, uint64_t now_ns);
int	kallsyms_read_some(struct kallsyms *k);
/* module: `[name]` or NULL.  Both names valid until the next find. */
bool	kallsyms_find(struct kallsyms *k, uint64_t addr, struct symbol *out, const char **module);
/* kptr_restrict: there are symbols, but every address reads as zero. */
bool	kallsyms_hidden(const struct kallsyms *k);
size_t	kallsyms_bytes(const struct kallsyms *k);
uint32_t kallsyms_count(const struct kallsyms *k);
/* The table from text in memory; what find does after reading. */
int	kallsyms_parse(struct kallsyms *k, const char *text, size_t n);

#endif
