/* SPDX-License-Identifier: Apache-2.0 */
/*
 * w1_shares --seconds S | --rounds N [--threads T] [--depth D]: the workload W1.  T
 * threads (2) burn CPU under D frames (19), their leaves in shares of 70, 20 and 10
 * percent.  --rounds does a fixed amount of work in each thread, so that what a profiler
 * costs its victim shows in the CPU time that it needs.
 *
 * Prints one line: `cpu SECONDS wall SECONDS rounds N seventy P twenty P ten P`.  The
 * shares are those of iterations of one and the same loop.  (A clock read around each leaf costs
 * as much for the short one as for the long one, which would bend them by 1.5 points.)
 */
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEVENTY, TWENTY, TEN, LEAVES };

struct worker {
	pthread_t	id;
	uint64_t	seed, rounds;
	uint64_t	loops[LEAVES];	/* iterations */
};

static double seconds;			/* of wall clock, 0: by rounds */
static uint64_t max_rounds;
static unsigned int depth = 19;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

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

/* One leaf after the other; their lengths vary together, so the shares stay. */
__attribute__((noinline)) static uint64_t leaves(struct worker *w)
{
	uint64_t unit, sum;

	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	unit = 2000 + (w->seed >> 52);
	sum = burn_seventy(7 * unit);
	sum += burn_twenty(2 * unit);
	sum += burn_ten(unit);
	w->loops[SEVENTY] += 7 * unit;
	w->loops[TWENTY] += 2 * unit;
	w->loops[TEN] += unit;
	return sum;
}

/* Twenty rounds at the bottom of the stack, so that going down costs little. */
__attribute__((noinline)) static uint64_t descend(struct worker *w, unsigned int left)
{
	uint64_t sum = 0;

	if (left)
		return descend(w, left - 1) + 1;
	for (int i = 0; i < 20; i++, w->rounds++)
		sum += leaves(w);
	return sum;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9), sum = 0;

	/* The leaf, leaves(), descend() once more, this one and what libc starts a thread
	 * with. */
	while (seconds > 0 ? now(CLOCK_MONOTONIC) < end : w->rounds < max_rounds)
		sum += descend(w, depth > 6 ? depth - 6 : 0);
	return (void *)(uintptr_t)(sum | 1);
}

static void report(const struct worker *w, long threads, uint64_t wall)
{
	uint64_t loops[LEAVES] = { 0 }, rounds = 0, sum;

	for (long i = 0; i < threads; i++) {
		rounds += w[i].rounds;
		for (int k = 0; k < LEAVES; k++)
			loops[k] += w[i].loops[k];
	}
	sum = loops[SEVENTY] + loops[TWENTY] + loops[TEN] + 1;
	printf("cpu %.6f wall %.6f rounds %llu seventy %.3f twenty %.3f ten %.3f\n",
	       (double)now(CLOCK_PROCESS_CPUTIME_ID) / 1e9, (double)wall / 1e9,
	       (unsigned long long)(rounds / (uint64_t)threads),
	       100.0 * (double)loops[SEVENTY] / (double)sum,
	       100.0 * (double)loops[TWENTY] / (double)sum,
	       100.0 * (double)loops[TEN] / (double)sum);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "threads", required_argument, NULL, 't' },
		{ "depth", required_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	static struct worker w[64];
	long threads = 2;
	uint64_t start;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			seconds = strtod(optarg, NULL);
		else if (c == 'r')
			max_rounds = strtoull(optarg, NULL, 10);
		else if (c == 't')
			threads = strtol(optarg, NULL, 10);
		else if (c == 'd')
			depth = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (threads < 1 || threads > 64 || (seconds <= 0 && !max_rounds))
		return 2;
	start = now(CLOCK_MONOTONIC);
	for (long i = 0; i < threads; i++) {
		w[i].seed = (uint64_t)i + 1;
		if (pthread_create(&w[i].id, NULL, worker_run, &w[i]))
			return 1;
	}
	for (long i = 0; i < threads; i++)
		pthread_join(w[i].id, NULL);
	report(w, threads, now(CLOCK_MONOTONIC) - start);
	return 0;
}
