/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/symbols/tls_symbol.h"

#include <elf.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"

#define CHUNK 256u			/* symbols or relocations read at a time */
#define SYMBOLS_MAX (1u << 20)
#define NAMES_MAX 4096u			/* thread-local symbols whose name is looked at */
#define RELOCS_MAX (1u << 20)		/* of one table */
#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif

/* A table of symbols and its strings, in the file. */
struct symbols_at { uint64_t symbols, n, strings, strings_size; };

struct found { uint64_t index, st_value; };

struct finder {
	const struct elf_file	*e;
	struct tls_facts	*out;
	struct found		 symbol;
	uint32_t		 names;		/* looked at */
};

/*
 * At st_name and with its NUL: string tables are merged by tails, so the name may be the
 * end of a longer one, which is no match and does not hide this one.
 */
static bool named(struct finder *f, const struct symbols_at *at, const Elf64_Sym *s)
{
	char name[sizeof(OTEL_THREAD_CTX_SYMBOL)];

	if (s->st_name >= at->strings_size ||
	    at->strings_size - s->st_name < sizeof(name) || f->names >= NAMES_MAX)
		return false;
	f->names++;
	return !source_read(&f->e->src, at->strings + s->st_name, name, sizeof(name)) &&
	       !memcmp(name, OTEL_THREAD_CTX_SYMBOL, sizeof(name));
}

/* st_value 0 is a place like any other; what is undefined is an import. */
static bool is_definition(const Elf64_Sym *s, bool local)
{
	unsigned char bind = ELF64_ST_BIND(s->st_info);

	return ELF64_ST_TYPE(s->st_info) == STT_TLS && s->st_shndx != SHN_UNDEF &&
	       (bind == STB_GLOBAL || bind == STB_WEAK || (local && bind == STB_LOCAL)) &&
	       (s->st_size == 8 || s->st_size == 0);
}

/* Every symbol, hashed or not. */
static bool scan_symbols(struct finder *f, const struct symbols_at *at, bool local)
{
	uint64_t n = at->n < SYMBOLS_MAX ? at->n : SYMBOLS_MAX;
	Elf64_Sym s[CHUNK];

	for (uint64_t i = 0; i < n; i += CHUNK) {
		size_t got = n - i < CHUNK ? (size_t)(n - i) : CHUNK;

		if (source_read(&f->e->src, at->symbols + i * sizeof(s[0]), s,
				got * sizeof(s[0])))
			return false;
		for (size_t k = 0; k < got; k++) {
			if (!is_definition(&s[k], local) || !named(f, at, &s[k]))
				continue;
			f->symbol = (struct found){ i + k, s[k].st_value };
			return true;
		}
	}
	return false;
}

static bool find_dynamic(struct finder *f, const struct elf_dynamic *d)
{
	uint64_t n = elf_dynsym_count(f->e, d), sym_left, str_left;
	struct symbols_at at;

	/* Without a hash table: linkers put the strings behind the symbols. */
	if (!n && d->strtab > d->symtab)
		n = (d->strtab - d->symtab) / sizeof(Elf64_Sym);
	if (!elf_offset_of(f->e, d->symtab, &at.symbols, &sym_left) ||
	    !elf_offset_of(f->e, d->strtab, &at.strings, &str_left))
		return false;
	at.n = n < sym_left / sizeof(Elf64_Sym) ? n : sym_left / sizeof(Elf64_Sym);
	at.strings_size = d->strsz && d->strsz < str_left ? d->strsz : str_left;
	return scan_symbols(f, &at, false);
}

/* A static program has no dynamic symbols, whatever was exported. */
static bool find_static(struct finder *f)
{
	const struct elf_file *e = f->e;
	struct symbols_at at = { .symbols = e->symtab.offset,
				 .n = e->symtab.size / sizeof(Elf64_Sym),
				 .strings = e->strtab.offset,
				 .strings_size = e->strtab.size };

	if (!f->out->is_program || e->has_interp || !e->symtab.size ||
	    !scan_symbols(f, &at, true))
		return false;
	f->out->from_symtab = 1;
	return true;
}

