/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of code points: what a pattern lists between brackets, and the named groups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/regex_program.h"

#define RANGES(...)                                                      \
	.ranges = (const struct rune_range[]){ __VA_ARGS__ },            \
	.n_ranges = sizeof((const struct rune_range[]){ __VA_ARGS__ }) / \
		    sizeof(struct rune_range)

static const struct {
	const char *name;
	const struct rune_range *ranges;
	uint32_t n_ranges;
} posix[] = {
	{ "alnum", RANGES({ '0', '9' }, { 'A', 'Z' }, { 'a', 'z' }) },
	{ "alpha", RANGES({ 'A', 'Z' }, { 'a', 'z' }) },
	{ "ascii", RANGES({ 0, 127 }) },
	{ "blank", RANGES({ '\t', '\t' }, { ' ', ' ' }) },
	{ "cntrl", RANGES({ 0, 31 }, { 127, 127 }) },
	{ "digit", RANGES({ '0', '9' }) },
	{ "graph", RANGES({ '!', '~' }) },
	{ "lower", RANGES({ 'a', 'z' }) },
	{ "print", RANGES({ ' ', '~' }) },
	{ "punct", RANGES({ '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' }) },
	{ "space", RANGES({ '\t', '\r' }, { ' ', ' ' }) },
	{ "upper", RANGES({ 'A', 'Z' }) },
	{ "word", RANGES({ '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }) },
	{ "xdigit", RANGES({ '0', '9' }, { 'A', 'F' }, { 'a', 'f' }) },
};

/* Unlike [:space:], \s has no vertical tab. */
static const struct rune_range perl_space[] = { { '\t', '\n' },
						{ '\f', '\r' },
						{ ' ', ' ' } };

bool class_posix(const char *name, size_t n, struct class_item *out)
{
	*out = (struct class_item){ .negated = n && name[0] == '^' };
	name += out->negated;
	n -= out->negated;
	for (size_t i = 0; i < sizeof(posix) / sizeof(posix[0]); i++) {
		if (strlen(posix[i].name) != n || memcmp(posix[i].name, name, n))
			continue;
		out->ranges = posix[i].ranges;
		out->n_ranges = posix[i].n_ranges;
		return true;
	}
	return false;
}

bool class_perl(char letter, struct class_item *out)
{
	bool negated = letter >= 'A' && letter <= 'Z';

	switch (letter | 0x20) {
	case 'd':
		class_posix("digit", 5, out);
		break;
	case 'w':
		class_posix("word", 4, out);
		break;
	case 's':
		*out = (struct class_item){ .ranges = perl_space, .n_ranges = 3 };
		break;
	default:
		return false;
	}
	out->negated = negated;
	return true;
}

int class_new(struct tree *t, bool fold, uint32_t *index)
{
	if (t->n_classes == t->cap_classes) {
		uint32_t cap = t->cap_classes ? t->cap_classes * 2 : 8;
		struct rune_class *grown = realloc(t->classes, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->classes = grown;
		t->cap_classes = cap;
	}
	*index = t->n_classes++;
	t->classes[*index] = (struct rune_class){ .fold = fold };
	return 0;
}

int class_add(struct rune_class *c, const struct class_item *item)
{
	if (c->n_items == c->cap_items) {
		uint32_t cap = c->cap_items ? c->cap_items * 2 : 4;
		struct class_item *grown = realloc(c->items, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->items = grown;
		c->cap_items = cap;
	}
	c->items[c->n_items++] = *item;
	return 0;
}

static bool item_lists(const struct class_item *i, uint32_t rune)
{
	const struct rune_range *r = i->ranges ? i->ranges : &i->own;
	uint32_t n = i->ranges ? i->n_ranges : 1;

	if (i->property)
		return unicode_has(i->property, rune);
	for (; n > 0; n--, r++) {
		if (rune >= r->first && rune <= r->last)
			return true;
	}
	return false;
}

/* The member's negation comes after the folding: (?i)[^k] has no K either. */
static bool item_has(const struct class_item *i, bool fold, uint32_t rune)
{
	uint32_t next = rune;

	do {
		if (item_lists(i, next))
			return !i->negated;
		next = unicode_fold(next);
	} while (fold && next != rune);
	return i->negated;
}

static bool look(const struct rune_class *c, uint32_t rune)
{
	for (uint32_t i = 0; i < c->n_items; i++) {
		if (item_has(&c->items[i], c->fold, rune))
			return !c->negated;
	}
	return c->negated;
}

bool class_has(const struct rune_class *c, uint32_t rune)
{
	return rune < 128 ? c->ascii[rune / 64] >> (rune % 64) & 1 : look(c, rune);
}

void class_finish(struct rune_class *c)
{
	c->ascii[0] = c->ascii[1] = 0;
	for (uint32_t r = 0; r < 128; r++)
		c->ascii[r / 64] |= (uint64_t)look(c, r) << (r % 64);
}

void tree_fini(struct tree *t)
{
	for (uint32_t i = 0; i < t->n_classes; i++)
		free(t->classes[i].items);
	for (uint32_t i = 0; i <= REGEX_GROUPS_MAX; i++)
		free(t->names[i]);
	free(t->classes);
	free(t->nodes);
	memset(t, 0, sizeof(*t));
}
