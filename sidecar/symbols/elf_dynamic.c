/* SPDX-License-Identifier: Apache-2.0 */
/* What PT_DYNAMIC says: where a dynamic linker finds symbols and relocations, sections or not. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/elf_file.h"

#define DYNAMIC_MAX 1024u
#define DYNSYM_MAX (1u << 20)
#ifndef DT_TLSDESC_PLT
#define DT_TLSDESC_PLT 0x6ffffef6
#endif

/* Address to offset in the file, by the PT_LOADs. */
bool elf_offset_of(const struct elf_file *e, uint64_t addr, uint64_t *offset,
		   uint64_t *left)
{
	for (uint32_t i = 0; i < e->n_segments; i++) {
		const struct sym_segment *s = &e->segments[i];

		if (addr < s->vaddr || addr - s->vaddr >= s->filesz)
			continue;
		*offset = s->offset + (addr - s->vaddr);
		*left = s->filesz - (addr - s->vaddr);
		return true;
	}
	return false;
}

static bool read_words(const struct elf_file *e, uint64_t addr, uint32_t *words, size_t n)
{
	uint64_t offset, left;

	return elf_offset_of(e, addr, &offset, &left) && left >= 4 * n &&
	       !source_read(&e->src, offset, words, 4 * n);
}

/* The highest index in the buckets, then on to the end of its chain. */
static uint64_t gnu_hash_count(const struct elf_file *e, uint64_t addr)
{
	uint64_t word = e->is64 ? 8 : 4, buckets, chains;
	uint32_t h[4], highest = 0, value[64];

	if (!read_words(e, addr, h, 4) || !h[0] || h[0] > DYNSYM_MAX || h[2] > DYNSYM_MAX)
		return 0;
	buckets = addr + 16 + h[2] * word;
	chains = buckets + 4ull * h[0];
	for (uint32_t i = 0; i < h[0]; i += 64) {
		uint32_t n = h[0] - i < 64 ? h[0] - i : 64;

		if (!read_words(e, buckets + 4ull * i, value, n))
			return 0;
		for (uint32_t k = 0; k < n; k++)
			highest = value[k] > highest ? value[k] : highest;
	}
	if (highest < h[1] || highest > DYNSYM_MAX)
		return 0;
	for (uint32_t last = highest + 4096; highest < last; highest++) {
		if (!read_words(e, chains + 4ull * (highest - h[1]), value, 1))
			return 0;
		if (value[0] & 1)
			return highest + 1;
	}
	return 0;
}

static uint64_t sysv_hash_count(const struct elf_file *e, uint64_t addr)
{
	uint32_t h[2];

	return read_words(e, addr, h, 2) && h[1] <= DYNSYM_MAX ? h[1] : 0;
}

static void dynamic_take(struct elf_dynamic *d, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_SYMTAB:
		d->symtab = value;
		break;
	case DT_STRTAB:
		d->strtab = value;
		break;
	case DT_STRSZ:
		d->strsz = value;
		break;
	case DT_HASH:
		d->hash = value;
		break;
	case DT_GNU_HASH:
		d->gnu_hash = value;
		break;
	case DT_RELA:
		d->rela = value;
		break;
	case DT_RELASZ:
		d->rela_size = value;
		break;
	case DT_JMPREL:
		d->jmprel = value;
		break;
	case DT_PLTRELSZ:
		d->jmprel_size = value;
		break;
	case DT_FLAGS_1:
		d->flags_1 = value;
		break;
	case DT_TLSDESC_PLT:
		d->tlsdesc_plt = value;
		break;
	}
}

bool elf_dynamic_load(const struct elf_file *e, struct elf_dynamic *d)
{
	size_t entry = e->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	uint64_t n = e->dynamic.size / entry;
	void *table;

	memset(d, 0, sizeof(*d));
	n = n < DYNAMIC_MAX ? n : DYNAMIC_MAX;
	if (!n || source_load(&e->src, e->dynamic.offset, n * entry, DYNAMIC_MAX * entry,
			      &table))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t pair[2];
		uint32_t pair32[2];

		if (e->is64) {
			memcpy(pair, (uint8_t *)table + i * entry, sizeof(pair));
		} else {
			memcpy(pair32, (uint8_t *)table + i * entry, sizeof(pair32));
			pair[0] = pair32[0];
			pair[1] = pair32[1];
		}
		if (pair[0] == DT_NULL)
			break;
		dynamic_take(d, pair[0], pair[1]);
	}
	free(table);
	return d->symtab && d->strtab;
}

uint64_t elf_dynsym_count(const struct elf_file *e, const struct elf_dynamic *d)
{
	uint64_t n = d->hash ? sysv_hash_count(e, d->hash) : 0;

	return !n && d->gnu_hash ? gnu_hash_count(e, d->gnu_hash) : n;
}

void elf_dynamic_read(struct elf_file *e)
{
	uint64_t entry = e->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t sym_at, sym_left, str_at, str_left, n;
	struct elf_dynamic d;

	if (!elf_dynamic_load(e, &d))
		return;
	n = elf_dynsym_count(e, &d);
	if (!n || !elf_offset_of(e, d.symtab, &sym_at, &sym_left) ||
	    !elf_offset_of(e, d.strtab, &str_at, &str_left))
		return;
	e->dynsym = (struct elf_part){ sym_at,
				       n * entry < sym_left ? n * entry : sym_left,
				       d.symtab, entry, false };
	e->dynstr = (struct elf_part){ str_at, d.strsz < str_left ? d.strsz : str_left,
				       d.strtab, 0, false };
}
