/* SPDX-License-Identifier: Apache-2.0 */
/* First labels: their order, who may say what, and that nothing a tenant writes is too
 * much. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/explain_text.h"
#include "sidecar/labels/resolver.h"
#include "sidecar/labels/text.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX64B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

/* `key=value key=value ...` of a set, so that order and completeness are one comparison.
 */
static const char *dump(const struct label_set *s)
{
	static char out[65536];
	size_t n = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct label *l = &s->labels[i];

		if (l->type == LABEL_INT)
			n += snprintf(out + n, sizeof(out) - n, "%s%s=%lld", i ? " " : "",
				      l->key, (long long)l->number);
		else
			n += snprintf(out + n, sizeof(out) - n, "%s%s=%s", i ? " " : "",
				      l->key, l->string);
	}
	return out;
}

static const char *value_of(const struct label_set *s, const char *key)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (!strcmp(s->labels[i].key, key))
			return s->labels[i].string;
	}
	return NULL;
}

/* Attributes by a resolver of c without rules. */
static struct label_result *resolved(const struct label_config *c,
				     const struct label_process *p)
{
	struct resolver_options o = { .config = *c };
	struct label_result *result;
	struct resolver *r;

	ck_assert_int_eq(resolver_create(&r, &o), 0);
	ck_assert_int_eq(resolver_resolve(r, p, 1, &result), 0);
	resolver_destroy(r);
	ck_assert(result->keep);
	return result;
}

static void expect(const struct label_config *c, const struct label_process *p,
		   const char *want)
{
	struct label_result *r = resolved(c, p);

	ck_assert_str_eq(dump(r->attributes), want);
	label_result_put(r);
}

static const struct label_config nowhere;

START_TEST(attributes_stand_in_the_documented_order)
{
	struct otel_env env;
	struct cgroup_identity c1 = { .container_id = "c1" };
	struct label_config c = { .node = "n1",
				  .in_cluster = true,
				  .kernel_release = "6.1",
				  .kernel_machine = "x86_64" };
	struct label_process p = {
		.pid = 7,
		.parent_pid = 3,
		.comm = "worker",
		.exe_path = "/opt/a/worker",
		.exe_name = "worker",
		.container = &c1,
		.env = &env,
		.cgroup = "/c1",
		.command_line = "worker -x",
	};

	ck_assert_int_eq(otel_env_parse("team=a,service.version=2", "shop", false, &env),
			 0);
	expect(&c, &p,
	       "service.name=shop process.pid=7 process.executable.path=/opt/a/worker "
	       "process.executable.name=worker container.id=c1 host.name=n1 k8s.node.name=n1 "
	       "comm=worker process.linux.cgroup=/c1 process.parent_pid=3 os.version=6.1 host.arch=amd64 "
	       "team=a service.version=2");
	otel_env_free(&env);
}
END_TEST

static const struct { const char *list, *service, *comm, *exe_name, *want; } names[] = {
	{ "service.name=b", "a", "c", "d", "a" },
	{ "service.name=b", "", "c", "d", "b" },
	{ "service.name=b", " \t", "c", "d", "b" },
	{ "service.name=", NULL, "c", "d", "c" },
	{ "bad", NULL, "c", "d", "c" },
	{ NULL, NULL, " c \n", "d", "c" },
	{ NULL, NULL, "  ", "d", "d" },
	{ NULL, NULL, "", NULL, "unknown_service" },
	{ NULL, NULL, NULL, NULL, "unknown_service" },
};
START_TEST(service_name_falls_through_what_is_empty)
{
	struct otel_env env;
	struct label_process p = { .pid = 1,
				   .comm = names[_i].comm,
				   .exe_name = names[_i].exe_name,
				   .env = &env };
	struct label_result *r;

	ck_assert_int_eq(otel_env_parse(names[_i].list, names[_i].service, false, &env),
			 0);
	r = resolved(&nowhere, &p);
	ck_assert_str_eq(value_of(r->attributes, "service.name"), names[_i].want);
	label_result_put(r);
	otel_env_free(&env);
}
END_TEST

