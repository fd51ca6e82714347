/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ELF file says of the thread-local variable OTEL_THREAD_CTX_SYMBOL that it defines: found by
 * the symbol worker (sidecar/symbols/tls_symbol.c), which meets hostile files; used by tls_plan.c.
 * Flat, since it travels from the worker and lies in journals; every address is a link-time one.
 */
#ifndef RINGSIDE_TLS_FACTS_H
#define RINGSIDE_TLS_FACTS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define TLS_MAX_RELOCS 8u
#define TLS_MAX_TEXT 4u

/* How code of this file gets at the variable. */
enum tls_access {
	TLS_DESC = 1,		/* two words: a function, its argument */
	TLS_TPOFF = 2,		/* one word: offset from the thread pointer (initial exec) */
	TLS_MODULE = 3,		/* two words: module number, offset in its block (general dynamic) */
};

struct tls_reloc {
	uint64_t at;		/* of the first word */
	uint32_t access;	/* enum tls_access */
	uint32_t by_addend;	/* without a symbol: known by addend == st_value */
};

/* An executable PT_LOAD: what the address of a mapping tells the load bias by. */
struct tls_text { uint64_t offset, vaddr, filesz; };

struct tls_facts {
	uint64_t st_value;	/* in the TLS segment; 0 is a good value */
	uint64_t vaddr, memsz, align;	/* PT_TLS; align >= 1, a power of two */
	uint64_t lazy;		/* DT_TLSDESC_PLT: a descriptor that points there is not bound; 0 none */
	uint16_t machine;	/* e_machine */
	uint8_t	 is_program;	/* ET_EXEC, or DF_1_PIE */
	uint8_t	 from_symtab;	/* found in .symtab: a static program has no dynamic symbols */
	uint16_t n_relocs, n_text;
	struct tls_reloc relocs[TLS_MAX_RELOCS];
	struct tls_text	 text[TLS_MAX_TEXT];
};
static_assert(sizeof(struct tls_facts) == 272, "in journals");

/* The door for facts that were a worker's: counts and kinds are what they may be. */
bool	tls_facts_ok(const struct tls_facts *f);
/* ELF address of a place in an executable mapping of the file; false: in no executable segment. */
bool	tls_facts_vaddr(const struct tls_facts *f, uint64_t file_offset, uint64_t *vaddr);
const char *tls_access_name(uint32_t access);

#endif
