/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/tls_facts.h"

#include <stddef.h>

#define PAGE 4096ull	/* the least that a mapping is rounded to */

bool tls_facts_ok(const struct tls_facts *f)
{
	if (f->n_relocs > TLS_MAX_RELOCS || f->n_text > TLS_MAX_TEXT || !f->align ||
	    (f->align & (f->align - 1)) || f->is_program > 1 || f->from_symtab > 1)
		return false;
	for (uint16_t i = 0; i < f->n_relocs; i++) {
		if (!tls_access_name(f->relocs[i].access) || f->relocs[i].by_addend > 1)
			return false;
	}
	return true;
}

bool tls_facts_vaddr(const struct tls_facts *f, uint64_t file_offset, uint64_t *vaddr)
{
	for (uint16_t i = 0; i < f->n_text && i < TLS_MAX_TEXT; i++) {
		const struct tls_text *t = &f->text[i];
		uint64_t start = t->offset & ~(PAGE - 1);

		if (file_offset < start || file_offset - start >= t->filesz + PAGE)
			continue;
		*vaddr = t->vaddr + (file_offset - t->offset);
		return true;
	}
	return false;
}

const char *tls_access_name(uint32_t access)
{
	static const char *const names[] = {
		[TLS_DESC] = "TLSDESC", [TLS_TPOFF] = "TPOFF", [TLS_MODULE] = "DTPMOD",
	};

	return access < sizeof(names) / sizeof(names[0]) ? names[access] : NULL;
}
