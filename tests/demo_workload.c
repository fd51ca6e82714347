/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_workload [SECONDS [THREADS]]: burns CPU with shares that are known beforehand, 70,
 * 20 and 10 percent, in functions of these names.  The work is counted, not timed, so
 * that the shares hold on a busy machine too.  Built with frame pointers (tests/demo.am).
 */
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define UNIT 200000			/* turns; under a millisecond, far below any sampling period */
#define THREADS_MAX 64

static struct timespec deadline;
static volatile uint64_t sink;

/* A frame of its own for a leaf function, whatever the compiler thinks: or its caller is
 * not seen. */
#define FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

/* The same work in all three, in a body of its own each: a shared helper would take the
 * samples. */
#define BURN(name, units)							\
	static __attribute__((noinline)) void name(void)			\
	{									\
		uint64_t x = sink | 1;						\
										\
		FRAME();							\
		for (uint32_t i = 0; i < (units) * UNIT; i++)			\
			__asm__ volatile("" : "+r"(x));				\
		sink = x;							\
	}

BURN(burn_seventy, 7)
BURN(burn_twenty, 2)
BURN(burn_ten, 1)

static __attribute__((noinline)) void serve_request(void)
{
	burn_seventy();
	burn_twenty();
	burn_ten();
	__asm__ volatile("");		/* no tail call: serve_request is to be seen in every stack */
}

static void *serve(void *unused)
{
	struct timespec now;

	(void)unused;
	do {
		serve_request();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < deadline.tv_sec ||
		 (now.tv_sec == deadline.tv_sec && now.tv_nsec < deadline.tv_nsec));
	return NULL;
}

static long number(const char *s, long max)
{
	char *end;
	long n = strtol(s, &end, 10);

	if (*end || end == s || n < 1 || n > max)
		errx(2, "usage: demo_workload [SECONDS [THREADS]]");
	return n;
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? number(argv[1], 86400) : 10;
	long threads = argc > 2 ? number(argv[2], THREADS_MAX) : 1;
	pthread_t others[THREADS_MAX];

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += seconds;
	for (long i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, serve, NULL))
			errx(1, "cannot start a thread");
	serve(NULL);
	for (long i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
