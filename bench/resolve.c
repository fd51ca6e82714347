/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What labels cost: a first resolution of an ordinary process in a pod through ten rules,
 * one from memory, and a regex that is exponential elsewhere over the largest value that
 * is published.  Lines end in met or missed.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sidecar/labels/resolver.h"
#include "sidecar/options.h"

#define FIRST_RUNS 2000
#define CACHED_RUNS 2000000
#define EVIL_RUNS 200
#define PAIRS "pod_name\0cart-5d9f-x2\0namespace\0shop\0label:app\0cart\0label:tier\0web\0container_name\0main"

static const char rules[] =
	"relabel_configs:\n"
	"- {source_labels: [__meta_process_ppid], regex: '2', action: drop}\n"
	"- {source_labels: [__meta_kubernetes_namespace], regex: 'shop|bank|.*-prod', action: keep}\n"
	"- {source_labels: [__meta_kubernetes_pod_name], regex: '(.+)-[^-]+-[^-]+', target_label: workload}\n"
	"- {regex: '__meta_kubernetes_pod_label_(.+)', replacement: 'label_$1', action: labelmap}\n"
	"- {source_labels: [__meta_process_cmdline], regex: '.* -jar ([^ ]+)( .*)?', target_label: jar}\n"
	"- {source_labels: [comm, node], separator: '/', target_label: who}\n"
	"- {source_labels: [workload], target_label: workload, action: uppercase}\n"
	"- {source_labels: [__meta_process_pid], modulus: 16, target_label: shard, action: hashmod}\n"
	"- {source_labels: [__meta_process_cgroup], regex: '.*/kubepods/([a-z]+)/.*', target_label: qos}\n"
	"- {regex: 'who', action: labeldrop}\n";
static const char evil[] =
	"relabel_configs: [{source_labels: [__meta_process_cmdline], regex: '(a+)+(a*)*b', target_label: x}]\n";

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct resolver *resolver_with(struct config *c, const char *yaml)
{
	struct resolver_options o = { .config = { .node = "worker-7",
						  .in_cluster = true,
						  .kernel_release = "6.1.0",
						  .kernel_machine = "x86_64",
						  .revision = "bench",
						  .executables = true },
				      .rules = &c->relabel };
	struct yaml_result result = { 0 };
	struct resolver *r;

	yaml_config_parse(c, "bench", yaml, strlen(yaml), stderr, &result);
	if (result.errors || resolver_create(&r, &o))
		errx(1, "the rules do not load");
	return r;
}

static double each(struct resolver *r, struct label_process *p, int runs, bool forget)
{
	struct label_result *result;
	double began = now_ns();

	for (int i = 0; i < runs; i++) {
		if (forget)
			resolver_forget(r, p);
		if (resolver_resolve(r, p, 1, &result))
			errx(1, "out of memory");
		label_result_put(result);
	}
	return (now_ns() - began) / runs;
}

static void line(const char *what, double value, const char *unit, double goal)
{
	printf("%-52s %10.1f %-3s (goal <= %.0f) %s\n", what, value, unit, goal,
	       value <= goal ? "met" : "missed");
}

int main(void)
{
	struct cgroup_identity id = { .pod_uid = "0a1b2c3d-0000-1111-2222-333344445555",
				      .runtime = "containerd" };
	struct label_executable exe = {
		.file_id = "3e912d314fd5bc381575336c56446c8c",
		.is_elf = true,
		.gnu_build_id = "e3103c603f624119a9e5c025e4e5dc430f8519b0"
	};
	struct otel_env env;
	struct label_process p = {
		.pid = 4242,
		.parent_pid = 17,
		.start_ns = 1,
		.comm = "java",
		.exe_path = "/usr/bin/java",
		.exe_name = "java",
		.cgroup = "/kubepods/burstable/pod0a1b2c3d-0000-1111-2222-333344445555/x",
		.container = &id,
		.command_line =
			"java -Xmx2g -cp /app/lib/* -jar /app/cart.jar --port 8080",
		.env = &env,
		.executable = &exe,
		.pod_facts = PAIRS,
		.n_pod_facts = sizeof(PAIRS),
		.complete = true,
	};
	struct config shaped = { .mode = MODE_RUN }, wild = { .mode = MODE_RUN };
	struct resolver *r = resolver_with(&shaped, rules),
			*w = resolver_with(&wild, evil);
	char *text = malloc(LABEL_VALUE_MAX + 1);

	memset(id.container_id, 'a', 64);
	if (!text || otel_env_parse("team=a,service.version=2", "cart", false, &env))
		errx(1, "out of memory");
	each(r, &p, 100, true);
	line("labels: first resolution, pod, 10 rules",
	     each(r, &p, FIRST_RUNS, true) / 1000, "us", 300);
	line("labels: from memory", each(r, &p, CACHED_RUNS, false), "ns", 200);
	memset(text, 'a', LABEL_VALUE_MAX);
	text[LABEL_VALUE_MAX] = 0;
	p.command_line = text;
	line("labels: (a+)+(a*)*b over 4 KiB of a", each(w, &p, EVIL_RUNS, true) / 1000,
	     "us", 3000);
	resolver_destroy(r);
	resolver_destroy(w);
	otel_env_free(&env);
	config_free(&shaped);
	config_free(&wild);
	free(text);
	return 0;
}
