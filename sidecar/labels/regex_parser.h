/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the parser of regular expressions: what regex_parse.c and regex_escape.c share. */
#ifndef RINGSIDE_LABELS_REGEX_PARSER_H
#define RINGSIDE_LABELS_REGEX_PARSER_H

#include "sidecar/labels/regex_program.h"

enum { FLAG_FOLD = 1, FLAG_MULTILINE = 2, FLAG_DOT_NL = 4, FLAG_LAZY = 8, FLAG_ALL = 15 };

struct parser {
	struct tree	*t;
	const char	*p, *end;
	uint32_t	 flags;
	uint32_t	 depth;
	char		*why;
	bool		 repeated;	/* the item before was a repetition */
};

/* -EINVAL, with the reason in p->why. */
int	regex_wrong(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool	regex_next_is(const struct parser *p, const char *s);
/* Each takes what stands at p->p: 0, or -EINVAL. */
int	regex_take_rune(struct parser *p, uint32_t *rune);
int	regex_take_escape(struct parser *p, uint32_t *rune);	/* one code point that a backslash spells */
/* \d, \p{..}: 1 taken, 0 there is none. */
int	regex_take_group(struct parser *p, struct class_item *out);

#endif