START_TEST(what_a_process_published_comes_before_its_environment)
{
	struct otel_env env, context;
	struct label_process p = {
		.pid = 1, .comm = "x", .env = &env, .context = &context
	};
	struct label_declared d;

	ck_assert_int_eq(
		otel_env_parse("service.version=1,b=env,z=env", "by-env", false, &env),
		0);
	ck_assert_int_eq(otel_env_parse("service.name=published,z=context,a=context",
					NULL, false, &context),
			 0);
	expect(&nowhere, &p,
	       "service.name=published process.pid=1 comm=x a=context z=context service.version=1 b=env");
	label_declared_attributes(&p, &d);
	ck_assert_uint_eq(d.n, 4);
	ck_assert_str_eq(d.labels[0].key, "a");
	ck_assert_str_eq(d.labels[3].key, "b");
	otel_env_free(&env);
	otel_env_free(&context);
}
END_TEST

START_TEST(a_process_can_not_pass_for_another_host_container_or_process)
{
	struct otel_env env;
	struct label_process p = { .pid = 9, .comm = "x", .env = &env };

	ck_assert_int_eq(
		otel_env_parse(
			"host.name=evil,host.id=1,container.id=c,container.image.name=i,"
			"k8s.node.name=n,process.pid=1,process.executable.path=/x,process.parent_pid=1,"
			"__meta_x=y,k8s.pod.name=p,hostname=ok,deployment.environment.name=prod,comm=fake,e=",
			NULL, false, &env),
		0);
	expect(&nowhere, &p,
	       "service.name=x process.pid=9 comm=x k8s.pod.name=p hostname=ok "
	       "deployment.environment.name=prod e=");
	otel_env_free(&env);
}
END_TEST

START_TEST(what_would_act_on_a_terminal_is_escaped)
{
	static const char hostile[] = "a\x1b[2J\xc2\x9bz\xe2\x80\xae\xff\xf0\x9f\x98\x80";
	char out[128] = "";
	FILE *f = fmemopen(out, sizeof(out) - 1, "w");

	explain_text(f, hostile, sizeof(hostile) - 1);
	fclose(f);
	ck_assert_str_eq(out, "a\\x1b[2J\\u{9b}z\\u{202e}\xef\xbf\xbd\xf0\x9f\x98\x80");
}
END_TEST

START_TEST(the_node_is_a_kubernetes_node_only_in_a_cluster)
{
	struct label_config c = { .node = "n" };
	struct label_process p = { .pid = 1, .comm = "x" };

	expect(&c, &p, "service.name=x process.pid=1 host.name=n comm=x");
	c.node = "";
	c.in_cluster = true;
	expect(&c, &p, "service.name=x process.pid=1 comm=x");
}
END_TEST

START_TEST(a_kernel_thread_has_a_name_and_nothing_else)
{
	struct label_config c = { .node = "n", .executables = true };
	struct label_process p = { .pid = 2,
				   .comm = "kworker/0:1",
				   .exe_path = "/x",
				   .exe_name = "x",
				   .kthread = true };

	expect(&c, &p,
	       "service.name=kworker/0:1 process.pid=2 host.name=n comm=kworker/0:1");
}
END_TEST

START_TEST(allowed_variables_and_command_line_are_shown)
{
	struct label vars[] = { { .key = "REGION", .string = "eu" },
				{ .key = "EMPTY", .string = "" } };
	struct label_config c = { .publish_command_line = true,
				  .publish_working_directory = true };
	struct label_process p = { .pid = 1,
				   .comm = "x",
				   .command_line = "x -v",
				   .environment = vars,
				   .working_directory = "/srv",
				   .n_environment = 2 };

	expect(&c, &p,
	       "service.name=x process.pid=1 process.environment_variable.REGION=eu process.command_line=x -v "
	       "comm=x process.working_directory=/srv");
	expect(&nowhere, &p,
	       "service.name=x process.pid=1 process.environment_variable.REGION=eu comm=x");
}
END_TEST

START_TEST(an_executable_says_nothing_until_somebody_looked)
{
	struct label_config c = { .executables = true };
	struct label_executable e = { .file_id = "aa",
				      .gnu_build_id = "bb",
				      .compiler = "GCC 12.2.0",
				      .is_elf = true };
	struct label_process p = { .pid = 1, .comm = "x", .complete = true };
	struct label_result *r = resolved(&c, &p);

	ck_assert(!r->complete);
	label_result_put(r);
	p.executable = &e;
	expect(&c, &p,
	       "service.name=x process.pid=1 comm=x process.executable.build_id.htlhash=aa "
	       "process.executable.build_id.gnu=bb");
	r = resolved(&c, &p);
	ck_assert(r->complete);
	label_result_put(r);
}
END_TEST

