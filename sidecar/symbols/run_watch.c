/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/symbols/run_watch.h"

static bool read_text(pid_t pid, const char *what, char *buf, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, cap - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* The letter behind the name in parentheses. */
static char state_of(pid_t pid)
{
	char buf[256];
	const char *p;

	if (!read_text(pid, "stat", buf, sizeof(buf)))
		return 'R';
	p = strrchr(buf, ')');
	return p && p[1] == ' ' ? p[2] : 'R';
}

bool run_watch_blocked(struct run_watch *w, pid_t pid, uint64_t now_ns, uint64_t limit_ns)
{
	uint64_t runtime;
	char buf[128];

	if (pid <= 0 || !read_text(pid, "schedstat", buf, sizeof(buf)))
		return false;
	runtime = strtoull(buf, NULL, 10);
	/* R: it would run if it were let. */
	if (!w->since_ns || runtime != w->runtime || state_of(pid) == 'R') {
		w->runtime = runtime;
		w->since_ns = now_ns;
		return false;
	}
	return now_ns > w->since_ns + limit_ns;
}
