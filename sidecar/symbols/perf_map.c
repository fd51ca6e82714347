/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/perf_map.h"

#define PERF_MAP_MAX_ENTRIES (1u << 20)
#define PERF_MAP_MAX_NAMES (64u << 20)
#define PERF_MAP_MAX_NAME 1023u
#define PERF_MAP_MAX_FILE (256ull << 20)
#define PERF_MAP_MAX_CODE (1ull << 32)	/* bytes of one piece of code */
#define PERF_MAP_CHUNK 65536u
#define PERF_MAP_LOOK_BACK 16u

struct entry {
	uint64_t start;
	uint32_t size;
	uint32_t name;
	uint32_t order;			/* later lines win */
};

struct perf_map {
	struct entry *e;
	uint32_t      n, room;
	char	     *names;
	uint32_t      names_used, names_room;
	uint64_t      offset;		/* read up to here */
	uint64_t      last_size;	/* of the file, when it was read last */
	bool	      in_long_line;	/* its start was taken, the rest is skipped */
	bool	      unsorted;
	char	      chunk[PERF_MAP_CHUNK];
};

int perf_map_create(struct perf_map **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void perf_map_destroy(struct perf_map *m)
{
	if (!m)
		return;
	free(m->e);
	free(m->names);
	free(m);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A hexadecimal number with or without 0x, between blanks. */
static bool take_hex(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;
	int digits = 0;

	while (p < end && *p == ' ')
		p++;
	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (*value = 0; p < end && hex_digit(*p) >= 0; p++, digits++) {
		if (digits == 16)
			return false;
		*value = *value << 4 | (uint64_t)hex_digit(*p);
	}
	if (!digits || p == end || *p != ' ')
		return false;
	*at = p + 1;
	return true;
}

static int map_push(struct perf_map *m, uint64_t start, uint32_t size, const char *name,
		    uint32_t len)
{
	if (m->n == PERF_MAP_MAX_ENTRIES || m->names_used + len + 1 > PERF_MAP_MAX_NAMES)
		return -E2BIG;
	if (m->n == m->room) {
		uint32_t room = m->room ? m->room * 2 : 256;
		struct entry *more = realloc(m->e, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		m->e = more;
		m->room = room;
	}
	if (m->names_used + len + 1 > m->names_room) {
		uint32_t room = m->names_room ? m->names_room * 2 : 8192;
		char *more = realloc(m->names, room);

		if (!more)
			return -ENOMEM;
		m->names = more;
		m->names_room = room;
	}
	memcpy(m->names + m->names_used, name, len);
	m->names[m->names_used + len] = '\0';
	m->e[m->n] = (struct entry){ start, size, m->names_used, m->n };
	m->unsorted |= m->n && m->e[m->n - 1].start > start;
	m->names_used += len + 1;
	m->n++;
	return 0;
}

/* One line without its end; what is no good is skipped. */
static int map_take_line(struct perf_map *m, const char *line, size_t n)
{
	const char *at = line, *end = line + n;
	uint64_t start, size;
	size_t len;

	if (n && end[-1] == '\r')
		end--;
	if (!take_hex(&at, end, &start) || !take_hex(&at, end, &size))
		return 0;
	if (!size || size >= PERF_MAP_MAX_CODE || start + size < start)
		return 0;
	while (at < end && *at == ' ')
		at++;
	len = strnlen(at, (size_t)(end - at));
	if (!len)
		return 0;
	return map_push(m, start, (uint32_t)size, at,
			len < PERF_MAP_MAX_NAME ? (uint32_t)len : PERF_MAP_MAX_NAME);
}

/*
 * Takes the whole lines of the chunk; bytes that were used up.  A line longer than a
 * chunk is taken from its beginning, which holds all but the tail of a monstrous name.
 */
static size_t map_take_chunk(struct perf_map *m, size_t n, int *err)
{
	size_t at = 0;

	while (at < n && !*err) {
		char *nl = memchr(m->chunk + at, '\n', n - at);

		if (!nl && !(at == 0 && n == sizeof(m->chunk)) && !m->in_long_line)
			break;
		if (!m->in_long_line)
			*err = map_take_line(m, m->chunk + at,
					     nl ? (size_t)(nl - m->chunk) - at : n - at);
		m->in_long_line = !nl;
		at = nl ? (size_t)(nl - m->chunk) + 1 : n;
	}
	return at;
}

static void map_reset(struct perf_map *m)
{
	m->n = m->names_used = 0;
	m->offset = m->last_size = 0;
	m->in_long_line = m->unsorted = false;
}

int perf_map_update(struct perf_map *m, const struct source *src)
{
	int err = 0;

	if (src->size < m->offset)
		map_reset(m);
	while (!err && m->offset < src->size && m->offset < PERF_MAP_MAX_FILE) {
		ssize_t got =
			source_read_some(src, m->offset, m->chunk, sizeof(m->chunk));
		size_t used;

		if (got <= 0)
			return (int)got;
		used = map_take_chunk(m, (size_t)got, &err);
		m->offset += used;
		if (used == 0) {
			/* The last line has no end: cut by us or by its writer. Unchanged
			 * since: it is all. */
			if (src->size == m->last_size) {
				err = map_take_line(m, m->chunk, (size_t)got);
				m->offset += (uint64_t)got;
			}
			break;
		}
	}
	m->last_size = src->size;
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

bool perf_map_find(struct perf_map *m, uint64_t addr, struct symbol *out)
{
	uint32_t low = 0, high = m->n;
	const struct entry *best = NULL;

	if (m->unsorted)
		qsort(m->e, m->n, sizeof(*m->e), by_start);
	m->unsorted = false;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m->e[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (uint32_t i = low; i > 0 && low - i < PERF_MAP_LOOK_BACK; i--) {
		const struct entry *e = &m->e[i - 1];

		if (addr - e->start < e->size && (!best || e->order > best->order))
			best = e;
	}
	if (!best)
		return false;
	*out = (struct symbol){ .start = best->start,
				.end = best->start + best->size,
				.name = m->names + best->name };
	return true;
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return m ? sizeof(*m) + m->room * sizeof(*m->e) + m->names_room : 0;
}

uint32_t perf_map_count(const struct perf_map *m)
{
	return m->n;
}
