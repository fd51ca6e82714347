/* SPDX-License-Identifier: Apache-2.0 */
/*
 * w2_storm threads|exec SECONDS: the workload W2.  `threads` makes and joins 2000 short
 * threads a second; `exec` forks, execs itself and waits as fast as it goes.  Prints
 * `made N`.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* About 100 us of work. */
static void *short_life(void *arg)
{
	for (volatile int i = 0; i < 50000; i++)
		;
	return arg;
}

static int one_thread(void)
{
	pthread_t id;
	int err = pthread_create(&id, NULL, short_life, NULL);

	return err ? -err : -pthread_join(id, NULL);
}

static int one_process(char *self)
{
	char life[] = "life", none[] = "0";
	char *args[] = { self, life, none, NULL };
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		execv(self, args);
		_exit(127);
	}
	return waitpid(pid, &status, 0) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
	bool threads = argc == 3 && !strcmp(argv[1], "threads");
	uint64_t start = now(), end, made = 0;
	int err = 0;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "life")) {
		short_life(NULL);
		return 0;
	}
	end = start + (uint64_t)(strtod(argv[2], NULL) * 1e9);
	while (!err && now() < end) {
		err = threads ? one_thread() : one_process(argv[0]);
		made++;
		while (threads && now() < start + made * 500000)	/* 2000 a second */
			usleep(200);
	}
	printf("made %llu\n", (unsigned long long)made);
	return err ? 1 : 0;
}
