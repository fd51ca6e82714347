/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/ctx_syscalls.h"

static struct ctx_trap *traps;
static unsigned int n_traps;

#if defined(__x86_64__)
static void get_args(const ucontext_t *u, uint64_t *args)
{
	static const int regs[6] = { REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9 };

	for (int i = 0; i < 6; i++)
		args[i] = (uint64_t)u->uc_mcontext.gregs[regs[i]];
}

static void set_result(ucontext_t *u, long result)
{
	u->uc_mcontext.gregs[REG_RAX] = result;
}
#else
static void get_args(const ucontext_t *u, uint64_t *args)
{
	for (int i = 0; i < 6; i++)
		args[i] = u->uc_mcontext.regs[i];
}

static void set_result(ucontext_t *u, long result)
{
	u->uc_mcontext.regs[0] = (unsigned long)result;
}
#endif

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t args[6];

	(void)sig;
	get_args(u, args);
	for (unsigned int i = 0; i < n_traps; i++) {
		struct ctx_trap *t = &traps[i];

		if (t->nr != info->si_syscall ||
		    (t->arg >= 0 && (uint32_t)args[t->arg] != t->value))
			continue;
		t->calls++;
		for (int a = 0; a < 6; a++)
			t->args[a] = args[a];
		set_result(u, t->answer);
		return;
	}
	set_result(u, -ENOSYS);
}

#define ARG_LOW(i)	((uint32_t)offsetof(struct seccomp_data, args[i]))	/* little endian */

void ctx_trap_install(struct ctx_trap *t, unsigned int n)
{
	struct sigaction sa = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO | SA_NODEFER };
	struct sock_filter f[32];
	struct sock_fprog prog = { .filter = f };
	unsigned short len = 0;

	traps = t;
	n_traps = n;
	ck_assert_uint_le(n, 4);
	for (unsigned int i = 0; i < n; i++) {
		int with_arg = t[i].arg >= 0;

		f[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr));
		f[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(uint32_t)t[i].nr, 0, with_arg ? 3 : 1);
		if (with_arg) {
			f[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
				ARG_LOW(t[i].arg));
			f[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
				t[i].value, 0, 1);
		}
		f[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	}
	f[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = len;
	ck_assert_int_eq(sigaction(SIGSYS, &sa, NULL), 0);
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}
