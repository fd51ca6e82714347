/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping sets: sorted, without overlaps, shared by images until one changes. */
#include "sidecar/process/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t set_bytes(uint32_t cap)
{
	return sizeof(struct map_set) + (size_t)cap * sizeof(struct mapping);
}

static struct map_set *set_new(struct process_table *t, uint32_t cap)
{
	struct map_set *s = malloc(set_bytes(cap));

	if (s) {
		*s = (struct map_set){ .refs = 1, .cap = cap };
		t->counts.heap_bytes += set_bytes(cap);
	}
	return s;
}

static void set_put(struct process_table *t, struct map_set *s)
{
	if (!s || --s->refs)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		file_put(t, s->m[i].file);
	t->counts.heap_bytes -= set_bytes(s->cap);
	free(s);
}

static void use_set(struct image_own *io, struct map_set *s)
{
	io->set = s;
	io->i.maps = s ? s->m : NULL;
	io->i.n_maps = s ? s->n : 0;
	io->i.version++;
}

/* A set of the image's own, with room for `more` mappings. */
static struct map_set *writable(struct process_table *t, struct image_own *io,
				uint32_t more)
{
	struct map_set *old = io->set, *s;
	uint32_t n = old ? old->n : 0;

	if (old && old->refs == 1 && old->cap - old->n >= more)
		return old;
	s = set_new(t, n + more + n / 2 + 2);
	if (!s)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		s->m[i] = old->m[i];
		file_get(t, s->m[i].file);
	}
	s->n = n;
	set_put(t, old);
	use_set(io, s);
	return s;
}

/* First mapping that ends after addr. */
static uint32_t first_after(const struct mapping *m, uint32_t n, uint64_t addr)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct mapping *image_find(const struct image *i, uint64_t addr)
{
	uint32_t at = first_after(i->maps, i->n_maps, addr);

	return at < i->n_maps && i->maps[at].start <= addr ? &i->maps[at] : NULL;
}

static void remove_at(struct process_table *t, struct map_set *s, uint32_t at, uint32_t n)
{
	for (uint32_t i = at; i < at + n; i++)
		file_put(t, s->m[i].file);
	memmove(&s->m[at], &s->m[at + n], (s->n - at - n) * sizeof(s->m[0]));
	s->n -= n;
}

static void insert_at(struct map_set *s, uint32_t at, const struct mapping *m)
{
	memmove(&s->m[at + 1], &s->m[at], (s->n - at) * sizeof(s->m[0]));
	s->m[at] = *m;
	s->n++;
}

/* Makes [start, end) free; room for two more is there.  Gives where a mapping of it
 * belongs. */
static uint32_t clear_range(struct process_table *t, struct map_set *s, uint64_t start,
			    uint64_t end)
{
	uint32_t at = first_after(s->m, s->n, start), last;

	if (at < s->n && s->m[at].start < start) {
		struct mapping rest = s->m[at];

		s->m[at].end = start;
		at++;
		if (rest.end > end) {		/* a hole in the middle: two pieces */
			rest.file_offset += end - rest.start;
			rest.start = end;
			rest.serial = ++t->last_mapping_serial;
			file_get(t, rest.file);
			insert_at(s, at, &rest);
			return at;
		}
	}
	for (last = at; last < s->n && s->m[last].end <= end; last++)
		;
	remove_at(t, s, at, last - at);
	if (at < s->n && s->m[at].start < end) {
		s->m[at].file_offset += end - s->m[at].start;
		s->m[at].start = end;
		s->m[at].serial = ++t->last_mapping_serial;
	}
	return at;
}

/* b continues a: one mapping that the kernel told of in two pieces. */
static bool continues(const struct mapping *a, const struct mapping *b)
{
	if (a->end != b->start || a->kind != b->kind || a->file != b->file)
		return false;
	return a->kind != MAPPING_FILE ||
	       a->file_offset + (a->end - a->start) == b->file_offset;
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->file == b->file &&
	       a->kind == b->kind && a->file_offset == b->file_offset;
}

