/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel can do: tried, not looked up, wherever trying leaves nothing behind. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sidecar/probe.h"

/* What stands between a right that is there and a call that fails. */
static const char *who_denies(int err, bool has_rights, char buf[PROBE_GRANT_MAX])
{
	if (err == ENOSYS || has_rights)
		return "seccompProfile: {type: Unconfined} (or a profile that allows bpf and perf_event_open)";
	return probe_grant("BPF, PERFMON", buf);
}

static bool may_bpf(void)
{
	return probe_has_cap(CAP_SYS_ADMIN) ||
	       (probe_has_cap(CAP_BPF) && probe_has_cap(CAP_PERFMON));
}

static void version(struct probe *p)
{
	const struct probe_fact f = {
		.name = "kernel",
		.ok = !probe_kernel_before(5, 10),
		.required = true,
		.need = "Linux 5.10 or later",
		.effect = "it does not run: BPF has no boot clock or no ring buffer",
	};

	probe_row(p, &f, "a newer kernel");
}

/* r0 = 0; exit: of the program type that samples. */
static void program(struct probe *p)
{
	char grant[PROBE_GRANT_MAX];
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "rs_probe", "GPL", insns, 2,
			       NULL);
	const struct probe_fact f = {
		.name = "bpf",
		.ok = fd >= 0,
		.required = true,
		.need = "CAP_BPF and CAP_PERFMON, and bpf() allowed",
		.effect = "it does not start: no BPF program can be loaded",
	};

	probe_row(p, &f, "%s", who_denies(-fd, may_bpf(), grant));
	if (fd >= 0)
		close(fd);
}

static void ring_buffer(struct probe *p)
{
	char grant[PROBE_GRANT_MAX];
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rs_probe", 0, 0,
				(uint32_t)sysconf(_SC_PAGESIZE), NULL);
	const struct probe_fact f = {
		.name = "bpf_ring_buffer", .ok = fd >= 0, .required = true,
		.need = "Linux 5.8 or later, and the right to create maps",
		.effect = "it does not start: events have no way out of the kernel",
	};

	probe_row(p, &f, "%s", fd == -EPERM && probe_kernel_before(5, 11) && may_bpf() ?
		  "ulimit -l unlimited" : who_denies(-fd, may_bpf(), grant));
	if (fd >= 0)
		close(fd);
}

static int open_event(struct perf_event_attr *a, int pid, int cpu)
{
	long fd;

	a->size = sizeof(*a);
	a->disabled = 1;
	fd = syscall(SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int first_cpu(void)
{
	long cpu = probe_number("/sys/devices/system/cpu/online", 0);

	return cpu < 0 ? 0 : (int)cpu;
}

static void sampling(struct probe *p)
{
	char grant[PROBE_GRANT_MAX];
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .config = PERF_COUNT_SW_CPU_CLOCK,
				     .sample_period = 1000000000 };
	long paranoid = probe_number("/proc/sys/kernel/perf_event_paranoid", 2);
	bool admin = probe_has_cap(CAP_SYS_ADMIN);
	int fd = open_event(&a, -1, first_cpu());
	const struct probe_fact f = {
		.name = "perf_event", .ok = fd >= 0, .required = true,
		.need = "perf_event_open of the CPU clock, system-wide",
		.effect = "it does not start: no CPU can be sampled",
	};

	if (paranoid > 2 && !admin && (fd == -EACCES || fd == -EPERM))
		probe_row(p, &f, "sysctl kernel.perf_event_paranoid=2 (now %ld)",
			  paranoid);
	else
		probe_row(p, &f, "%s",
			  who_denies(-fd, admin || probe_has_cap(CAP_PERFMON), grant));
	if (fd >= 0)
		close(fd);
}

static void build_ids(struct probe *p)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .config = PERF_COUNT_SW_DUMMY,
				     .exclude_kernel = 1,
				     .mmap = 1,
				     .mmap2 = 1,
				     .build_id = 1 };
	int fd = open_event(&a, 0, -1);
	const struct probe_fact f = {
		.name = "mmap2_build_id",
		.ok = fd >= 0,
		.need = "build ids in mapping events (Linux 5.12)",
		.effect =
			"the file of a process that is gone is known by device and inode instead of build id",
	};

	probe_row(p, &f, "a kernel of 5.12 or later");
	if (fd >= 0)
		close(fd);
}

static bool has_typed_tracepoints(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, "btf_trace_sched_process_exec",
						 BTF_KIND_TYPEDEF) > 0;

	btf__free(btf);
	return has;
}

