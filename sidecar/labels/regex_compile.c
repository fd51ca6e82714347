/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tree to a program.  Written from the end to the beginning: each part is given
 * where to go on.  The order of the two ways out of each ALT, and how counts are
 * unrolled, decide which groups a match gives; both are as in Go.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/regex_program.h"

#define NO_ROOM UINT32_MAX

static uint32_t emit(struct regex *r, int32_t i, uint32_t next);

static uint32_t inst(struct regex *r, enum inst_op op, uint32_t value, uint32_t out,
		     uint32_t other)
{
	if (out == NO_ROOM || other == NO_ROOM || r->n_prog == PROGRAM_MAX)
		return NO_ROOM;
	if (r->n_prog == r->cap_prog) {
		uint32_t cap = r->cap_prog ? r->cap_prog * 2 : 32;
		struct inst *grown = realloc(r->prog, cap * sizeof(*grown));

		if (!grown)
			return NO_ROOM;
		r->prog = grown;
		r->cap_prog = cap;
	}
	r->prog[r->n_prog] =
		(struct inst){ .op = op, .value = value, .out = out, .other = other };
	return r->n_prog++;
}

static uint32_t alt(struct regex *r, uint32_t body, uint32_t next, bool lazy)
{
	return inst(r, INST_ALT, r->n_alts++, lazy ? next : body, lazy ? body : next);
}

/* What node i comes to once its counts are simplified: x{0,} is a STAR. */
static enum node_op plain_op(const struct regex *r, int32_t i, bool *lazy)
{
	const struct node *n = &r->tree.nodes[i];

	*lazy = n->lazy;
	if (n->op != NODE_REPEAT)
		return (enum node_op)n->op;
	if (n->max == 0)
		return NODE_EMPTY;
	if (n->min == 1 && n->max == 1)
		return plain_op(r, n->last, lazy);
	if (n->max == COUNT_OPEN && n->min < 2)
		return n->min ? NODE_PLUS : NODE_STAR;
	return n->min ? NODE_REPEAT : NODE_QUEST;
}

/* x** is x*, also with parentheses or counts in between; a repetition of nothing is
 * nothing. */
static bool is_idle(const struct regex *r, int32_t sub, enum node_op op, bool lazy)
{
	bool sub_lazy;
	enum node_op sub_op = plain_op(r, sub, &sub_lazy);

	return sub_op == NODE_EMPTY || (sub_op == op && sub_lazy == lazy);
}

/* x+ : gives the body's beginning.  *again: the ALT after it. */
static uint32_t emit_loop(struct regex *r, int32_t sub, uint32_t next, bool lazy,
			  uint32_t *again)
{
	uint32_t loop = alt(r, next, next, false), body;

	*again = loop;
	if (loop == NO_ROOM)
		return NO_ROOM;
	body = emit(r, sub, loop);
	if (body == NO_ROOM)
		return NO_ROOM;
	if (lazy)
		r->prog[loop].other = body;
	else
		r->prog[loop].out = body;
	return body;
}

/* A part that may match nothing is (x+)?: only so the order of preference holds. */
static uint32_t emit_star(struct regex *r, int32_t sub, uint32_t next, bool lazy)
{
	uint32_t loop, body = emit_loop(r, sub, next, lazy, &loop);

	if (body == NO_ROOM)
		return NO_ROOM;
	return r->tree.nodes[sub].nullable ? alt(r, body, next, lazy) : loop;
}

/* x{2,4} is xx(x(x)?)?, x{2,} is xx+. */
static uint32_t emit_repeat(struct regex *r, const struct node *n, uint32_t next)
{
	uint32_t at = next, loop;
	int copies = n->min;

	if (n->max == 0)
		return next;
	if (n->max == COUNT_OPEN && n->min < 2 &&
	    is_idle(r, n->last, n->min ? NODE_PLUS : NODE_STAR, n->lazy))
		return emit(r, n->last, next);
	if (n->max == COUNT_OPEN && n->min == 0)
		return emit_star(r, n->last, next, n->lazy);
	if (n->max == COUNT_OPEN) {
		at = emit_loop(r, n->last, next, n->lazy, &loop);
		copies--;
	}
	for (int i = n->min; n->max != COUNT_OPEN && i < n->max && at != NO_ROOM; i++) {
		at = emit(r, n->last, at);
		at = at == NO_ROOM ? at : alt(r, at, next, n->lazy);
	}
	for (int i = 0; i < copies && at != NO_ROOM; i++)
		at = emit(r, n->last, at);
	return at;
}

