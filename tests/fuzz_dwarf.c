/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an ELF file with DWARF.  Most of what runs is libdw, which in life meets
 * such bytes only in a worker without rights; what is checked here is that our side of it
 * stays bounded.
 */
#include <stdlib.h>

#include "sidecar/symbols/dwarf_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwarf_level levels[32];
	struct elf_file *e = calloc(1, sizeof(*e));
	struct dwarf_lines *d = NULL;
	struct source src;
	const char *why;

	if (!e)
		abort();
	source_from_memory(&src, data, size);
	if (!elf_file_read(e, &src, &why) && !dwarf_lines_create(&d, e, 1 << 20))
		for (uint32_t i = 0; i < e->n_text; i++)
			for (uint64_t at = e->text[i].start, k = 0;
			     k < 24 && at < e->text[i].end; k++, at += 3)
				if (dwarf_lines_find(d, at, levels, 32) > 32)
					abort();
	dwarf_lines_destroy(d);
	free(e);
	return 0;
}