static void types(struct probe *p, bool loaded)
{
	bool readable = !access("/sys/kernel/btf/vmlinux", R_OK);
	struct probe_fact f = {
		.name = "btf",
		.ok = readable,
		.required = true,
		.need = "/sys/kernel/btf/vmlinux, readable",
		.effect = "it does not start: the offsets of kernel structs are unknown",
	};

	probe_row(p, &f, "%s", access("/sys/kernel", F_OK) ? "mount -t sysfs sysfs /sys" :
		  "a kernel with CONFIG_DEBUG_INFO_BTF");
	f = (struct probe_fact){
		.name = "tp_btf",
		.ok = readable && (loaded || has_typed_tracepoints()),
		.required = true,
		.need = "tracepoints with types (sched_process_exec)",
		.effect = "it does not start: fork, exec and exit are not seen",
	};
	probe_row(p, &f, "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_TRACEPOINTS");
}

static bool kallsyms_has_addresses(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr;
	bool found = false;

	if (!f)
		return false;
	/* Per-CPU symbols stand at 0 and at small numbers even where addresses are shown.
	 */
	for (int i = 0; i < 100000 && !found && fscanf(f, "%llx %*[^\n]", &addr) == 1;
	     i++)
		found = addr > 0xffffffff;
	fclose(f);
	return found;
}

static void kernel_names(struct probe *p)
{
	char grant[PROBE_GRANT_MAX];
	const struct probe_fact f = {
		.name = "kallsyms",
		.ok = kallsyms_has_addresses(),
		.need = "addresses in /proc/kallsyms: CAP_SYSLOG, and kernel.kptr_restrict below 2",
		.effect = "kernel frames stay addresses",
		.warn = true,
	};

	if (probe_number("/proc/sys/kernel/kptr_restrict", 0) >= 2)
		probe_row(p, &f, "sysctl kernel.kptr_restrict=1");
	else
		probe_row(p, &f, "%s", probe_grant("SYSLOG", grant));
}

static void uring(struct probe *p)
{
	struct io_uring_params params = { .flags = IORING_SETUP_CLAMP };
	long fd = syscall(SYS_io_uring_setup, 1, &params);
	int err = fd < 0 ? errno : 0;
	const struct probe_fact f = {
		.name = "io_uring",
		.ok = fd >= 0,
		.need = "io_uring_setup allowed",
		.effect =
			"the symbol worker reads files one by one: names come later, nothing is lost",
	};

	if (fd >= 0)
		close((int)fd);
	if (err == EPERM && probe_number("/proc/sys/kernel/io_uring_disabled", 0) > 0)
		probe_row(p, &f, "sysctl kernel.io_uring_disabled=0");
	else
		probe_row(
			p, &f,
			"seccompProfile: {type: Unconfined} (or a profile that allows io_uring_setup, io_uring_enter)");
}

static void tracefs(struct probe *p)
{
	static const char hook[] = "events/syscalls/sys_exit_prctl/id";
	char own[128], debug[128];
	struct probe_fact f = {
		.name = "tracefs",
		.need = "tracefs, readable, with syscalls/sys_exit_prctl",
		.effect =
			"a process context that is published or changed is found by looking, after seconds, not at once",
	};

	snprintf(own, sizeof(own), "/sys/kernel/tracing/%s", hook);
	snprintf(debug, sizeof(debug), "/sys/kernel/debug/tracing/%s", hook);
	f.ok = !access(own, R_OK) || !access(debug, R_OK);
	if (!access("/sys/kernel/tracing/events", F_OK) && access(own, F_OK))
		probe_row(p, &f, "a kernel with CONFIG_FTRACE_SYSCALLS");
	else
		probe_row(p, &f, "mount -t tracefs tracefs /sys/kernel/tracing (readable)");
}

static void filters(struct probe *p)
{
	uint32_t action = SECCOMP_RET_ERRNO;
	const struct probe_fact f = {
		.name = "seccomp",
		.ok = !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action),
		.need = "system-call filters (CONFIG_SECCOMP_FILTER)",
		.effect =
			"ringsided and its symbol worker run without a filter of their own",
	};

	probe_row(
		p, &f,
		"a kernel with CONFIG_SECCOMP_FILTER, or a profile that allows seccomp()");
}

static void lockdown(struct probe *p)
{
	char text[128] = "";
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	struct probe_fact f = {
		.name = "lockdown",
		.need = "kernel lockdown below confidentiality",
		.effect = "BPF cannot read kernel memory: it does not start",
		.required = true,
	};

	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	f.ok = !strstr(text, "[confidentiality]");
	probe_row(p, &f, "boot with lockdown=integrity");
}

/* libbpf's own words would stand on stderr, between ours. */
static int be_quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

void probe_kernel(struct probe *p, bool loaded)
{
	libbpf_print_fn_t before = libbpf_set_print(be_quiet);

	version(p);
	program(p);
	ring_buffer(p);
	sampling(p);
	build_ids(p);
	types(p, loaded);
	kernel_names(p);
	uring(p);
	tracefs(p);
	filters(p);
	lockdown(p);
	libbpf_set_print(before);
}
