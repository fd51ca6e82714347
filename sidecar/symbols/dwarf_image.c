/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/dwarf_image.h"
#include "sidecar/symbols/mini_debug.h"

#define IMAGE_SECTIONS (ELF_DEBUG_PARTS + 2)	/* and the null one, and the names */

struct section { uint8_t *bytes; size_t n; uint32_t name; };

static int section_load(const struct elf_file *e, const struct elf_part *part, size_t max,
			struct section *s)
{
	void *raw;
	int err = source_load(&e->src, part->offset, part->size, max, &raw);

	if (err)
		return err;
	if (!part->compressed) {
		s->bytes = raw;
		s->n = (size_t)part->size;
		return 0;
	}
	err = unpack_section(raw, (size_t)part->size, e->is64, max, &s->bytes, &s->n);
	free(raw);
	return err;
}

/* What a section takes unpacked; a header that cannot be read shows when it is loaded. */
static uint64_t section_size(const struct elf_file *e, const struct elf_part *part)
{
	Elf64_Chdr wide;
	Elf32_Chdr narrow;

	if (!part->compressed)
		return part->size;
	if (e->is64)
		return source_read(&e->src, part->offset, &wide, sizeof(wide))
			       ? 0
			       : wide.ch_size;
	return source_read(&e->src, part->offset, &narrow, sizeof(narrow))
		       ? 0
		       : narrow.ch_size;
}

/* Known before anything is unpacked in vain. */
static bool fits(const struct elf_file *e, size_t max)
{
	uint64_t left = max, size;

	for (int i = 0; i < ELF_DEBUG_PARTS; i++) {
		size = section_size(e, &e->debug[i]);
		if (size > left)
			return false;
		left -= size;
	}
	return true;
}

/* Names one behind another, the empty one first; bytes used. */
static uint32_t names_lay(struct section *s, char *names)
{
	static const char last[] = ".shstrtab";
	uint32_t at = 1;

	for (int i = 0; i < ELF_DEBUG_PARTS; i++) {
		const char *name = elf_debug_part_name(i);
		size_t n = strlen(name) + 1;

		s[i].name = at;
		memcpy(names + at, name, n);
		at += (uint32_t)n;
	}
	memcpy(names + at, last, sizeof(last));
	return at;
}

static void header_put(char *image, const struct elf_file *e, uint64_t shoff)
{
	Elf64_Ehdr h = {
		.e_type = ET_EXEC,
		.e_machine = e->machine,
		.e_version = EV_CURRENT,
		.e_shoff = shoff,
		.e_ehsize = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = IMAGE_SECTIONS,
		.e_shstrndx = IMAGE_SECTIONS - 1,
	};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(image, &h, sizeof(h));
}

static int image_lay(const struct elf_file *e, struct section *s, char **out,
		     size_t *out_n)
{
	char names[512] = "";
	Elf64_Shdr sh[IMAGE_SECTIONS] = { { 0 } };
	uint32_t last = names_lay(s, names),
		 names_n = last + (uint32_t)sizeof(".shstrtab");
	size_t at = sizeof(Elf64_Ehdr);
	char *image;

	for (int i = 0; i < ELF_DEBUG_PARTS; i++) {
		sh[i + 1] = (Elf64_Shdr){ .sh_name = s[i].name,
					  .sh_type = s[i].n ? SHT_PROGBITS : SHT_NULL,
					  .sh_offset = at,
					  .sh_size = s[i].n,
					  .sh_addralign = 8 };
		at = (at + s[i].n + 7) & ~(size_t)7;
	}
	sh[IMAGE_SECTIONS - 1] = (Elf64_Shdr){ .sh_name = last,
					       .sh_type = SHT_STRTAB,
					       .sh_offset = at,
					       .sh_size = names_n,
					       .sh_addralign = 1 };
	*out_n = ((at + names_n + 7) & ~(size_t)7) + sizeof(sh);
	image = calloc(1, *out_n);
	if (!image)
		return -ENOMEM;
	header_put(image, e, *out_n - sizeof(sh));
	for (int i = 0; i < ELF_DEBUG_PARTS; i++) {
		if (s[i].n)
			memcpy(image + sh[i + 1].sh_offset, s[i].bytes, s[i].n);
		free(s[i].bytes);
		s[i].bytes = NULL;
	}
	memcpy(image + at, names, names_n);
	memcpy(image + *out_n - sizeof(sh), sh, sizeof(sh));
	*out = image;
	return 0;
}

int dwarf_image_make(const struct elf_file *e, size_t max, char **out, size_t *out_n)
{
	struct section s[ELF_DEBUG_PARTS] = { { 0 } };
	size_t left = max;
	int err = 0;

	*out = NULL;
	if (!e->debug[ELF_DEBUG_INFO].size || !e->debug[ELF_DEBUG_ABBREV].size)
		return -ENOENT;
	if (!fits(e, max))
		return -EFBIG;
	for (int i = 0; i < ELF_DEBUG_PARTS && !err; i++) {
		if (!e->debug[i].size)
			continue;
		err = section_load(e, &e->debug[i], left, &s[i]);
		left -= s[i].n;
	}
	if (!err)
		err = image_lay(e, s, out, out_n);
	for (int i = 0; i < ELF_DEBUG_PARTS; i++)
		free(s[i].bytes);
	return err;
}
