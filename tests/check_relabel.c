/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions and rules beyond what the tables of tests/cases hold. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sidecar/labels/relabel.h"
#include "sidecar/labels/unicode.h"
#include "sidecar/options.h"

static struct regex_scratch scratch;

/* Groups as Go prints them: `0,3,1,2,`; `-` no match, `!` does not compile. */
static const char *groups_of(const char *regex, const char *text)
{
	static char out[1024];
	struct regex_span spans[REGEX_GROUPS_MAX + 1];
	char why[REGEX_WHY_MAX] = "";
	size_t n = 0;
	struct regex *r;
	int found;

	if (regex_compile(&r, regex, strlen(regex), why)) {
		ck_assert_str_ne(why, "");
		return "!";
	}
	found = regex_match(r, &scratch, text, strlen(text), spans);
	ck_assert_int_ge(found, 0);
	for (uint32_t i = 0; found && i <= regex_groups(r); i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%d,%d,",
				      (int)spans[i].start, (int)spans[i].end);
	regex_free(r);
	return found ? out : "-";
}

/* want: what Go's regexp gives for ^(?s:REGEX)$. */
static const struct { const char *regex, *text, *want;
} matches[] = {
	/* A repeated part that can match nothing. */
	{ "(|a)*", "aa", "0,2,1,2," },
	{ "(|a)+", "aa", "0,2,1,2," },
	{ "(a|)*", "aa", "0,2,1,2," },
	{ "(a*)*", "b", "-" },
	{ "(a*)+", "aa", "0,2,0,2," },
	{ "(?:(a)|b)*", "ab", "0,2,0,1," },
	{ "(a?)*?b", "aab", "0,3,1,2," },
	{ "(?:(a)?){0}", "", "0,0,-1,-1," },
	/* What other engines read otherwise. */
	{ "\\s", "\v", "-" },
	{ "[[:space:]]", "\v", "0,1," },
	{ "a$", "a\n", "-" },
	{ ".", "\n", "0,1," },
	{ "(?-s).", "\n", "-" },
	{ "(?m)a$\n^b", "a\nb", "0,3," },
	{ "a\\z", "a", "0,1," },
	{ "\\x{e9}", "\xc3\xa9", "0,2," },
	{ "(?i)k", "\xe2\x84\xaa", "0,3," },
	{ "(?i)[^k]", "K", "-" },
	{ "(?i)\\W", "\xc5\xbf", "-" },
	{ "\\pL+", "gr\xc3\xb6\xc3\x9f", "0,6," },
	{ "\\p{^Greek}", "a", "0,1," },
	{ "[\\d\\p{Greek}]", "\xce\xb1", "0,2," },
	{ "\\p{Greek}", "\xcd\x82", "-" }, /* by script, not by script extensions */
	{ ".", "\xff", "0,1," },
	{ "a{,2}", "a{,2}", "0,5," },
	{ "a{1", "a{1", "0,3," },
	{ "\\Qa*\\E+", "a**", "0,3," },
	{ "a*(?i)*", "aaA", "-" },
	{ "(?U)a*(b?)b", "aabb", "0,4,2,3," },
	{ "[]a]+", "]a", "0,2," },
	{ "\\07", "\a", "0,1," },
	{ "\\Aa|b", "b", "0,1," },
	{ "(?P<x>a)(?P<x>b)", "ab", "0,2,0,1,1,2," },
	{ "(?<x>a)", "a", "0,1,0,1," },
	/* Refused. */
	{ "(?=a)", "", "!" },
	{ "(?<=a)", "", "!" },
	{ "(a)\\1", "", "!" },
	{ "a++", "", "!" },
	{ "a**", "", "!" },
	{ "(?>a)", "", "!" },
	{ "\\K", "", "!" },
	{ "(?#x)", "", "!" },
	{ "(*ACCEPT)", "", "!" },
	{ "\\C", "", "!" },
	{ "a{1001}", "", "!" },
	{ "(a{40}){40}", "", "!" },
	{ "a{2,1}", "", "!" },
	{ "[b-a]", "", "!" },
	{ "x)|(y", "", "!" },
	{ "\\Qab", "", "!" },
	{ "\\Z", "", "!" },
	{ "(?P<>a)", "", "!" },
	{ "(?P<a-b>a)", "", "!" },
	{ "[[:foo:]]", "", "!" },
	{ "\\p{Foo}", "", "!" },
	{ "(?i", "", "!" },
	{ "(?i-)", "", "!" },
	{ "*", "", "!" },
	{ "(|*)", "", "!" },
	{ "\\", "", "!" },
	{ "\xff", "", "!" },
	{ "[a", "", "!" },
	{ "(a", "", "!" },
	{ "\\8", "", "!" },
	{ "\\x{110000}", "", "!" },
};
START_TEST(regex_means_what_it_means_in_go)
{
	ck_assert_str_eq(groups_of(matches[_i].regex, matches[_i].text),
			 matches[_i].want);
}
END_TEST

