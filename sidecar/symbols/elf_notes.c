/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids in notes. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/symbols/elf_file.h"

#define NOTE_GO_BUILD_ID 4u

static void take_gnu_build_id(struct elf_file *e, const uint8_t *desc, size_t n)
{
	if (e->gnu_build_id[0] || !n || 2 * n >= sizeof(e->gnu_build_id))
		return;
	for (size_t i = 0; i < n; i++)
		snprintf(e->gnu_build_id + 2 * i, 3, "%02x", desc[i]);
}

/* Printable text, or it is not Go's. */
static void take_go_build_id(struct elf_file *e, const uint8_t *desc, size_t n)
{
	if (e->go_build_id[0] || !n || n >= sizeof(e->go_build_id))
		return;
	for (size_t i = 0; i < n; i++)
		if (desc[i] <= 0x20 || desc[i] > 0x7e)
			return;
	memcpy(e->go_build_id, desc, n);
	e->go_build_id[n] = '\0';
}

void elf_notes_scan(struct elf_file *e, const uint8_t *notes, size_t n, size_t align)
{
	size_t at = 0;

	while (n - at >= sizeof(Elf64_Nhdr)) {
		const uint8_t *name = notes + at + sizeof(Elf64_Nhdr);
		size_t left = n - at - sizeof(Elf64_Nhdr), name_room, desc_room;
		Elf64_Nhdr h;

		memcpy(&h, notes + at, sizeof(h));
		/* 8-aligned notes align what follows the name relative to the note's
		 * start. */
		name_room =
			((sizeof(h) + (size_t)h.n_namesz + align - 1) & ~(align - 1)) -
			sizeof(h);
		desc_room = ((size_t)h.n_descsz + align - 1) & ~(align - 1);
		if (name_room > left || h.n_descsz > left - name_room)
			return;
		if (h.n_namesz == 4 && !memcmp(name, "GNU", 4) &&
		    h.n_type == NT_GNU_BUILD_ID)
			take_gnu_build_id(e, name + name_room, h.n_descsz);
		else if (h.n_namesz == 4 && !memcmp(name, "Go\0", 4) &&
			 h.n_type == NOTE_GO_BUILD_ID)
			take_go_build_id(e, name + name_room, h.n_descsz);
		if (desc_room > left - name_room)
			return;
		at += sizeof(h) + name_room + desc_room;
	}
}
