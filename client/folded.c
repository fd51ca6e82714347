/* SPDX-License-Identifier: Apache-2.0 */
/* The profile as folded stacks, as flame graph tools read them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/profile.h"

#define FOLDED_MAX ((size_t)1 << 30)

struct folded {
	const struct profile *p;
	struct intern	 lines;		/* "comm;root;...;leaf" */
	uint64_t	*counts;	/* by line number - 1 */
	struct text	 line;
};

/* The profile's strings are safe for a terminal; the separator is not part of that. */
static void put_name(struct text *t, const struct profile *p, uint32_t string)
{
	const char *s, *end, *semicolon;
	size_t len;

	if (!string) {
		text_puts(t, "[no name]");
		return;
	}
	s = intern_get(&p->strings, string, &len);
	for (end = s + len; s < end; s = semicolon + 1) {
		semicolon = memchr(s, ';', (size_t)(end - s));
		if (!semicolon) {
			text_add(t, s, (size_t)(end - s));
			return;
		}
		text_add(t, s, (size_t)(semicolon - s));
		text_puts(t, "\\x3b");
	}
}

/* Functions of a location, the outermost first. */
static void put_location(struct folded *f, uint32_t id)
{
	const struct profile *p = f->p;
	struct profile_function function;
	struct profile_location l;
	struct profile_line line;
	const char *bytes;
	size_t len;

	bytes = intern_get(&p->locations, profile_location_of(p, id), &len);
	memcpy(&l, bytes, sizeof(l));
	for (uint32_t i = l.nlines; i; i--) {
		memcpy(&line, bytes + sizeof(l) + (i - 1) * sizeof(line), sizeof(line));
		memcpy(&function, intern_get(&p->functions, line.function, &len),
		       sizeof(function));
		text_putc(&f->line, ';');
		put_name(&f->line, p, function.name);
	}
}

/* Adds a stack to the line that it makes: stacks that differ in labels only are one. */
static int add_stack(struct folded *f, uint32_t id)
{
	struct profile_key key;
	const char *bytes;
	uint32_t location, line;
	size_t len;

	bytes = intern_get(&f->p->stacks, id, &len);
	memcpy(&key, bytes, sizeof(key));
	text_clear(&f->line);
	put_name(&f->line, f->p, key.comm);
	for (uint32_t i = key.nlocations; i; i--) {
		memcpy(&location, bytes + sizeof(key) + (i - 1) * sizeof(location),
		       sizeof(location));
		put_location(f, location);
	}
	line = text_failed(&f->line) ? 0 :
	       intern_add(&f->lines, text_string(&f->line), f->line.len);
	if (!line)
		return -ENOMEM;
	f->counts[line - 1] += f->p->values[id - 1].count;
	return 0;
}

struct row {
	const char	*line;
	size_t		 len;
	uint64_t	 count;
};

static int by_bytes(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = memcmp(x->line, y->line, x->len < y->len ? x->len : y->len);

	return c ? c : (x->len > y->len) - (x->len < y->len);
}

static int write_rows(struct text *out, const struct folded *f)
{
	struct row *rows = calloc(f->lines.n + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->lines.n; i++) {
		rows[i].line = intern_get(&f->lines, i + 1, &rows[i].len);
		rows[i].count = f->counts[i];
	}
	qsort(rows, f->lines.n, sizeof(*rows), by_bytes);
	for (uint32_t i = 0; i < f->lines.n; i++) {
		text_add(out, rows[i].line, rows[i].len);
		text_printf(out, " %" PRIu64 "\n", rows[i].count);
	}
	free(rows);
	return text_failed(out) ? -ENOMEM : 0;
}

int folded_encode(struct text *out, const struct profile *p)
{
	struct folded f = { .p = p };
	int err = 0;

	text_init(out, FOLDED_MAX);
	intern_init(&f.lines, FOLDED_MAX);
	text_init(&f.line, TEXT_LINE_MAX);
	/* At most one line a stack. */
	f.counts = calloc(p->stacks.n + 1, sizeof(*f.counts));
	if (!f.counts)
		err = -ENOMEM;
	for (uint32_t id = 1; !err && id <= p->stacks.n; id++)
		if (id <= p->values_cap && p->values[id - 1].count)
			err = add_stack(&f, id);
	if (!err)
		err = write_rows(out, &f);
	intern_fini(&f.lines);
	text_fini(&f.line);
	free(f.counts);
	return err;
}
