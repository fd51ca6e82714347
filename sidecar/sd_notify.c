/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "sidecar/sd_notify.h"
#include "sidecar/units.h"

#define WATCHDOG_MAX_US (365ull * 86400 * 1000000)
#define MESSAGE_MAX 512

struct notify {
	int		sock;		/* -1: no manager */
	int		ready_fd;	/* -1: none, or written */
	uint64_t	watchdog_ns;
};

static int connect_to(const char *path, int *sock)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	int err;

	if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof(a.sun_path))
		return -EINVAL;
	memcpy(a.sun_path, path, n);
	if (a.sun_path[0] == '@')
		a.sun_path[0] = '\0';		/* the abstract namespace */
	*sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*sock < 0)
		return -errno;
	if (!connect(*sock, (struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)))
		return 0;
	err = -errno;
	close(*sock);
	*sock = -1;
	return err;
}

static uint64_t watchdog_from_environment(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us, who;

	if (!usec || units_number(usec, &us) || us > WATCHDOG_MAX_US)
		return 0;
	if (pid && (units_number(pid, &who) || who != (uint64_t)getpid()))
		return 0;
	return us * 1000 / 2;
}

int notify_open(struct notify **out, int ready_fd)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct notify *n;
	int err = 0;

	n = malloc(sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = (struct notify){ .sock = -1, .ready_fd = ready_fd };
	if (path && *path)
		err = connect_to(path, &n->sock);
	if (err) {
		free(n);
		return err;
	}
	if (n->sock >= 0)
		n->watchdog_ns = watchdog_from_environment();
	*out = n;
	return 0;
}

void notify_close(struct notify *n)
{
	if (!n)
		return;
	if (n->sock >= 0)
		close(n->sock);
	free(n);
}

static int tell(struct notify *n, const char *message)
{
	if (n->sock < 0)
		return 0;
	return send(n->sock, message, strlen(message), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int write_ready(struct notify *n)
{
	static const char word[] = "ready\n";
	ssize_t done;
	int err = 0;

	if (n->ready_fd < 0)
		return 0;
	do
		done = write(n->ready_fd, word, sizeof(word) - 1);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		err = -errno;
	if (n->ready_fd > STDERR_FILENO)
		close(n->ready_fd);
	n->ready_fd = -1;
	return err;
}

int notify_ready(struct notify *n, const char *status)
{
	char message[MESSAGE_MAX];
	int err, told;

	/* A newline begins another assignment: the status must not hold one. */
	snprintf(message, sizeof(message), "READY=1%s%.*s", status ? "\nSTATUS=" : "",
		 status ? (int)strcspn(status, "\n") : 0, status ? status : "");
	err = write_ready(n);
	told = tell(n, message);
	return err ? err : told;
}

int notify_reloading(struct notify *n)
{
	char message[MESSAGE_MAX];
	struct timespec ts;

	/* systemd wants MONOTONIC as it reads it itself. */
	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(message, sizeof(message), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)ts.tv_sec * 1000000 +
			 (unsigned long long)ts.tv_nsec / 1000);
	return tell(n, message);
}

int notify_stopping(struct notify *n)
{
	return tell(n, "STOPPING=1");
}

int notify_watchdog(struct notify *n)
{
	return tell(n, "WATCHDOG=1");
}

uint64_t notify_watchdog_ns(const struct notify *n)
{
	return n->watchdog_ns;
}
