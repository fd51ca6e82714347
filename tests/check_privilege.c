/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights, probe and notification.  Each test is a process of its own (Check forks), so it
 * may throw its rights away.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <jansson.h>
#include "sidecar/config.h"
#include "sidecar/privilege.h"
#include "sidecar/sd_notify.h"

#define N(t) (sizeof(t) / sizeof((t)[0]))

static bool has_root(void)
{
	cap_t now = cap_get_proc();
	cap_flag_value_t v = CAP_CLEAR;

	cap_get_flag(now, CAP_SYS_PTRACE, CAP_EFFECTIVE, &v);
	cap_free(now);
	return v == CAP_SET && !geteuid();
}

/* The hexadecimal number of a line of /proc/self/status. */
static unsigned long long status_bits(const char *key)
{
	char line[256];
	unsigned long long v = ~0ull;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			v = strtoull(line + strlen(key), NULL, 16);
	if (f)
		fclose(f);
	return v;
}

/* --- rights --- */

START_TEST(exactly_the_documented_capabilities_are_kept)
{
	const unsigned long long documented =
		1ull << CAP_PERFMON | 1ull << CAP_SYS_PTRACE |
		1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_CHECKPOINT_RESTORE;
	unsigned long long had = status_bits("CapPrm:"), want = had & documented;

	if (privilege_maps_need_bpf())
		want |= had & 1ull << CAP_BPF;
	ck_assert_int_eq(privilege_drop(), 0);
	ck_assert_uint_eq(status_bits("CapEff:"), want);
	ck_assert_uint_eq(status_bits("CapPrm:"), want);
	ck_assert_uint_eq(status_bits("CapInh:"), 0);
	ck_assert_uint_eq(status_bits("CapAmb:"), 0);
	if (had & 1ull << CAP_SETPCAP)
		ck_assert_uint_eq(status_bits("CapBnd:"), 0);
	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	ck_assert_int_eq(privilege_drop(), 0);		/* a second time: nothing left to drop */
	ck_assert_uint_eq(status_bits("CapEff:"), want);
}
END_TEST

START_TEST(what_is_not_held_is_not_asked_for)
{
	cap_t none = cap_init();
	char **names;
	uint32_t n;

	ck_assert_int_eq(cap_set_proc(none), 0);
	cap_free(none);
	ck_assert_int_eq(privilege_drop(), 0);
	ck_assert_uint_eq(status_bits("CapEff:"), 0);
	ck_assert_int_eq(privilege_list(&names, &n), 0);
	ck_assert_uint_eq(n, 0);
	free(names);
}
END_TEST

START_TEST(list_names_what_is_effective)
{
	char **names;
	uint32_t n;

	if (!has_root())
		return;
	ck_assert_int_eq(privilege_drop(), 0);
	ck_assert_int_eq(privilege_list(&names, &n), 0);
	ck_assert_uint_ge(n, 4);
	ck_assert_str_eq(names[0], "CAP_DAC_READ_SEARCH");
	ck_assert_str_eq(names[1], "CAP_SYS_PTRACE");
	ck_assert_str_eq(names[2], "CAP_PERFMON");
	ck_assert_str_eq(names[n - 1], "CAP_CHECKPOINT_RESTORE");
	free(names);
}
END_TEST

/* Rights that were thrown away stay away, and the maps that were made with them stay
 * within reach. */
START_TEST(after_the_drop_maps_are_reachable_and_files_are_not_ours)
{
	uint32_t key = 0;
	uint64_t value = 7;
	int map;

	if (!has_root())
		return;
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "t", 4, 8, 1, NULL);
	ck_assert_int_ge(map, 0);
	ck_assert_int_eq(privilege_drop(), 0);
	ck_assert_int_eq(bpf_map_update_elem(map, &key, &value, BPF_ANY), 0);
	value = 0;
	ck_assert_int_eq(bpf_map_lookup_elem(map, &key, &value), 0);
	ck_assert_uint_eq(value, 7);
	ck_assert_int_eq(mount("none", "/mnt", "tmpfs", 0, NULL), -1);
	ck_assert_int_eq(setuid(1), -1);
	ck_assert_int_eq(chown(".", 1, 1), -1);
	close(map);
}
END_TEST

/* --- the probe --- */

static const struct config *probe_config(void)
{
	static char ring[] = "/dev/shm/check_privilege-no-such/ring";
	static struct config c;

	c.ring = ring;
	c.ring_size = 1 << 20;
	c.dict_size = 1 << 18;
	c.frequency = 19;
	c.mode = MODE_PROBE;
	return &c;
}

static json_t *probe_json(const struct probe *p)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	json_t *list;

	probe_print(p, f, true);
	fclose(f);
	list = json_loads(text, 0, NULL);
	ck_assert_msg(list != NULL, "not JSON: %s", text);
	free(text);
	return list;
}

