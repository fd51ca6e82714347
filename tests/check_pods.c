/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of pods: whose they are, and how files become them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sidecar/process/pods.h"

#define UID "0a1b2c3d-0000-1111-2222-333344445555"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char buf[PODS_FACTS_MAX];

/* `name=value;`.. */
static const char *dump(const struct pod_facts *f)
{
	static char out[8192];
	size_t n = 0;

	out[0] = 0;
	for (const char *p = f->buf; p < f->buf + f->n; ) {
		const char *value = p + strlen(p) + 1;

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s=%s;", p, value);
		p = value + strlen(value) + 1;
	}
	return out;
}

static const struct {
	const char *uid;
	bool private;
	const char *cgroup;
	bool own;
} owners[] = {
	/* In the host's cgroup namespace the pod's uid tells. */
	{ UID, false, "0::/kubepods/pod" UID "/" ID "\n", true },
	{ UID, false, "0::/kubepods/pod0a1b2c3d-0000-1111-2222-333344445556/" ID "\n",
	  false },
	{ UID, false, "0::/system.slice/sshd.service\n", false },
	{ NULL, false, "0::/kubepods/pod" UID "/" ID "\n", false },
	{ NULL, false, "0::/\n", false },
	{ UID, false, "0::/\n", false },
	/* In one of our own: what is below our root, and one step beside it. */
	{ NULL, true, "0::/\n", true },
	{ NULL, true, "0::/worker\n", true },
	{ NULL, true, "0::/../" ID "\n", true },
	{ NULL, true, "0::/../" ID "/init.scope\n", true },
	{ UID, true, "1:cpu:/x\n0::/../" ID "\n", true },
	{ NULL, true, "0::/..\n", false },
	{ NULL, true, "0::/../..\n", false },
	{ NULL, true, "0::/../../pod2/" ID "\n", false },
	{ NULL, true, "0::/../../../system.slice/sshd.service\n", false },
	{ NULL, true, "1:name=systemd:/\n", false },
	{ UID, true, "0::/../../pod0a1b2c3d-0000-1111-2222-333344445556/" ID "\n",
	  false },
};
START_TEST(facts_of_our_pod_are_for_its_processes_alone)
{
	struct pods p = { .own_uid = (char *)owners[_i].uid,
			  .private_cgroups = owners[_i].private,
			  .own_name = (char *)"web-1" };
	struct pod_facts f = { .buf = buf, .cap = sizeof(buf) };
	const char *cgroup = owners[_i].cgroup;

	pods_read(&p, cgroup, strlen(cgroup), &f);
	ck_assert_msg((f.n > 0) == owners[_i].own, "%s: %s", cgroup, dump(&f));
}
END_TEST

static const struct { const char *text, *want;
} lines[] = {
	{ "app=\"web\"\ntier=\"a b\"", "l:app=web;l:tier=a b;" },
	{ "a=\"x\\\"y\\\\z\\n\"\nb=\"\\u00e9\\x41\"\n", "l:a=x\"y\\z\n;l:b=\xc3\xa9"
							"A;" },
	{ "empty=\"\"\nbad\n=\n\n=\"x\"\nc=\"no end\nd=\"e\"", "l:=x;l:c=no end;l:d=e;" },
	{ "nul=\"a\\x00b\"", "l:nul=a;" },
	{ "", "" },
};
START_TEST(label_files_are_read_as_they_are_written)
{
	struct pod_facts f = { .buf = buf, .cap = sizeof(buf) };

	pod_facts_lines(&f, "l:", lines[_i].text, strlen(lines[_i].text));
	ck_assert_str_eq(dump(&f), lines[_i].want);
}
END_TEST

START_TEST(facts_never_outgrow_their_room)
{
	struct pod_facts f = { .buf = buf, .cap = 64 };
	char text[4096];
	size_t n = 0;

	for (int i = 0; i < 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "k%d=\"valuevalue\"\n",
				      i);
	pod_facts_lines(&f, "l:", text, n);
	ck_assert_uint_le(f.n, 64);
	ck_assert_int_eq(buf[f.n - 1], 0);
}
END_TEST

static void put(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static const char *below(const char *dir, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	return path;
}

START_TEST(a_helper_tells_of_others_by_files)
{
	char dir[] = "/tmp/check-pods-XXXXXX", command[64];
	struct pods p = { .facts_dir = dir };
	struct pod_facts f = { .buf = buf, .cap = sizeof(buf) };
	const char *cgroup = "0::/kubepods/burstable/pod" UID "/" ID "\n";
	char pod[512], containers[512];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(pod, sizeof(pod), "%s", below(dir, UID));
	put(pod, "name", "web-7\n");
	put(pod, "namespace", "shop");
	put(pod, "labels", "app=\"web\"\n");
	snprintf(containers, sizeof(containers), "%s", below(pod, "containers"));
	put(below(containers, ID), "name", "main");
	pods_read(&p, cgroup, strlen(cgroup), &f);
	ck_assert_str_eq(
		dump(&f),
		"namespace=shop;pod_name=web-7;label:app=web;container_name=main;");
	f.n = 0;
	p.local_only = true;
	pods_read(&p, cgroup, strlen(cgroup), &f);
	ck_assert_uint_eq(f.n, 0);
	p.local_only = false;
	pods_read(&p, "0::/lxc/..\n", 11, &f);
	ck_assert_uint_eq(f.n, 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

#define N(t) (sizeof(t) / sizeof((t)[0]))

int main(void)
{
	Suite *s = suite_create("pods");
	TCase *tc = tcase_create("pods");
	SRunner *r;
	int failed;

	tcase_add_loop_test(tc, facts_of_our_pod_are_for_its_processes_alone, 0,
			    N(owners));
	tcase_add_loop_test(tc, label_files_are_read_as_they_are_written, 0, N(lines));
	tcase_add_test(tc, facts_never_outgrow_their_room);
	tcase_add_test(tc, a_helper_tells_of_others_by_files);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
