/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver: what it remembers and for whom, what rules may change, what is left when
 * they are done. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/render.h"
#include "sidecar/labels/resolver.h"
#include "sidecar/options.h"

static struct config config;
static struct label_pair external[] = { { "region", "eu" }, { "comm", "never" } };

static struct resolver *resolver_with(const char *rules, struct resolver_options *o)
{
	struct yaml_result result = { 0 };
	struct resolver *r;

	config_free(&config);
	yaml_config_parse(&config, "rules", rules, strlen(rules), stderr, &result);
	ck_assert_uint_eq(result.errors, 0);
	o->rules = &config.relabel;
	ck_assert_int_eq(resolver_create(&r, o), 0);
	return r;
}

static const char *dump(const struct label_set *s)
{
	static char out[8192];
	size_t n = 0;

	out[0] = 0;
	for (uint32_t i = 0; s && i < s->n; i++) {
		const struct label *l = &s->labels[i];

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s=", l->key);
		if (l->type == LABEL_INT)
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%d;",
					      (int)l->number);
		else
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%s;", l->string);
	}
	return out;
}

/* Attributes of p, or `dropped`. */
static const char *attributes(const char *rules, const struct label_process *p)
{
	struct resolver_options o = { .config = { .node = "n1" },
				      .external = external,
				      .n_external = 2 };
	struct resolver *r = resolver_with(rules, &o);
	struct label_result *result;
	const char *text;

	ck_assert_int_eq(resolver_resolve(r, p, 1, &result), 0);
	text = result->keep ? dump(result->attributes) : "dropped";
	label_result_put(result);
	resolver_destroy(r);
	return text;
}

static const struct { const char *what, *rules, *want;
} shapes[] = {
	{ "only __meta_ goes",
	  "relabel_configs: [{target_label: __tmp_x, replacement: a}, {target_label: __meta_x, replacement: b}]",
	  "service.name=x;process.pid=7;host.name=n1;comm=x;__tmp_x=a;region=eu;" },
	{ "a rule names the service",
	  "relabel_configs: [{target_label: service.name, replacement: shop}]",
	  "service.name=shop;process.pid=7;host.name=n1;comm=x;region=eu;" },
	{ "renamed to the attribute of its meaning",
	  "relabel_configs: [{target_label: namespace, replacement: a}, {target_label: pod, replacement: b}, {target_label: container, replacement: c}]",
	  "service.name=x;process.pid=7;host.name=n1;comm=x;k8s.namespace.name=a;k8s.pod.name=b;k8s.container.name=c;region=eu;" },
	{ "the explicit name wins, whatever the order",
	  "relabel_configs: [{target_label: k8s.pod.name, replacement: named}, {target_label: pod, replacement: renamed}]",
	  "service.name=x;process.pid=7;host.name=n1;comm=x;k8s.pod.name=named;region=eu;" },
	{ "the explicit name wins, the other way round",
	  "relabel_configs: [{target_label: pod, replacement: renamed}, {target_label: k8s.pod.name, replacement: named}]",
	  "service.name=x;process.pid=7;host.name=n1;comm=x;k8s.pod.name=named;region=eu;" },
	{ "the node by another name",
	  "relabel_configs: [{target_label: node, replacement: other}]",
	  "service.name=x;process.pid=7;host.name=other;comm=x;region=eu;" },
	{ "a label without a name is no attribute",
	  "relabel_configs: [{action: labelmap, regex: comm(x)?, replacement: $1}]",
	  "service.name=x;process.pid=7;host.name=n1;comm=x;region=eu;" },
	{ "external labels do not pass through rules",
	  "relabel_configs: [{action: labeldrop, regex: region|comm}]",
	  "service.name=x;process.pid=7;host.name=n1;region=eu;comm=never;" },
	{ "dropped", "relabel_configs: [{action: drop, source_labels: [comm], regex: x}]",
	  "dropped" },
	{ "no label left, and still kept", "relabel_configs: [{action: labeldrop}]",
	  "service.name=x;process.pid=7;host.name=n1;region=eu;comm=never;" },
};
START_TEST(rules_shape_what_is_published)
{
	struct label_process p = { .pid = 7, .comm = "x", .complete = true };

	ck_assert_msg(!strcmp(attributes(shapes[_i].rules, &p), shapes[_i].want),
		      "%s: %s", shapes[_i].what, attributes(shapes[_i].rules, &p));
}
END_TEST

