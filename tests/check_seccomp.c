/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar's system-call filter: each denial, and each call that a running sidecar
 * needs, in a child of its own.  It ends with _exit(): a sanitizer's leak check forks.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "sidecar/privilege.h"

#define N(t) (sizeof(t) / sizeof((t)[0]))

static char child_stack[65536];

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static long call_fork(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static long call_clone(void)
{
	return clone(nothing, child_stack + sizeof(child_stack), CLONE_VM | SIGCHLD,
		     NULL);
}
static long call_newuser(void)
{
	return clone(nothing, child_stack + sizeof(child_stack), CLONE_NEWUSER | SIGCHLD,
		     NULL);
}
static long call_clone3(void)
{
	uint64_t args[8] = { 0 };

	return syscall(SYS_clone3, args, sizeof(args));
}
static long call_execve(void) { return execl("/bin/true", "true", (char *)NULL); }
static long call_execveat(void)
{
	return syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0);
}
static long call_inet(void) { return socket(AF_INET, SOCK_STREAM, 0); }
static long call_inet6(void) { return socket(AF_INET6, SOCK_DGRAM, 0); }
static long call_netlink(void) { return socket(AF_NETLINK, SOCK_RAW, 0); }
static long call_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0); }
static long call_inet_pair(void)
{
	int sv[2];

	return socketpair(AF_INET, SOCK_STREAM, 0, sv);
}
static long call_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };

	return connect(0, (struct sockaddr *)&a, sizeof(a));
}
static long call_ptrace(void) { return ptrace(PTRACE_ATTACH, 1, NULL, NULL); }
static long call_vm_readv(void)
{
	struct iovec v = { child_stack, 1 };

	return process_vm_readv(getpid(), &v, 1, &v, 1, 0);
}
static long call_vm_writev(void)
{
	struct iovec v = { child_stack, 1 };

	return process_vm_writev(getpid(), &v, 1, &v, 1, 0);
}
static long call_mount(void) { return mount("none", "/mnt", "tmpfs", 0, NULL); }
static long call_umount(void) { return umount2("/nowhere", 0); }
static long call_unshare(void) { return unshare(CLONE_NEWNS); }
static long call_setns(void) { return setns(0, 0); }
static long call_chroot(void) { return chroot("/"); }
static long call_setuid(void) { return setuid(getuid()); }
static long call_kill(void) { return kill(getppid(), SIGCONT); }
static long call_kill_all(void) { return kill(-1, SIGCONT); }
static long call_tgkill(void)
{
	return syscall(SYS_tgkill, getppid(), getppid(), SIGCONT);
}
static long call_tkill(void) { return syscall(SYS_tkill, getppid(), SIGCONT); }
static long call_pidfd_open(void) { return syscall(SYS_pidfd_open, getpid(), 0); }
static long call_pidfd_getfd(void) { return syscall(SYS_pidfd_getfd, 0, 0, 0); }
static long call_by_handle(void)
{
	return syscall(SYS_open_by_handle_at, 0, child_stack, O_RDONLY);
}
static long call_uring(void)
{
	struct io_uring_params p = { 0 };

	return syscall(SYS_io_uring_setup, 1, &p);
}
static long call_userfaultfd(void) { return syscall(SYS_userfaultfd, 0); }
static long call_settime(void)
{
	return syscall(SYS_clock_settime, CLOCK_REALTIME, NULL);
}
static long call_module(void) { return syscall(SYS_finit_module, 0, "", 0); }
static long call_reboot(void) { return syscall(SYS_reboot, 0, 0, 0, NULL); }
static long call_sti(void) { return ioctl(0, TIOCSTI, "x"); }
static long call_sti_high(void)
{
	return syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, "x");
}
static long call_limit(void)
{
	struct rlimit l;

	return prlimit(getppid(), RLIMIT_NOFILE, NULL, &l);
}
static long call_unknown(void) { return syscall(9999); }
static long call_acct(void) { return syscall(SYS_acct, NULL); }

