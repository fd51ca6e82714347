/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/label_builder.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 8192u

struct builder_chunk { struct builder_chunk *next; size_t used, size; char text[]; };

void label_builder_reset(struct label_builder *b)
{
	struct builder_chunk *first = b->chunks, *c = first ? first->next : NULL;

	while (c) {
		struct builder_chunk *next = c->next;

		free(c);
		c = next;
	}
	if (first) {
		first->next = NULL;
		first->used = 0;
	}
	b->n = b->refused = 0;
	b->bytes = 0;
	b->ruled = false;
}

void label_builder_fini(struct label_builder *b)
{
	label_builder_reset(b);
	free(b->chunks);
	free(b->labels);
	memset(b, 0, sizeof(*b));
}

/* The first chunk is the one that stays at a reset; later ones stand behind it. */
char *label_builder_room(struct label_builder *b, size_t n)
{
	struct builder_chunk *c =
		b->chunks ? b->chunks->next ? b->chunks->next : b->chunks : NULL;
	size_t size = n > CHUNK_BYTES ? n : CHUNK_BYTES;

	if (n > BUILDER_BYTES_MAX - b->bytes)
		return NULL;
	if (!c || n > c->size - c->used) {
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct builder_chunk){ .size = size };
		if (b->chunks) {
			c->next = b->chunks->next;
			b->chunks->next = c;
		} else {
			b->chunks = c;
		}
	}
	b->bytes += n;
	c->used += n;
	return c->text + c->used - n;
}

/* Ends with a NUL, so that a label without one inside is a C string. */
static bool keep(struct label_builder *b, struct text_span s, struct text_span *out)
{
	char *p = label_builder_room(b, s.n + 1);

	if (!p)
		return false;
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = 0;
	*out = (struct text_span){ p, s.n };
	return true;
}

static struct builder_label *find(const struct label_builder *b, struct text_span name)
{
	for (uint32_t i = 0; i < b->n; i++) {
		struct builder_label *l = &b->labels[i];

		if (l->name.n == name.n && !memcmp(l->name.p, name.p, name.n))
			return l;
	}
	return NULL;
}

const struct builder_label *label_builder_get(const struct label_builder *b,
					      struct text_span name)
{
	return find(b, name);
}

static void take_out(struct label_builder *b, struct builder_label *l)
{
	b->n--;
	memmove(l, l + 1, (size_t)(b->labels + b->n - l) * sizeof(*l));
}

void label_builder_delete(struct label_builder *b, struct text_span name)
{
	struct builder_label *l = find(b, name);

	if (l)
		take_out(b, l);
}

static bool grow(struct label_builder *b)
{
	uint32_t cap = b->cap ? b->cap * 2 : 64;
	struct builder_label *grown;

	if (b->n < b->cap)
		return true;
	if (b->n == BUILDER_LABELS_MAX)
		return false;
	grown = realloc(b->labels, cap * sizeof(*grown));
	if (!grown)
		return false;
	b->labels = grown;
	b->cap = cap;
	return true;
}

static void change(struct label_builder *b, struct builder_label *l,
		   struct text_span value)
{
	struct builder_label moved = *l;

	moved.value = value;
	moved.original = false;
	if (!l->original) {
		*l = moved;
		return;
	}
	take_out(b, l);
	b->labels[b->n++] = moved;
}

void label_builder_set(struct label_builder *b, struct text_span name,
		       struct text_span value)
{
	struct builder_label *l, fresh = { .original = false };

	if (!value.n) {
		label_builder_delete(b, name);
		return;
	}
	l = find(b, name);
	if ((!l && !grow(b)) || !keep(b, value, &fresh.value) ||
	    (!l && !keep(b, name, &fresh.name))) {
		b->refused++;
		return;
	}
	if (l)
		change(b, l, fresh.value);
	else
		b->labels[b->n++] = fresh;
}

static int by_name(const void *a, const void *b)
{
	const struct text_span *x = &((const struct builder_label *)a)->name,
			       *y = &((const struct builder_label *)b)->name;
	int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

void label_builder_begin_rules(struct label_builder *b)
{
	if (b->n)
		qsort(b->labels, b->n, sizeof(*b->labels), by_name);
	for (uint32_t i = 0; i < b->n; i++)
		b->labels[i].original = true;
	b->ruled = true;
}

void label_builder_put(struct label_builder *b, const char *name, const char *value)
{
	label_builder_set(b, text_span_of(name), text_span_of(value ? value : ""));
}

const char *label_builder_find(const struct label_builder *b, const char *name)
{
	const struct builder_label *l = find(b, text_span_of(name));

	return l ? l->value.p : NULL;
}
