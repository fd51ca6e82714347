/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/ringside.h"
#include "sidecar/symbols/demangle.h"
#include "sidecar/symbols/dwarf_lines.h"
#include "sidecar/symbols/mini_debug.h"
#include "sidecar/symbols/names.h"
#include "sidecar/symbols/perf_map.h"

#define JIT_AGAIN_NS 1000000000ull	/* a perf map is looked at again at most this often */

uint64_t names_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int sym_file_source(const struct sym_file *f, struct file_io *io, struct source *out)
{
	if (f->image) {
		source_from_memory(out, f->image, f->image_size);
		return 0;
	}
	return source_from_fd(out, io, f->fd);
}

/*
 * The best there is: the own .symtab, else the debug file's and the mini debuginfo's
 * beside .dynsym. Everything is judged by the code ranges of the file itself.
 */
static void add_tables(struct symbol_builder *b, const struct elf_file *e,
		       const struct elf_file *debug)
{
	if (debug && debug->symtab.size)
		symbol_builder_add(b, debug, &debug->symtab, &debug->strtab, e);
	symbol_builder_add_plt(b, e);
	if (e->symtab.size) {
		symbol_builder_add(b, e, &e->symtab, &e->strtab, e);
		return;
	}
	symbol_builder_add(b, e, &e->dynsym, &e->dynstr, e);
	if (e->debugdata.size)
		mini_debug_add(b, e);
}

struct elf_pair { struct elf_file e, debug; bool has_debug; };

/* The headers are read again for each table: kept, they would cost more than the tables
 * of most files. */
static struct elf_pair *elf_open(struct names_context *c, const struct sym_file *f)
{
	struct elf_pair *p = calloc(1, sizeof(*p));
	struct source src;
	const char *why;

	if (!p)
		return NULL;
	if (sym_file_source(f, c->io, &src) || elf_file_read(&p->e, &src, &why)) {
		free(p);
		return NULL;
	}
	if (f->debug_fd >= 0 && !source_from_fd(&src, c->io, f->debug_fd))
		p->has_debug = !elf_file_read(&p->debug, &src, &why);
	return p;
}

static void file_load(struct names_context *c, struct sym_file *f)
{
	struct symbol_builder *b = NULL;
	struct elf_pair *p;

	f->loaded = true;
	p = elf_open(c, f);
	if (p && !symbol_builder_create(&b)) {
		add_tables(b, &p->e, p->has_debug ? &p->debug : NULL);
		symbol_builder_finish(b, &f->table);
	}
	free(p);
	budget_settle(c->budget, f);
}

static void file_load_lines(struct names_context *c, struct sym_file *f)
{
	uint64_t before = names_now();
	struct elf_pair *p;

	f->lines_loaded = true;
	if (f->no_dwarf)
		return;
	p = elf_open(c, f);
	if (p && dwarf_lines_create(&f->lines, &p->e, c->dwarf_max) && p->has_debug)
		dwarf_lines_create(&f->lines, &p->debug, c->dwarf_max);
	free(p);
	f->lines_used_ns = names_now();
	f->lines_cost_ns = f->lines_used_ns - before;
	budget_settle(c->budget, f);
}

/* Mangled and readable form of one level. */
struct spelled { char text[WIRE_NAME_MAX]; };

static void spell(struct sym_name *n, const char *raw, struct spelled *room,
		  uint8_t plain_type)
{
	enum demangled how = demangle(raw, room->text, sizeof(room->text));

	n->type = how == DEMANGLED_RUST ? RINGSIDE_FRAME_RUST : plain_type;
	n->function = how == DEMANGLED_NOT ? raw : room->text;
	n->system_name = how == DEMANGLED_NOT ? NULL : raw;
}

/* A stub is called after its target. */
static void spell_stub(struct sym_name *n, const char *raw, struct spelled *room)
{
	size_t len;

	if (n->function == raw)
		snprintf(room->text, sizeof(room->text), "%s", raw);
	len = strnlen(room->text, sizeof(room->text) - sizeof("@plt"));
	memcpy(room->text + len, "@plt", sizeof("@plt"));
	n->function = room->text;
	n->system_name = n->system_name ? n->system_name : raw;
}

/* Levels from DWARF; the outermost takes the symbol table's name, which tells clones
 * apart. */
