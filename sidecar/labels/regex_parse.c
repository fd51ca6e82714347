/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of Go's regular expressions.  What it does not know, it refuses.  Prometheus
 * pastes the text between
 * `^(?s:` and `)$`, so that a text with a `)` of its own half-escapes the anchors; here
 * that is an error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/regex_parser.h"

/* Children of a list that is being read. */
struct list { int32_t last; uint32_t n; };

/* --- nodes -------------------------------------------------------------------------- */

static struct node *node(struct parser *p, int32_t i)
{
	return &p->t->nodes[i];
}

static int32_t node_new(struct parser *p, enum node_op op)
{
	struct tree *t = p->t;

	if (t->n_nodes == t->cap_nodes) {
		uint32_t cap = t->cap_nodes ? t->cap_nodes * 2 : 64;
		struct node *grown = realloc(t->nodes, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->nodes = grown;
		t->cap_nodes = cap;
	}
	t->nodes[t->n_nodes] =
		(struct node){ .op = op,
			       .last = NODE_NONE,
			       .prev = NODE_NONE,
			       .height = 1,
			       .nullable = op != NODE_RUNE && op != NODE_CLASS &&
					   op != NODE_ANY && op != NODE_ANY_NOT_NL &&
					   op != NODE_FAIL };
	return (int32_t)t->n_nodes++;
}

static int push(struct parser *p, struct list *l, int32_t i)
{
	if (i < 0)
		return i;
	node(p, i)->prev = l->last;
	l->last = i;
	l->n++;
	return 0;
}

static int push_op(struct parser *p, struct list *l, enum node_op op)
{
	return push(p, l, node_new(p, op));
}

/* A node over the children of l; one child stands for itself, none is nothing at all. */
static int32_t collapse(struct parser *p, const struct list *l, enum node_op op)
{
	bool nullable = op == NODE_CONCAT;
	uint16_t height = 0;
	int32_t i;

	if (l->n == 1)
		return l->last;
	i = node_new(p, l->n ? op : NODE_EMPTY);
	if (i < 0 || !l->n)
		return i;
	for (int32_t c = l->last; c != NODE_NONE; c = node(p, c)->prev) {
		if (node(p, c)->height > height)
			height = node(p, c)->height;
		nullable = op == NODE_CONCAT ? nullable && node(p, c)->nullable
					     : nullable || node(p, c)->nullable;
	}
	node(p, i)->last = l->last;
	node(p, i)->nullable = nullable;
	node(p, i)->height = height + 1;
	return i;
}

static int push_rune(struct parser *p, struct list *l, uint32_t rune)
{
	struct class_item item = { .own = { rune, rune } };
	bool fold = p->flags & FLAG_FOLD && unicode_fold(rune) != rune;
	int32_t i = node_new(p, fold ? NODE_CLASS : NODE_RUNE);
	uint32_t index = rune;
	int err;

	if (i < 0)
		return i;
	if (fold) {
		err = class_new(p->t, true, &index);
		if (!err)
			err = class_add(&p->t->classes[index], &item);
		if (err)
			return err;
		class_finish(&p->t->classes[index]);
	}
	node(p, i)->value = index;
	return push(p, l, i);
}

/* --- repetition --------------------------------------------------------------------- */

/* 0 when counts multiply to more than left. */
static bool counts_fit(struct parser *p, int32_t i, int left)
{
	const struct node *n = node(p, i);

	if (n->op == NODE_REPEAT) {
		int m = n->max < 0 ? n->min : n->max;

		if (m == 0 && n->max == 0)
			return true;
		if (m > left)
			return false;
		if (m > 0)
			left /= m;
	}
	for (int32_t c = n->last; c != NODE_NONE; c = node(p, c)->prev) {
		if (!counts_fit(p, c, left))
			return false;
	}
	return true;
}

/* Puts a repetition over the last item of l. */
static int repeat(struct parser *p, struct list *l, enum node_op op, int min, int max)
{
	bool lazy = p->flags & FLAG_LAZY;
	int32_t sub = l->last, i, before;

	if (p->p < p->end && *p->p == '?') {
		p->p++;
		lazy = !lazy;
	}
	if (p->repeated)
		return regex_wrong(p, "one repetition right after another");
	if (sub == NODE_NONE)
		return regex_wrong(p, "a repetition of nothing");
	if (node(p, sub)->height >= HEIGHT_MAX)
		return regex_wrong(p, "nested too deeply");
	i = node_new(p, op);
	if (i < 0)
		return i;
	before = node(p, sub)->prev;
	node(p, sub)->prev = NODE_NONE;
	*node(p, i) = (struct node){ .op = (uint8_t)op,
				     .lazy = lazy,
				     .last = sub,
				     .prev = before,
				     .min = min,
				     .max = max,
				     .height = node(p, sub)->height + 1,
				     .nullable = op == NODE_PLUS || (op == NODE_REPEAT &&
								     min > 0)
							 ? node(p, sub)->nullable
							 : true };
	l->last = i;
	if (op == NODE_REPEAT && (min >= 2 || max >= 2) && !counts_fit(p, i, REPEAT_MAX))
		return regex_wrong(p, "counts beyond %d", REPEAT_MAX);
	return 0;
}

/* A count without leading zeroes; -1 none here.  Beyond any bound: REPEAT_MAX + 1. */
static int number(const char **s, const char *end)
{
	const char *at = *s;
	int v = 0;

	if (at == end || *at < '0' || *at > '9' ||
	    (*at == '0' && at + 1 < end && at[1] >= '0' && at[1] <= '9'))
		return -1;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		v = v > REPEAT_MAX ? v : v * 10 + *at - '0';
	*s = at;
	return v > REPEAT_MAX ? REPEAT_MAX + 1 : v;
}

/* {n}, {n,}, {n,m}: true and past it; false: the brace is a letter like others. */
static bool take_counts(struct parser *p, int *min, int *max)
{
	const char *s = p->p + 1;

	*min = *max = number(&s, p->end);
	if (*min < 0 || s == p->end)
		return false;
	if (*s == ',') {
		s++;
		*max = COUNT_OPEN;
		if (s == p->end)
			return false;
		if (*s != '}') {
			*max = number(&s, p->end);
			if (*max < 0)
				return false;
		}
	}
	if (s == p->end || *s != '}')
		return false;
	p->p = s + 1;
	return true;
}

static int parse_counted(struct parser *p, struct list *l, bool *repeated)
{
	int min, max;

	if (!take_counts(p, &min, &max)) {
		p->p++;
		return push_rune(p, l, '{');
	}
	if (min > REPEAT_MAX || max > REPEAT_MAX)
		return regex_wrong(p, "counts beyond %d", REPEAT_MAX);
	if (max != COUNT_OPEN && min > max)
		return regex_wrong(p, "{%d,%d}: the first count is larger", min, max);
	*repeated = true;
	return repeat(p, l, NODE_REPEAT, min, max);
}

/* --- classes ------------------------------------------------------------------------ */

static int class_rune(struct parser *p, uint32_t *rune)
{
	if (p->p == p->end)
		return regex_wrong(p, "a [ without its ]");
	return *p->p == '\\' ? regex_take_escape(p, rune) : regex_take_rune(p, rune);
}

/* [:alpha:]: 1 taken; without its end it is a letter like others. */
static int take_posix(struct parser *p, struct class_item *out)
{
	const char *name = p->p + 2, *stop;

	if (!regex_next_is(p, "[:") || p->end - p->p < 3)
		return 0;
	stop = memmem(name, (size_t)(p->end - name), ":]", 2);
	if (!stop)
		return 0;
	if (!class_posix(name, (size_t)(stop - name), out))
		return regex_wrong(p, "[:..:]: no such class");
	p->p = stop + 2;
	return 1;
}

static int class_member(struct parser *p, struct class_item *item)
{
	int err = take_posix(p, item);

	if (!err)
		err = regex_take_group(p, item);
	if (err)
		return err < 0 ? err : 0;
	*item = (struct class_item){ 0 };
	if (class_rune(p, &item->own.first))
		return -EINVAL;
	item->own.last = item->own.first;
	if (p->end - p->p < 2 || p->p[0] != '-' || p->p[1] == ']')
		return 0;
	p->p++;
	if (class_rune(p, &item->own.last))
		return -EINVAL;
	return item->own.last < item->own.first
		       ? regex_wrong(p, "a range that runs backwards")
		       : 0;
}

static int parse_class(struct parser *p, struct list *l)
{
	struct class_item item;
	uint32_t index;
	bool first = true;
	int32_t i;
	int err = class_new(p->t, p->flags & FLAG_FOLD, &index);

	p->p++;
	if (!err && p->p < p->end && *p->p == '^') {
		p->t->classes[index].negated = true;
		p->p++;
	}
	for (; !err && (p->p == p->end || *p->p != ']' || first); first = false) {
		err = class_member(p, &item);
		if (!err)
			err = class_add(&p->t->classes[index], &item);
	}
	if (err)
		return err;
	p->p++;
	class_finish(&p->t->classes[index]);
	i = node_new(p, NODE_CLASS);
	if (i >= 0)
		node(p, i)->value = index;
	return push(p, l, i);
}

static int push_group(struct parser *p, struct list *l, const struct class_item *item)
{
	uint32_t index;
	int32_t i;
	int err = class_new(p->t, p->flags & FLAG_FOLD, &index);

	if (!err)
		err = class_add(&p->t->classes[index], item);
	if (err)
		return err;
	class_finish(&p->t->classes[index]);
	i = node_new(p, NODE_CLASS);
	if (i >= 0)
		node(p, i)->value = index;
	return push(p, l, i);
}

/* --- groups ------------------------------------------------------------------------- */

static int32_t parse_alternation(struct parser *p);

static bool is_word(char c)
{
	return c == '_' || unicode_is_letter_or_digit((unsigned char)c);
}

/* (?P<name>, (?<name>: at the name. */
static int take_name(struct parser *p, uint32_t group)
{
	const char *stop = memchr(p->p, '>', (size_t)(p->end - p->p));
	size_t n = stop ? (size_t)(stop - p->p) : 0;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)p->p[i] >= 0x80 || !is_word(p->p[i]))
			n = 0;
	}
	if (!n)
		return regex_wrong(
			p,
			"a group's name must be letters, digits and _, and end with >");
	p->t->names[group] = strndup(p->p, n);
	if (!p->t->names[group])
		return -ENOMEM;
	p->p = stop + 1;
	return 0;
}

