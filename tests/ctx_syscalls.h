/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of this process, answered by the test instead of the kernel: a seccomp
 * filter traps them, a handler answers.  For the rest of the process's life.
 */
#ifndef TESTS_CTX_SYSCALLS_H
#define TESTS_CTX_SYSCALLS_H

#include <stdint.h>

struct ctx_trap {
	int	 nr;			/* of the system call */
	int	 arg;			/* which argument is compared: 0..5; -1: any call */
	uint32_t value;			/* its lower half */
	long	 answer;		/* 0 or -errno; may be changed at any time */
	int	 calls;			/* so far */
	uint64_t args[6];		/* of the last */
};

/* n <= 4.  The traps are the caller's and stay. */
void	ctx_trap_install(struct ctx_trap *traps, unsigned int n);

#endif