static uint32_t access_of(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_TLSDESC	   ? TLS_DESC :
		       type == R_X86_64_TPOFF64	   ? TLS_TPOFF :
		       type == R_X86_64_DTPMOD64   ? TLS_MODULE : 0;
	return type == R_AARCH64_TLSDESC    ? TLS_DESC :
	       type == R_AARCH64_TLS_TPREL  ? TLS_TPOFF :
	       type == R_AARCH64_TLS_DTPMOD ? TLS_MODULE : 0;
}

/*
 * Of a symbol that binds to this very file, lld names the value and not the symbol.  So
 * do relocations of other, hidden variables: the value must be ours.  A module without a
 * symbol (local dynamic) tells of no variable at all.
 */
static void take_reloc(struct finder *f, const Elf64_Rela *r, bool by_addend)
{
	struct tls_facts *out = f->out;
	uint32_t access = access_of(out->machine, (uint32_t)ELF64_R_TYPE(r->r_info));
	uint64_t symbol = ELF64_R_SYM(r->r_info);

	if (!access || out->n_relocs == TLS_MAX_RELOCS)
		return;
	if (by_addend ? symbol || access == TLS_MODULE ||
				(uint64_t)r->r_addend != f->symbol.st_value
		      : symbol != f->symbol.index || r->r_addend)
		return;
	out->relocs[out->n_relocs++] = (struct tls_reloc){ .at = r->r_offset,
							   .access = access,
							   .by_addend = by_addend };
}

static void scan_relocs(struct finder *f, uint64_t table, uint64_t size, bool by_addend)
{
	uint64_t offset, left, n;
	Elf64_Rela r[CHUNK];

	if (!table || !size || !elf_offset_of(f->e, table, &offset, &left))
		return;
	n = (size < left ? size : left) / sizeof(r[0]);
	n = n < RELOCS_MAX ? n : RELOCS_MAX;
	for (uint64_t i = 0; i < n; i += CHUNK) {
		size_t got = n - i < CHUNK ? (size_t)(n - i) : CHUNK;

		if (source_read(&f->e->src, offset + i * sizeof(r[0]), r,
				got * sizeof(r[0])))
			return;
		for (size_t k = 0; k < got; k++)
			take_reloc(f, &r[k], by_addend);
	}
}

/* Descriptors stand with the lazily bound ones or not, as the linker likes. */
static void find_relocs(struct finder *f, const struct elf_dynamic *d)
{
	for (int by_addend = 0; by_addend < 2 && !f->out->n_relocs; by_addend++) {
		scan_relocs(f, d->rela, d->rela_size, by_addend);
		scan_relocs(f, d->jmprel, d->jmprel_size, by_addend);
	}
}

static void take_text(const struct elf_file *e, struct tls_facts *out)
{
	for (uint32_t i = 0; i < e->n_segments && out->n_text < TLS_MAX_TEXT; i++) {
		const struct sym_segment *s = &e->segments[i];

		if (s->flags & PF_X)
			out->text[out->n_text++] = (struct tls_text){ s->offset, s->vaddr,
								      s->filesz };
	}
}

bool tls_symbol_find(const struct elf_file *e, struct tls_facts *out)
{
	struct finder f = { .e = e, .out = out };
	struct elf_dynamic d = { 0 };
	bool dynamic;

	memset(out, 0, sizeof(*out));
	if (!e->is64 || !e->has_tls ||
	    (e->machine != EM_X86_64 && e->machine != EM_AARCH64) ||
	    (e->tls_align & (e->tls_align - 1)))
		return false;
	out->machine = e->machine;
	dynamic = elf_dynamic_load(e, &d);
	out->is_program = e->type == ET_EXEC || (d.flags_1 & DF_1_PIE);
	if (!(dynamic && find_dynamic(&f, &d)) && !find_static(&f))
		return false;
	out->st_value = f.symbol.st_value;
	out->vaddr = e->tls_vaddr;
	out->memsz = e->tls_memsz;
	out->align = e->tls_align ? e->tls_align : 1;
	out->lazy = d.tlsdesc_plt;
	if (dynamic && !out->from_symtab)
		find_relocs(&f, &d);
	take_text(e, out);
	return true;
}