int maps_insert(struct process_table *t, struct image_own *io, const struct mapping *m)
{
	uint32_t at = first_after(io->i.maps, io->i.n_maps, m->start);
	struct mapping fresh = *m;
	struct map_set *s;

	if (at < io->i.n_maps && same_mapping(&io->i.maps[at], m)) {
		file_put(t, m->file);
		return 0;
	}
	s = io->i.n_maps + 2 > t->o.max_maps ? NULL : writable(t, io, 2);
	if (!s) {
		t->counts.refused++;
		file_put(t, m->file);
		return io->i.n_maps + 2 > t->o.max_maps ? -ENOSPC : -ENOMEM;
	}
	at = clear_range(t, s, m->start, m->end);
	if (at > 0 && continues(&s->m[at - 1], m)) {
		s->m[at - 1].end = m->end;
		s->m[at - 1].since_ns = m->since_ns;
		file_put(t, m->file);
	} else {
		fresh.serial = ++t->last_mapping_serial;
		insert_at(s, at, &fresh);
	}
	use_set(io, s);
	return 0;
}

int maps_replace(struct process_table *t, struct image_own *io, struct mapping *m,
		 size_t n, uint64_t begin_ns)
{
	struct map_set *old = io->set, *s;
	uint32_t kept = n < t->o.max_maps ? n : t->o.max_maps;

	s = set_new(t, kept + 2);
	if (!s) {
		for (size_t i = 0; i < n; i++)
			file_put(t, m[i].file);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = old ? first_after(old->m, old->n, m[i].start) : 0;

		if (i >= kept) {
			file_put(t, m[i].file);
			continue;
		}
		s->m[i] = m[i];
		if (old && at < old->n && same_mapping(&old->m[at], &m[i]))
			s->m[i].serial = old->m[at].serial;
		else
			s->m[i].serial = ++t->last_mapping_serial;
	}
	s->n = kept;
	use_set(io, s);
	/* What was mapped while the reading was made may have been missed by it. */
	for (uint32_t i = 0; old && i < old->n; i++) {
		if (old->m[i].since_ns >= begin_ns) {
			file_get(t, old->m[i].file);
			maps_insert(t, io, &old->m[i]);
		}
	}
	set_put(t, old);
	return 0;
}

void maps_share(struct process_table *t, struct image_own *to, struct image_own *from)
{
	if (to->set == from->set)
		return;
	set_put(t, to->set);
	if (from->set)
		from->set->refs++;
	use_set(to, from->set);
}

void maps_drop(struct process_table *t, struct image_own *io)
{
	set_put(t, io->set);
	use_set(io, NULL);
}

void maps_set_jit(struct process_table *t, struct image_own *io, struct file *f)
{
	struct map_set *s = io->set ? writable(t, io, 0) : NULL;

	for (uint32_t i = 0; s && i < s->n; i++) {
		struct mapping *m = &s->m[i];

		if ((m->kind != MAPPING_ANON && m->kind != MAPPING_JIT) || m->file == f)
			continue;
		file_put(t, m->file);
		m->file = file_get(t, f);
		m->kind = MAPPING_JIT;
		m->serial = ++t->last_mapping_serial;
	}
	io->i.version++;
}

void maps_set_file(struct process_table *t, struct image_own *io, struct file *from,
		   struct file *to)
{
	struct map_set *s = io->set ? writable(t, io, 0) : NULL;

	for (uint32_t i = 0; s && i < s->n; i++) {
		if (s->m[i].file != from)
			continue;
		s->m[i].file = file_get(t, to);
		s->m[i].serial = ++t->last_mapping_serial;
		file_put(t, from);
	}
	io->i.version++;
}

static bool is(const char *path, size_t n, const char *name)
{
	return n == strlen(name) && !memcmp(path, name, n);
}

enum mapping_kind mapping_kind_of(const char *path, size_t n, bool has_file)
{
	if (is(path, n, "[vdso]") || is(path, n, "[vsyscall]"))
		return MAPPING_VDSO;
	if (path_is_anonymous(path, n) || (!has_file && path[0] != '/'))
		return MAPPING_ANON;
	return MAPPING_FILE;
}
