/* SPDX-License-Identifier: Apache-2.0 */
/* First labels: their order, who may say what, and that nothing a tenant writes is too much. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/labels.h"
#include "sidecar/labels/text.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX64B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

/* `key=value key=value ...` of a set, so that order and completeness are one comparison. */
static const char *dump(const struct label_set *s)
{
	static char out[65536];
	size_t n = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct label *l = &s->labels[i];

		if (l->is_number)
			n += snprintf(out + n, sizeof(out) - n, "%s%s=%lld", i ? " " : "", l->key,
				      (long long)l->number);
		else
			n += snprintf(out + n, sizeof(out) - n, "%s%s=%s", i ? " " : "", l->key, l->string);
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

static void expect(const struct labels_input *in, const char *want)
{
	struct label_set *s;

	ck_assert_int_eq(labels_build(&s, in), 0);
	ck_assert_str_eq(dump(s), want);
	label_set_free(s);
}

START_TEST(attributes_stand_in_the_documented_order)
{
	struct otel_env env;
	struct labels_input in = {
		.pid = 7, .comm = "worker", .exe_path = "/opt/a/worker", .exe_name = "worker",
		.container_id = "c1", .node = "n1", .env = &env, .in_cluster = true,
	};

	ck_assert_int_eq(otel_env_parse("team=a,service.version=2", "shop", false, &env), 0);
	expect(&in, "service.name=shop process.pid=7 process.executable.path=/opt/a/worker "
		    "process.executable.name=worker container.id=c1 host.name=n1 k8s.node.name=n1 "
		    "comm=worker team=a service.version=2");
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
	struct labels_input in = { .pid = 1, .comm = names[_i].comm, .exe_name = names[_i].exe_name,
				   .env = &env };
	struct label_set *s;

	ck_assert_int_eq(otel_env_parse(names[_i].list, names[_i].service, false, &env), 0);
	ck_assert_int_eq(labels_build(&s, &in), 0);
	ck_assert_str_eq(value_of(s, "service.name"), names[_i].want);
	label_set_free(s);
	otel_env_free(&env);
}
END_TEST

START_TEST(a_process_can_not_pass_for_another_host_container_or_process)
{
	struct otel_env env;
	struct labels_input in = { .pid = 9, .comm = "x", .env = &env };

	ck_assert_int_eq(otel_env_parse("host.name=evil,host.id=1,container.id=c,container.image.name=i,"
		"k8s.node.name=n,process.pid=1,process.executable.path=/x,process.parent_pid=1,"
		"k8s.pod.name=p,hostname=ok,deployment.environment.name=prod,comm=fake,e=",
		NULL, false, &env), 0);
	expect(&in, "service.name=x process.pid=9 comm=x k8s.pod.name=p hostname=ok "
		    "deployment.environment.name=prod e=");
	otel_env_free(&env);
}
END_TEST

START_TEST(the_node_is_a_kubernetes_node_only_in_a_cluster)
{
	struct labels_input in = { .pid = 1, .comm = "x", .node = "n" };

	expect(&in, "service.name=x process.pid=1 host.name=n comm=x");
	in.node = "";
	in.in_cluster = true;
	expect(&in, "service.name=x process.pid=1 comm=x");
}
END_TEST

START_TEST(a_kernel_thread_has_a_name_and_nothing_else)
{
	struct labels_input in = { .pid = 2, .comm = "kworker/0:1", .exe_path = "/x", .exe_name = "x",
				   .container_id = "c", .node = "n", .kthread = true };

	expect(&in, "service.name=kworker/0:1 process.pid=2 host.name=n comm=kworker/0:1");
}
END_TEST

START_TEST(allowed_variables_and_command_line_are_shown)
{
	struct label vars[] = { { .key = "REGION", .string = "eu" }, { .key = "EMPTY", .string = "" } };
	struct labels_input in = { .pid = 1, .comm = "x", .command_line = "x -v", .environment = vars,
				   .working_directory = "/srv", .n_environment = 2 };

	expect(&in, "service.name=x process.pid=1 comm=x process.command_line=x -v "
		    "process.working_directory=/srv process.environment_variable.REGION=eu");
}
END_TEST

START_TEST(values_are_cut_on_a_code_point)
{
	char path[LABEL_VALUE_MAX + 3];
	struct labels_input in = { .pid = 1, .comm = "x", .exe_path = path };
	struct label_set *s;

	memset(path, 'a', sizeof(path));
	memcpy(path + LABEL_VALUE_MAX - 1, "\xc3\xa9", 3);	/* one byte inside, one outside */
	ck_assert_int_eq(labels_build(&s, &in), 0);
	ck_assert_uint_eq(strlen(value_of(s, "process.executable.path")), LABEL_VALUE_MAX - 1);
	label_set_free(s);
}
END_TEST

START_TEST(ten_thousand_declared_attributes_stay_bounded)
{
	size_t cap = 10000 * 16, n = 0;
	char *list = malloc(cap);
	struct otel_env env;
	struct labels_input in = { .pid = 1, .comm = "x", .env = &env };
	struct label_set *s;

	for (int i = 0; i < 10000; i++)
		n += snprintf(list + n, cap - n, "%skey%d=v", i ? "," : "", i);
	ck_assert_int_eq(otel_env_parse(list, NULL, false, &env), 0);
	ck_assert(env.error);
	ck_assert_uint_eq(env.n, 0);
	otel_env_free(&env);
	ck_assert_int_eq(otel_env_parse(list, NULL, true, &env), 0);
	ck_assert_int_eq(labels_build(&s, &in), 0);
	ck_assert_uint_le(s->n, LABELS_MAX);
	ck_assert_str_eq(value_of(s, "key0"), "v");
	label_set_free(s);
	otel_env_free(&env);
	free(list);
}
END_TEST

static const struct { const char *what, *in, *want; } texts[] = {
	{ "plain",			"abc",			"abc" },
	{ "two, three, four bytes",	"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "a lone byte",		"\xe9x",		"\xef\xbf\xbdx" },
	{ "cut at the end",		"\xe2\x82",		"\xef\xbf\xbd" },
	{ "overlong slash",		"\xc0\xaf",		"\xef\xbf\xbd\xef\xbf\xbd" },
	{ "overlong in three bytes",	"\xe0\x80\xaf",		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "surrogate",			"\xed\xa0\x80",		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "beyond the last plane",	"\xf4\x90\x80\x80",	"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "good after bad",		"\xf0\x9f\x98" "a",	"\xef\xbf\xbd" "a" },
};
START_TEST(text_becomes_valid_utf8)
{
	char *out;

	ck_assert_int_eq(text_valid_utf8(texts[_i].in, strlen(texts[_i].in), 1000, &out), 0);
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
static const struct { const char *text, *id, *pod; } cgroups[] = {
	{ "0::/k8s.io/" HEX64 "\n", HEX64, "" },
	{ "0::/vendor.slice/agent.service\n", "", "" },
	{ "0::/docker/" HEX64 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod"
	  "11111111_2222_3333_4444_555555555555.slice/cri-containerd-" HEX64B ".scope/init\n",
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
	{ "0::/garden/aaaaaaaa-bbbb-cccc-dddd-eeee\n", "aaaaaaaa-bbbb-cccc-dddd-eeee", "" },
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
