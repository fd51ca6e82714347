/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions from DWARF, where a file or its debug file has it.  libdw sees only
 * an ELF image that is made here from the checked sections: hostile headers do not reach it.
 */
#ifndef RINGSIDE_SYMBOLS_DWARF_LINES_H
#define RINGSIDE_SYMBOLS_DWARF_LINES_H

#include "sidecar/symbols/elf_file.h"

struct dwarf_lines;
/* max: bytes of DWARF at most, unpacked; -ENOENT: there is none, -EFBIG: more than that. */
int	dwarf_lines_create(struct dwarf_lines **out, const struct elf_file *e, size_t max);
void	dwarf_lines_destroy(struct dwarf_lines *d);
size_t	dwarf_lines_bytes(const struct dwarf_lines *d);

struct dwarf_level {
	const char *function;		/* linkage name when there is one, else plain; NULL for the outermost */
	const char *file;
	uint32_t    line;
};
/*
 * Levels of addr, innermost first; the last is the function that holds the code.  0: unknown.  Strings
 * are owned by d.
 */
uint32_t dwarf_lines_find(struct dwarf_lines *d, uint64_t addr, struct dwarf_level *levels, uint32_t max);

#endif