static json_t *row_named(json_t *list, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "name")), name))
			return row;
	ck_abort_msg("no row %s", name);
	return NULL;
}

START_TEST(probe_is_a_list_of_complete_rows)
{
	struct probe *p = NULL;
	json_t *list, *row;
	size_t i, n;

	ck_assert_int_eq(probe_run(&p, probe_config()), 0);
	list = probe_json(p);
	ck_assert_uint_ge(json_array_size(list), 25);
	json_array_foreach(list, i, row) {
		const char *remedy = json_string_value(json_object_get(row, "remedy"));
		bool ok = json_is_true(json_object_get(row, "ok"));

		ck_assert(json_is_boolean(json_object_get(row, "ok")));
		ck_assert_uint_gt(strlen(json_string_value(json_object_get(row, "need"))),
				  0);
		ck_assert_uint_gt(
			strlen(json_string_value(json_object_get(row, "effect"))), 0);
		ck_assert_ptr_nonnull(remedy);
		ck_assert_msg(ok == !*remedy, "%s: ok %d, remedy '%s'",
			      json_string_value(json_object_get(row, "name")), ok,
			      remedy);
		ck_assert_ptr_null(strchr(remedy, '\n'));
		for (n = 0; n < i; n++)
			ck_assert_str_ne(json_string_value(json_object_get(row, "name")),
					 json_string_value(json_object_get(
						 json_array_get(list, n), "name")));
	}
	json_decref(list);
	probe_free(p);
	probe_free(NULL);
}
END_TEST

/* Compared with what this test finds out by itself. */
START_TEST(probe_tells_what_is_missing_once_rights_are_gone)
{
	struct probe *p = NULL;
	json_t *list;
	cap_t none = cap_init();

	ck_assert_int_eq(cap_set_proc(none), 0);
	cap_free(none);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	ck_assert_int_eq(probe_run(&p, probe_config()), 0);
	list = probe_json(p);
	ck_assert(
		!json_is_true(json_object_get(row_named(list, "cap_sys_ptrace"), "ok")));
	ck_assert(!json_is_true(json_object_get(row_named(list, "cap_bpf"), "ok")));
	ck_assert_str_eq(
		json_string_value(json_object_get(row_named(list, "cap_bpf"), "remedy")),
		"securityContext: {capabilities: {add: [BPF]}}");
	ck_assert(!json_is_true(json_object_get(row_named(list, "bpf"), "ok")));
	ck_assert(json_is_true(json_object_get(row_named(list, "bpf"), "required")));
	for (uint32_t i = 0; i < p->n; i++)
		if (!strncmp(p->rows[i].name, "cap_sys_ptrace", 14))
			ck_assert(p->rows[i].warn);
	ck_assert(json_is_true(json_object_get(row_named(list, "ring_tmpfs"), "ok")));
	ck_assert(!probe_usable(p));
	json_decref(list);
	probe_free(p);
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("container");
	setenv("INVOCATION_ID", "x", 1);
	ck_assert_int_eq(probe_run(&p, probe_config()), 0);
	list = probe_json(p);
	ck_assert_str_eq(
		json_string_value(json_object_get(row_named(list, "bpf"), "remedy")),
		"AmbientCapabilities=CAP_BPF CAP_PERFMON");
	json_decref(list);
	probe_free(p);
}
END_TEST

START_TEST(probe_finds_a_ring_off_tmpfs_and_without_room)
{
	struct config c = *probe_config();
	struct probe *p = NULL;
	char cwd[256], ring[300];
	json_t *list;

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	snprintf(ring, sizeof(ring), "%s/no/such/folder/ring", cwd);
	c.ring = ring;
	c.ring_size = 1ull << 60;
	ck_assert_int_eq(probe_run(&p, &c), 0);
	list = probe_json(p);
	ck_assert(!json_is_true(json_object_get(row_named(list, "ring_room"), "ok")));
	json_decref(list);
	probe_free(p);
	snprintf(ring, sizeof(ring), "/sys/ring");
	c.ring_size = 1 << 20;
	ck_assert_int_eq(probe_run(&p, &c), 0);
	list = probe_json(p);
	ck_assert(!json_is_true(json_object_get(row_named(list, "ring_tmpfs"), "ok")));
	json_decref(list);
	probe_free(p);
}
END_TEST

