/* SPDX-License-Identifier: Apache-2.0 */
/* One event of LTTng-UST: a sequence of bytes, as a record of the ring is. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ringside_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/peer_lttng.h"

#if !defined(BENCH_PEER_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PEER_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(ringside_bench, record,
	LTTNG_UST_TP_ARGS(const char *, bytes, unsigned int, len),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_sequence(char, payload, bytes, unsigned int, len)))

#endif

#include <lttng/tracepoint-event.h>
