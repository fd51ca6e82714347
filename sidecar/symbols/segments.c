/* SPDX-License-Identifier: Apache-2.0 */
/* File offsets to ELF addresses, by the table of PT_LOADs. */
#include <elf.h>

#include "sidecar/symbols/symbols.h"

/* The loader maps whole pages, so a few bytes before and behind a segment are mapped with
 * it. */
#define SEGMENT_PAGE 4096ull

/* How far file_offset lies inside the segment, slack to either side allowed; false:
 * outside. */
static bool segment_holds(const struct sym_segment *s, uint64_t file_offset,
			  uint64_t slack)
{
	uint64_t start = s->offset & ~(slack - 1);
	uint64_t end;

	if (!s->filesz || __builtin_add_overflow(s->offset, s->filesz, &end))
		return false;
	if (slack > 1 && __builtin_add_overflow(end, slack - 1, &end))
		return false;
	end &= ~(slack - 1);
	return file_offset >= start && file_offset < end;
}

/*
 * Each segment has its own distance between offset and address (lld, BOLT,
 * --section-start), and two may share a page of the file or even the same bytes.  Exact
 * bounds go before the page's slack, and what may be executed goes before what may not,
 * since what is asked for was executed.
 */
bool symbols_file_to_vaddr(const struct sym_segment *seg, uint32_t n,
			   uint64_t file_offset, uint64_t *vaddr)
{
	for (unsigned int pass = 0; pass < 4; pass++) {
		uint64_t slack = pass < 2 ? 1 : SEGMENT_PAGE;
		bool executable = !(pass & 1);

		for (uint32_t i = 0; i < n; i++) {
			if (!!(seg[i].flags & PF_X) != executable ||
			    !segment_holds(&seg[i], file_offset, slack))
				continue;
			*vaddr = seg[i].vaddr + (file_offset - seg[i].offset);
			return true;
		}
	}
	return false;
}