/* Resolves at now and tells whether the result is the one that was held before. */
static bool remembered(struct resolver *r, const struct label_process *p, uint64_t now,
		       struct label_result **held)
{
	struct label_result *result;
	bool same;

	ck_assert_int_eq(resolver_resolve(r, p, now, &result), 0);
	same = result == *held;
	label_result_put(*held);
	*held = result;
	return same;
}

START_TEST(complete_results_are_remembered_for_the_ttl_and_no_longer)
{
	struct resolver_options o = { .ttl_ns = 100 };
	struct resolver *r = resolver_with("", &o);
	struct label_process p = {
		.pid = 7, .start_ns = 5, .comm = "x", .complete = true
	};
	struct label_result *held = NULL;

	ck_assert(!remembered(r, &p, 1000, &held));
	ck_assert(remembered(r, &p, 1050, &held));
	/* Reading it does not make it younger. */
	ck_assert(remembered(r, &p, 1099, &held));
	ck_assert(!remembered(r, &p, 1100, &held));
	resolver_forget(r, &p);
	ck_assert(!remembered(r, &p, 1101, &held));
	label_result_put(held);
	resolver_destroy(r);
}
END_TEST

START_TEST(incomplete_results_are_made_anew_each_time)
{
	struct resolver_options o = { .ttl_ns = 100 };
	struct resolver *r = resolver_with("", &o);
	struct label_process p = { .pid = 7, .comm = "x" };
	struct label_result *held = NULL;

	ck_assert(!remembered(r, &p, 1, &held));
	ck_assert(!remembered(r, &p, 2, &held));
	label_result_put(held);
	resolver_destroy(r);
}
END_TEST

START_TEST(a_reused_pid_or_another_exec_inherits_nothing)
{
	struct resolver_options o = { .ttl_ns = 100 };
	struct resolver *r = resolver_with("", &o);
	struct label_process p = {
		.pid = 7, .start_ns = 5, .comm = "x", .complete = true
	};
	struct label_result *held = NULL;

	ck_assert(!remembered(r, &p, 1, &held));
	p.start_ns = 6;
	p.comm = "y";
	ck_assert(!remembered(r, &p, 2, &held));
	ck_assert_ptr_nonnull(strstr(dump(held->attributes), "service.name=y;"));
	p.exec_id = 1;
	p.comm = "z";
	ck_assert(!remembered(r, &p, 3, &held));
	ck_assert_ptr_nonnull(strstr(dump(held->attributes), "service.name=z;"));
	label_result_put(held);
	resolver_destroy(r);
}
END_TEST

START_TEST(the_memory_is_bounded_and_the_least_used_goes)
{
	struct resolver_options o = { .ttl_ns = 1000, .cache_size = 2 };
	struct resolver *r = resolver_with("", &o);
	struct label_process a = { .pid = 1, .comm = "a", .complete = true }, b = a,
			     c = a;
	struct label_result *first = NULL, *other = NULL;

	b.pid = 2;
	c.pid = 3;
	remembered(r, &a, 1, &first);
	remembered(r, &b, 2, &other);
	ck_assert(remembered(r, &a, 3, &first));
	remembered(r, &c, 4, &other);		/* b goes */
	ck_assert(remembered(r, &a, 5, &first));
	ck_assert(remembered(r, &c, 6, &other));
	ck_assert(!remembered(r, &b, 7, &other));
	label_result_put(first);
	label_result_put(other);
	resolver_destroy(r);
}
END_TEST

START_TEST(a_dropped_process_is_remembered_as_dropped)
{
	struct resolver_options o = { .ttl_ns = 100 };
	struct resolver *r = resolver_with("relabel_configs: [{action: drop}]", &o);
	struct label_process p = { .pid = 7, .comm = "x", .complete = true };
	struct label_result *held = NULL;

	remembered(r, &p, 1, &held);
	ck_assert(!held->keep);
	ck_assert_ptr_null(held->attributes);
	ck_assert(remembered(r, &p, 2, &held));
	ck_assert_uint_eq(resolver_rules(r)->runs, 1);
	label_result_put(held);
	resolver_destroy(r);
}
END_TEST