START_TEST(a_regex_is_bounded)
{
	char *deep = malloc(REGEX_TEXT_MAX + 2), why[REGEX_WHY_MAX];
	struct regex *r;

	memset(deep, '(', REGEX_TEXT_MAX + 1);
	deep[REGEX_TEXT_MAX + 1] = 0;
	ck_assert_int_eq(regex_compile(&r, deep, REGEX_TEXT_MAX, why), -EINVAL);
	ck_assert_int_eq(regex_compile(&r, deep, REGEX_TEXT_MAX + 1, why), -EINVAL);
	ck_assert_str_eq(why, "longer than 8192 bytes");
	memset(deep, '.', REGEX_TEXT_MAX);
	for (int i = 0; i < 200; i++)
		memcpy(deep + 8 * i, ".{1000}.", 8);
	ck_assert_int_eq(regex_compile(&r, deep, 1600, why), -EINVAL);
	ck_assert_str_eq(why, "more than 65536 steps when its counts are written out");
	free(deep);
}
END_TEST

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

START_TEST(no_regex_is_catastrophic)
{
	static const char *const evil[] = { "(a+)+b?", "(a*)*c", "(a|a)*c",
					    "(.*)(.*)(.*)(.*)(.*)x", "(a|b|ab)*c" };
	size_t n = 1 << 20;
	char *text = malloc(n + 1), why[REGEX_WHY_MAX];
	struct regex *r;
	double began;

	memset(text, 'a', n);
	text[n] = 0;
	for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
		ck_assert_int_eq(regex_compile(&r, evil[i], strlen(evil[i]), why), 0);
		began = seconds();
		/* 32 of them take a backtracking engine a quarter of a second. */
		ck_assert_int_eq(regex_match(r, &scratch, text, 32, NULL), i == 0);
		ck_assert_int_eq(regex_match(r, &scratch, text, 4096, NULL), i == 0);
		ck_assert_int_le(regex_match(r, &scratch, text, n, NULL), 0);
		ck_assert_msg(seconds() - began < 1, "%s: %.3f s", evil[i],
			      seconds() - began);
		regex_free(r);
	}
	free(text);
}
END_TEST

START_TEST(case_is_simple)
{
	ck_assert_uint_eq(unicode_upper(0xdf), 0xdf);
	ck_assert_uint_eq(unicode_upper(0xff), 0x178);
	ck_assert_uint_eq(unicode_lower(0x130), 'i');
	ck_assert_uint_eq(unicode_lower(0x1e9e), 0xdf);
	ck_assert_uint_eq(unicode_fold('k'), 0x212a);
	ck_assert_uint_eq(unicode_fold(0x212a), 'K');
	for (uint32_t r = 0, next, steps; r <= RUNE_MAX; r++) {
		for (next = unicode_fold(r), steps = 0; next != r;
		     next = unicode_fold(next))
			ck_assert_uint_lt(++steps, 4);
	}
}
END_TEST

/* Labels after the rules, `name=value;`.. in their order, or `dropped`. */
static const char *relabelled(const char *yaml, const char *const *labels,
			      struct relabel_rules *counted)
{
	static char out[4096];
	struct config c = { .n_external_labels = 0 };
	struct yaml_result result = { 0 };
	struct label_builder b = { .n = 0 };
	FILE *null = fopen("/dev/null", "w");
	size_t n = 0;
	bool kept;

	yaml_config_parse(&c, "f", yaml, strlen(yaml), null, &result);
	fclose(null);
	ck_assert_uint_eq(result.errors, 0);
	for (; labels[0]; labels += 2)
		label_builder_put(&b, labels[0], labels[1]);
	label_builder_begin_rules(&b);
	kept = relabel_run(&c.relabel, &b, NULL);
	out[0] = 0;
	for (uint32_t i = 0; i < b.n; i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s=%.99s;",
				      b.labels[i].name.p, b.labels[i].value.p);
	if (counted)
		counted->limit_hits = c.relabel.limit_hits;
	label_builder_fini(&b);
	config_free(&c);
	return kept ? out : "dropped";
}

