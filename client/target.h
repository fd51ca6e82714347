/* SPDX-License-Identifier: Apache-2.0 */
/* A command that is started and watched. */
#ifndef CLIENT_TARGET_H
#define CLIENT_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target {
	pid_t	 pid;		/* 0: none */
	int	 go;		/* closing or writing it lets the command run */
	int	 failed;	/* readable with one byte when it could not be executed */
	bool	 ended;
	int64_t	 ended_ns;	/* monotonic */
	int	 status;	/* as an exit code: 128 + signal when killed */
};

/* Forks; the child waits.  0 or -errno. */
int	 target_start(struct target *t, char **argv);
void	 target_go(struct target *t);
/* Whether it has ended; never waits. */
bool	 target_poll(struct target *t);
/* Waits for its end. */
void	 target_wait(struct target *t);
/* After its end: it never became COMMAND (no such file, not executable); the child has said why. */
bool	 target_not_run(const struct target *t);
/* Before target_go(): it never runs. */
void	 target_abandon(struct target *t);

#endif
