/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/plt.h"

#define PLT_MAX (4u << 20)		/* bytes of stubs, of relocations, of dynamic symbols that are read */
#define PLT_MAX_SLOTS 65536u
#define PLT_MAX_RESOLVERS 512u		/* each costs a walk through the dynamic symbols */

struct slot { uint64_t got; uint32_t sym; };

struct plt {
	const struct elf_file *e;
	struct slot	      *slots;	/* by got */
	uint32_t	       n;
	uint8_t		      *dynsym;
	uint32_t	       n_syms;
	uint32_t	       n_resolvers;
};

static int by_got(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->got < y->got ? -1 : x->got > y->got;
}

static bool binds_function(const struct elf_file *e, uint64_t type)
{
	if (e->machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

/* libc's own calls of its strlen() and the like: bound by the address of a resolver,
 * without a symbol. */
static bool find_resolver(struct plt *p, const Elf64_Rela *r, uint32_t *sym)
{
	uint64_t type = ELF64_R_TYPE(r->r_info);
	Elf64_Sym s;

	if (type != (p->e->machine == EM_X86_64 ? R_X86_64_IRELATIVE
						: R_AARCH64_IRELATIVE) ||
	    p->n_resolvers++ >= PLT_MAX_RESOLVERS)
		return false;
	for (*sym = 1; *sym < p->n_syms; ++*sym) {
		memcpy(&s, p->dynsym + (size_t)*sym * sizeof(s), sizeof(s));
		if (s.st_value == (uint64_t)r->r_addend &&
		    ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC)
			return true;
	}
	return false;
}

/* The symbol behind a relocation of a slot. */
static bool bound_symbol(struct plt *p, const Elf64_Rela *r, uint32_t *sym)
{
	*sym = (uint32_t)ELF64_R_SYM(r->r_info);
	return binds_function(p->e, ELF64_R_TYPE(r->r_info)) ? *sym < p->n_syms
							     : find_resolver(p, r, sym);
}

/* Slots of the offset table and the symbols that the dynamic linker puts there. */
static int read_slots(struct plt *p, const struct elf_part *rela)
{
	uint64_t n = rela->size / sizeof(Elf64_Rela);
	Elf64_Rela r;
	uint32_t sym;
	void *table;
	int err;

	if (!n)
		return 0;
	err = source_load(&p->e->src, rela->offset, n * sizeof(r), PLT_MAX, &table);
	if (err)
		return err == -EFBIG ? 0 : err;
	for (uint64_t i = 0; i < n && p->n < PLT_MAX_SLOTS; i++) {
		memcpy(&r, (uint8_t *)table + i * sizeof(r), sizeof(r));
		if (bound_symbol(p, &r, &sym))
			p->slots[p->n++] = (struct slot){ r.r_offset, sym };
	}
	free(table);
	return 0;
}

/* [endbr64] [bnd] jmp *disp(%rip); 0: another instruction. */
static uint64_t slot_of_x86(const uint8_t *code, size_t n, uint64_t addr)
{
	static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = n >= 4 && !memcmp(code, endbr, 4) ? 4 : 0;
	int32_t disp;

	if (at < n && code[at] == 0xf2)
		at++;
	if (at + 6 > n || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&disp, code + at + 2, 4);
	return addr + at + 6 + (uint64_t)(int64_t)disp;
}

/* [bti] adrp x16, page; ldr x17, [x16, #offset]. */
static uint64_t slot_of_arm64(const uint8_t *code, size_t n, uint64_t addr)
{
	uint32_t word[3] = { 0 };
	size_t at = 0;
	int64_t page;

	memcpy(word, code, n < sizeof(word) ? n : sizeof(word));
	if ((word[0] & 0xffffff3f) == 0xd503241f)
		at = 1;
	if ((word[at] & 0x9f00001f) != 0x90000010 ||
	    (word[at + 1] & 0xffc003ff) != 0xf9400211)
		return 0;
	page = (int64_t)((uint64_t)((word[at] >> 5 & 0x7ffff) << 2 | (word[at] >> 29 & 3))
			 << 43) >>
	       31;
	return (((addr + 4 * at) & ~0xfffull) + (uint64_t)page) +
	       (word[at + 1] >> 10 & 0xfff) * 8;
}

static const struct slot *find_slot(const struct plt *p, uint64_t got)
{
	const struct slot key = { .got = got };

	return got ? bsearch(&key, p->slots, p->n, sizeof(key), by_got) : NULL;
}

static int walk_section(const struct plt *p, const struct elf_part *part, plt_stub_fn fn,
			void *arg)
{
	uint32_t size =
		part->entsize >= 8 && part->entsize <= 32 ? (uint32_t)part->entsize : 16;
	bool x86 = p->e->machine == EM_X86_64;
	void *code;
	int err;

	if (!part->size ||
	    source_load(&p->e->src, part->offset, part->size, PLT_MAX, &code))
		return 0;
	if (!x86)
		size = 16;
	err = 0;
	for (uint64_t at = 0; at < part->size && !err; at += size) {
		size_t left = part->size - at < size ? (size_t)(part->size - at) : size;
		const uint8_t *stub = (uint8_t *)code + at;
		uint64_t got = x86 ? slot_of_x86(stub, left, part->addr + at) :
			       slot_of_arm64(stub, left, part->addr + at);
		const struct slot *s = find_slot(p, got);
		Elf64_Sym sym;

		if (!s)
			continue;
		memcpy(&sym, p->dynsym + (size_t)s->sym * sizeof(sym), sizeof(sym));
		err = fn(arg, part->addr + at, (uint32_t)left, sym.st_name);
	}
	free(code);
	return err;
}

int plt_walk(const struct elf_file *e, plt_stub_fn fn, void *arg)
{
	struct plt p = { .e = e };
	void *dynsym = NULL;
	int err = -ENOMEM;

	if (!e->is64 || (e->machine != EM_X86_64 && e->machine != EM_AARCH64) ||
	    !e->dynsym.size)
		return 0;
	if (source_load(&e->src, e->dynsym.offset, e->dynsym.size, PLT_MAX, &dynsym))
		return 0;
	p.dynsym = dynsym;
	p.n_syms = (uint32_t)(e->dynsym.size / sizeof(Elf64_Sym));
	p.slots = malloc(PLT_MAX_SLOTS * sizeof(*p.slots));
	if (!p.slots)
		goto out;
	err = read_slots(&p, &e->rela_plt);
	if (!err)
		err = read_slots(&p, &e->rela_dyn);
	if (err)
		goto out;
	qsort(p.slots, p.n, sizeof(*p.slots), by_got);
	for (unsigned int i = 0; i < ELF_PLT_PARTS && !err; i++)
		err = walk_section(&p, &e->plt[i], fn, arg);
out:
	free(p.slots);
	free(dynsym);
	return err;
}
