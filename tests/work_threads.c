/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_threads PER_SECOND SECONDS: threads that are made at that rate, each with a name of its own, burn a
 * little and end.  Prints how many there were.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

__attribute__((noinline)) static void burn_thread(void)
{
	for (volatile int i = 0; i < 50000; i++)
		;
}

static void *life(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "t%lu", (unsigned long)(uintptr_t)arg);
	prctl(PR_SET_NAME, name);
	burn_thread();
	return NULL;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double start = now(), rate, seconds;
	unsigned long made = 0;
	pthread_attr_t attr;
	pthread_t id;

	if (argc != 3) {
		fprintf(stderr, "usage: work_threads PER_SECOND SECONDS\n");
		return 2;
	}
	rate = strtod(argv[1], NULL);
	seconds = strtod(argv[2], NULL);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	while (now() - start < seconds) {
		struct timespec pause = { .tv_nsec = 500000 };

		/* What a late wake-up missed is made up for. */
		for (double due = (now() - start) * rate; (double)made < due; made++)
			if (pthread_create(&id, &attr, life, (void *)(uintptr_t)made))
				break;
		nanosleep(&pause, NULL);
	}
	printf("%lu threads\n", made);
	return 0;
}
