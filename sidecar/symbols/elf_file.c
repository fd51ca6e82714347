/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/elf_file.h"

#define ELF_NOTES_MAX 65536u
#define ELF_NAMES_MAX (1u << 20)	/* section names */

/* Both classes in the wider form. */
struct header {
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx;
	uint16_t phentsize, shentsize;
};

static const char *const debug_names[ELF_DEBUG_PARTS] = {
	[ELF_DEBUG_INFO] = ".debug_info", [ELF_DEBUG_ABBREV] = ".debug_abbrev",
	[ELF_DEBUG_LINE] = ".debug_line", [ELF_DEBUG_STR] = ".debug_str",
	[ELF_DEBUG_LINE_STR] = ".debug_line_str", [ELF_DEBUG_RANGES] = ".debug_ranges",
	[ELF_DEBUG_RNGLISTS] = ".debug_rnglists", [ELF_DEBUG_ADDR] = ".debug_addr",
	[ELF_DEBUG_STR_OFFSETS] = ".debug_str_offsets",
};

const char *elf_debug_part_name(enum elf_debug_part i)
{
	return debug_names[i];
}

static void shdr_get(const struct elf_file *e, const uint8_t *p, Elf64_Shdr *out)
{
	Elf32_Shdr s;

	if (e->is64) {
		memcpy(out, p, sizeof(*out));
		return;
	}
	memcpy(&s, p, sizeof(s));
	*out = (Elf64_Shdr){ s.sh_name,	     s.sh_type,	  s.sh_flags, s.sh_addr,
			     s.sh_offset,    s.sh_size,	  s.sh_link,  s.sh_info,
			     s.sh_addralign, s.sh_entsize };
}

static void phdr_get(const struct elf_file *e, const uint8_t *p, Elf64_Phdr *out)
{
	Elf32_Phdr h;

	if (e->is64) {
		memcpy(out, p, sizeof(*out));
		return;
	}
	memcpy(&h, p, sizeof(h));
	*out = (Elf64_Phdr){ h.p_type,	h.p_flags,  h.p_offset, h.p_vaddr,
			     h.p_paddr, h.p_filesz, h.p_memsz,	h.p_align };
}

