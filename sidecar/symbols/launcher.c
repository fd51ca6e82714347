/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: forked first thing in main(), so that neither it nor a worker inherits
 * the ring, its locks, BPF descriptors or configuration.  It forks a worker when asked,
 * hands the socket to the sidecar, and tells when the worker has died and how.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sidecar/symbols/confine.h"
#include "sidecar/symbols/fd_message.h"
#include "sidecar/symbols/symbols.h"
#include "sidecar/symbols/wire.h"
#include "sidecar/symbols/worker.h"

#define LAUNCHER_LOOK_MS 200	/* how often a child is looked at where there are no pidfds */

struct launcher {
	int	 sock;
	pid_t	 pid;
	pid_t	 worker;	/* 0 none */
	int	 worker_fd;	/* pidfd, -1 none */
	uint64_t serial;
};

static void launcher_tell(struct launcher *l, uint32_t what, int32_t status, int fd)
{
	struct wire_launch_message msg = { .what = what,
					   .serial = l->serial,
					   .pid = (int32_t)l->worker,
					   .status = status };
	struct iovec iov = { &msg, sizeof(msg) };

	if (fd_message_send(l->sock, &iov, 1, fd, 0))
		_exit(0);
}

/* After the worker has ended, or to make it end. */
static void worker_reap(struct launcher *l, bool force)
{
	int status = 0;
	pid_t got;

	if (!l->worker)
		return;
	/* Where that is forbidden the worker ends by itself: the sidecar has closed its
	 * socket. */
	if (force && kill(l->worker, SIGKILL))
		force = false;
	got = waitpid(l->worker, &status, force ? 0 : WNOHANG);
	if (got == 0)
		return;
	if (l->worker_fd >= 0)
		close(l->worker_fd);
	launcher_tell(l, LAUNCH_DIED, status, -1);
	l->worker = 0;
	l->worker_fd = -1;
}

static void worker_spawn(struct launcher *l, const struct wire_launch_message *msg)
{
	int pair[2], err;

	worker_reap(l, true);
	l->serial = msg->serial;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		launcher_tell(l, LAUNCH_DIED, -errno, -1);
		return;
	}
	l->worker = fork();
	if (l->worker == 0) {
		close(pair[0]);
		worker_main(pair[1], (enum symbols_io)msg->io, msg->memory_limit, l->pid);
	}
	err = errno;
	close(pair[1]);
	if (l->worker < 0) {
		l->worker = 0;
		launcher_tell(l, LAUNCH_DIED, -err, -1);
	} else {
		l->worker_fd = (int)syscall(SYS_pidfd_open, l->worker, 0);
		launcher_tell(l, LAUNCH_SPAWNED, 0, pair[0]);
	}
	close(pair[0]);
}

static void launcher_serve(struct launcher *l)
{
	struct wire_launch_message msg;
	ssize_t n = recv(l->sock, &msg, sizeof(msg), 0);

	if (n < 0 && errno == EINTR)
		return;
	if (n != sizeof(msg))
		_exit(0);	/* the sidecar has ended; the worker sees the same on its own socket */
	if (msg.what == LAUNCH_SPAWN)
		worker_spawn(l, &msg);
	else if (msg.what == LAUNCH_KILL && msg.serial == l->serial)
		worker_reap(l, true);
}

/* A Ctrl-C or a stop of the whole group is the sidecar's to handle: it still wants names
 * for its last drain. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGINT,	SIGTERM, SIGHUP,  SIGQUIT,
				       SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn))
static void launcher_main(int sock, pid_t parent)
{
	struct launcher l = { .sock = sock, .pid = getpid(), .worker_fd = -1 };

	prctl(PR_SET_NAME, "ringside-launch");
	ignore_signals();
	confine_descriptors(sock);
	if (confine_launcher() || confine_to_parent(parent))
		_exit(1);
	for (;;) {
		struct pollfd p[2] = { { sock, POLLIN, 0 }, { l.worker_fd, POLLIN, 0 } };
		int n = poll(p, 2, l.worker && l.worker_fd < 0 ? LAUNCHER_LOOK_MS : -1);

		if (n < 0 && errno != EINTR)
			_exit(1);
		worker_reap(&l, false);
		if (n > 0 && p[0].revents)
			launcher_serve(&l);
	}
}

int symbols_launcher_start(struct symbols_launcher *out)
{
	pid_t parent = getpid(), pid;
	int pair[2], err;

	out->sock = out->pid = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork();
	if (pid == 0)
		launcher_main(pair[1], parent);
	err = errno;
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -err;
	}
	out->sock = pair[0];
	out->pid = pid;
	return 0;
}

void symbols_launcher_stop(struct symbols_launcher *l)
{
	if (!l || l->pid <= 0)
		return;
	/* End of file ends it, and its death the worker. */
	close(l->sock);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	l->sock = l->pid = -1;
}
