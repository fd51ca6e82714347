/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/private_writer.h"
#include "client/time.h"

#define READY_MS	20000
#define STOP_MS		5000

bool private_writer_allowed(void)
{
	const uint64_t need = UINT64_C(1) << 38 | UINT64_C(1) << 39;	/* PERFMON, BPF */
	char line[256];
	uint64_t caps = 0;
	FILE *f;

	if (!geteuid())
		return true;
	f = fopen("/proc/self/status", "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "CapEff:", 7))
			caps = strtoull(line + 7, NULL, 16);
	fclose(f);
	return (caps & need) == need;
}

/* Beside our own program first: it is the one that belongs to us. */
static void exec_ringsided(const char *const *arguments)
{
	char *const *argv = (char *const *)arguments;	/* exec changes none of them */
	char self[4096], path[4200], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash) {
			*slash = '\0';
			snprintf(path, sizeof(path), "%s/ringsided", self);
			execv(path, argv);
			snprintf(path, sizeof(path), "%s/../sbin/ringsided", self);
			execv(path, argv);
		}
	}
	execvp("ringsided", argv);
	execv("/usr/sbin/ringsided", argv);
	execv("/usr/local/sbin/ringsided", argv);
}

static void child(const struct private_writer *w, pid_t scope_pid, int ready_fd)
{
	char scope[32], fd[16];
	const char *argv[] = { "ringsided",   "--ring", w->ring,      "--scope", scope,
			       "--frequency", "99",	"--ready-fd", fd,	 NULL };
	int log = open(w->log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (log < 0)
		_exit(1);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	snprintf(scope, sizeof(scope), "pid:%d", (int)scope_pid);
	snprintf(fd, sizeof(fd), "%d", ready_fd);
	fcntl(ready_fd, F_SETFD, 0);
	signal(SIGPIPE, SIG_DFL);
	unsetenv("RINGSIDE_CONFIG");
	exec_ringsided(argv);
	dprintf(STDERR_FILENO, "ringsided: not found beside ringside or in PATH\n");
	_exit(127);
}

static int make_folder(struct private_writer *w)
{
	static const char *const places[] = { "/dev/shm", "/run", "/tmp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(w->folder, sizeof(w->folder), "%s/ringside-doctor-XXXXXX",
			 places[i]);
		if (mkdtemp(w->folder)) {
			snprintf(w->ring, sizeof(w->ring), "%s/ring", w->folder);
			snprintf(w->log, sizeof(w->log), "%s/log", w->folder);
			return 0;
		}
	}
	w->folder[0] = '\0';
	snprintf(w->why, sizeof(w->why),
		 "no folder for a ring in /dev/shm, /run or /tmp: %s", strerror(errno));
	return -errno;
}

/* Its last words: the last line of the log. */
static void last_words(struct private_writer *w)
{
	char line[sizeof(w->why)];
	FILE *f = fopen(w->log, "re");

	snprintf(w->why, sizeof(w->why), "it said nothing");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			memcpy(w->why, line, sizeof(w->why));
	}
	fclose(f);
}

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t until = time_monotonic() + READY_MS * INT64_C(1000000);
	char c;
	int rc;

	do
		rc = poll(&p, 1, (int)((until - time_monotonic()) / 1000000));
	while (rc < 0 && errno == EINTR && time_monotonic() < until);
	return rc == 1 && read(fd, &c, 1) == 1;
}

int private_writer_start(struct private_writer *w, pid_t scope_pid)
{
	int fds[2], err;

	memset(w, 0, sizeof(*w));
	err = make_folder(w);
	if (err)
		return err;
	if (pipe2(fds, O_CLOEXEC)) {
		err = -errno;
		snprintf(w->why, sizeof(w->why), "pipe: %s", strerror(-err));
		return err;
	}
	w->pid = fork();
	if (!w->pid)
		child(w, scope_pid, fds[1]);
	close(fds[1]);
	if (w->pid < 0) {
		err = -errno;
		w->pid = 0;
		snprintf(w->why, sizeof(w->why), "fork: %s", strerror(-err));
	} else if (!is_ready(fds[0])) {
		err = -EIO;
		last_words(w);
	}
	close(fds[0]);
	return err;
}

static void end_process(struct private_writer *w)
{
	const struct timespec pause = { 0, 20 * 1000 * 1000 };

	kill(w->pid, SIGTERM);
	for (int ms = 0; ms < STOP_MS; ms += 20) {
		if (waitpid(w->pid, NULL, WNOHANG) == w->pid)
			return;
		nanosleep(&pause, NULL);
	}
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void private_writer_stop(struct private_writer *w)
{
	static const char *const files[] = { "ring", "ring.lock", "ring.prev", "log" };
	char path[128];

	if (w->pid)
		end_process(w);
	w->pid = 0;
	if (!w->folder[0])
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", w->folder, files[i]);
		unlink(path);
	}
	rmdir(w->folder);
	w->folder[0] = '\0';
}