START_TEST(probe_text_names_each_row_and_leaves_nothing_behind)
{
	struct probe *p = NULL;
	char *text = NULL, path[64];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int before = dup(0), after;

	close(before);
	ck_assert_int_eq(probe_run(&p, probe_config()), 0);
	after = dup(0);
	close(after);
	ck_assert_int_eq(before, after);	/* the lowest free descriptor: none was left open */
	probe_print(p, f, false);
	fclose(f);
	for (uint32_t i = 0; i < p->n; i++)
		ck_assert_ptr_nonnull(strstr(text, p->rows[i].name));
	snprintf(path, sizeof(path), "%s", probe_config()->ring);
	ck_assert_int_eq(access(path, F_OK), -1);
	free(text);
	probe_free(p);
}
END_TEST

/* --- whoever started us --- */

static int manager(char path[108])
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(path, 108, "@check_privilege.%d", getpid());
	memcpy(a.sun_path + 1, path + 1, strlen(path) - 1);
	ck_assert_int_eq(bind(s, (struct sockaddr *)&a,
			      (socklen_t)(sizeof(sa_family_t) + strlen(path))),
			 0);
	return s;
}

static const char *received(int s)
{
	static char buf[1024];
	ssize_t n = recv(s, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	buf[n < 0 ? 0 : n] = '\0';
	return buf;
}

START_TEST(notification_reaches_the_manager_and_the_descriptor)
{
	char path[108], word[16] = "", pid[16];
	struct notify *n = NULL;
	int s = manager(path), pipes[2];

	ck_assert_int_eq(pipe(pipes), 0);
	setenv("NOTIFY_SOCKET", path, 1);
	setenv("WATCHDOG_USEC", "3000000", 1);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	ck_assert_int_eq(notify_open(&n, pipes[1]), 0);
	ck_assert_uint_eq(notify_watchdog_ns(n), 1500000000);
	ck_assert_int_eq(notify_ready(n, "99 Hz\nWATCHDOG=trigger"), 0);
	ck_assert_str_eq(received(s), "READY=1\nSTATUS=99 Hz");
	ck_assert_int_eq(read(pipes[0], word, sizeof(word)), 6);
	ck_assert_str_eq(word, "ready\n");
	ck_assert_int_eq(read(pipes[0], word, sizeof(word)), 0);	/* and closed */
	ck_assert_int_eq(notify_watchdog(n), 0);
	ck_assert_str_eq(received(s), "WATCHDOG=1");
	ck_assert_int_eq(notify_reloading(n), 0);
	ck_assert_int_eq(strncmp(received(s), "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
	ck_assert_int_eq(notify_ready(n, NULL), 0);
	ck_assert_str_eq(received(s), "READY=1");
	ck_assert_int_eq(notify_stopping(n), 0);
	ck_assert_str_eq(received(s), "STOPPING=1");
	close(s);
	ck_assert_int_eq(notify_watchdog(n), -ECONNREFUSED);
	notify_close(n);
	setenv("WATCHDOG_PID", "1", 1);
	unsetenv("NOTIFY_SOCKET");
	ck_assert_int_eq(notify_open(&n, -1), 0);
	ck_assert_uint_eq(notify_watchdog_ns(n), 0);
	ck_assert_int_eq(notify_ready(n, "x"), 0);
	notify_close(n);
	notify_close(NULL);
}
END_TEST

static const struct { const char *path; int want;
} sockets[] = {
	{ "relative", -EINVAL },
	{ "/", -EINVAL },
	{ "@", -EINVAL },
	{ "/no/such/socket", -ENOENT },
	{ "/a23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
	  "123456789012345678",
	  -EINVAL },
};
START_TEST(bad_notify_socket_is_an_error)
{
	struct notify *n = NULL;

	setenv("NOTIFY_SOCKET", sockets[_i].path, 1);
	ck_assert_int_eq(notify_open(&n, -1), sockets[_i].want);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("privilege");
	TCase *rights = tcase_create("rights"), *probe = tcase_create("probe");
	TCase *notify = tcase_create("notify");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(rights, exactly_the_documented_capabilities_are_kept);
	tcase_add_test(rights, what_is_not_held_is_not_asked_for);
	tcase_add_test(rights, list_names_what_is_effective);
	tcase_add_test(rights, after_the_drop_maps_are_reachable_and_files_are_not_ours);
	tcase_add_test(probe, probe_is_a_list_of_complete_rows);
	tcase_add_test(probe, probe_tells_what_is_missing_once_rights_are_gone);
	tcase_add_test(probe, probe_finds_a_ring_off_tmpfs_and_without_room);
	tcase_add_test(probe, probe_text_names_each_row_and_leaves_nothing_behind);
	tcase_add_test(notify, notification_reaches_the_manager_and_the_descriptor);
	tcase_add_loop_test(notify, bad_notify_socket_is_an_error, 0, N(sockets));
	suite_add_tcase(s, rights);
	suite_add_tcase(s, probe);
	suite_add_tcase(s, notify);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