static uint32_t flag_of(char c)
{
	return c == 'i'	  ? FLAG_FOLD
	       : c == 'm' ? FLAG_MULTILINE
	       : c == 's' ? FLAG_DOT_NL
	       : c == 'U' ? FLAG_LAZY
			  : 0;
}

/* (?flags) or (?flags: after the question mark; gives the character that ended it. */
static int take_flags(struct parser *p, uint32_t *flags, char *stop)
{
	uint32_t set = p->flags;
	bool off = false, saw = false;

	for (; p->p < p->end; p->p++) {
		uint32_t f = flag_of(*p->p);

		if (f) {
			set = off ? set & ~f : set | f;
			saw = true;
		} else if (*p->p == '-' && !off) {
			off = true;
			saw = false;
		} else if ((*p->p == ':' || *p->p == ')') && (!off || saw)) {
			*flags = set;
			*stop = *p->p++;
			return 0;
		} else {
			break;
		}
	}
	return regex_wrong(
		p,
		"(?: not a group or flags that rules know; no look-around, no comments");
}

static int parse_inside(struct parser *p, struct list *l, uint32_t outer_flags,
			uint32_t group)
{
	int32_t inside, i;

	if (++p->depth > HEIGHT_MAX)
		return regex_wrong(p, "nested too deeply");
	inside = parse_alternation(p);
	p->depth--;
	if (inside < 0)
		return inside;
	if (p->p == p->end)
		return regex_wrong(p, "a ( without its )");
	p->p++;
	p->flags = outer_flags;
	if (!group)
		return push(p, l, inside);
	if (node(p, inside)->height >= HEIGHT_MAX)
		return regex_wrong(p, "nested too deeply");
	i = node_new(p, NODE_CAPTURE);
	if (i < 0)
		return i;
	node(p, i)->last = inside;
	node(p, i)->value = group;
	node(p, i)->nullable = node(p, inside)->nullable;
	node(p, i)->height = node(p, inside)->height + 1;
	return push(p, l, i);
}

