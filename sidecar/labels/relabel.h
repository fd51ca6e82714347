/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that change or drop a label set: Prometheus's relabel_configs, action for action.  A rule is filled in
 * by a loader (yaml_labels.c), then checked once; what was checked runs without errors.
 */
#ifndef RINGSIDE_LABELS_RELABEL_H
#define RINGSIDE_LABELS_RELABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/labels/label_builder.h"
#include "sidecar/labels/regex.h"

#define RELABEL_RULES_MAX 1024
#define RELABEL_SOURCES_MAX 128
#define RELABEL_WHY_MAX 256
#define RELABEL_EXPANDED_MAX (64u << 10)	/* bytes that a template may become; beyond it the rule does nothing */

#define RELABEL_SEPARATOR ";"
#define RELABEL_REGEX "(.*)"
#define RELABEL_REPLACEMENT "$1"

enum relabel_action { RELABEL_REPLACE, RELABEL_KEEP, RELABEL_DROP, RELABEL_KEEPEQUAL, RELABEL_DROPEQUAL, RELABEL_HASHMOD,
	RELABEL_LABELMAP, RELABEL_LABELDROP, RELABEL_LABELKEEP, RELABEL_LOWERCASE, RELABEL_UPPERCASE };

struct relabel_rule {
	enum relabel_action action;
	char		**sources; uint32_t n_sources;
	bool		 sources_given, regex_given;	/* even when what was given is the default */
	char		*separator, *regex_text, *target, *replacement;	/* never NULL after init */
	uint64_t	 modulus;
	uint32_t	 line, column;			/* where it stands, 1..; 0 unknown */
	struct regex	*regex;				/* from relabel_rule_check() on */
	uint64_t	 matched;			/* how often it did something, or kept, or dropped */
};

struct relabel_rules {
	struct relabel_rule *rules; uint32_t n;
	bool		 legacy_names;	/* names are [A-Za-z_][A-Za-z0-9_]*, else any UTF-8 */
	uint64_t	 limit_hits;	/* matches or expansions that were given up for their size */
	uint64_t	 runs;
	struct regex_scratch scratch;
};

int	relabel_rule_init(struct relabel_rule *r);	/* the defaults; 0 or -ENOMEM */
void	relabel_rule_fini(struct relabel_rule *r);
/* Case does not count.  -EINVAL: no such action. */
int	relabel_action_parse(const char *name, enum relabel_action *out);
const char *relabel_action_name(enum relabel_action a);
bool	relabel_is_name(const char *s, size_t n, bool legacy);
/* 0 ready to run, -EINVAL with the reason, -ENOMEM. */
int	relabel_rule_check(struct relabel_rule *r, bool legacy_names, char why[RELABEL_WHY_MAX]);
void	relabel_rules_fini(struct relabel_rules *r);

/* What a rule did, for people: called once for each label that it set (value), or took away ("" value), and once
 * for a verdict (name "", keeps or drops) or when it did not match (name NULL). */
struct relabel_trace { void (*fn)(void *arg, const struct relabel_rule *r, struct text_span name, struct text_span value,
				  bool drops); void *arg; };
/* True: keep.  b is to be between label_builder_begin_rules() and reset.  trace may be NULL. */
bool	relabel_run(struct relabel_rules *rules, struct label_builder *b, const struct relabel_trace *trace);
#endif
