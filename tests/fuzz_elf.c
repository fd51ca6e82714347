/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file: headers, notes, symbol tables, mini debuginfo, translation of
 * offsets. */
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/inspect.h"
#include "sidecar/symbols/mini_debug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is said to have one name has it at both ends. */
static void check_until(struct symbol_table *t, const struct symbol *s, uint64_t at)
{
	struct symbol other;

	if (s->until == at)
		return;
	if (s->until < at || s->until > s->end)
		abort();
	if (!symbol_table_find(t, s->until - 1, &other) || other.start != s->start ||
	    !symbol_table_find(t, s->start, &other) || other.start != s->start)
		abort();
}

static void look_up(const struct elf_file *e, struct symbol_table *t)
{
	struct symbol s;

	for (uint32_t i = 0; i < e->n_text; i++) {
		uint64_t step = (e->text[i].end - e->text[i].start) / 16 + 1,
			 at = e->text[i].start;

		for (int k = 0; k < 16; k++, at += step)
			if (symbol_table_find(t, at, &s)) {
				if (at < s.start || at >= s.end || !s.name)
					abort();
				check_until(t, &s, at);
			}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inspection *f = calloc(1, sizeof(*f));
	struct symbol_builder *b = NULL;
	struct symbol_table *t = NULL;
	uint64_t vaddr;

	if (!f || symbol_builder_create(&b))
		abort();
	source_from_memory(&f->src, data, size);
	inspect_image(f);
	if (!f->answer.is_elf) {
		symbol_builder_destroy(b);
		free(f);
		return 0;
	}
	if (f->answer.n_segments > SYM_MAX_SEGMENTS || strlen(f->htlhash) != 32)
		abort();
	for (uint64_t at = 0; at < size; at += 509)
		symbols_file_to_vaddr(f->answer.segments, f->answer.n_segments, at,
				      &vaddr);
	symbol_builder_add(b, &f->elf, &f->elf.symtab, &f->elf.strtab, &f->elf);
	symbol_builder_add(b, &f->elf, &f->elf.dynsym, &f->elf.dynstr, &f->elf);
	symbol_builder_add_plt(b, &f->elf);
	if (f->elf.debugdata.size)
		mini_debug_add(b, &f->elf);
	symbol_builder_finish(b, &t);
	look_up(&f->elf, t);
	symbol_table_destroy(t);
	free(f);
	return 0;
}