static int parse_group(struct parser *p, struct list *l)
{
	uint32_t flags = p->flags, outer = p->flags, group = 0;
	bool named = regex_next_is(p, "(?P<") || regex_next_is(p, "(?<");
	char stop = ':';
	int err = 0;

	if (named || !regex_next_is(p, "(?")) {
		if (p->t->groups == REGEX_GROUPS_MAX)
			return regex_wrong(p, "more than %d groups", REGEX_GROUPS_MAX);
		group = ++p->t->groups;
		p->p += named ? p->p[2] == 'P' ? 4 : 3 : 1;
		if (named)
			err = take_name(p, group);
	} else {
		p->p += 2;
		err = take_flags(p, &flags, &stop);
	}
	if (err)
		return err;
	p->flags = flags;
	return stop == ')' ? 0 : parse_inside(p, l, outer, group);
}

/* --- items -------------------------------------------------------------------------- */

/* \Q..\E; without its end it would swallow what Prometheus pastes after the text. */
static int parse_quoted(struct parser *p, struct list *l)
{
	const char *stop = memmem(p->p + 2, (size_t)(p->end - p->p - 2), "\\E", 2);
	uint32_t rune;

	if (!stop)
		return regex_wrong(p, "\\Q without its \\E");
	for (p->p += 2; p->p < stop; ) {
		if (regex_take_rune(p, &rune))
			return -EINVAL;
		if (push_rune(p, l, rune))
			return -ENOMEM;
	}
	p->p += 2;
	return 0;
}