static uint32_t emit_concat(struct regex *r, const struct node *n, uint32_t next)
{
	for (int32_t c = n->last; c != NODE_NONE && next != NO_ROOM;
	     c = r->tree.nodes[c].prev)
		next = emit(r, c, next);
	return next;
}

static uint32_t emit_alternate(struct regex *r, const struct node *n, uint32_t next)
{
	uint32_t at = emit(r, n->last, next);

	for (int32_t c = r->tree.nodes[n->last].prev; c != NODE_NONE && at != NO_ROOM;
	     c = r->tree.nodes[c].prev) {
		uint32_t one = emit(r, c, next);

		at = one == NO_ROOM ? one : alt(r, one, at, false);
	}
	return at;
}

static uint32_t emit_capture(struct regex *r, const struct node *n, uint32_t next)
{
	uint32_t at = inst(r, INST_CAPTURE, n->value * 2 + 1, next, 0);

	if (at != NO_ROOM)
		at = emit(r, n->last, at);
	return inst(r, INST_CAPTURE, n->value * 2, at, 0);
}

static uint32_t emit_quest(struct regex *r, const struct node *n, uint32_t next)
{
	uint32_t body = emit(r, n->last, next);

	return body == NO_ROOM ? body : alt(r, body, next, n->lazy);
}

static uint32_t emit(struct regex *r, int32_t i, uint32_t next)
{
	static const uint8_t simple[] = {
		[NODE_RUNE] = INST_RUNE,
		[NODE_CLASS] = INST_CLASS,
		[NODE_ANY] = INST_ANY,
		[NODE_ANY_NOT_NL] = INST_ANY_NOT_NL,
		[NODE_LINE_BEGIN] = INST_LINE_BEGIN,
		[NODE_LINE_END] = INST_LINE_END,
		[NODE_TEXT_BEGIN] = INST_TEXT_BEGIN,
		[NODE_TEXT_END] = INST_TEXT_END,
		[NODE_WORD] = INST_WORD,
		[NODE_NOT_WORD] = INST_NOT_WORD,
		[NODE_FAIL] = INST_FAIL,
	};
	const struct node *n = &r->tree.nodes[i];
	uint32_t loop;

	if ((n->op == NODE_STAR || n->op == NODE_PLUS || n->op == NODE_QUEST) &&
	    is_idle(r, n->last, (enum node_op)n->op, n->lazy))
		return emit(r, n->last, next);
	switch (n->op) {
	case NODE_EMPTY:
		return next;
	case NODE_CAPTURE:
		return emit_capture(r, n, next);
	case NODE_STAR:
		return emit_star(r, n->last, next, n->lazy);
	case NODE_PLUS:
		return emit_loop(r, n->last, next, n->lazy, &loop);
	case NODE_QUEST:
		return emit_quest(r, n, next);
	case NODE_REPEAT:
		return emit_repeat(r, n, next);
	case NODE_CONCAT:
		return emit_concat(r, n, next);
	case NODE_ALTERNATE:
		return emit_alternate(r, n, next);
	default:
		return inst(r, simple[n->op], n->value, next, 0);
	}
}

static int make_program(struct regex *r, char *why)
{
	uint32_t at = inst(r, INST_MATCH, 0, 0, 0);

	at = inst(r, INST_TEXT_END, 0, at, 0);
	if (at != NO_ROOM)
		at = emit(r, r->tree.root, at);
	if (at == NO_ROOM) {
		snprintf(why, REGEX_WHY_MAX,
			 "more than %d steps when its counts are written out",
			 PROGRAM_MAX);
		return -EINVAL;
	}
	r->start = at;
	free(r->tree.nodes);
	r->tree.nodes = NULL;
	return 0;
}

int regex_compile(struct regex **out, const char *text, size_t n, char why[REGEX_WHY_MAX])
{
	struct regex *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	snprintf(why, REGEX_WHY_MAX, "out of memory");
	if (!r)
		return err;
	err = regex_parse(&r->tree, text, n, why);
	if (!err)
		err = make_program(r, why);
	if (err) {
		regex_free(r);
		return err;
	}
	r->anything = n == 4 && !memcmp(text, "(.*)", 4);
	*out = r;
	return 0;
}

void regex_free(struct regex *r)
{
	if (!r)
		return;
	tree_fini(&r->tree);
	free(r->prog);
	free(r);
}

uint32_t regex_groups(const struct regex *r)
{
	return r->tree.groups;
}

const char *regex_group_name(const struct regex *r, uint32_t i)
{
	return i <= r->tree.groups && r->tree.names[i] ? r->tree.names[i] : "";
}
