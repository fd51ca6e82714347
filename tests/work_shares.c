/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose profile is known: three leaves with the same loop body burn 70, 20 and
 * 10 percent of its time.  work_shares SECONDS [THREADS [NAME]] burns that much CPU time
 * in each thread and names its threads NAME.  Built with frame pointers.  The chunks have
 * pseudo-random lengths, so that no sampling period can march in step with them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* The number differs, or the compiler would fold the three into one; aligned, or one
 * would be faster. */
#define BURN(name, number)					\
__attribute__((noinline, aligned(64))) static uint64_t name(uint64_t n) \
{								\
	uint64_t x = n + !__builtin_frame_address(0); /* makes a frame */ \
								\
	for (uint64_t i = 0; i < n; i++)			\
		__asm__ volatile("" : "+r" (x) : "i" (number));	\
	return x;						\
}
BURN(burn_seventy, 70)
BURN(burn_twenty, 20)
BURN(burn_ten, 10)

static double seconds;
static const char *thread_name;

static double cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The sum keeps the calls from becoming jumps: the caller must stay on the stack. */
__attribute__((noinline)) static uint64_t work_round(uint64_t *seed)
{
	uint64_t unit, sum;

	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	unit = 5000 + (*seed >> 50);
	sum = burn_seventy(7 * unit);
	sum += burn_twenty(2 * unit);
	sum += burn_ten(unit);
	return sum;
}

static void *work_thread(void *arg)
{
	uint64_t seed = (uintptr_t)arg, sum = 0;
	double end = cpu_now() + seconds;

	if (thread_name)
		prctl(PR_SET_NAME, thread_name);
	while (cpu_now() < end)
		sum += work_round(&seed);
	return (void *)(uintptr_t)(sum | 1);
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	pthread_t id[64];

	seconds = argc > 1 ? atof(argv[1]) : 2;
	thread_name = argc > 3 ? argv[3] : NULL;
	if (seconds <= 0 || threads < 1 || threads > 64) {
		fprintf(stderr, "usage: work_shares SECONDS [THREADS [NAME]]\n");
		return 2;
	}
	for (long i = 1; i < threads; i++) {
		if (pthread_create(&id[i], NULL, work_thread, (void *)(uintptr_t)(i + 1)))
			return 1;
	}
	work_thread((void *)(uintptr_t)1);
	for (long i = 1; i < threads; i++)
		pthread_join(id[i], NULL);
	return 0;
}
