/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches a context and looks into the slot: as a program (0 when it is right), or, with
 * -DPLUGIN, as a library to be opened, whose check() says so.  With -DHOST=1 opens the
 * library that its argument names, calls check() on two threads, and closes it while one of
 * them lives on.  With -DOWN_SYMBOL the program has a symbol of its own, which takes
 * precedence over the library's.
 */
#include <stdint.h>

#ifdef HOST
#include <dlfcn.h>
#include <pthread.h>

static pthread_barrier_t barrier;

static int call(void *check)
{
	return ((int (*)(void))(uintptr_t)check)();
}

/* Ends when the library is gone, and must not call into it then. */
static void *call_and_outlive(void *check)
{
	int bad = call(check);

	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return (void *)(intptr_t)bad;
}

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	void *check = plugin ? dlsym(plugin, "check") : 0, *error;
	pthread_t thread;

	pthread_barrier_init(&barrier, 0, 2);
	if (!check || pthread_create(&thread, 0, call_and_outlive, check))
		return 10;
	pthread_barrier_wait(&barrier);
	if (call(check) || dlclose(plugin))
		return 11;
	pthread_barrier_wait(&barrier);
	pthread_join(thread, &error);
	return error ? 12 : 0;
}
#else
#include "ctx/otelctx.h"

#ifdef OWN_SYMBOL
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

static void **otelctx_slot(void)
{
	return &otel_thread_ctx_v1;
}
#else
void **otelctx_slot(void);	/* not by its name, which would be an access of another kind */
#endif

__attribute__((visibility("default")))
int check(void)
{
	static const uint8_t trace_id[16] = { 1 }, span_id[8] = { 2 };
	void **slot = otelctx_slot();
	struct otelctx_thread *t;
	int bad = *slot != 0;

	if (otelctx_thread_create(&t, trace_id, span_id, 1, 0, 0))
		return 1;
	bad |= otelctx_thread_attach(t) << 1;
	bad |= (!*slot || *(const uint8_t *)*slot != 1) << 2;
	for (uint32_t key = 0; key < 30; key++)		/* moves */
		bad |= (otelctx_thread_append(t, key, "x", 1) != 0) << 4;
	bad |= (!*slot || ((const uint8_t *)*slot)[26] != 90) << 5;
	otelctx_thread_destroy(t);
	return bad | (*slot != 0) << 3;
}

#ifndef PLUGIN
int main(void)
{
	return check();
}
#endif
#endif
