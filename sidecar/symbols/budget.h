/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's files and what their tables may cost.  Over the limit, the tables of the least recently
 * used files go first: their descriptors stay, and the tables are built again when they are asked for.
 * Too many files: the least recently used is forgotten altogether, and a query for it answered GONE.
 */
#ifndef RINGSIDE_SYMBOLS_BUDGET_H
#define RINGSIDE_SYMBOLS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_MAX_FILES 2000u		/* two descriptors each, below the worker's RLIMIT_NOFILE */

struct symbol_table;
struct perf_map;
struct dwarf_lines;

struct sym_file {
	uint32_t	     id;
	int		     fd, debug_fd;	/* -1 none; owned */
	void		    *image;		/* instead of fd: owned */
	size_t		     image_size;
	bool		     is_elf, is_go, no_dwarf;
	uint64_t	     size, dwarf_size;	/* of the file; of .debug_info here or in the debug file */
	bool		     loaded;		/* table was tried */
	bool		     lines_loaded;
	uint64_t	     lines_used_ns;	/* monotonic, when they were asked last */
	uint64_t	     lines_cost_ns;	/* what loading them took */
	struct symbol_table *table;
	bool		     is_jit;
	struct perf_map	    *jit;
	uint64_t	     jit_read_ns;	/* 0: to be read */
	struct dwarf_lines  *lines;
	size_t		     bytes;		/* of the three and of image */
	struct sym_file	    *next;		/* same bucket */
	struct sym_file	    *newer, *older;
};

struct budget;
int	budget_create(struct budget **out, uint64_t limit);
void	budget_destroy(struct budget *b);
/* A fresh entry; one of the same id is forgotten.  NULL: no memory. */
struct sym_file *budget_add(struct budget *b, uint32_t id);
/* Also marks it as the most recently used. */
struct sym_file *budget_find(struct budget *b, uint32_t id);
void	budget_forget(struct budget *b, uint32_t id);
/* After f's tables changed: takes its new size; drops tables of others, then f's lines, to keep the limit. */
void	budget_settle(struct budget *b, struct sym_file *f);
/*
 * Each address is asked once, so that DWARF, by far the largest, is hardly used after the start: what was
 * not asked for a while goes, later the dearer it is to load.  True when some is left.
 */
bool	budget_expire_lines(struct budget *b, uint64_t now_ns);
/* The tables of f are built anew when they are asked for. */
void	budget_drop_tables(struct budget *b, struct sym_file *f);
size_t	budget_bytes(const struct budget *b);

#endif