static int parse_backslash(struct parser *p, struct list *l)
{
	static const struct { char letter; enum node_op op;
	} assertions[] = {
		{ 'A', NODE_TEXT_BEGIN },
		{ 'z', NODE_TEXT_END },
		{ 'b', NODE_WORD },
		{ 'B', NODE_NOT_WORD },
	};
	struct class_item item;
	uint32_t rune;
	int err;

	for (size_t i = 0;
	     p->end - p->p >= 2 && i < sizeof(assertions) / sizeof(assertions[0]); i++) {
		if (p->p[1] != assertions[i].letter)
			continue;
		p->p += 2;
		return push_op(p, l, assertions[i].op);
	}
	if (regex_next_is(p, "\\Q"))
		return parse_quoted(p, l);
	err = regex_take_group(p, &item);
	if (err)
		return err < 0 ? err : push_group(p, l, &item);
	err = regex_take_escape(p, &rune);
	return err ? err : push_rune(p, l, rune);
}

static int parse_item(struct parser *p, struct list *l, bool *repeated)
{
	uint32_t rune;
	char c = *p->p;

	switch (c) {
	case '(':
		return parse_group(p, l);
	case '[':
		return parse_class(p, l);
	case '{':
		return parse_counted(p, l, repeated);
	case '\\':
		return parse_backslash(p, l);
	case '^':
		p->p++;
		return push_op(p, l,
			       p->flags & FLAG_MULTILINE ? NODE_LINE_BEGIN
							 : NODE_TEXT_BEGIN);
	case '$':
		p->p++;
		return push_op(p, l,
			       p->flags & FLAG_MULTILINE ? NODE_LINE_END : NODE_TEXT_END);
	case '.':
		p->p++;
		return push_op(p, l, p->flags & FLAG_DOT_NL ? NODE_ANY : NODE_ANY_NOT_NL);
	case '*':
	case '+':
	case '?':
		p->p++;
		*repeated = true;
		return repeat(p, l,
			      c == '*'	 ? NODE_STAR
			      : c == '+' ? NODE_PLUS
					 : NODE_QUEST,
			      0, 0);
	default:
		return regex_take_rune(p, &rune) ? -EINVAL : push_rune(p, l, rune);
	}
}

static int32_t parse_concat(struct parser *p)
{
	struct list l = { .last = NODE_NONE };
	bool repeated;
	int err;

	p->repeated = false;
	while (p->p < p->end && *p->p != '|' && *p->p != ')') {
		repeated = false;
		err = parse_item(p, &l, &repeated);
		if (err)
			return err;
		p->repeated = repeated;
	}
	return collapse(p, &l, NODE_CONCAT);
}

static int32_t parse_alternation(struct parser *p)
{
	struct list l = { .last = NODE_NONE };
	int err;

	for (;;) {
		err = push(p, &l, parse_concat(p));
		if (err)
			return err;
		if (p->p == p->end || *p->p != '|')
			return collapse(p, &l, NODE_ALTERNATE);
		p->p++;
	}
}

int regex_parse(struct tree *t, const char *text, size_t n, char why[REGEX_WHY_MAX])
{
	struct parser p = {
		.t = t, .p = text, .end = text + n, .flags = FLAG_DOT_NL, .why = why
	};

	if (n > REGEX_TEXT_MAX)
		return regex_wrong(&p, "longer than %d bytes", REGEX_TEXT_MAX);
	t->root = parse_alternation(&p);
	if (t->root < 0)
		return t->root;
	if (p.p < p.end)
		return regex_wrong(&p, "a ) without its (");
	return node(&p, t->root)->height > HEIGHT_MAX
		       ? regex_wrong(&p, "nested too deeply")
		       : 0;
}
