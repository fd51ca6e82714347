/* SPDX-License-Identifier: Apache-2.0 */
/* A regex and a text, with a NUL between; the groups of a match must lie within the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/relabel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const struct regex *r, const char *text, size_t n)
{
	struct regex_span spans[REGEX_GROUPS_MAX + 1];
	struct regex_scratch scratch = { .n_visited = 0 };
	int found = regex_match(r, &scratch, text, n, spans);

	for (uint32_t i = 0; found == 1 && i <= regex_groups(r); i++) {
		if (spans[i].end > (int64_t)n ||
		    (spans[i].start >= 0 && spans[i].end >= 0 &&
		     spans[i].start > spans[i].end))
			abort();
	}
	if (found == 1 && (spans[0].start != 0 || spans[0].end != (int64_t)n))
		abort();
	if (found != regex_match(r, &scratch, text, n, NULL))
		abort();
	regex_scratch_fini(&scratch);
}

/* The same two as template and value of a whole rule. */
static void run(const char *regex, const char *text)
{
	struct label_builder b = { .n = 0 };
	struct relabel_rules rules = { .n = 1 };
	struct relabel_rule rule;
	char why[RELABEL_WHY_MAX];

	if (relabel_rule_init(&rule))
		abort();
	free(rule.replacement);
	free(rule.target);
	rule.replacement = strdup(regex);
	rule.target = strdup("t");
	if (!relabel_rule_check(&rule, false, why)) {
		rules.rules = &rule;
		label_builder_put(&b, "a", text);
		label_builder_begin_rules(&b);
		if (!relabel_run(&rules, &b, NULL))
			abort();
	}
	label_builder_fini(&b);
	relabel_rule_fini(&rule);
	regex_scratch_fini(&rules.scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t n = nul ? (size_t)(nul - data) : size;
	char why[REGEX_WHY_MAX], *regex = strndup((const char *)data, n);
	char *text = strndup(nul ? (const char *)nul + 1 : "", nul ? size - n - 1 : 0);
	struct regex *r;

	if (!regex || !text)
		abort();
	if (!regex_compile(&r, regex, n, why)) {
		match(r, nul ? (const char *)nul + 1 : "", nul ? size - n - 1 : 0);
		regex_free(r);
	} else if (!why[0]) {
		abort();
	}
	run(regex, text);
	free(regex);
	free(text);
	return 0;
}
