/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matcher: depth first, preferred way first, what is left to try on a stack of its
 * own.  An ALT that was visited at this place of the text is not entered again: it
 * failed, or it is the beginning of a loop round nothing.  So a match costs at most ALTs
 * times bytes steps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/regex_program.h"

#define STACK_MAX 262144u	/* entries: 4 MiB */
#define VISITED_MAX (1u << 20)	/* words: 8 MiB, touched as far as is used */
#define KEEP_WORDS 32768u	/* scratch that stays between matches */
#define NO_SLOT (-1)

/* To try: program counter and place; or, with a slot, a capture to put back. */
struct job { uint32_t pc; int32_t slot; int64_t at; };

struct run {
	const struct regex *r;
	struct regex_scratch *s;
	const char	*text;
	size_t		 n;
	int64_t		 slots[2 * (REGEX_GROUPS_MAX + 1)];
	uint32_t	 depth, steps;
};

static int reserve(struct regex_scratch *s, size_t words)
{
	if (words > VISITED_MAX)
		return -E2BIG;
	if (words > s->n_visited) {
		free(s->visited);
		s->visited = calloc(words, sizeof(*s->visited));
		s->n_visited = s->visited ? words : 0;
		return s->visited ? 0 : -ENOMEM;
	}
	memset(s->visited, 0, words * sizeof(*s->visited));
	return 0;
}

static int push(struct run *m, uint32_t pc, int32_t slot, int64_t at)
{
	struct regex_scratch *s = m->s;

	if (m->depth == s->cap_stack) {
		size_t cap = s->cap_stack ? s->cap_stack * 2 : 256;
		void *grown;

		if (cap > STACK_MAX)
			return -E2BIG;
		grown = realloc(s->stack, cap * sizeof(struct job));
		if (!grown)
			return -ENOMEM;
		s->stack = grown;
		s->cap_stack = cap;
	}
	((struct job *)s->stack)[m->depth++] = (struct job){ pc, slot, at };
	return 0;
}

static bool is_word(const struct run *m, size_t at)
{
	unsigned char c = at < m->n ? (unsigned char)m->text[at] : 0;

	return c == '_' || (c < 0x80 && unicode_is_letter_or_digit(c));
}

static bool at_word_edge(const struct run *m, size_t at)
{
	return (at > 0 && is_word(m, at - 1)) != is_word(m, at);
}

static bool holds(const struct run *m, enum inst_op op, size_t at)
{
	switch (op) {
	case INST_LINE_BEGIN:
		return at == 0 || m->text[at - 1] == '\n';
	case INST_LINE_END:
		return at == m->n || m->text[at] == '\n';
	case INST_TEXT_BEGIN:
		return at == 0;
	case INST_TEXT_END:
		return at == m->n;
	case INST_WORD:
		return at_word_edge(m, at);
	default:
		return !at_word_edge(m, at);
	}
}

/* Bytes that one code point took, 0: it does not fit. */
static size_t consume(const struct run *m, const struct inst *i, size_t at)
{
	uint32_t rune;
	size_t len;
	bool fits, valid;

	if (at == m->n)
		return 0;
	len = unicode_decode(m->text + at, m->n - at, &rune, &valid);
	switch (i->op) {
	case INST_RUNE:
		fits = rune == i->value;
		break;
	case INST_CLASS:
		fits = class_has(&m->r->tree.classes[i->value], rune);
		break;
	case INST_ANY_NOT_NL:
		fits = rune != '\n';
		break;
	default:
		fits = true;
	}
	return fits ? len : 0;
}

/* The first visit of ALT number alt at this place. */
static bool visit(struct run *m, uint32_t alt, size_t at)
{
	size_t bit = at * m->r->n_alts + alt;
	uint64_t mask = 1ull << (bit % 64);

	if (m->s->visited[bit / 64] & mask)
		return false;
	m->s->visited[bit / 64] |= mask;
	return true;
}

/* Follows one way until it matches (1) or fails (0). */
static int follow(struct run *m, uint32_t pc, size_t at)
{
	for (;;) {
		const struct inst *i = &m->r->prog[pc];
		size_t len;
		int err;

		if (++m->steps > REGEX_STEPS_MAX)
			return -E2BIG;
		switch (i->op) {
		case INST_MATCH:
			return 1;
		case INST_FAIL:
			return 0;
		case INST_ALT:
			if (!visit(m, i->value, at))
				return 0;
			err = push(m, i->other, NO_SLOT, (int64_t)at);
			if (err)
				return err;
			break;
		case INST_CAPTURE:
			err = m->depth ? push(m, 0, (int32_t)i->value, m->slots[i->value])
				       : 0;
			if (err)
				return err;
			m->slots[i->value] = (int64_t)at;
			break;
		case INST_RUNE:
		case INST_CLASS:
		case INST_ANY:
		case INST_ANY_NOT_NL:
			len = consume(m, i, at);
			if (!len)
				return 0;
			at += len;
			break;
		default:
			if (!holds(m, (enum inst_op)i->op, at))
				return 0;
		}
		pc = i->out;
	}
}

static int run(struct run *m)
{
	int found = follow(m, m->r->start, 0);

	while (!found && m->depth) {
		struct job j = ((struct job *)m->s->stack)[--m->depth];

		if (j.slot != NO_SLOT)
			m->slots[j.slot] = j.at;
		else
			found = follow(m, j.pc, (size_t)j.at);
	}
	return found;
}

static void give_back(struct regex_scratch *s)
{
	if (s->n_visited > KEEP_WORDS || s->cap_stack > KEEP_WORDS)
		regex_scratch_fini(s);
}

int regex_match(const struct regex *r, struct regex_scratch *s, const char *text,
		size_t n, struct regex_span *spans)
{
	struct run m = { .r = r, .s = s, .text = text, .n = n };
	uint32_t groups = r->tree.groups;
	int found;

	if (n > REGEX_INPUT_MAX)
		return -E2BIG;
	if (r->anything) {
		for (uint32_t i = 0; spans && i < 2; i++)
			spans[i] = (struct regex_span){ 0, (int64_t)n };
		return 1;
	}
	found = reserve(s, ((n + 1) * r->n_alts + 63) / 64 + 1);
	if (found)
		return found;
	memset(m.slots, 0xff, 2 * (groups + 1) * sizeof(m.slots[0]));
	found = run(&m);
	for (uint32_t i = 1; found == 1 && spans && i <= groups; i++)
		spans[i] = (struct regex_span){ m.slots[2 * i], m.slots[2 * i + 1] };
	if (found == 1 && spans)
		spans[0] = (struct regex_span){ 0, (int64_t)n };
	give_back(s);
	return found;
}

void regex_scratch_fini(struct regex_scratch *s)
{
	free(s->visited);
	free(s->stack);
	memset(s, 0, sizeof(*s));
}
