/* SPDX-License-Identifier: Apache-2.0 */
/* A ringsided of doctor's own, on a ring that nobody else sees, gone afterwards. */
#ifndef CLIENT_PRIVATE_WRITER_H
#define CLIENT_PRIVATE_WRITER_H

#include <stdbool.h>
#include <sys/types.h>

struct private_writer {
	pid_t	 pid;
	char	 folder[64], ring[96], log[96];
	char	 why[512];	/* after a failure */
};

/* Whether trying makes sense: root, or CAP_BPF with CAP_PERFMON. */
bool	 private_writer_allowed(void);
/* Starts it with --scope pid:scope_pid and waits until it is ready.  0 or -errno with why set. */
int	 private_writer_start(struct private_writer *w, pid_t scope_pid);
void	 private_writer_stop(struct private_writer *w);

#endif