/* A C string literal of pairs has one NUL more at its end. */
#define PAIRS(text) .pod_facts = text, .n_pod_facts = sizeof(text)

START_TEST(pod_facts_become_labels_and_attributes)
{
	struct cgroup_identity id = { .container_id = HEX64,
				      .pod_uid = "u-1",
				      .runtime = "containerd" };
	struct label_process p = {
		.pid = 1,
		.comm = "x",
		.container = &id,
		.complete = true,
		PAIRS("pod_name\0web-1\0namespace\0shop\0label:app.kubernetes.io/name\0web\0container_name\0main\0"
		      "container_image\0reg:5000/a/b:1.2\0controller_kind\0ReplicaSet\0controller_name\0web")
	};
	struct label_config local = { .local_only = true };

	expect(&nowhere, &p,
	       "service.name=x process.pid=1 container.id=" HEX64
	       " comm=x k8s.pod.uid=u-1 "
	       "k8s.pod.name=web-1 k8s.namespace.name=shop k8s.pod.label.app.kubernetes.io/name=web "
	       "k8s.container.name=main container.image.name=reg:5000/a/b container.image.tags=1.2 "
	       "k8s.replicaset.name=web");
	expect(&local, &p,
	       "service.name=x process.pid=1 container.id=" HEX64
	       " comm=x k8s.pod.uid=u-1");
}
END_TEST

START_TEST(values_are_cut_on_a_code_point)
{
	char path[LABEL_VALUE_MAX + 3];
	struct label_process p = { .pid = 1, .comm = "x", .exe_path = path };
	struct label_result *r;

	memset(path, 'a', sizeof(path));
	memcpy(path + LABEL_VALUE_MAX - 1, "\xc3\xa9", 3);	/* one byte inside, one outside */
	r = resolved(&nowhere, &p);
	ck_assert_uint_eq(strlen(value_of(r->attributes, "process.executable.path")),
			  LABEL_VALUE_MAX - 1);
	label_result_put(r);
}
END_TEST

START_TEST(ten_thousand_declared_attributes_stay_bounded)
{
	size_t cap = 10000 * 16, n = 0;
	char *list = malloc(cap);
	struct otel_env env;
	struct label_process p = { .pid = 1, .comm = "x", .env = &env };
	struct label_result *r;

	for (int i = 0; i < 10000; i++)
		n += snprintf(list + n, cap - n, "%skey%d=v", i ? "," : "", i);
	ck_assert_int_eq(otel_env_parse(list, NULL, false, &env), 0);
	ck_assert(env.error);
	ck_assert_uint_eq(env.n, 0);
	otel_env_free(&env);
	ck_assert_int_eq(otel_env_parse(list, NULL, true, &env), 0);
	r = resolved(&nowhere, &p);
	ck_assert_uint_le(r->attributes->n, LABELS_MAX);
	ck_assert_str_eq(value_of(r->attributes, "key0"), "v");
	label_result_put(r);
	otel_env_free(&env);
	free(list);
}
END_TEST