static const struct { const char *what; long (*call)(void); int want;
} denied[] = {
	{ "fork", call_fork, EPERM },
	{ "clone of a process", call_clone, EPERM },
	{ "clone with a user namespace", call_newuser, EPERM },
	{ "clone3, so that libc uses clone", call_clone3, ENOSYS },
	{ "execve", call_execve, EPERM },
	{ "execveat", call_execveat, EPERM },
	{ "IPv4", call_inet, EPERM },
	{ "IPv6", call_inet6, EPERM },
	{ "netlink", call_netlink, EPERM },
	{ "packet", call_packet, EPERM },
	{ "inet socketpair", call_inet_pair, EPERM },
	{ "connect", call_connect, EPERM },
	{ "ptrace", call_ptrace, EPERM },
	{ "process_vm_readv", call_vm_readv, EPERM },
	{ "process_vm_writev", call_vm_writev, EPERM },
	{ "mount", call_mount, EPERM },
	{ "umount", call_umount, EPERM },
	{ "unshare", call_unshare, EPERM },
	{ "setns", call_setns, EPERM },
	{ "chroot", call_chroot, EPERM },
	{ "setuid", call_setuid, EPERM },
	{ "kill", call_kill, EPERM },
	{ "kill all", call_kill_all, EPERM },
	{ "tgkill another", call_tgkill, EPERM },
	{ "tkill", call_tkill, EPERM },
	{ "pidfd_open", call_pidfd_open, EPERM },
	{ "pidfd_getfd", call_pidfd_getfd, EPERM },
	{ "open_by_handle_at", call_by_handle, EPERM },
	{ "io_uring", call_uring, EPERM },
	{ "userfaultfd", call_userfaultfd, EPERM },
	{ "clock_settime", call_settime, EPERM },
	{ "finit_module", call_module, EPERM },
	{ "reboot", call_reboot, EPERM },
	{ "TIOCSTI", call_sti, EPERM },
	{ "TIOCSTI with high bits", call_sti_high, EPERM },
	{ "limits of another", call_limit, EPERM },
	{ "acct", call_acct, EPERM },
	{ "a call of a later kernel", call_unknown, ENOSYS },
};

/* Runs fn in a child under the filter; its exit status. */
static int under_filter(int (*fn)(int), int arg)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		if (privilege_drop() || privilege_filter_sidecar())
			_exit(100);
		_exit(fn(arg));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "child died of signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static int try_denied(int i)
{
	errno = 0;
	if (denied[i].call() != -1)
		return 1;
	return errno == denied[i].want ? 0 : 2;
}

START_TEST(filter_denies)
{
	int got = under_filter(try_denied, _i);

	ck_assert_msg(got != 100, "no filter");
	ck_assert_msg(got == 0, "%s: %s", denied[_i].what,
		      got == 1 ? "went through" : "another errno");
}
END_TEST

static void *in_thread(void *arg)
{
	struct timespec ts = { 0, 1000000 };

	nanosleep(&ts, NULL);
	prctl(PR_SET_NAME, "helper", 0, 0, 0);
	*(int *)arg = 42;
	return NULL;
}

static int need_threads(void)
{
	pthread_t t[4];
	int got[4] = { 0 };

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, in_thread, &got[i]))
			return 1;
	for (int i = 0; i < 4; i++)
		if (pthread_join(t[i], NULL) || got[i] != 42)
			return 2;
	return 0;
}

static int need_waiting(void)
{
	struct itimerspec soon = { .it_value = { 0, 1000000 } };
	struct epoll_event ev = { .events = EPOLLIN };
	uint64_t v = 1;
	sigset_t set;
	int ep = epoll_create1(EPOLL_CLOEXEC),
	    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	int efd = eventfd(0, EFD_CLOEXEC), sfd;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	if (ep < 0 || timer < 0 || efd < 0 || sigprocmask(SIG_BLOCK, &set, NULL))
		return 1;
	sfd = signalfd(-1, &set, SFD_CLOEXEC);
	if (sfd < 0 || raise(SIGHUP) || timerfd_settime(timer, 0, &soon, NULL) ||
	    write(efd, &v, 8) != 8)
		return 2;
	if (epoll_ctl(ep, EPOLL_CTL_ADD, timer, &ev) ||
	    epoll_wait(ep, &ev, 1, 1000) != 1 || read(timer, &v, 8) != 8)
		return 3;
	return poll(&(struct pollfd){ .fd = sfd, .events = POLLIN }, 1, 1000) == 1 ? 0
										   : 4;
}

