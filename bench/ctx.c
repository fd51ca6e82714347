/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx [--long]: what switching thread contexts costs a program; built twice, with the
 * shared library and with the static one.  Each figure is the median of rounds that
 * alternate with rounds of an empty loop and of an atomic store, in CPU time of this
 * thread.  One line a figure, ending in met or missed where it has a goal; exit 1 when
 * one was missed.
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctx/otelctx.h"

#define ROUNDS_MAX	401
#define GOAL_NS		5.0

enum { EMPTY, STORE, ATTACH, SPAN, WAYS };

static unsigned int rounds = 101, turns = 20000;
static struct otelctx_thread *context;
static uint64_t word;
static const uint8_t trace_id[16] = { 1 }, span_id[8] = { 1 };

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The compiler neither drops nor unrolls the loop. */
static inline void keep(void)
{
	__asm__ volatile ("" ::: "memory");
}

static void empty(void)
{
	for (unsigned int i = 0; i < turns; i++)
		keep();
}

static void store(void)
{
	for (unsigned int i = 0; i < turns; i++) {
		__atomic_store_n(&word, i, __ATOMIC_SEQ_CST);
		keep();
	}
}

static void attach(void)
{
	for (unsigned int i = 0; i < turns; i++) {
		otelctx_thread_attach(context);
		otelctx_thread_attach(NULL);
		keep();
	}
}

/* A context of its own, with an attribute of 16 bytes, for each turn. */
static void span(void)
{
	const struct otelctx_thread_attribute a = { .value = "0123456789abcdef", .n = 16 };
	struct otelctx_thread *t;

	for (unsigned int i = 0; i < turns; i++) {
		if (otelctx_thread_create(&t, trace_id, span_id, 1, &a, 1))
			errx(2, "no memory");
		otelctx_thread_attach(t);
		otelctx_thread_attach(NULL);
		otelctx_thread_destroy(t);
		keep();
	}
}

static double timed(void (*way)(void))
{
	uint64_t start = cpu_ns();

	way();
	return (double)(cpu_ns() - start) / turns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static void (*const ways[WAYS])(void) = { empty, store, attach, span };
	static double took[WAYS][ROUNDS_MAX];
	double ns[WAYS], both;

	if (argc > 1 && !strcmp(argv[1], "--long"))
		rounds = ROUNDS_MAX;
	if (otelctx_thread_create(&context, trace_id, span_id, 1, NULL, 0) ||
	    otelctx_thread_attach(context))
		errx(2, "cannot attach");
	for (unsigned int i = 0; i < rounds; i++)
		for (int w = 0; w < WAYS; w++)
			took[w][i] = timed(ways[w]);
	for (int w = 0; w < WAYS; w++) {
		qsort(took[w], rounds, sizeof(took[w][0]), by_value);
		ns[w] = took[w][rounds / 2];
	}
	both = ns[ATTACH] - ns[EMPTY];
	printf("%-52s %9.2f ns  %-18s (%.2f x an atomic store of %.2f ns) %s\n",
	       "attach and detach, " LINKED " libotelctx", both, "<= 5 ns",
	       both / (ns[STORE] - ns[EMPTY]), ns[STORE] - ns[EMPTY],
	       both <= GOAL_NS ? "met" : "missed");
	printf("%-52s %9.2f ns  %-18s (%.2f x an atomic store)\n",
	       "create, attach, detach, destroy, " LINKED, ns[SPAN] - ns[EMPTY], "",
	       (ns[SPAN] - ns[EMPTY]) / (ns[STORE] - ns[EMPTY]));
	otelctx_thread_destroy(context);
	return both > GOAL_NS;
}