static uint32_t spell_levels(struct dwarf_lines *lines, uint64_t addr, uint8_t type,
			     struct sym_name *out, struct spelled *rooms)
{
	struct dwarf_level level[ANSWER_MAX_LEVELS];
	uint32_t n = lines ? dwarf_lines_find(lines, addr, level, ANSWER_MAX_LEVELS) : 0;

	for (uint32_t i = 0; i < n; i++) {
		out[i] = (struct sym_name){ .address = addr,
					    .file = level[i].file,
					    .line = level[i].line,
					    .inlined = i + 1 < n,
					    .type = type };
		if (level[i].function)
			spell(&out[i], level[i].function, &rooms[i], type);
	}
	if (n)
		return n;
	out[0] = (struct sym_name){ .address = addr, .type = type };
	return 1;
}

static uint32_t same_from(const struct symbol *s, uint64_t addr)
{
	uint64_t n = s->until - addr;

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

void names_of_file(struct names_context *c, struct sym_file *f, const uint64_t *addr,
		   uint32_t n, struct answer *a)
{
	static struct spelled rooms[ANSWER_MAX_LEVELS];		/* 128 KiB, touched as far as needed */
	uint8_t type = f->is_go ? RINGSIDE_FRAME_GO : RINGSIDE_FRAME_NATIVE;

	if (!f->loaded)
		file_load(c, f);
	if (!f->lines_loaded)
		file_load_lines(c, f);
	for (uint32_t i = 0; i < n; i++) {
		struct sym_name levels[ANSWER_MAX_LEVELS];
		uint32_t count = spell_levels(f->lines, addr[i], type, levels, rooms);
		struct sym_name *outer = &levels[count - 1];
		struct symbol s;

		if (symbol_table_find(f->table, addr[i], &s)) {
			spell(outer, s.name, &rooms[count - 1], type);
			if (s.plt)
				spell_stub(outer, s.name, &rooms[count - 1]);
			outer->offset = addr[i] - s.start;
			/* With DWARF the next instruction may be of another line. */
			outer->same = f->lines ? 0 : same_from(&s, addr[i]);
		}
		answer_names_add(a, levels, count);
	}
	if (f->lines) {
		f->lines_used_ns = names_now();
		budget_settle(c->budget, f);
	}
}

void names_of_kernel(struct kallsyms *k, const uint64_t *addr, uint32_t n, struct answer *a)
{
	char text[1280];

	for (uint32_t i = 0; i < n; i++) {
		struct sym_name name = { .address = addr[i],
					 .type = RINGSIDE_FRAME_KERNEL };
		const char *module;
		struct symbol s;

		if (k && kallsyms_find(k, addr[i], &s, &module)) {
			name.offset = addr[i] - s.start;
			name.same = same_from(&s, addr[i]);
			name.function = s.name;
			if (module) {
				snprintf(text, sizeof(text), "%s %s", s.name, module);
				name.function = text;
				name.system_name = s.name;
			}
		}
		answer_names_add(a, &name, 1);
	}
}

static void jit_refresh(struct names_context *c, struct sym_file *f)
{
	struct source src;

	if (!source_from_fd(&src, c->io, f->fd))
		perf_map_update(f->jit, &src);
	budget_settle(c->budget, f);
}

void names_of_jit(struct names_context *c, struct sym_file *f, const uint64_t *addr,
		  uint32_t n, uint64_t now_ns, struct answer *a)
{
	for (uint32_t i = 0; i < n; i++) {
		struct sym_name name = { .address = addr[i], .type = RINGSIDE_FRAME_JIT };
		struct symbol s;
		bool found;

		if (!f->jit && perf_map_create(&f->jit))
			f->jit = NULL;
		found = f->jit && perf_map_find(f->jit, addr[i], &s);
		if (f->jit && !found &&
		    (!f->jit_read_ns || now_ns - f->jit_read_ns >= JIT_AGAIN_NS)) {
			f->jit_read_ns = now_ns ? now_ns : 1;
			jit_refresh(c, f);
			found = perf_map_find(f->jit, addr[i], &s);
		}
		if (found) {
			name.function = s.name;
			name.offset = addr[i] - s.start;
		}
		answer_names_add(a, &name, 1);
	}
}
