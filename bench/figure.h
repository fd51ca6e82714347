/* SPDX-License-Identifier: Apache-2.0 */
/* What the benches of the ring measure and print with: one line a figure, ending in its verdict. */
#ifndef BENCH_FIGURE_H
#define BENCH_FIGURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "shm/ring_time.h"

#define ROUNDS_MAX	101

static unsigned int rounds = 31;
static int missed;

static inline uint64_t cpu_ns(void)
{
	return ring_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double quantile(double *v, unsigned int n, double q)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[(unsigned int)((n - 1) * q)];
}

static inline double median(double *v, unsigned int n)
{
	return quantile(v, n, 0.5);
}

static inline void figure(const char *what, double value, const char *unit, bool at_most,
			  double goal, const char *remark)
{
	bool met = at_most ? value <= goal : value >= goal;

	printf("%-44s %8.2f %-7s %s %-6g %-40s %s\n", what, value, unit,
	       at_most ? "<=" : ">=", goal, remark, met ? "met" : "missed");
	missed |= !met;
}

/* A figure that cannot be taken here. */
static inline void skip(const char *what, const char *why)
{
	printf("%-44s %s skipped\n", what, why);
}

#endif
