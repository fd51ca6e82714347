/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context_load LIBOTELCTX none|attached SECONDS: burns CPU in one thread, without or with a thread context
 * of the largest size.  The library is opened at run time, so that GLIBC_TUNABLES decides where its
 * thread-local variable lies: glibc.rtld.optional_static_tls=0 puts it behind the thread's vector.
 */
#include <dlfcn.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctx/otelctx.h"

static void *function(void *library, const char *name)
{
	void *f = dlsym(library, name);

	if (!f)
		errx(2, "%s", dlerror());
	return f;
}

static void attach(const char *path)
{
	static const uint8_t trace_id[16] = { 1 }, span_id[8] = { 2 };
	static const char *const keys[] = { "a", "b", "c" };
	static char value[201];
	struct otelctx_process process = { .size = sizeof(process) };
	struct otelctx_thread_attribute a[3];
	struct otelctx_thread *t;
	void *library = dlopen(path, RTLD_NOW);
	__typeof__(&otelctx_names_create) names = NULL;
	__typeof__(&otelctx_process_publish) publish;
	__typeof__(&otelctx_thread_create) create;
	__typeof__(&otelctx_thread_attach) attach_it;

	if (!library)
		errx(2, "%s", dlerror());
	names = (__typeof__(names))function(library, "otelctx_names_create");
	publish = (__typeof__(publish))function(library, "otelctx_process_publish");
	create = (__typeof__(create))function(library, "otelctx_thread_create");
	attach_it = (__typeof__(attach_it))function(library, "otelctx_thread_attach");
	memset(value, 'v', sizeof(value) - 1);
	for (uint8_t i = 0; i < 3; i++)
		a[i] = (struct otelctx_thread_attribute){ .key = i, .value = value,
							  .n = OTELCTX_NUL };
	if (names(&process.names, keys, 3) || publish(&process) ||
	    create(&t, trace_id, span_id, 1, a, 3) || attach_it(t))
		errx(2, "cannot publish");
}

int main(int argc, char **argv)
{
	time_t end;

	if (argc != 4)
		errx(2, "usage: context_load LIBOTELCTX none|attached SECONDS");
	if (!strcmp(argv[2], "attached"))
		attach(argv[1]);
	end = time(NULL) + strtol(argv[3], NULL, 10);
	while (time(NULL) < end)
		for (volatile unsigned int i = 0; i < 10000000; i++)
			;
	return 0;
}