START_TEST(labelmap_sees_names_in_order_and_then_what_rules_made)
{
	static const char *const labels[] = { "x_b", "1", "x_a", "2", "y_c", "3", NULL };

	ck_assert_str_eq(
		relabelled(
			"relabel_configs: [{action: labelmap, regex: '._(.)', replacement: n}]",
			labels, NULL),
		"x_a=2;x_b=1;y_c=3;n=3;");
	ck_assert_str_eq(
		relabelled("relabel_configs: [{target_label: x_a, replacement: z}, "
			   "{action: labelmap, regex: '._(.)', replacement: n}]",
			   labels, NULL),
		"x_b=1;y_c=3;x_a=z;n=z;");
}
END_TEST

START_TEST(a_template_can_not_explode)
{
	static const char *const labels[] = { "a", "0123456789abcdef", NULL };
	char yaml[8192];
	struct relabel_rules counted;
	size_t n = (size_t)snprintf(yaml, sizeof(yaml), "relabel_configs:\n");

	for (int i = 0; i < 40; i++)
		n += (size_t)snprintf(
			yaml + n, sizeof(yaml) - n,
			"- {source_labels: [a], target_label: a, replacement: $1$1$1$1}\n");
	ck_assert_uint_eq(strlen(relabelled(yaml, labels, &counted)), 2 + 99 + 1);
	ck_assert_uint_eq(counted.limit_hits, 40 - 6);
}
END_TEST

static const struct { const char *yaml, *want;
} loads[] = {
	{ "relabel_configs:\n- action: dorp\n",
	  "2:11: error: action: dorp: no such action; did you mean drop?\n" },
	{ "relabel_configs:\n- {target_label: x, regx: a}\n",
	  "2:21: warning: relabel_configs: regx: unknown key; did you mean regex?\n" },
	{ "relabel_configs:\n- {source_labels: [a], target_label: t, regex: '(?=x)'}\n",
	  "2:3: error: relabel_configs: regex: (?: not a group or flags that rules know; no look-around, no comments\n" },
	{ "relabel_configs:\n- {source_labels: [a], target_label: t, regex: x}\n",
	  "2:3: warning: relabel_configs: the regex has no group, so that replacement $1 is empty and deletes target_label\n" },
	{ "relabel_configs:\n- {action: hashmod, modulus: '3', target_label: t}\n",
	  "2:30: error: modulus: must be a number without a sign\n" },
	{ "relabel_configs: {a: b}\n",
	  "1:18: error: relabel_configs: must be a list of rules\n" },
	{ "relabel_configs:\n- {target_label: a, target_label: b}\n",
	  "2:21: error: relabel_configs: target_label: a second time in one rule\n" },
	{ "relabel_configs:\n- {target_label: a, replacement: b, regex: }\n",
	  "2:44: warning: regex: has no value; the default stays\n" },
	{ "relabel_configs:\n- justaword\n",
	  "2:3: error: relabel_configs: must be a list of maps\n" },
};
START_TEST(rules_that_do_not_load_have_their_place)
{
	struct config c = { .n_external_labels = 0 };
	struct yaml_result result = { 0 };
	char *said = NULL, want[512];
	size_t n;
	FILE *out = open_memstream(&said, &n);

	yaml_config_parse(&c, "f", loads[_i].yaml, strlen(loads[_i].yaml), out, &result);
	fclose(out);
	snprintf(want, sizeof(want), "f:%s", loads[_i].want);
	ck_assert_msg(strstr(said, want), "%s\nis not in\n%s", want, said);
	free(said);
	config_free(&c);
}
END_TEST

#define N(t) (sizeof(t) / sizeof((t)[0]))

int main(void)
{
	Suite *s = suite_create("relabel");
	TCase *tc = tcase_create("relabel");
	SRunner *r;
	int failed;

	tcase_add_loop_test(tc, regex_means_what_it_means_in_go, 0, N(matches));
	tcase_add_test(tc, a_regex_is_bounded);
	tcase_add_test(tc, no_regex_is_catastrophic);
	tcase_add_test(tc, case_is_simple);
	tcase_add_test(tc, labelmap_sees_names_in_order_and_then_what_rules_made);
	tcase_add_test(tc, a_template_can_not_explode);
	tcase_add_loop_test(tc, rules_that_do_not_load_have_their_place, 0, N(loads));
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