START_TEST(a_fork_shares_rules_and_has_its_own_seed_and_memory)
{
	static const struct label_pair seed[] = { { "gpu", "0" } };
	struct resolver_options o = { .ttl_ns = 100 };
	struct resolver
		*r = resolver_with(
			"relabel_configs: [{target_label: ruled, replacement: 'yes'}]",
			&o),
		*fork;
	struct label_process p = { .pid = 7, .comm = "x", .complete = true };
	struct label_result *held = NULL, *forked = NULL;

	ck_assert_int_eq(resolver_fork(&fork, r, seed, 1), 0);
	ck_assert_ptr_eq(resolver_rules(fork), resolver_rules(r));
	remembered(r, &p, 1, &held);
	remembered(fork, &p, 2, &forked);
	ck_assert_str_eq(dump(held->attributes),
			 "service.name=x;process.pid=7;comm=x;ruled=yes;");
	ck_assert_str_eq(dump(forked->attributes),
			 "service.name=x;process.pid=7;comm=x;gpu=0;ruled=yes;");
	ck_assert(remembered(r, &p, 3, &held));
	ck_assert(remembered(fork, &p, 3, &forked));
	label_result_put(held);
	label_result_put(forked);
	resolver_destroy(r);
	resolver_destroy(fork);
}
END_TEST

START_TEST(default_providers_are_in_their_order)
{
	const struct label_provider *all[LABEL_PROVIDERS_MAX];
	struct label_config c = { .executables = true };

	ck_assert_uint_eq(label_providers_default(&c, all), 5);
	ck_assert_str_eq(all[0]->name, "process");
	ck_assert_str_eq(all[1]->name, "executable");
	ck_assert_str_eq(all[3]->name, "container");
	ck_assert_str_eq(all[4]->name, "system");
	c.executables = false;
	ck_assert_uint_eq(label_providers_default(&c, all), 4);
	ck_assert_str_eq(all[1]->name, "agent");
}
END_TEST

START_TEST(an_explanation_has_every_step)
{
	struct resolver_options o = { .config = { .node = "n1" } };
	struct resolver *r = resolver_with(
		"relabel_configs:\n- {source_labels: [comm], regex: y, target_label: a}\n"
		"- {target_label: esc, replacement: \"\\e[31m\"}\n- {action: labeldrop, regex: node}\n",
		&o);
	struct label_process p = { .pid = 7, .comm = "x" };
	char *said = NULL;
	size_t n;
	FILE *out = open_memstream(&said, &n);

	ck_assert_int_eq(resolver_explain(r, &p, out, false), 0);
	fclose(out);
	ck_assert_str_eq(
		said,
		"labels before rules:\n  node = n1\n  __meta_process_pid = 7\n  process.pid = 7\n  comm = x\n"
		"rules:\n  1 (line 2) replace: no match\n  2 (line 3) replace: set esc = \\x1b[31m\n"
		"  3 (line 4) labeldrop: deleted node\nattributes:\n  service.name = x\n  process.pid = 7\n"
		"  host.name = n1\n  comm = x\n  esc = \\x1b[31m\n");
	free(said);
	resolver_destroy(r);
}
END_TEST

#define N(t) (sizeof(t) / sizeof((t)[0]))

int main(void)
{
	Suite *s = suite_create("resolver");
	TCase *tc = tcase_create("resolver");
	SRunner *r;
	int failed;

	tcase_add_loop_test(tc, rules_shape_what_is_published, 0, N(shapes));
	tcase_add_test(tc, complete_results_are_remembered_for_the_ttl_and_no_longer);
	tcase_add_test(tc, incomplete_results_are_made_anew_each_time);
	tcase_add_test(tc, a_reused_pid_or_another_exec_inherits_nothing);
	tcase_add_test(tc, the_memory_is_bounded_and_the_least_used_goes);
	tcase_add_test(tc, a_dropped_process_is_remembered_as_dropped);
	tcase_add_test(tc, a_fork_shares_rules_and_has_its_own_seed_and_memory);
	tcase_add_test(tc, default_providers_are_in_their_order);
	tcase_add_test(tc, an_explanation_has_every_step);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
