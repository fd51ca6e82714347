/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/complain.h"
#include "client/target.h"
#include "client/time.h"

static void wake(int sig)
{
	(void)sig;	/* only so that a wait ends */
}

/* The child: waits for one byte, then becomes the command.  Without the byte it ends. */
static void run(int go, int failed, char **argv)
{
	ssize_t n;
	char byte;
	int err;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0);
	close(go);
	execvp(argv[0], argv);
	err = errno;
	complain("starting: %s: %s", argv[0], strerror(err));
	n = write(failed, "f", 1);
	_exit(err == ENOENT ? 127 : 126);
}

int target_start(struct target *t, char **argv)
{
	struct sigaction sa;
	int pipe_fds[2], failed_fds[2], err;

	memset(t, 0, sizeof(*t));
	t->go = t->failed = -1;
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = wake;
	sigaction(SIGCHLD, &sa, NULL);
	/* What the command leaves behind stays below us, where its descent can be seen.
	 */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	if (pipe2(failed_fds, O_CLOEXEC)) {
		err = -errno;
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		return err;
	}
	t->pid = fork();
	err = -errno;
	if (!t->pid) {
		close(pipe_fds[1]);
		run(pipe_fds[0], failed_fds[1], argv);
	}
	close(pipe_fds[0]);
	close(failed_fds[1]);
	if (t->pid > 0) {
		t->go = pipe_fds[1];
		t->failed = failed_fds[0];
		return 0;
	}
	close(pipe_fds[1]);
	close(failed_fds[0]);
	t->pid = 0;
	return err;
}

void target_go(struct target *t)
{
	ssize_t n = write(t->go, "g", 1);

	(void)n;	/* a child that is gone already shows in target_poll() */
	close(t->go);
	t->go = -1;
}

static void note_end(struct target *t, int status)
{
	t->ended = true;
	t->ended_ns = time_monotonic();
	t->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool target_poll(struct target *t)
{
	int status;
	pid_t pid;

	/* Orphans of the command are ours to reap. */
	while (t->pid && (pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == t->pid)
			note_end(t, status);
	return t->ended;
}

void target_wait(struct target *t)
{
	int status;

	while (!t->ended && t->pid) {
		if (waitpid(t->pid, &status, 0) == t->pid)
			note_end(t, status);
		else if (errno != EINTR)
			return;
	}
}

void target_abandon(struct target *t)
{
	if (t->go >= 0)
		close(t->go);
	t->go = -1;
	target_wait(t);
}

bool target_not_run(const struct target *t)
{
	char byte;

	/* All other ends of this pipe closed with the exec or the end: it never blocks. */
	return t->ended && t->failed >= 0 && read(t->failed, &byte, 1) == 1;
}
