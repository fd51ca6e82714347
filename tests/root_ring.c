/* SPDX-License-Identifier: Apache-2.0 */
#include <err.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ring_fixture.h"
#include "tests/root_ring.h"

int claims, broken;

void claim(bool holds, const char *fmt, ...)
{
	va_list ap;

	claims++;
	broken += !holds;
	printf("%s ", holds ? "ok" : "not ok");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

pid_t attacker(bool unprivileged)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	if (unprivileged && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			     setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(99);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(120);
	return 0;
}

void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int outcome(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int world_create(struct ring_writer **w, const char *path)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .mode = 0644,
					 .ring_bytes = 256 << 10,
					 .dict_bytes = 128 << 10,
					 .block_bytes = 4096 };

	return ring_writer_create(w, &o);
}

void world_put(struct ring_writer *w, uint64_t n)
{
	while (n--) {
		uint64_t seq = ring_writer_next_seq(w);

		if (numbered_put_plain(w, seq))
			errx(1, "put");
		if (seq % 13 == 0 || !n)
			ring_writer_publish(w);
	}
}

struct ringside *world_open(const char *path)
{
	struct ringside_options o = { .size = sizeof(o), .path = path,
				      .from_oldest = true };
	struct ringside *r;

	return ringside_open(&r, &o) ? NULL : r;
}

uint64_t world_drain(struct ringside *r)
{
	struct ringside_record rec;
	uint64_t samples = 0;
	const char *bad;
	int n;

	while ((n = ringside_next(r, &rec)) == 1) {
		if (rec.kind != RINGSIDE_SAMPLE)
			continue;
		samples++;
		bad = numbered_of(&rec) != rec.seq ? "of that number"
						   : numbered_check(&rec);
		if (bad)
			errx(1, "record %llu: not %s", (unsigned long long)rec.seq, bad);
	}
	if (n < 0)
		errx(1, "next: %d", n);
	return samples;
}
