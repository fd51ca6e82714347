/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <linux/capability.h>

struct rights {
	uint64_t	 effective;
	int		 seccomp;	/* 2: a filter is in force */
	long		 paranoid;
};

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

long rights_number(const char *path, long otherwise)
{
	char text[64], *end;
	long v;

	if (!read_text(path, text, sizeof(text)))
		return otherwise;
	v = strtol(text, &end, 10);
	return end == text ? otherwise : v;
}

static void rights_read(struct rights *r)
{
	char text[4096], *p;

	memset(r, 0, sizeof(*r));
	r->paranoid = rights_number("/proc/sys/kernel/perf_event_paranoid", 2);
	if (!read_text("/proc/self/status", text, sizeof(text))) {
		r->effective = UINT64_MAX;	/* unknown: blame nothing that we did not see */
		return;
	}
	p = strstr(text, "\nCapEff:");
	r->effective = p ? strtoull(p + 8, NULL, 16) : UINT64_MAX;
	p = strstr(text, "\nSeccomp:");
	r->seccomp = p ? (int)strtol(p + 9, NULL, 10) : 0;
}

static bool has(const struct rights *r, int cap)
{
	return r->effective >> cap & 1;
}

static bool denied(int err)
{
	return err == EPERM || err == EACCES;
}

void rights_explain_perf(char *why, size_t n, int err)
{
	struct rights r;

	rights_read(&r);
	if (err == ENOSYS) {
		snprintf(
			why, n,
			"perf_event_open: this kernel has no perf events (CONFIG_PERF_EVENTS), or a "
			"seccomp profile hides them; allow perf_event_open");
	} else if (denied(err) && !has(&r, CAP_PERFMON) && !has(&r, CAP_SYS_ADMIN)) {
		snprintf(
			why, n,
			"perf_event_open: permission denied: CAP_PERFMON is missing; add it%s",
			r.paranoid >= 3
				? ", and set kernel.perf_event_paranoid to 2 or below"
				: "");
	} else if (denied(err) && r.paranoid >= 3 && !has(&r, CAP_SYS_ADMIN)) {
		snprintf(
			why, n,
			"perf_event_open: permission denied: kernel.perf_event_paranoid is %ld, where "
			"CAP_PERFMON is not enough; sysctl kernel.perf_event_paranoid=2, or add "
			"CAP_SYS_ADMIN",
			r.paranoid);
	} else if (denied(err) && r.seccomp == 2) {
		snprintf(
			why, n,
			"perf_event_open: permission denied: the rights are there, so the seccomp "
			"filter in force refuses it; allow perf_event_open in the seccomp profile");
	} else if (denied(err)) {
		snprintf(
			why, n,
			"perf_event_open: permission denied although CAP_PERFMON is there: a security "
			"module (SELinux, lockdown) refuses it; see its audit log");
	} else if (err == EDQUOT) {
		snprintf(
			why, n,
			"mapping a perf buffer: the user's locked memory for perf is used up; raise "
			"kernel.perf_event_mlock_kb, or add CAP_IPC_LOCK");
	} else if (err == EMFILE || err == ENFILE) {
		snprintf(
			why, n,
			"perf_event_open: too many open files: raise the limit (ulimit -n) to two "
			"for each CPU and 64 more");
	} else {
		snprintf(why, n, "perf_event_open: %s", strerror(err));
	}
}

static bool kernel_before(unsigned major, unsigned minor)
{
	struct utsname u;
	unsigned a, b;

	if (uname(&u) || sscanf(u.release, "%u.%u", &a, &b) != 2)
		return false;
	return a < major || (a == major && b < minor);
}

static bool lockdown_confidential(void)
{
	char text[128];

	return read_text("/sys/kernel/security/lockdown", text, sizeof(text)) &&
	       strstr(text, "[confidentiality]");
}

/* EPERM and its kin: the most specific cause that can be seen from here. */
static const char *bpf_denied(const struct rights *r)
{
	struct rlimit lim;

	if (has(r, CAP_SYS_ADMIN) || (has(r, CAP_BPF) && has(r, CAP_PERFMON))) {
		if (r->seccomp == 2)
			return "the rights are there, so the seccomp filter in force refuses bpf(); allow bpf in "
			       "the seccomp profile";
		if (kernel_before(5, 11) && !getrlimit(RLIMIT_MEMLOCK, &lim) &&
		    lim.rlim_cur != RLIM_INFINITY)
			return "before Linux 5.11 BPF maps count as locked memory; raise RLIMIT_MEMLOCK (ulimit "
			       "-l unlimited), or add CAP_SYS_RESOURCE";
		if (lockdown_confidential())
			return "kernel lockdown is in confidentiality mode, which forbids reading kernel memory";
		return "a security module refuses bpf(); see its audit log";
	}
	if (!has(r, CAP_BPF) && !has(r, CAP_PERFMON))
		return "CAP_BPF and CAP_PERFMON are missing; add both";
	return has(r, CAP_BPF) ? "CAP_PERFMON is missing; add it"
			       : "CAP_BPF is missing; add it";
}

void rights_explain_bpf(char *why, size_t n, int err, const char *detail)
{
	struct rights r;

	rights_read(&r);
	if (kernel_before(5, 10))
		snprintf(
			why, n,
			"loading BPF: this kernel is older than 5.10: no boot clock or ring buffer for BPF");
	else if (access("/sys/kernel/btf/vmlinux", R_OK))
		snprintf(
			why, n,
			"loading BPF: /sys/kernel/btf/vmlinux: %s: the kernel describes no types; it needs "
			"CONFIG_DEBUG_INFO_BTF",
			strerror(errno));
	else if (denied(err))
		snprintf(why, n, "loading BPF: permission denied: %s", bpf_denied(&r));
	else if (err == ENOSYS)
		snprintf(
			why, n,
			"loading BPF: this kernel has no bpf(), or a seccomp profile hides it; allow bpf");
	else
		snprintf(why, n, "loading BPF: %s%s%.200s", strerror(err),
			 *detail ? ": " : "", detail);
}