static int need_files(void)
{
	struct statfs fs;
	struct stat st;
	char buf[512];
	int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, buf, sizeof(buf)) <= 0 || fstat(fd, &st) ||
	    fstatfs(fd, &fs))
		return 1;
	if (readlinkat(dir, "exe", buf, sizeof(buf)) <= 0 ||
	    stat("/proc/self/ns/pid", &st))
		return 2;
	fd = openat(dir, "mem", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, buf, 16, (off_t)(uintptr_t)buf) != 16)
		return 3;
	fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 65536) || posix_fallocate(fd, 0, 65536))
		return 4;
	if (mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ||
	    fsync(fd))
		return 5;
	if (fcntl(fd, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK }))
		return 6;
	return 0;
}

static int need_sockets(void)
{
	char byte = 'x';
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct rlimit l;
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) ||
	    sendmsg(sv[0], &m, 0) != 1 || recvmsg(sv[1], &m, 0) != 1)
		return 1;
	if (socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) < 0)
		return 2;
	if (kill(getpid(), 0) || getrlimit(RLIMIT_NOFILE, &l))
		return 3;
	return 0;
}

/* With the rights that are kept: an event of a CPU that came online, and maps. */
static int need_kernel(void)
{
	struct perf_event_attr a = { .size = sizeof(a),
				     .type = PERF_TYPE_SOFTWARE,
				     .config = PERF_COUNT_SW_DUMMY,
				     .disabled = 1,
				     .exclude_kernel = 1 };
	long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint32_t key = 0;
	uint64_t value;

	if (fd < 0 || ioctl((int)fd, PERF_EVENT_IOC_ENABLE, 0))
		return 1;
	errno = 0;
	bpf_map_lookup_elem(-1, &key, &value);
	return errno == EBADF || (errno == EPERM && geteuid()) ? 0 : 2;
}

static int need_abort(void)
{
	signal(SIGABRT, _exit);		/* abort() raises it by tgkill */
	abort();
}

static int need_memory(void)
{
	char *p[64];

	for (int i = 0; i < 64; i++) {
		p[i] = malloc(1 << 20);
		if (!p[i])
			return 1;
		memset(p[i], i, 1 << 20);
	}
	for (int i = 0; i < 64; i++)
		free(p[i]);
	return 0;
}

static const struct { const char *what; int (*call)(void); int want;
} needed[] = {
	{ "threads", need_threads, 0 },
	{ "epoll, timerfd, signalfd, eventfd", need_waiting, 0 },
	{ "files", need_files, 0 },
	{ "AF_UNIX sockets", need_sockets, 0 },
	{ "perf_event_open and bpf", need_kernel, 0 },
	{ "memory", need_memory, 0 },
	{ "abort", need_abort, SIGABRT },
};

static int try_needed(int i)
{
	return needed[i].call();
}

START_TEST(filter_lets_through_what_a_running_sidecar_needs)
{
	int got = under_filter(try_needed, _i);

	ck_assert_msg(got == needed[_i].want, "%s: stopped at %d", needed[_i].what, got);
}
END_TEST

static void *try_exec(void *arg)
{
	while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
		sched_yield();
	execl("/bin/true", "true", (char *)NULL);
	return (void *)(intptr_t)errno;
}

/* A thread that stood before the filter came is under it too. */
START_TEST(filter_covers_threads_that_were_there_before)
{
	int go = 0;
	void *err = NULL;
	pthread_t t;

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, try_exec, &go), 0);
	ck_assert_int_eq(privilege_filter_sidecar(), 0);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	pthread_join(t, &err);
	_exit((intptr_t)err == EPERM ? 0 : 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("seccomp");
	TCase *filter = tcase_create("filter");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_loop_test(filter, filter_denies, 0, N(denied));
	tcase_add_loop_test(filter, filter_lets_through_what_a_running_sidecar_needs, 0,
			    N(needed));
	tcase_add_test(filter, filter_covers_threads_that_were_there_before);
	suite_add_tcase(s, filter);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
