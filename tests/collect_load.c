/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something to sample: burns CPU under a name, DEPTH frames deep (frame pointers), for SECONDS.
 * collect_load NAME DEPTH SECONDS [THREADS | fork | kill]
 *   fork: burns in a child that is forked at once, so that a selection must be inherited
 *   kill: dies by SIGKILL instead of exit(7)
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double end;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) unsigned burn(int depth)
{
	volatile unsigned x = 0;

	if (depth > 1)
		return burn(depth - 1) + x;	/* the addition keeps this a call */
	while (now() < end)
		for (int i = 0; i < 100000; i++)
			x += (unsigned)i;
	return x;
}

static void *thread(void *arg)
{
	burn(*(int *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int depth = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 1;
	int threads = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 1;
	pthread_t t;

	if (argc < 4)
		return 2;
	prctl(PR_SET_NAME, argv[1]);
	end = now() + atof(argv[3]);
	if (argc > 4 && !strcmp(argv[4], "fork") && fork() > 0)
		return wait(NULL) < 0;
	for (int i = 1; i < threads; i++)
		pthread_create(&t, NULL, thread, &depth);
	burn(depth);
	if (argc > 4 && !strcmp(argv[4], "kill"))
		kill(getpid(), SIGKILL);
	exit(7);
}
