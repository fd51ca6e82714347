/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sidecar/symbols/budget.h"
#include "sidecar/symbols/dwarf_lines.h"
#include "sidecar/symbols/perf_map.h"
#include "sidecar/symbols/symbol_table.h"

#define BUDGET_BUCKETS 512u
#define LINES_KEEP_NS 2000000000ull
#define LINES_KEEP_FACTOR 100u		/* times what loading took: reloading never takes over 1 % of a CPU */

struct budget {
	uint64_t	 limit;
	size_t		 bytes;
	uint32_t	 n;
	struct sym_file *bucket[BUDGET_BUCKETS];
	struct sym_file	 list;		/* list.older is the newest, list.newer the oldest */
};

int budget_create(struct budget **out, uint64_t limit)
{
	struct budget *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->limit = limit;
	b->list.newer = b->list.older = &b->list;
	*out = b;
	return 0;
}

static void file_drop_lines(struct sym_file *f)
{
	dwarf_lines_destroy(f->lines);
	f->lines = NULL;
	f->lines_loaded = false;
}

static void file_drop_tables(struct sym_file *f)
{
	file_drop_lines(f);
	symbol_table_destroy(f->table);
	perf_map_destroy(f->jit);
	f->table = NULL;
	f->jit = NULL;
	f->loaded = false;
	f->jit_read_ns = 0;
}

static size_t file_bytes(const struct sym_file *f)
{
	return f->image_size + symbol_table_bytes(f->table) + perf_map_bytes(f->jit) +
	       dwarf_lines_bytes(f->lines);
}

static void budget_account(struct budget *b, struct sym_file *f)
{
	size_t now = file_bytes(f);

	b->bytes = b->bytes - f->bytes + now;
	f->bytes = now;
}

static void list_remove(struct sym_file *f)
{
	f->newer->older = f->older;
	f->older->newer = f->newer;
}

static void list_push(struct budget *b, struct sym_file *f)
{
	f->older = b->list.older;
	f->newer = &b->list;
	f->older->newer = f;
	b->list.older = f;
}

static struct sym_file **bucket_slot(struct budget *b, uint32_t id)
{
	struct sym_file **at = &b->bucket[id % BUDGET_BUCKETS];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

void budget_forget(struct budget *b, uint32_t id)
{
	struct sym_file **at = bucket_slot(b, id), *f = *at;

	if (!f)
		return;
	*at = f->next;
	list_remove(f);
	b->bytes -= f->bytes;
	b->n--;
	file_drop_tables(f);
	if (f->fd >= 0)
		close(f->fd);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	free(f->image);
	free(f);
}

void budget_destroy(struct budget *b)
{
	if (!b)
		return;
	while (b->n)
		budget_forget(b, b->list.newer->id);
	free(b);
}

struct sym_file *budget_add(struct budget *b, uint32_t id)
{
	struct sym_file *f, **at;

	budget_forget(b, id);
	if (b->n >= BUDGET_MAX_FILES)
		budget_forget(b, b->list.newer->id);
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->id = id;
	f->fd = f->debug_fd = -1;
	at = bucket_slot(b, id);
	*at = f;
	list_push(b, f);
	b->n++;
	return f;
}

struct sym_file *budget_find(struct budget *b, uint32_t id)
{
	struct sym_file *f = *bucket_slot(b, id);

	if (f) {
		list_remove(f);
		list_push(b, f);
	}
	return f;
}

void budget_settle(struct budget *b, struct sym_file *f)
{
	budget_account(b, f);
	for (struct sym_file *old = b->list.newer; b->bytes > b->limit && old != &b->list;
	     old = old->newer) {
		if (old == f)
			continue;
		file_drop_tables(old);
		budget_account(b, old);
	}
	/* Alone over the limit: names before lines. */
	if (b->bytes > b->limit && f->lines) {
		file_drop_lines(f);
		f->lines_loaded = true;		/* do not try again and again */
		budget_account(b, f);
	}
}

bool budget_expire_lines(struct budget *b, uint64_t now_ns)
{
	bool left = false;

	for (struct sym_file *f = b->list.newer; f != &b->list; f = f->newer) {
		if (!f->lines)
			continue;
		if (now_ns - f->lines_used_ns >
		    LINES_KEEP_NS + LINES_KEEP_FACTOR * f->lines_cost_ns) {
			file_drop_lines(f);
			budget_account(b, f);
		} else {
			left = true;
		}
	}
	return left;
}

void budget_drop_tables(struct budget *b, struct sym_file *f)
{
	file_drop_tables(f);
	budget_account(b, f);
}

size_t budget_bytes(const struct budget *b)
{
	return b->bytes;
}
