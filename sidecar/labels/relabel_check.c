/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a rule wrong, told before it runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/relabel.h"
#include "sidecar/labels/unicode.h"

static const char *const action_names[] = {
	[RELABEL_REPLACE] = "replace",	   [RELABEL_KEEP] = "keep",
	[RELABEL_DROP] = "drop",	   [RELABEL_KEEPEQUAL] = "keepequal",
	[RELABEL_DROPEQUAL] = "dropequal", [RELABEL_HASHMOD] = "hashmod",
	[RELABEL_LABELMAP] = "labelmap",   [RELABEL_LABELDROP] = "labeldrop",
	[RELABEL_LABELKEEP] = "labelkeep", [RELABEL_LOWERCASE] = "lowercase",
	[RELABEL_UPPERCASE] = "uppercase",
};

#define BIT(action) (1u << (action))
#define EQUALS	(BIT(RELABEL_KEEPEQUAL) | BIT(RELABEL_DROPEQUAL))
#define CASES	(BIT(RELABEL_LOWERCASE) | BIT(RELABEL_UPPERCASE))
#define BY_NAME	(BIT(RELABEL_LABELDROP) | BIT(RELABEL_LABELKEEP))

int relabel_action_parse(const char *name, enum relabel_action *out)
{
	for (size_t i = 0; i < sizeof(action_names) / sizeof(action_names[0]); i++) {
		if (strcasecmp(name, action_names[i]))
			continue;
		*out = (enum relabel_action)i;
		return 0;
	}
	return -EINVAL;
}

const char *relabel_action_name(enum relabel_action a)
{
	return action_names[a];
}

int relabel_rule_init(struct relabel_rule *r)
{
	memset(r, 0, sizeof(*r));
	r->separator = strdup(RELABEL_SEPARATOR);
	r->regex_text = strdup(RELABEL_REGEX);
	r->target = strdup("");
	r->replacement = strdup(RELABEL_REPLACEMENT);
	if (r->separator && r->regex_text && r->target && r->replacement)
		return 0;
	relabel_rule_fini(r);
	return -ENOMEM;
}

void relabel_rule_fini(struct relabel_rule *r)
{
	for (uint32_t i = 0; i < r->n_sources; i++)
		free(r->sources[i]);
	free(r->sources);
	free(r->separator);
	free(r->regex_text);
	free(r->target);
	free(r->replacement);
	regex_free(r->regex);
	memset(r, 0, sizeof(*r));
}

void relabel_rules_fini(struct relabel_rules *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		relabel_rule_fini(&r->rules[i]);
	free(r->rules);
	regex_scratch_fini(&r->scratch);
	memset(r, 0, sizeof(*r));
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool relabel_is_name(const char *s, size_t n, bool legacy)
{
	if (!n || !legacy)
		return n && unicode_is_utf8(s, n);
	for (size_t i = 0; i < n; i++) {
		if (!is_word(s[i]) || (i == 0 && is_digit(s[i])))
			return false;
	}
	return true;
}

/* Word characters and $w, ${w}; no digit at the beginning. */
static bool is_legacy_template(const char *s)
{
	if (!*s || is_digit(*s))
		return false;
	while (*s) {
		bool reference = *s == '$', brace = reference && s[1] == '{';
		const char *name = s + reference + brace, *end = name;

		while (is_word(*end))
			end++;
		if (end == name || (brace && *end != '}'))
			return false;
		s = end + brace;
	}
	return true;
}

static bool is_template(const char *s, bool legacy)
{
	return legacy ? is_legacy_template(s) : relabel_is_name(s, strlen(s), false);
}

static int wrong(char *why, const struct relabel_rule *r, const char *what)
{
	snprintf(why, RELABEL_WHY_MAX, "action %s: %s", action_names[r->action], what);
	return -EINVAL;
}

static int check_target(const struct relabel_rule *r, bool legacy, char *why)
{
	uint32_t a = BIT(r->action);
	bool template = r->action == RELABEL_REPLACE && strchr(r->target, '$');

	if (!(a & (EQUALS | CASES | BIT(RELABEL_REPLACE) | BIT(RELABEL_HASHMOD))))
		return 0;
	if (!*r->target)
		return wrong(why, r, "target_label is missing");
	if (template ? !is_template(r->target, legacy)
		     : !relabel_is_name(r->target, strlen(r->target), legacy))
		return wrong(why, r, "target_label is not the name of a label");
	return 0;
}

/* "Set" is judged by the value; a regex and a source list count when they were written at
 * all. */
static int check_superfluous(const struct relabel_rule *r, char *why)
{
	bool separator = strcmp(r->separator, RELABEL_SEPARATOR),
	     replacement = strcmp(r->replacement, RELABEL_REPLACEMENT);
	uint32_t a = BIT(r->action);

	if (a & (EQUALS | CASES) && replacement)
		return wrong(why, r, "replacement cannot be set");
	if (a & EQUALS && (r->regex_given || r->modulus || separator))
		return wrong(why, r, "only source_labels and target_label can be set");
	if (a & BY_NAME &&
	    (r->sources_given || *r->target || r->modulus || separator || replacement))
		return wrong(why, r, "only regex can be set");
	return 0;
}

int relabel_rule_check(struct relabel_rule *r, bool legacy, char why[RELABEL_WHY_MAX])
{
	char reason[REGEX_WHY_MAX];
	int err;

	for (uint32_t i = 0; i < r->n_sources; i++) {
		if (!relabel_is_name(r->sources[i], strlen(r->sources[i]), false))	/* whatever the scheme */
			return wrong(
				why, r,
				"source_labels holds what is not the name of a label");
	}
	if (r->action == RELABEL_HASHMOD && !r->modulus)
		return wrong(why, r, "modulus is missing");
	err = check_target(r, legacy, why);
	if (!err)
		err = check_superfluous(r, why);
	if (!err && r->action == RELABEL_LABELMAP && !is_template(r->replacement, legacy))
		err = wrong(why, r, "replacement does not make the name of a label");
	if (err)
		return err;
	err = regex_compile(&r->regex, r->regex_text, strlen(r->regex_text), reason);
	if (err)
		snprintf(why, RELABEL_WHY_MAX, "regex: %s", reason);
	return err;
}
