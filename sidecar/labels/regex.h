/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions of relabel rules: the syntax and the matches of Go's regexp (RE2), because rules come
 * from Prometheus and must mean here what they mean there.
 *
 * The text goes through a parser of that grammar, which refuses what Go refuses (look-around, back-references,
 * a++, counts beyond 1000...), and into a small program.  The matcher tries the alternatives of that program in
 * order and never visits a state twice at one place of the text, so that its time is linear in the text's
 * length, whatever the rule: no pattern is catastrophic.  PCRE2 serves for Unicode properties alone; as a
 * matcher it takes exponential time, and gives other groups than Go where a repeated part matches nothing.
 *
 * A match always covers the whole text, `.` matches a newline, `^` and `$` are the ends of the text.
 */
#ifndef RINGSIDE_LABELS_REGEX_H
#define RINGSIDE_LABELS_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGEX_TEXT_MAX	 8192		/* bytes of a pattern */
#define REGEX_GROUPS_MAX 255		/* groups of a pattern */
#define REGEX_WHY_MAX	 160
#define REGEX_INPUT_MAX	 (2u << 20)	/* bytes matched against; beyond: -E2BIG */
#define REGEX_STEPS_MAX	 2000000u	/* of one match; beyond: -E2BIG, some 10 ms */

struct regex;
/* Room that matches share; zeroed at first, one thread at a time. */
struct regex_scratch { uint64_t *visited; size_t n_visited; void *stack; size_t cap_stack; };
struct regex_span { int64_t start, end; };	/* -1: the group took no part */

/* 0; -EINVAL with a reason in why; -ENOMEM. */
int	regex_compile(struct regex **out, const char *text, size_t n, char why[REGEX_WHY_MAX]);
void	regex_free(struct regex *r);
uint32_t regex_groups(const struct regex *r);		/* without the whole match */
/* Name of group i (1..), "" when it has none. */
const char *regex_group_name(const struct regex *r, uint32_t i);
/*
 * 1 match, 0 none, -E2BIG: more work than is allowed, -ENOMEM.  spans: NULL, or room for groups + 1; [0] is
 * the whole match.  Bytes that are not UTF-8 count as U+FFFD each.
 */
int	regex_match(const struct regex *r, struct regex_scratch *s, const char *text, size_t n,
		    struct regex_span *spans);
void	regex_scratch_fini(struct regex_scratch *s);
#endif
