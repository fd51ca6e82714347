/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches a context and looks into the slot: as a program (0 when it is right), or, with
 * -DPLUGIN, as a library to be opened, whose check() says so.  With -DHOST=1 opens the
 * library that its argument names, calls check() on two threads, and closes it.
 */
#include <stdint.h>

#ifdef HOST
#include <dlfcn.h>
#include <pthread.h>

static void *call(void *check)
{
	return (void *)(intptr_t)((int (*)(void))(uintptr_t)check)();
}

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	void *check = plugin ? dlsym(plugin, "check") : 0, *error;
	pthread_t thread;

	if (!check || pthread_create(&thread, 0, call, check))
		return 10;
	pthread_join(thread, &error);
	if (error || call(check))
		return 11;
	return dlclose(plugin) ? 12 : 0;
}
#else
#include "ctx/otelctx.h"

void **otelctx_slot(void);	/* not by its name, which would be an access of another kind */

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
