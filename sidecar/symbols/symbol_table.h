/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of one file by address: 12 bytes each (16 when the file spans more than 4 GiB), names left in
 * the file when they are many.  Built once, then read only.
 *
 * Of several symbols at one address one wins, always the same: functions before other types, global
 * before weak before local, sized before unsized, fewer leading underscores, shorter, then by bytes.
 */
#ifndef RINGSIDE_SYMBOLS_SYMBOL_TABLE_H
#define RINGSIDE_SYMBOLS_SYMBOL_TABLE_H

#include "sidecar/symbols/elf_file.h"

struct symbol_table;
struct symbol_builder;

int	symbol_builder_create(struct symbol_builder **out);
void	symbol_builder_destroy(struct symbol_builder *b);
/*
 * Takes the symbols of one table of `from`, of those that lie in the code of `text`.  `from` may be the
 * file itself, its debug file or its unpacked mini debuginfo; its memory may go afterwards, its
 * descriptor must stay.
 */
int	symbol_builder_add(struct symbol_builder *b, const struct elf_file *from, const struct elf_part *syms,
			   const struct elf_part *strs, const struct elf_file *text);
/* Stubs of the file, by the names of what they call. */
int	symbol_builder_add_plt(struct symbol_builder *b, const struct elf_file *e);
/* The builder is spent either way.  -ENOENT: no symbols. */
int	symbol_builder_finish(struct symbol_builder *b, struct symbol_table **out);

struct symbol {
	uint64_t    start, end;
	const char *name;
	uint64_t    until;	/* from start to here no other symbol is found; the address asked for: not known */
	bool	    plt;	/* a stub that calls name */
};
/* name is valid until the next lookup in any table; bounded by WIRE_NAME_MAX. */
bool	symbol_table_find(struct symbol_table *t, uint64_t addr, struct symbol *out);
size_t	symbol_table_bytes(const struct symbol_table *t);
uint32_t symbol_table_count(const struct symbol_table *t);
void	symbol_table_destroy(struct symbol_table *t);

#endif
