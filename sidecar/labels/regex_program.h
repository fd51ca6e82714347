/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of regex_*.c: the tree that the parser makes, and the program that runs. */
#ifndef RINGSIDE_LABELS_REGEX_PROGRAM_H
#define RINGSIDE_LABELS_REGEX_PROGRAM_H

#include "sidecar/labels/regex.h"
#include "sidecar/labels/unicode.h"

#define NODE_NONE	(-1)
#define REPEAT_MAX	1000		/* Go's bound on counts, nested ones multiplied */
#define HEIGHT_MAX	1000		/* Go's bound on nesting */
#define PROGRAM_MAX	65536		/* instructions */
#define COUNT_OPEN	(-1)		/* {n,} */

enum node_op {
	NODE_EMPTY, NODE_FAIL, NODE_RUNE, NODE_CLASS, NODE_ANY, NODE_ANY_NOT_NL, NODE_LINE_BEGIN, NODE_LINE_END,
	NODE_TEXT_BEGIN, NODE_TEXT_END, NODE_WORD, NODE_NOT_WORD, NODE_CAPTURE, NODE_STAR, NODE_PLUS, NODE_QUEST,
	NODE_REPEAT, NODE_CONCAT, NODE_ALTERNATE,
};

struct node {
	uint8_t		op;
	bool		lazy, nullable;	/* nullable: can match nothing */
	uint16_t	height;
	int32_t		last;		/* last child, NODE_NONE */
	int32_t		prev;		/* sibling before this one */
	int32_t		min, max;	/* REPEAT */
	uint32_t	value;		/* RUNE: code point; CLASS: index; CAPTURE: number */
};

struct rune_range { uint32_t first, last; };
/* One member of a class: some ranges, or a Unicode property. */
struct class_item {
	struct rune_range	 own;		/* when ranges is NULL and property is NULL */
	const struct rune_range	*ranges;
	uint32_t		 n_ranges;
	const struct unicode_property *property;
	bool			 negated;
};
struct rune_class {
	struct class_item *items;
	uint32_t	 n_items, cap_items;
	bool		 negated, fold;
	uint64_t	 ascii[2];	/* the answer for 0..127, once class_finish() ran */
};

struct tree {
	struct node	*nodes; uint32_t n_nodes, cap_nodes;
	struct rune_class *classes; uint32_t n_classes, cap_classes;
	char		*names[REGEX_GROUPS_MAX + 1];
	uint32_t	 groups;
	int32_t		 root;
};

enum inst_op { INST_RUNE, INST_CLASS, INST_ANY, INST_ANY_NOT_NL, INST_LINE_BEGIN, INST_LINE_END, INST_TEXT_BEGIN,
	INST_TEXT_END, INST_WORD, INST_NOT_WORD, INST_CAPTURE, INST_ALT, INST_FAIL, INST_MATCH };

struct inst {
	uint32_t	op;
	uint32_t	value;		/* RUNE, CLASS, CAPTURE: slot; ALT: number among the ALTs */
	uint32_t	out, other;	/* ALT: out is tried first */
};

struct regex {
	struct tree	 tree;		/* classes and names stay, nodes go */
	struct inst	*prog; uint32_t n_prog, cap_prog;
	uint32_t	 start, n_alts;
	bool		 anything;	/* (.*) or .*: matches all, group 1 is all */
};

/* regex_parse.c: 0, -EINVAL with why, -ENOMEM. */
int	regex_parse(struct tree *t, const char *text, size_t n, char why[REGEX_WHY_MAX]);
/* regex_class.c */
int	class_new(struct tree *t, bool fold, uint32_t *index);
int	class_add(struct rune_class *c, const struct class_item *item);
bool	class_has(const struct rune_class *c, uint32_t rune);
void	class_finish(struct rune_class *c);
void	tree_fini(struct tree *t);
/* `d`, `S`.. after a backslash, or `alpha`, `^alpha`; false: no such group. */
bool	class_perl(char letter, struct class_item *out);
bool	class_posix(const char *name, size_t n, struct class_item *out);
#endif
