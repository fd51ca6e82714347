/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ELF file consists of, read with every offset and count checked.  Takes bytes (a source),
 * gives segments, build ids, the debug link, where the symbol tables and the DWARF sections are.  Only
 * headers and notes are read; the file may be hostile, cut, without sections, or change meanwhile.
 */
#ifndef RINGSIDE_SYMBOLS_ELF_FILE_H
#define RINGSIDE_SYMBOLS_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/symbols/file_io.h"
#include "sidecar/symbols/symbols.h"
#include "sidecar/symbols/wire.h"

#define ELF_MAX_SECTIONS 16384u
#define ELF_MAX_PHDRS 256u
#define ELF_MAX_TEXT 64u
#define ELF_SECTION_MAX (512ull << 20)	/* larger sections are refused */

/* A section that somebody may want to read; size 0: absent (NOBITS too). */
struct elf_part {
	uint64_t offset, size, addr;
	uint64_t entsize;
	bool	 compressed;		/* SHF_COMPRESSED */
};

struct elf_text { uint64_t start, end; };

enum elf_debug_part {
	ELF_DEBUG_INFO, ELF_DEBUG_ABBREV, ELF_DEBUG_LINE, ELF_DEBUG_STR, ELF_DEBUG_LINE_STR,
	ELF_DEBUG_RANGES, ELF_DEBUG_RNGLISTS, ELF_DEBUG_ADDR, ELF_DEBUG_STR_OFFSETS, ELF_DEBUG_PARTS,
};
const char *elf_debug_part_name(enum elf_debug_part i);

enum { ELF_PLT, ELF_PLT_SEC, ELF_PLT_GOT, ELF_PLT_PARTS };

struct elf_file {
	struct source	 src;
	bool		 is64;
	uint16_t	 type, machine;
	uint32_t	 n_segments;
	struct sym_segment segments[SYM_MAX_SEGMENTS];
	uint32_t	 n_text;		/* address ranges that hold code */
	struct elf_text	 text[ELF_MAX_TEXT];
	bool		 has_sections;
	struct elf_part	 symtab, strtab, dynsym, dynstr, debugdata, dynamic;
	struct elf_part	 comment, rodata, data, go_buildinfo, fpcdata, cst4;	/* where compilers sign */
	bool		 has_notes;
	bool		 has_interp, has_dynamic, has_tls;
	uint64_t	 tls_vaddr, tls_memsz, tls_align;	/* PT_TLS */
	struct elf_part	 rela_plt, rela_dyn, plt[ELF_PLT_PARTS];
	struct elf_part	 debug[ELF_DEBUG_PARTS];
	char		 gnu_build_id[129];	/* hex, "" absent */
	char		 go_build_id[WIRE_BUILD_ID_MAX];
	char		 debug_link[WIRE_BUILD_ID_MAX];
	uint32_t	 debug_link_crc;
};

/* 0, or -errno with *why saying what is wrong in a few words (static). */
int	elf_file_read(struct elf_file *e, const struct source *src, const char **why);
/* The same when the first bytes are at hand. */
int	elf_file_parse(struct elf_file *e, const struct source *src, const uint8_t *head, size_t head_len,
		       const char **why);
/* In one of the ranges that hold code; *end is where the range ends. */
bool	elf_file_in_text(const struct elf_file *e, uint64_t addr, uint64_t *end);
/* What PT_DYNAMIC says, as link-time addresses; 0 absent. */
struct elf_dynamic {
	uint64_t symtab, strtab, strsz, hash, gnu_hash;
	uint64_t rela, rela_size, jmprel, jmprel_size;
	uint64_t flags_1, tlsdesc_plt;
};
/* False: none, or without a symbol table. */
bool	elf_dynamic_load(const struct elf_file *e, struct elf_dynamic *d);
/* How many dynamic symbols the hash tables tell of; 0 unknown. */
uint64_t elf_dynsym_count(const struct elf_file *e, const struct elf_dynamic *d);
/* Address to offset in the file, by the PT_LOADs, and bytes from there to the segment's end. */
bool	elf_offset_of(const struct elf_file *e, uint64_t addr, uint64_t *offset, uint64_t *left);
/* A SysV or GNU hash table tells how many dynamic symbols there are; only for files without sections. */
void	elf_dynamic_read(struct elf_file *e);
/* Notes: every build id in the bytes, the first of each kind is kept. */
void	elf_notes_scan(struct elf_file *e, const uint8_t *notes, size_t n, size_t align);

/* First 16 bytes of SHA-256(first 4 KiB, last 4 KiB, u64 big-endian length), as 32 hex digits. */
void	elf_htlhash(const uint8_t *head, size_t head_len, const uint8_t *tail, size_t tail_len,
		    uint64_t size, char out[33]);

#endif
