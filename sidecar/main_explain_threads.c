/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --explain-context: stops each thread of a process for a moment and looks at what it has attached.  By
 * ptrace, since only a thread that stands still may be read, and only its registers tell where to begin.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sidecar/main_live.h"
#include "sidecar/context/tls_plan.h"
#include "sidecar/process/thread_explain.h"

#define STOP_WAIT_US 1000
#define STOP_WAITS 200		/* then it does not stop: asleep in the kernel */

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

static int read_memory(void *arg, uint64_t address, void *to, size_t n)
{
	if (address > INT64_MAX)
		return -EFAULT;
	return pread(*(int *)arg, to, n, (off_t)address) == (ssize_t)n ? 0 : -EFAULT;
}

static int thread_pointer(pid_t tid, uint64_t *out)
{
#if defined(__aarch64__)
	struct iovec v = { .iov_base = out, .iov_len = sizeof(*out) };

	return ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &v) ? -errno : 0;
#else
	struct user_regs_struct regs;
	struct iovec v = { .iov_base = &regs, .iov_len = sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v))
		return -errno;
	*out = regs.fs_base;
	return v.iov_len == sizeof(regs) ? 0 : -EMEDIUMTYPE;	/* 32 bit */
#endif
}

static int stop(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return -errno;
	for (int i = 0; i < STOP_WAITS; i++) {
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(status) ? 0 : -ESRCH;
		if (got < 0)
			return -errno;
		usleep(STOP_WAIT_US);
	}
	return -ETIMEDOUT;	/* let go of when this process ends, at the latest */
}

static void read_comm(pid_t pid, pid_t tid, char comm[16])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(comm, 16, f))
		comm[strcspn(comm, "\n")] = 0;
	fclose(f);
}

static void look(struct explained_thread *t, const struct tls_plan *plan, int memory)
{
	struct tls_memory m = { .read = read_memory, .arg = &memory };

	t->error = stop((pid_t)t->tid);
	if (t->error)
		return;
	t->error = thread_pointer((pid_t)t->tid, &t->thread_pointer);
	if (!t->error)
		t->state = tls_walk(plan->way, plan->n_ways, t->thread_pointer, &m,
				    &t->slot);
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
}

void explain_threads(uint32_t pid, const struct tls_plan *plan,
		     struct explained_threads *out)
{
	char path[64];
	struct dirent *e;
	DIR *d;
	int memory;

	memset(out, 0, sizeof(*out));
	if (!plan || !plan->n_ways)
		return;
	out->thread = calloc(EXPLAINED_THREADS_MAX, sizeof(*out->thread));
	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	while (out->thread && memory >= 0 && d && (e = readdir(d))) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (!tid)
			continue;
		if (out->n == EXPLAINED_THREADS_MAX) {
			out->more++;
			continue;
		}
		out->thread[out->n].tid = tid;
		read_comm((pid_t)pid, (pid_t)tid, out->thread[out->n].comm);
		look(&out->thread[out->n++], plan, memory);
	}
	if (d)
		closedir(d);
	if (memory >= 0)
		close(memory);
}
