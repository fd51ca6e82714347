/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities, sysctls and limits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include "sidecar/probe.h"

bool probe_has_cap(int cap)
{
	cap_t now = cap_get_proc();
	cap_flag_value_t v = CAP_CLEAR;

	if (now && cap_get_flag(now, cap, CAP_EFFECTIVE, &v))
		v = CAP_CLEAR;
	cap_free(now);
	return v == CAP_SET;
}

bool probe_kernel_before(unsigned int major, unsigned int minor)
{
	unsigned int a, b;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &a, &b) != 2)
		return false;
	return a < major || (a == major && b < minor);
}

long probe_number(const char *path, long otherwise)
{
	FILE *f = fopen(path, "re");
	long v = otherwise;

	if (!f)
		return otherwise;
	if (fscanf(f, "%ld", &v) != 1)
		v = otherwise;
	fclose(f);
	return v;
}

const char *probe_grant(const char *capabilities, char buf[PROBE_GRANT_MAX])
{
	size_t n;

	if (getenv("KUBERNETES_SERVICE_HOST") || getenv("container")) {
		snprintf(buf, PROBE_GRANT_MAX,
			 "securityContext: {capabilities: {add: [%s]}}", capabilities);
		return buf;
	}
	if (!getenv("INVOCATION_ID")) {
		snprintf(buf, PROBE_GRANT_MAX, "sudo ringsided (for %s)", capabilities);
		return buf;
	}
	n = (size_t)snprintf(buf, PROBE_GRANT_MAX, "AmbientCapabilities=");
	for (const char *c = capabilities; *c; c += strspn(c, ", ")) {
		n += (size_t)snprintf(buf + n, PROBE_GRANT_MAX - n, "%sCAP_%.*s",
				      c == capabilities ? "" : " ", (int)strcspn(c, ","),
				      c);
		c += strcspn(c, ",");
	}
	return buf;
}

/* The rights without a warning have a row of their own for what they cost, or are said
 * where they are missed. */
static const struct {
	int cap;
	bool warn;
	const char *name, *need, *add, *effect;
} caps[] = {
	{ CAP_BPF, false, "cap_bpf", "CAP_BPF (or CAP_SYS_ADMIN)", "BPF",
	  "BPF programs cannot be loaded" },
	{ CAP_PERFMON, false, "cap_perfmon", "CAP_PERFMON (or CAP_SYS_ADMIN)", "PERFMON",
	  "programs that read kernel memory cannot be loaded, CPUs cannot be sampled" },
	{ CAP_SYS_PTRACE, true, "cap_sys_ptrace", "CAP_SYS_PTRACE", "SYS_PTRACE",
	  "frames of other users' processes stay addresses" },
	{ CAP_DAC_READ_SEARCH, true, "cap_dac_read_search", "CAP_DAC_READ_SEARCH",
	  "DAC_READ_SEARCH",
	  "no OTEL_* names from the environment, no files that only their owner may read" },
	{ CAP_CHECKPOINT_RESTORE, true, "cap_checkpoint_restore",
	  "CAP_CHECKPOINT_RESTORE", "CHECKPOINT_RESTORE",
	  "files are opened by path only: deleted or replaced ones stay unnamed" },
	{ CAP_SYSLOG, false, "cap_syslog", "CAP_SYSLOG (at start only)", "SYSLOG",
	  "kernel frames without names" },
	{ CAP_CHOWN, false, "cap_chown", "CAP_CHOWN (at start only)", "CHOWN",
	  "the ring is only given to a group that ringsided is a member of" },
	{ CAP_SETUID, false, "cap_setuid", "CAP_SETUID (at start only)", "SETUID",
	  "the symbol worker has no uid of its own" },
	{ CAP_SETGID, false, "cap_setgid", "CAP_SETGID (at start only)", "SETGID",
	  "the symbol worker keeps ringsided's groups" },
};

static void capabilities(struct probe *p)
{
	bool admin = probe_has_cap(CAP_SYS_ADMIN);
	char grant[PROBE_GRANT_MAX];
	struct probe_fact f;

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		f = (struct probe_fact){ .name = caps[i].name,
					 .ok = probe_has_cap(caps[i].cap),
					 .need = caps[i].need,
					 .effect = caps[i].effect,
					 .warn = caps[i].warn };
		if (admin && (caps[i].cap == CAP_BPF || caps[i].cap == CAP_PERFMON))
			f.ok = true;
		probe_row(p, &f, "%s", probe_grant(caps[i].add, grant));
	}
}

static void sysctls(struct probe *p)
{
	long paranoid = probe_number("/proc/sys/kernel/perf_event_paranoid", 2);
	bool admin = probe_has_cap(CAP_SYS_ADMIN);
	struct probe_fact f = {
		.name = "perf_event_paranoid",
		.ok = paranoid <= 2 || admin,
		.need = "kernel.perf_event_paranoid at 2 or below, or CAP_SYS_ADMIN at start",
		.effect =
			"CPUs cannot be sampled: CAP_PERFMON is not enough at 3 and above",
	};

	probe_row(p, &f, "sysctl kernel.perf_event_paranoid=2");
	f = (struct probe_fact){
		.name = "cpu_hotplug",
		.ok = paranoid <= 2,
		.need = "kernel.perf_event_paranoid at 2 or below",
		.effect =
			"a CPU that comes online later is not sampled: CAP_SYS_ADMIN is not kept after start",
		.warn = true,
	};
	probe_row(p, &f, "sysctl kernel.perf_event_paranoid=2");
}

static void sample_rate(struct probe *p)
{
	long max = probe_number("/proc/sys/kernel/perf_event_max_sample_rate", 100000);
	long percent = probe_number("/proc/sys/kernel/perf_cpu_time_max_percent", 25);
	const struct probe_fact f = {
		.name = "perf_event_max_sample_rate",
		.ok = max >= 10000 || percent == 0 || percent == 100,
		.need = "kernel.perf_event_max_sample_rate at 10000 or above",
		.effect =
			"the kernel refuses higher frequencies, and may have lowered the limit itself",
	};

	probe_row(p, &f, "sysctl kernel.perf_event_max_sample_rate=100000");
}

static void memlock(struct probe *p)
{
	struct rlimit lim = { 0, 0 };
	struct probe_fact f = {
		.name = "memlock",
		.need = "locked memory without limit, or CAP_SYS_RESOURCE; kernels before 5.11 only",
		.effect = "BPF maps cannot be created",
	};

	getrlimit(RLIMIT_MEMLOCK, &lim);
	f.ok = !probe_kernel_before(5, 11) || lim.rlim_max == RLIM_INFINITY ||
	       probe_has_cap(CAP_SYS_RESOURCE);
	probe_row(p, &f, "ulimit -l unlimited");
}

static void keeps_bpf(struct probe *p)
{
	const struct probe_fact f = {
		.name = "bpf_maps_without_cap_bpf",
		.ok = !privilege_maps_need_bpf(),
		.need = "kernel 5.19 or later",
		.effect = "CAP_BPF is kept after start",
	};

	probe_row(p, &f, "a kernel of 5.19 or later");
}

void probe_rights(struct probe *p)
{
	capabilities(p);
	sysctls(p);
	sample_rate(p);
	memlock(p);
	keeps_bpf(p);
}