static int header_get(struct elf_file *e, const uint8_t *head, size_t n, struct header *h,
		      const char **why)
{
	Elf64_Ehdr eh;
	Elf32_Ehdr e32;

	*why = "not an ELF file";
	if (n < EI_NIDENT || memcmp(head, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (head[EI_DATA] != ELFDATA2LSB) {
		*why = "big-endian ELF";
		return -ENOEXEC;
	}
	*why = "ELF header is cut or of unknown class";
	if (head[EI_CLASS] == ELFCLASS64 && n >= sizeof(eh)) {
		memcpy(&eh, head, sizeof(eh));
	} else if (head[EI_CLASS] == ELFCLASS32 && n >= sizeof(e32)) {
		memcpy(&e32, head, sizeof(e32));
		eh = (Elf64_Ehdr){ .e_type = e32.e_type,
				   .e_machine = e32.e_machine,
				   .e_phoff = e32.e_phoff,
				   .e_shoff = e32.e_shoff,
				   .e_phentsize = e32.e_phentsize,
				   .e_phnum = e32.e_phnum,
				   .e_shentsize = e32.e_shentsize,
				   .e_shnum = e32.e_shnum,
				   .e_shstrndx = e32.e_shstrndx };
	} else {
		return -ENOEXEC;
	}
	*why = NULL;
	e->is64 = head[EI_CLASS] == ELFCLASS64;
	e->type = eh.e_type;
	e->machine = eh.e_machine;
	*h = (struct header){ eh.e_phoff,    eh.e_shoff,     eh.e_phnum,    eh.e_shnum,
			      eh.e_shstrndx, eh.e_phentsize, eh.e_shentsize };
	return 0;
}

/* What PT_LOAD and friends say; a range of the file that is not there counts as empty. */
static void add_load(struct elf_file *e, const Elf64_Phdr *p)
{
	uint32_t at = e->n_segments;

	if (at == SYM_MAX_SEGMENTS) {
		/* Full: code is what matters, so it takes the place of a segment without.
		 */
		for (at = 0; at < SYM_MAX_SEGMENTS; at++)
			if (!(e->segments[at].flags & PF_X))
				break;
		if (at == SYM_MAX_SEGMENTS || !(p->p_flags & PF_X))
			return;
	} else {
		e->n_segments++;
	}
	e->segments[at] = (struct sym_segment){ p->p_offset, p->p_vaddr, p->p_filesz,
						p->p_memsz,  p->p_flags, 0 };
}

static void add_text(struct elf_file *e, uint64_t start, uint64_t size)
{
	if (!size || start + size < start || e->n_text == ELF_MAX_TEXT)
		return;
	e->text[e->n_text++] = (struct elf_text){ start, start + size };
}

static void read_notes(struct elf_file *e, uint64_t offset, uint64_t size, uint64_t align)
{
	void *notes;

	if (size > ELF_NOTES_MAX)
		size = ELF_NOTES_MAX;
	if (!source_load(&e->src, offset, size, ELF_NOTES_MAX, &notes)) {
		elf_notes_scan(e, notes, (size_t)size, align == 8 ? 8 : 4);
		free(notes);
	}
}

static void read_phdrs(struct elf_file *e, const struct header *h)
{
	size_t entry = e->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint32_t n = h->phnum < ELF_MAX_PHDRS ? h->phnum : ELF_MAX_PHDRS;
	void *table;

	if (!n || h->phentsize < entry ||
	    source_load(&e->src, h->phoff, (uint64_t)n * h->phentsize, 1 << 20, &table))
		return;
	for (uint32_t i = 0; i < n; i++) {
		Elf64_Phdr p;

		phdr_get(e, (const uint8_t *)table + (size_t)i * h->phentsize, &p);
		if (p.p_type == PT_LOAD)
			add_load(e, &p);
		else if (p.p_type == PT_NOTE)
			read_notes(e, p.p_offset, p.p_filesz, p.p_align);
		else if (p.p_type == PT_DYNAMIC)
			e->dynamic = (struct elf_part){ .offset = p.p_offset,
							.size = p.p_filesz };
		if (p.p_type == PT_TLS && !e->has_tls) {
			e->has_tls = true;
			e->tls_vaddr = p.p_vaddr;
			e->tls_memsz = p.p_memsz;
			e->tls_align = p.p_align;
		}
		e->has_dynamic |= p.p_type == PT_DYNAMIC;
		e->has_interp |= p.p_type == PT_INTERP;
	}
	free(table);
}

static void read_debug_link(struct elf_file *e, uint64_t offset, uint64_t size)
{
	uint8_t buf[WIRE_BUILD_ID_MAX + 8];
	size_t len, at;

	if (size > sizeof(buf) || source_read(&e->src, offset, buf, (size_t)size))
		return;
	len = strnlen((char *)buf, (size_t)size);
	at = (len + 4) & ~(size_t)3;
	if (!len || len >= sizeof(e->debug_link) || at + 4 > size)
		return;
	for (size_t i = 0; i < len; i++)
		if (buf[i] < 0x20 || buf[i] == 0x7f || buf[i] == '/')
			return;
	if (!strcmp((char *)buf, ".") || !strcmp((char *)buf, ".."))
		return;
	memcpy(e->debug_link, buf, len + 1);
	memcpy(&e->debug_link_crc, buf + at, 4);
}

static struct elf_part part_of(const struct elf_file *e, const Elf64_Shdr *s)
{
	/* NOBITS sections of a split debug file keep a size and an offset that mean
	 * nothing. */
	if (s->sh_type == SHT_NOBITS || s->sh_offset > e->src.size ||
	    s->sh_size > e->src.size - s->sh_offset || s->sh_size > ELF_SECTION_MAX)
		return (struct elf_part){ 0 };
	return (struct elf_part){ s->sh_offset, s->sh_size, s->sh_addr, s->sh_entsize,
				  !!(s->sh_flags & SHF_COMPRESSED) };
}

/* True: one of those where compilers sign. */
static bool take_signature(struct elf_file *e, const struct elf_part *part,
			   const char *name)
{
	struct elf_part *to = !strcmp(name, ".comment")	       ? &e->comment
			      : !strcmp(name, ".rodata")       ? &e->rodata
			      : !strcmp(name, ".data")	       ? &e->data
			      : !strcmp(name, ".go.buildinfo") ? &e->go_buildinfo
			      : !strcmp(name, ".fpcdata")      ? &e->fpcdata
			      : !strcmp(name, ".rodata.cst4")  ? &e->cst4
							       : NULL;

	if (to && !to->size)
		*to = *part;
	return to != NULL;
}

/* Stubs and what binds them. */
static void take_plt(struct elf_file *e, const struct elf_part *part, uint32_t type,
		     const char *name)
{
	if (type == SHT_RELA && !strcmp(name, ".rela.plt"))
		e->rela_plt = *part;
	else if (type == SHT_RELA && !strcmp(name, ".rela.dyn"))
		e->rela_dyn = *part;
	else if (type == SHT_PROGBITS && !strcmp(name, ".plt"))
		e->plt[ELF_PLT] = *part;
	else if (type == SHT_PROGBITS && !strcmp(name, ".plt.sec"))
		e->plt[ELF_PLT_SEC] = *part;
	else if (type == SHT_PROGBITS && !strcmp(name, ".plt.got"))
		e->plt[ELF_PLT_GOT] = *part;
}

static void take_section(struct elf_file *e, const Elf64_Shdr *s, const Elf64_Shdr *link,
			 const char *name)
{
	struct elf_part part = part_of(e, s);

	if ((s->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
		add_text(e, s->sh_addr, s->sh_size);
	if (s->sh_type == SHT_SYMTAB && part.size && link && !e->symtab.size) {
		e->symtab = part;
		e->strtab = part_of(e, link);
	} else if (s->sh_type == SHT_DYNSYM && part.size && link && !e->dynsym.size) {
		e->dynsym = part;
		e->dynstr = part_of(e, link);
	} else if (s->sh_type == SHT_NOTE) {
		e->has_notes = true;
		read_notes(e, part.offset, part.size, s->sh_addralign);
	} else if (!strncmp(name, ".plt", 4) || !strncmp(name, ".rela.", 6)) {
		take_plt(e, &part, s->sh_type, name);
	} else if (!strcmp(name, ".gnu_debugdata")) {
		e->debugdata = part;
	} else if (!strcmp(name, ".gnu_debuglink")) {
		read_debug_link(e, part.offset, part.size);
	} else if (!take_signature(e, &part, name) && !strncmp(name, ".debug_", 7)) {
		for (int i = 0; i < ELF_DEBUG_PARTS; i++)
			if (!strcmp(name, debug_names[i]) && !e->debug[i].size)
				e->debug[i] = part;
	}
}

/* Names of the sections, NUL-terminated as a whole. */
static char *read_names(const struct elf_file *e, const Elf64_Shdr *s, size_t *n)
{
	struct elf_part part = part_of(e, s);
	char *names = NULL;

	*n = 0;
	if (s->sh_type != SHT_STRTAB || !part.size || part.size > ELF_NAMES_MAX)
		return NULL;
	names = malloc((size_t)part.size + 1);
	if (!names || source_read(&e->src, part.offset, names, (size_t)part.size)) {
		free(names);
		return NULL;
	}
	names[part.size] = '\0';
	*n = (size_t)part.size;
	return names;
}

static void scan_sections(struct elf_file *e, const uint8_t *table, uint32_t n,
			  size_t entry, uint32_t shstrndx)
{
	Elf64_Shdr s, link;
	size_t names_len = 0;
	char *names = NULL;

	if (shstrndx < n) {
		shdr_get(e, table + shstrndx * entry, &s);
		names = read_names(e, &s, &names_len);
	}
	for (uint32_t i = 1; i < n; i++) {
		shdr_get(e, table + i * entry, &s);
		if (s.sh_link < n)
			shdr_get(e, table + s.sh_link * entry, &link);
		take_section(e, &s, s.sh_link && s.sh_link < n ? &link : NULL,
			     names && s.sh_name < names_len ? names + s.sh_name : "");
	}
	free(names);
}

static void read_sections(struct elf_file *e, struct header *h)
{
	size_t entry = e->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint8_t first_bytes[sizeof(Elf64_Shdr)];
	Elf64_Shdr first;
	void *table;

	if (!h->shoff || h->shentsize != entry ||
	    source_read(&e->src, h->shoff, first_bytes, entry))
		return;
	/* Counts that do not fit the header stand in section 0. */
	shdr_get(e, first_bytes, &first);
	if (!h->shnum)
		h->shnum = first.sh_size < ELF_MAX_SECTIONS ? (uint32_t)first.sh_size : 0;
	if (h->shstrndx == SHN_XINDEX)
		h->shstrndx = first.sh_link;
	if (!h->shnum || h->shnum > ELF_MAX_SECTIONS ||
	    source_load(&e->src, h->shoff, (uint64_t)h->shnum * entry, ELF_SECTION_MAX,
			&table))
		return;
	e->has_sections = true;
	scan_sections(e, table, h->shnum, entry, h->shstrndx);
	free(table);
}

int elf_file_parse(struct elf_file *e, const struct source *src, const uint8_t *head,
		   size_t head_len, const char **why)
{
	struct header h;
	int err;

	memset(e, 0, sizeof(*e));
	e->src = *src;
	err = header_get(e, head, head_len, &h, why);
	if (err)
		return err;
	read_phdrs(e, &h);
	read_sections(e, &h);
	if (!e->dynsym.size && !e->symtab.size)
		elf_dynamic_read(e);
	for (uint32_t i = 0; !e->n_text && i < e->n_segments; i++)
		if (e->segments[i].flags & PF_X)
			add_text(e, e->segments[i].vaddr, e->segments[i].memsz);
	return 0;
}

int elf_file_read(struct elf_file *e, const struct source *src, const char **why)
{
	uint8_t head[sizeof(Elf64_Ehdr)];
	ssize_t got = source_read_some(src, 0, head, sizeof(head));

	*why = "cannot be read";
	if (got < 0)
		return (int)got;
	return elf_file_parse(e, src, head, (size_t)got, why);
}

bool elf_file_in_text(const struct elf_file *e, uint64_t addr, uint64_t *end)
{
	for (uint32_t i = 0; i < e->n_text; i++) {
		if (addr >= e->text[i].start && addr < e->text[i].end) {
			*end = e->text[i].end;
			return true;
		}
	}
	return false;
}

void elf_htlhash(const uint8_t *head, size_t head_len, const uint8_t *tail,
		 size_t tail_len, uint64_t size, char out[33])
{
	uint8_t length[8], digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(size >> (56 - 8 * i));
	SHA256Init(&ctx);
	SHA256Update(&ctx, head, head_len);
	SHA256Update(&ctx, tail, tail_len);
	SHA256Update(&ctx, length, sizeof(length));
	SHA256Final(digest, &ctx);
	for (int i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
