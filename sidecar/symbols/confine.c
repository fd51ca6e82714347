/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar/symbols/confine.h"

#define WORKER_FILES 4200u
#define WORKER_MAPPED (256ull << 20)	/* program and libraries: no /proc is at hand to ask */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

/* Where a container's filter does not know close_range(). */
static void close_one_by_one(int from, int to)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur > 65536)
		r.rlim_cur = 65536;
	for (int fd = from; fd <= to && fd < (int)r.rlim_cur; fd++)
		close(fd);
}

static void close_from_to(int from, int to)
{
	if (from <= to && syscall(SYS_close_range, from, to, 0u))
		close_one_by_one(from, to);
}

void confine_descriptors(int keep)
{
	for (int fd = 0; fd < keep && fd < 3; fd++)
		if (!UNDER_SANITIZER || fd != 2)	/* its report */
			close(fd);
	close_from_to(3, keep - 1);
	close_from_to(keep > 2 ? keep + 1 : 3, INT32_MAX);
}

int confine_to_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

static int capabilities_drop(void)
{
	cap_t none = cap_init();
	int err = none ? 0 : -ENOMEM;

	if (!err && cap_set_proc(none))
		err = -errno;
	cap_free(none);
	return err;
}

static int filter_allow(scmp_filter_ctx f, const int *calls, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	return err;
}

/* Memory without a file behind it, and never executable. */
static int filter_allow_memory(scmp_filter_ctx f)
{
	int err = seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
		SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));

	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return err;
}

/* fork() and nothing that makes a namespace or a thread. */
static int filter_allow_fork(scmp_filter_ctx f)
{
	const uint64_t extra = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
			       CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_VM |
			       CLONE_PTRACE;
	int err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				   SCMP_A0(SCMP_CMP_MASKED_EQ, extra, 0));

	/* libc tries it first and takes ENOSYS for an answer: its flags cannot be seen by
	 * a filter. */
	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err;
}

/* The worker's filter is put on top of the launcher's, so this holds all that a worker
 * needs too. */
static const int launcher_calls[] = {
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(ppoll),
#ifdef __NR_poll
	SCMP_SYS(poll),
#endif
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(kill),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(socketpair),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getresuid),
	SCMP_SYS(getresgid),
	SCMP_SYS(getgroups),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(prctl),
	SCMP_SYS(seccomp),
	SCMP_SYS(prlimit64),
	SCMP_SYS(getppid),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(tgkill),
	SCMP_SYS(fcntl),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getrandom),
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(fstat),
	SCMP_SYS(sched_yield),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(write),
	SCMP_SYS(sysinfo),
};

static const int worker_calls[] = {
	SCMP_SYS(sendmsg),	  SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),	  SCMP_SYS(recvfrom),
	SCMP_SYS(read),		  SCMP_SYS(pread64),
	SCMP_SYS(fstat),	  SCMP_SYS(close),
	SCMP_SYS(munmap),	  SCMP_SYS(mremap),
	SCMP_SYS(madvise),	  SCMP_SYS(brk),
	SCMP_SYS(futex),	  SCMP_SYS(exit),
	SCMP_SYS(exit_group),	  SCMP_SYS(clock_gettime),
	SCMP_SYS(getrandom),	  SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield),	  SCMP_SYS(sysinfo),
	SCMP_SYS(ppoll),
};

/* What only an intruder would call ends the process; other mistakes are answered EPERM.
 */
static const int intruder_calls[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(mount),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(userfaultfd),
};

static int filter_kill_intruders(scmp_filter_ctx f)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(intruder_calls) / sizeof(intruder_calls[0]) && !err;
	     i++)
		err = seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, intruder_calls[i], 0);
	return err;
}

static scmp_filter_ctx filter_start(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (f)
		seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, 1);
	return f;
}

static int launcher_filter(void)
{
	scmp_filter_ctx f = filter_start();
	int err = f ? 0 : -ENOMEM;

	if (!err)
		err = filter_allow(f, launcher_calls,
				   sizeof(launcher_calls) / sizeof(launcher_calls[0]));
	if (!err)	/* io_uring's rings are mapped from its descriptor by the worker to be */
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!err)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!err)
		err = filter_allow_fork(f);
	if (!err)
		err = filter_kill_intruders(f);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err;
}

static bool change_user(void)
{
	if (setgroups(0, NULL) && errno != EPERM)
		return false;
	if (setresgid(WORKER_UID, WORKER_UID, WORKER_UID))
		return false;
	return !setresuid(WORKER_UID, WORKER_UID, WORKER_UID);
}

int confine_launcher(void)
{
	struct rlimit no_core = { 0, 0 };
	int err;

	setrlimit(RLIMIT_CORE, &no_core);
	change_user();		/* where that is not allowed it shares the sidecar's uid, and no right */
	err = capabilities_drop();
	if (err)
		return err;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* Sanitizers start threads and write reports; what they test is not this. */
	return UNDER_SANITIZER ? 0 : launcher_filter();
}

static void limit(int what, uint64_t value)
{
	struct rlimit r = { value, value }, now;

	if (!getrlimit(what, &now) && now.rlim_max < value)
		r.rlim_cur = r.rlim_max = now.rlim_max;
	setrlimit(what, &r);
}

int confine_worker_rights(uint64_t memory, bool *own_uid)
{
	int err;

	*own_uid = change_user();
	err = capabilities_drop();
	if (err)
		return err;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, WORKER_FILES);
	if (!UNDER_SANITIZER)
		limit(RLIMIT_AS, WORKER_MAPPED + memory);
	return 0;
}

int confine_worker_filter(bool uring)
{
	scmp_filter_ctx f = filter_start();
	int err = f ? 0 : -ENOMEM;

	if (!err)
		err = filter_allow(f, worker_calls,
				   sizeof(worker_calls) / sizeof(worker_calls[0]));
	if (!err)
		err = filter_allow_memory(f);
	if (!err && uring)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(io_uring_enter), 0);
	if (!err && UNDER_SANITIZER)	/* its report, and its look at its own memory */
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(write), 0);
	if (!err && UNDER_SANITIZER)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(sigaltstack), 0);
	if (!err)
		err = filter_kill_intruders(f);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err;
}
