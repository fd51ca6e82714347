/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_shortlived COUNT CPU_MS: one after the other, COUNT processes that exec this
 * program anew and burn CPU_MS milliseconds of CPU in burn_short_life().  Most are gone
 * before anybody can read /proc.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static void burn_short_life(double ms)
{
	struct timespec ts;

	do {
		for (volatile int i = 0; i < 2000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	} while ((double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6 < ms);
}

static int run_one(char *self, char *ms)
{
	char life[] = "life";
	char *args[] = { self, life, ms, NULL };
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		execv(self, args);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: work_shortlived COUNT CPU_MS\n");
		return 2;
	}
	if (!strcmp(argv[1], "life")) {
		burn_short_life(atof(argv[2]));
		return 0;
	}
	for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
		int err = run_one(argv[0], argv[2]);

		if (err) {
			fprintf(stderr, "work_shortlived: child: %s\n", strerror(-err));
			return 1;
		}
	}
	return 0;
}
