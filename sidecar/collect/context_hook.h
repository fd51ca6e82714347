/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hook on the exit of prctl(): where it is, and putting a program there.  A perf event
 * on the tracepoint and not a link: that works from 5.10 on, and needs only CAP_PERFMON.
 * While it is open the kernel takes the slower way out of every system call; nothing but
 * prctl() runs the program.
 */
#ifndef RINGSIDE_CONTEXT_HOOK_H
#define RINGSIDE_CONTEXT_HOOK_H

#include <stddef.h>

/* The tracepoint's number, from tracefs; -errno: no tracefs here, or no such tracepoint. */
int	 context_hook_id(void);
/* A descriptor that keeps prog_fd running, or -errno and why; id: as above, an error too. */
int	 context_hook_open(int id, int prog_fd, char *why, size_t n);

#endif
