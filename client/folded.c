/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/folded.h"
#include "client/format.h"

#define FOLDED_MAX ((size_t)1 << 30)

void folded_init(struct folded *f)
{
	memset(f, 0, sizeof(*f));
	intern_init(&f->stacks, FOLDED_MAX / 2);
	text_init(&f->line, TEXT_LINE_MAX);
}

void folded_fini(struct folded *f)
{
	intern_fini(&f->stacks);
	free(f->counts);
	text_fini(&f->line);
}

int folded_add(struct folded *f, const struct ringside_sample *s)
{
	uint32_t id;

	text_clear(&f->line);
	format_folded_stack(&f->line, s);
	if (text_failed(&f->line))
		return -ENOMEM;
	id = intern_add(&f->stacks, text_string(&f->line), f->line.len);
	if (!id)
		return -ENOMEM;
	if (id > f->counts_cap) {
		uint32_t cap = f->counts_cap ? f->counts_cap * 2 : 256;
		uint64_t *grown = realloc(f->counts, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + f->counts_cap, 0, (cap - f->counts_cap) * sizeof(*grown));
		f->counts = grown;
		f->counts_cap = cap;
	}
	f->counts[id - 1]++;
	return 0;
}

struct folded_row {
	const char	*stack;
	size_t		 len;
	uint64_t	 count;
};

static int by_bytes(const void *a, const void *b)
{
	const struct folded_row *x = a, *y = b;
	int c = memcmp(x->stack, y->stack, x->len < y->len ? x->len : y->len);

	return c ? c : (x->len > y->len) - (x->len < y->len);
}

int folded_encode(struct text *out, const struct folded *f)
{
	struct folded_row *rows;
	uint32_t n = f->stacks.n;

	text_init(out, FOLDED_MAX);
	if (!n)
		return 0;
	rows = calloc(n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		rows[i].stack = intern_get(&f->stacks, i + 1, &rows[i].len);
		rows[i].count = i < f->counts_cap ? f->counts[i] : 0;
	}
	qsort(rows, n, sizeof(*rows), by_bytes);
	for (uint32_t i = 0; i < n; i++) {
		if (!rows[i].count)
			continue;
		text_add(out, rows[i].stack, rows[i].len);
		text_printf(out, " %" PRIu64 "\n", rows[i].count);
	}
	free(rows);
	return text_failed(out) ? -ENOMEM : 0;
}
