/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says who it is, then works for three requests, each under a trace of its own.  A
 * profiler that reads OTEP 4719 and OTEP 4947 now shows which request the CPU time went
 * to.
 *
 * 	cc otelctx_example.c $(pkg-config --cflags --libs otelctx)
 *
 */
#include <otelctx.h>
#include <stdio.h>
#include <string.h>

static const struct otelctx_attribute resource[] = {
	{ "service.name", { OTELCTX_STRING, 0, OTELCTX_NUL, { "checkout" } } },
	{ "service.version", { OTELCTX_STRING, 0, OTELCTX_NUL, { "1.2.3" } } },
};

static unsigned long work(void)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 50 * 1000 * 1000; i++)
		sum = sum * 31 + i;
	return sum;
}

int main(void)
{
	static const char *const keys[] = { "http.route" };
	const struct otelctx_named_attribute route = { "http.route", "/cart/{id}", OTELCTX_NUL };
	struct otelctx_process process = { sizeof(process), resource, 2, NULL, 0, NULL };
	struct otelctx_names *names;
	struct otelctx_thread *request;
	unsigned long sum = 0;

	if (otelctx_names_create(&names, keys, 1))
		return 1;
	process.names = names;
	if (otelctx_process_publish(&process)) {
		fprintf(stderr, "cannot publish\n");
		return 1;
	}
	for (unsigned char i = 1; i <= 3; i++) {
		unsigned char trace_id[16], span_id[8];

		memset(trace_id, i, sizeof(trace_id));	/* a tracer's, really */
		memset(span_id, i, sizeof(span_id));
		if (otelctx_names_thread_create(names, &request, trace_id, span_id, 1, &route, 1))
			return 1;
		otelctx_thread_attach(request);
		sum += work();
		otelctx_thread_attach(NULL);
		otelctx_thread_destroy(request);
	}
	otelctx_process_drop();
	otelctx_names_destroy(names);
	return sum == 1;
}