static const struct { const char *what, *in, *want;
} texts[] = {
	{ "plain", "abc", "abc" },
	{ "two, three, four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "a lone byte", "\xe9x", "\xef\xbf\xbdx" },
	{ "cut at the end", "\xe2\x82", "\xef\xbf\xbd" },
	{ "overlong slash", "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "overlong in three bytes", "\xe0\x80\xaf",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "surrogate", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "beyond the last plane", "\xf4\x90\x80\x80",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "good after bad",
	  "\xf0\x9f\x98"
	  "a",
	  "\xef\xbf\xbd"
	  "a" },
};
START_TEST(text_becomes_valid_utf8)
{
	char *out;

	ck_assert_int_eq(text_valid_utf8(texts[_i].in, strlen(texts[_i].in), 1000, &out),
			 0);
	ck_assert_msg(!strcmp(out, texts[_i].want), "%s", texts[_i].what);
	free(out);
}
END_TEST

START_TEST(a_nul_byte_does_not_end_a_value)
{
	struct otel_env env;

	ck_assert_int_eq(otel_env_parse("k=a%00b", NULL, false, &env), 0);
	ck_assert_str_eq(env.attributes[0].string, "a\xef\xbf\xbd" "b");
	otel_env_free(&env);
}
END_TEST

/* What cgroup_cases.json does not hold. */
static const struct { const char *text, *id, *pod;
} cgroups[] = {
	{ "0::/k8s.io/" HEX64 "\n", HEX64, "" },
	{ "0::/vendor.slice/agent.service\n", "", "" },
	{ "0::/docker/" HEX64 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod"
	  "11111111_2222_3333_4444_555555555555.slice/cri-containerd-" HEX64B
	  ".scope/init\n",
	  HEX64B, "11111111-2222-3333-4444-555555555555" },
	{ "5:pids:/docker/" HEX64 "\n4:memory:/\n0::/\n", HEX64, "" },
	{ "0::/../../machine.slice/libpod-" HEX64 ".scope/container\n", HEX64, "" },
	{ "0::/system.slice/crio-conmon-" HEX64 ".scope\n", "", "" },
	{ "0::/docker/" HEX64 "0\n", "", "" },
	{ "x::/docker/" HEX64 "\n", "", "" },
	{ "0::/" HEX64 " (deleted)\n", HEX64, "" },
	{ "0:/docker/" HEX64 "\n", "", "" },
	{ "", "", "" },
	{ "\n\n\n", "", "" },
	{ "0::/lxc.payload./x\n", "", "" },
	{ "0::/garden/aaaaaaaa-bbbb-cccc-dddd-eeee\n", "aaaaaaaa-bbbb-cccc-dddd-eeee",
	  "" },
	{ "0::/app/aaaaaaaa-bbbb-cccc-dddd-eeee\n", "", "" },
};
START_TEST(container_ids_of_odd_paths)
{
	struct cgroup_identity out;

	cgroup_identify(cgroups[_i].text, strlen(cgroups[_i].text), &out);
	ck_assert_str_eq(out.container_id, cgroups[_i].id);
	ck_assert_str_eq(out.pod_uid, cgroups[_i].pod);
}
END_TEST

START_TEST(a_path_of_a_thousand_steps_keeps_its_end)
{
	char text[8192] = "0::";
	struct cgroup_identity out;
	size_t n = 3;

	for (int i = 0; i < 1000; i++)
		n += snprintf(text + n, sizeof(text) - n, "/d%d", i);
	n += snprintf(text + n, sizeof(text) - n, "/" HEX64 "/x\n");
	cgroup_identify(text, n, &out);
	ck_assert_str_eq(out.container_id, HEX64);
}
END_TEST

#define N(t) (sizeof(t) / sizeof((t)[0]))

int main(void)
{
	Suite *s = suite_create("labels");
	TCase *tc = tcase_create("labels");
	SRunner *r;
	int failed;

	tcase_add_test(tc, attributes_stand_in_the_documented_order);
	tcase_add_loop_test(tc, service_name_falls_through_what_is_empty, 0, N(names));
	tcase_add_test(tc, what_a_process_published_comes_before_its_environment);
	tcase_add_test(tc, an_executable_says_nothing_until_somebody_looked);
	tcase_add_test(tc, pod_facts_become_labels_and_attributes);
	tcase_add_test(tc, what_would_act_on_a_terminal_is_escaped);
	tcase_add_test(tc, a_process_can_not_pass_for_another_host_container_or_process);
	tcase_add_test(tc, the_node_is_a_kubernetes_node_only_in_a_cluster);
	tcase_add_test(tc, a_kernel_thread_has_a_name_and_nothing_else);
	tcase_add_test(tc, allowed_variables_and_command_line_are_shown);
	tcase_add_test(tc, values_are_cut_on_a_code_point);
	tcase_add_test(tc, ten_thousand_declared_attributes_stay_bounded);
	tcase_add_loop_test(tc, text_becomes_valid_utf8, 0, N(texts));
	tcase_add_test(tc, a_nul_byte_does_not_end_a_value);
	tcase_add_loop_test(tc, container_ids_of_odd_paths, 0, N(cgroups));
	tcase_add_test(tc, a_path_of_a_thousand_steps_keeps_its_end);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
