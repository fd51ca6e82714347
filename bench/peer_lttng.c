/* SPDX-License-Identifier: Apache-2.0 */
/* peer_lttng LEN: CPU ns that an event of so many bytes costs the thread that emits it. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/peer_lttng.h"

#include "bench/figure.h"

#define EVENTS	16384u

int main(int argc, char **argv)
{
	static char payload[4096];
	unsigned int len = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 64;
	double ns[ROUNDS_MAX];
	uint64_t start;

	if (len > sizeof(payload))
		return 2;
	for (unsigned int i = 0; i < rounds; i++) {
		start = cpu_ns();
		for (unsigned int k = 0; k < EVENTS; k++)
			lttng_ust_tracepoint(ringside_bench, record, payload, len);
		ns[i] = (double)(cpu_ns() - start) / EVENTS;
	}
	printf("%.2f\n", median(ns, rounds));
	return 0;
}
