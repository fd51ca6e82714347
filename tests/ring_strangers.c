/* SPDX-License-Identifier: Apache-2.0 */
/* The python reader as a process beside the others. */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ring_readers.h"

static bool have_python(void)
{
	static int known;

	if (!known) {
		known = system("command -v python3 >/dev/null") ? 1 : 2;
		if (known == 1)
			printf("skipped: the reader in python: no python3 here\n");
	}
	return known == 2;
}

static void run(int in, int out, const char *path, bool follow)
{
	const char *srcdir = getenv("srcdir");
	char script[4096];

	snprintf(script, sizeof(script), "%s/tests/ring_stranger.py",
		 srcdir ? srcdir : ".");
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(126);
	if (follow)
		execlp("python3", "python3", "-B", script, "--follow", path, NULL);
	else
		execlp("python3", "python3", "-B", script, path, NULL);
	_exit(127);
}

static void start(struct stranger *s, const char *path, bool follow)
{
	int to[2], from[2];
	char c = 0;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		err(1, "pipe");
	fflush(stdout);
	s->pid = fork();
	if (s->pid < 0)
		err(1, "fork");
	if (!s->pid)
		run(to[0], from[1], path, follow);
	close(to[0]);
	close(from[1]);
	s->to = to[1];
	s->from = from[0];
	while (c != '\n')		/* "ready" */
		if (read(s->from, &c, 1) != 1)
			errx(1, "the reader in python did not start");
}

/* Its last line; false when it failed. */
static bool end(struct stranger *s, uint64_t *first, uint64_t *received, uint64_t *lost)
{
	FILE *f = fdopen(s->from, "r");
	int status, n;

	if (!f)
		err(1, "fdopen");
	n = fscanf(f, "%llu %llu %llu", (unsigned long long *)first,
		   (unsigned long long *)received, (unsigned long long *)lost);
	fclose(f);
	close(s->to);
	return waitpid(s->pid, &status, 0) == s->pid && !status && n == 3;
}

void stranger_start(struct stranger *s, const char *path)
{
	s->pid = 0;
	if (have_python())
		start(s, path, true);
}

int stranger_end(struct stranger *s, uint64_t final)
{
	uint64_t first, received, lost;

	if (!s->pid)
		return 0;
	if (dprintf(s->to, "%llu\n", (unsigned long long)final) < 0)
		warn("the reader in python");
	if (!end(s, &first, &received, &lost)) {
		warnx("python: failed");
		return 1;
	}
	printf("  %-8s received %llu, lost %llu, from %llu\n", "python",
	       (unsigned long long)received, (unsigned long long)lost,
	       (unsigned long long)first);
	if (received && first + received + lost == final + 1)
		return 0;
	warnx("python: from %llu to %llu that is not all", (unsigned long long)first,
	      (unsigned long long)final);
	return 1;
}

int stranger_agrees(const char *path)
{
	struct ringside_options o = { .size = sizeof(o), .path = path,
				      .from_oldest = true, .no_follow = true };
	uint64_t first, received, lost, our_first;
	struct ringside_record rec;
	struct ringside_counts c;
	struct stranger s;
	struct ringside *r;

	if (!have_python())
		return 0;
	start(&s, path, false);
	if (!end(&s, &first, &received, &lost)) {
		warnx("%s: the reader in python failed", path);
		return 1;
	}
	if (ringside_open(&r, &o))
		errx(1, "%s", ringside_open_error());
	our_first = ringside_position(r);
	while (ringside_next(r, &rec) == 1)
		;
	ringside_counts(r, &c);
	ringside_close(r);
	if (first == our_first && received == c.received && !lost &&
	    !c.lost[RINGSIDE_LOST_LAPPED] && !c.corrupt_events)
		return 0;
	warnx("%s: the reader in python holds %llu from %llu, the library %llu from %llu",
	      path, (unsigned long long)received, (unsigned long long)first,
	      (unsigned long long)c.received, (unsigned long long)our_first);
	return 1;
}
