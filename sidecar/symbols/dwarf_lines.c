/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libelf.h>
#include <malloc.h>
#include <stdlib.h>

#include "sidecar/symbols/dwarf_image.h"
#include "sidecar/symbols/dwarf_lines.h"

#define LINES_MAX_RANGES (1u << 20)
#define LINES_MAX_DEPTH 64u		/* of nested scopes */
#define LINES_MAX_VISITS 400000u	/* debugging entries looked at for one address: some tens of ms */
#define LINES_MAX_CHAIN 64u

struct range { uint64_t start, end, cu; };	/* cu: offset of its entry in .debug_info */

struct dwarf_lines {
	char	     *image;
	size_t	      bytes;		/* image, ranges, and what libdw has allocated */
	Elf	     *elf;
	Dwarf	     *dw;
	struct range *ranges;
	uint32_t      n, room;
};

static size_t heap_now(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* libdw allocates as it goes and tells nobody: the heap's growth is its. */
static void account(struct dwarf_lines *d, size_t before)
{
	size_t after = heap_now();

	if (after > before)
		d->bytes += after - before;
}

static int add_range(struct dwarf_lines *d, uint64_t start, uint64_t end, uint64_t cu)
{
	if (end <= start)
		return 0;
	if (d->n == LINES_MAX_RANGES)
		return -E2BIG;
	if (d->n == d->room) {
		uint32_t room = d->room ? d->room * 2 : 256;
		struct range *more = realloc(d->ranges, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		d->ranges = more;
		d->room = room;
	}
	d->ranges[d->n++] = (struct range){ start, end, cu };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Which unit covers what, by the units themselves: .debug_aranges is often absent. */
static int read_units(struct dwarf_lines *d)
{
	Dwarf_Off offset = 0, next;
	size_t header;
	int err = 0;

	while (!err && !dwarf_nextcu(d->dw, offset, &next, &header, NULL, NULL, NULL) &&
	       next > offset) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;
		Dwarf_Die die;

		if (dwarf_offdie(d->dw, offset + header, &die))
			while (!err &&
			       (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
				err = add_range(d, start, end, offset + header);
		offset = next;
	}
	if (!d->n)
		return -ENOENT;
	qsort(d->ranges, d->n, sizeof(*d->ranges), by_start);
	return err == -E2BIG ? 0 : err;
}

int dwarf_lines_create(struct dwarf_lines **out, const struct elf_file *e, size_t max)
{
	size_t before = heap_now(), n;
	struct dwarf_lines *d = calloc(1, sizeof(*d));
	int err;

	*out = NULL;
	if (!d)
		return -ENOMEM;
	err = dwarf_image_make(e, max, &d->image, &n);
	if (err)
		goto out;
	err = -EBADMSG;
	elf_version(EV_CURRENT);
	d->elf = elf_memory(d->image, n);
	if (d->elf)
		d->dw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	if (!d->dw)
		goto out;
	err = read_units(d);
	account(d, before);
	if (!err) {
		*out = d;
		d = NULL;
	}
out:
	dwarf_lines_destroy(d);
	return err;
}

void dwarf_lines_destroy(struct dwarf_lines *d)
{
	if (!d)
		return;
	if (d->dw)
		dwarf_end(d->dw);
	if (d->elf)
		elf_end(d->elf);
	free(d->image);
	free(d->ranges);
	free(d);
}

size_t dwarf_lines_bytes(const struct dwarf_lines *d)
{
	return d ? d->bytes : 0;
}

static bool find_unit(struct dwarf_lines *d, uint64_t addr, Dwarf_Die *cu)
{
	uint32_t low = 0, high = d->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (d->ranges[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	/* Units may overlap where a linker dropped sections; a few steps back find the
	 * right one. */
	for (uint32_t i = low; i > 0 && low - i < 8; i--)
		if (addr < d->ranges[i - 1].end)
			return dwarf_offdie(d->dw, d->ranges[i - 1].cu, cu);
	return false;
}

/* Code that holds addr, outermost first. */
struct chain {
	Dwarf_Die die[LINES_MAX_CHAIN];
	uint32_t n;
	uint32_t visits;
	uint64_t addr;
};

static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

static bool is_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block;
}

/* true: found, stop looking among the siblings. */
static bool descend(struct chain *c, Dwarf_Die *parent, uint32_t depth)
{
	Dwarf_Die die;

	if (depth == LINES_MAX_DEPTH || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (++c->visits > LINES_MAX_VISITS)
			return true;
		if (is_code(tag) && dwarf_haspc(&die, c->addr) == 1) {
			if (tag != DW_TAG_lexical_block && c->n < LINES_MAX_CHAIN)
				c->die[c->n++] = die;
			descend(c, &die, depth + 1);
			return true;
		}
		if (may_hold_functions(tag) && descend(c, &die, depth + 1))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : dwarf_diename(die);
}

/* Where an inlined function was called. */
static void call_site(Dwarf_Die *cu, Dwarf_Die *die, struct dwarf_level *out)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t n;

	if (dwarf_attr(die, DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &value) &&
	    value <= UINT32_MAX)
		out->line = (uint32_t)value;
	if (dwarf_attr(die, DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &value) &&
	    !dwarf_getsrcfiles(cu, &files, &n) && value < n)
		out->file = dwarf_filesrc(files, value, NULL, NULL);
}

static uint32_t fill_levels(Dwarf_Die *cu, struct chain *c, struct dwarf_level *levels,
			    uint32_t max)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, c->addr);
	uint32_t n = c->n < max ? c->n : max;
	int number = 0;

	for (uint32_t i = 0; i < n || i == 0; i++) {
		levels[i] = (struct dwarf_level){ 0 };
		if (i < n)
			levels[i].function = function_name(&c->die[c->n - 1 - i]);
		if (i)
			call_site(cu, &c->die[c->n - i], &levels[i]);
	}
	if (line) {
		levels[0].file = dwarf_linesrc(line, NULL, NULL);
		if (!dwarf_lineno(line, &number) && number > 0)
			levels[0].line = (uint32_t)number;
	}
	return n ? n : 1;
}

uint32_t dwarf_lines_find(struct dwarf_lines *d, uint64_t addr,
			  struct dwarf_level *levels, uint32_t max)
{
	size_t before = heap_now();
	struct chain *c;
	uint32_t n = 0;
	Dwarf_Die cu;

	if (!max || !find_unit(d, addr, &cu))
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return 0;
	c->addr = addr;
	descend(c, &cu, 0);
	n = fill_levels(&cu, c, levels, max);
	free(c);
	account(d, before);
	return n;
}
