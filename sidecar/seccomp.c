/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar's system-call filter.
 *
 * An allow list.  The sidecar keeps SYS_PTRACE and DAC_READ_SEARCH, and with those two a
 * single forgotten call of a deny list (open_by_handle_at, pidfd_getfd, ptrace, a new
 * mount call of a later kernel) hands over the host.  The price of an allow list is that
 * a later libc may want a call that we do not know. So what is not in either table fails
 * with ENOSYS, which is what a libc takes as "use the older call"; and what we refuse on
 * purpose fails with EPERM, so that a log tells the two apart.
 *
 * The arguments that decide: clone only for threads, socket and socketpair only AF_UNIX,
 * signals only to ourselves, no input into a terminal.  io_uring is refused whole: this
 * filter does not see what stands in its queues.  The worker, which uses it, has a filter
 * of its own.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sidecar/privilege.h"

#define CALL(name) SCMP_SYS(name)

static const int allowed[] = {
	/* files: the ring, the event file, /proc of others, files behind mappings,
	   podinfo */
	CALL(read),
	CALL(pread64),
	CALL(readv),
	CALL(preadv),
	CALL(preadv2),
	CALL(write),
	CALL(pwrite64),
	CALL(writev),
	CALL(pwritev),
	CALL(open),
	CALL(openat),
	CALL(openat2),
	CALL(close),
	CALL(close_range),
	CALL(stat),
	CALL(lstat),
	CALL(fstat),
	CALL(newfstatat),
	CALL(statx),
	CALL(statfs),
	CALL(fstatfs),
	CALL(lseek),
	CALL(access),
	CALL(faccessat),
	CALL(faccessat2),
	CALL(readlink),
	CALL(readlinkat),
	CALL(getdents64),
	CALL(getcwd),
	CALL(dup),
	CALL(dup2),
	CALL(dup3),
	CALL(fcntl),
	CALL(flock),
	CALL(ftruncate),
	CALL(fallocate),
	CALL(fadvise64),
	CALL(fsync),
	CALL(fdatasync),
	CALL(rename),
	CALL(renameat),
	CALL(renameat2),
	CALL(unlink),
	CALL(unlinkat),
	CALL(link),
	CALL(linkat),
	CALL(fchmod),
	CALL(fchown),
	CALL(umask),
	CALL(pipe2),
	CALL(eventfd2),
	CALL(memfd_create),
	CALL(name_to_handle_at),
	CALL(inotify_init1),
	CALL(inotify_add_watch),
	CALL(inotify_rm_watch),
	/* memory */
	CALL(mmap),
	CALL(munmap),
	CALL(mprotect),
	CALL(mremap),
	CALL(madvise),
	CALL(brk),
	CALL(msync),
	/* waiting */
	CALL(epoll_create1),
	CALL(epoll_ctl),
	CALL(epoll_wait),
	CALL(epoll_pwait),
	CALL(epoll_pwait2),
	CALL(poll),
	CALL(ppoll),
	CALL(select),
	CALL(pselect6),
	CALL(timerfd_create),
	CALL(timerfd_settime),
	CALL(timerfd_gettime),
	CALL(signalfd4),
	CALL(futex),
	CALL(futex_waitv),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(pause),
	CALL(wait4),
	CALL(waitid),
	CALL(restart_syscall),
	/* clocks */
	CALL(clock_gettime),
	CALL(clock_getres),
	CALL(gettimeofday),
	CALL(time),
	CALL(times),
	/* what it is there for */
	CALL(perf_event_open),
	CALL(bpf),
	/* descriptors over sockets that stand already: worker, launcher, service manager
	 */
	CALL(sendmsg),
	CALL(recvmsg),
	CALL(sendto),
	CALL(recvfrom),
	CALL(sendmmsg),
	CALL(recvmmsg),
	CALL(getsockopt),
	CALL(setsockopt),
	CALL(shutdown),
	/* threads and ourselves */
	CALL(set_robust_list),
	CALL(get_robust_list),
	CALL(set_tid_address),
	CALL(rseq),
	CALL(arch_prctl),
	CALL(prctl),
	CALL(exit),
	CALL(exit_group),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(sched_setaffinity),
	CALL(sched_getparam),
	CALL(sched_getscheduler),
	CALL(getpriority),
	CALL(setpriority),
	CALL(getcpu),
	CALL(membarrier),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(rt_sigtimedwait),
	CALL(rt_sigpending),
	CALL(rt_sigsuspend),
	CALL(sigaltstack),
	CALL(getpid),
	CALL(gettid),
	CALL(getppid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(getresuid),
	CALL(getresgid),
	CALL(getgroups),
	CALL(getpgrp),
	CALL(getpgid),
	CALL(getsid),
	CALL(capget),
	CALL(getrlimit),
	CALL(getrusage),
	CALL(sysinfo),
	CALL(uname),
	CALL(getrandom),
};

/* Known, and refused with EPERM.  What a condition below lets through is listed there. */
static const int refused[] = {
	CALL(fork),
	CALL(vfork),
	CALL(execve),
	CALL(execveat),
	CALL(connect),
	CALL(bind),
	CALL(listen),
	CALL(accept),
	CALL(accept4),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(process_madvise),
	CALL(pidfd_open),
	CALL(pidfd_getfd),
	CALL(pidfd_send_signal),
	CALL(tkill),
	CALL(rt_sigqueueinfo),
	CALL(rt_tgsigqueueinfo),
	CALL(kcmp),
	CALL(open_by_handle_at),
	CALL(userfaultfd),
	CALL(mount),
	CALL(umount2),
	CALL(pivot_root),
	CALL(chroot),
	CALL(open_tree),
	CALL(move_mount),
	CALL(fsopen),
	CALL(fsmount),
	CALL(fsconfig),
	CALL(fspick),
	CALL(mount_setattr),
	CALL(unshare),
	CALL(setns),
	CALL(setuid),
	CALL(setgid),
	CALL(setreuid),
	CALL(setregid),
	CALL(setresuid),
	CALL(setresgid),
	CALL(setgroups),
	CALL(setfsuid),
	CALL(setfsgid),
	CALL(capset),
	CALL(setrlimit),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(adjtimex),
	CALL(io_uring_setup),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(kexec_file_load),
	CALL(reboot),
	CALL(swapon),
	CALL(swapoff),
	CALL(sethostname),
	CALL(setdomainname),
	CALL(syslog),
	CALL(acct),
	CALL(quotactl),
	CALL(add_key),
	CALL(request_key),
	CALL(keyctl),
	CALL(personality),
	CALL(mknod),
	CALL(mknodat),
	CALL(chmod),
	CALL(chown),
	CALL(fchmodat),
	CALL(fchownat),
};

static int add_plain(scmp_filter_ctx f, uint32_t action, const int *calls, size_t n)
{
	int err = 0;

	/* Negative beyond -1: a call that this architecture does not have. */
	for (size_t i = 0; i < n && !err; i++)
		if (calls[i] >= 0)
			err = seccomp_rule_add(f, action, calls[i], 0);
	return err;
}

/* Calls that one argument decides.  What no line lets through and one line refuses fails
 * with EPERM. */
static int add_conditions(scmp_filter_ctx f)
{
	const uint32_t yes = SCMP_ACT_ALLOW, no = SCMP_ACT_ERRNO(EPERM);
	const uint64_t me = (uint64_t)getpid();
	const struct { int call; uint32_t action; struct scmp_arg_cmp arg;
	} list[] = {
		{ CALL(clone),
		  yes,
		  { 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD } },
		{ CALL(clone), no, { 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0 } },
		{ CALL(socket), yes, { 0, SCMP_CMP_EQ, AF_UNIX, 0 } },
		{ CALL(socket), no, { 0, SCMP_CMP_NE, AF_UNIX, 0 } },
		{ CALL(socketpair), yes, { 0, SCMP_CMP_EQ, AF_UNIX, 0 } },
		{ CALL(socketpair), no, { 0, SCMP_CMP_NE, AF_UNIX, 0 } },
		{ CALL(kill), yes, { 1, SCMP_CMP_EQ, 0, 0 } }, /* is it alive? */
		{ CALL(kill), no, { 1, SCMP_CMP_NE, 0, 0 } },
		{ CALL(tgkill), yes, { 0, SCMP_CMP_EQ, me, 0 } }, /* abort() */
		{ CALL(tgkill), no, { 0, SCMP_CMP_NE, me, 0 } },
		{ CALL(prlimit64), yes, { 0, SCMP_CMP_EQ, 0, 0 } }, /* getrlimit() */
		{ CALL(prlimit64), no, { 0, SCMP_CMP_NE, 0, 0 } },
		{ CALL(ioctl),
		  yes,
		  { 1, SCMP_CMP_MASKED_EQ, 0xff00, '$' << 8 } }, /* of perf events */
		{ CALL(ioctl), yes, { 1, SCMP_CMP_EQ, TCGETS, 0 } }, /* isatty() */
		{ CALL(ioctl), yes, { 1, SCMP_CMP_EQ, TIOCGWINSZ, 0 } },
		{ CALL(ioctl), yes, { 1, SCMP_CMP_EQ, FIONREAD, 0 } },
		{ CALL(ioctl),
		  no,
		  { 1, SCMP_CMP_MASKED_EQ, 0xffffffff,
		    TIOCSTI } }, /* typing for others */
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]) && !err; i++)
		err = seccomp_rule_add_array(f, list[i].action, list[i].call, 1,
					     &list[i].arg);
	return err;
}

int privilege_filter_sidecar(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int err;

	if (!f)
		return -ENOMEM;
	err = add_plain(f, SCMP_ACT_ALLOW, allowed, sizeof(allowed) / sizeof(allowed[0]));
	if (!err)
		err = add_plain(f, SCMP_ACT_ERRNO(EPERM), refused,
				sizeof(refused) / sizeof(refused[0]));
	if (!err)
		err = add_conditions(f);
	if (!err)
		err = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
	/* A binary tree over the numbers: a list this long costs more than the call
	 * otherwise. */
	if (!err)
		seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err;
}
