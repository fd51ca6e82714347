/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as people and programs spell them.  Fixed: the man pages and every output use
 * them.
 */
#include "shm/ringside.h"

#define NAME_OF(table, i) ((i) < sizeof(table) / sizeof(*(table)) ? (table)[i] : NULL)

const char *ringside_cause_name(uint32_t cause)
{
	static const char *const names[] = {
		[RINGSIDE_LOST_LAPPED] = "lapped",
		[RINGSIDE_LOST_KERNEL_RING_FULL] = "kernel_ring_full",
		[RINGSIDE_LOST_MALFORMED] = "malformed",
		[RINGSIDE_LOST_CLOCK_REFUSED] = "clock_refused",
		[RINGSIDE_LOST_RECORD_TOO_BIG] = "record_too_big",
		[RINGSIDE_LOST_THROTTLED] = "throttled",
		[RINGSIDE_LOST_PROCESS_BURST] = "process_burst",
		[RINGSIDE_LOST_CORRUPT] = "corrupt",
	};

	return NAME_OF(names, cause);
}

const char *ringside_stack_end_name(uint32_t end)
{
	static const char *const names[] = {
		[RINGSIDE_END_NONE] = "none",
		[RINGSIDE_END_COMPLETE] = "complete",
		[RINGSIDE_END_FRAME_POINTER] = "frame_pointer",
		[RINGSIDE_END_NO_TABLE] = "no_table",
		[RINGSIDE_END_READ_FAULT] = "read_fault",
		[RINGSIDE_END_ANONYMOUS] = "anonymous",
		[RINGSIDE_END_TOO_DEEP] = "too_deep",
	};

	return NAME_OF(names, end);
}

const char *ringside_frame_type_name(uint32_t type)
{
	static const char *const names[] = {
		[RINGSIDE_FRAME_NATIVE] = "native", [RINGSIDE_FRAME_KERNEL] = "kernel",
		[RINGSIDE_FRAME_GO] = "go",	    [RINGSIDE_FRAME_RUST] = "rust",
		[RINGSIDE_FRAME_V8JS] = "v8js",	    [RINGSIDE_FRAME_CPYTHON] = "cpython",
		[RINGSIDE_FRAME_JVM] = "jvm",	    [RINGSIDE_FRAME_JIT] = "jit",
	};

	return NAME_OF(names, type);
}

const char *ringside_event_name(uint32_t event)
{
	static const char *const names[] = {
		[RINGSIDE_EVENT_CPU] = "cpu", [RINGSIDE_EVENT_OFFCPU] = "offcpu",
	};

	return NAME_OF(names, event);
}

const char *ringside_unit_name(uint32_t unit)
{
	static const char *const names[] = {
		[RINGSIDE_UNIT_NANOSECONDS] = "nanoseconds",
		[RINGSIDE_UNIT_COUNT] = "count",
		[RINGSIDE_UNIT_BYTES] = "bytes",
	};

	return NAME_OF(names, unit);
}

const char *ringside_action_name(uint32_t action)
{
	static const char *const names[] = {
		[RINGSIDE_SEEN] = "seen",
		[RINGSIDE_FORK] = "fork",
		[RINGSIDE_EXEC] = "exec",
		[RINGSIDE_EXIT] = "exit",
	};

	return NAME_OF(names, action);
}

const char *ringside_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[RINGSIDE_SAMPLE] = "sample",
		[RINGSIDE_PROCESS] = "process",
		[RINGSIDE_LOST] = "lost",
		[RINGSIDE_CLOCK] = "clock",
		[RINGSIDE_INCARNATION] = "incarnation",
	};

	return NAME_OF(names, kind);
}

const char *ringside_clock_source_name(uint32_t source)
{
	static const char *const names[] = {
		[RINGSIDE_CLOCK_PAIRED] = "paired", [RINGSIDE_CLOCK_BTIME] = "btime",
		[RINGSIDE_CLOCK_ESTIMATED] = "estimated",
	};

	return NAME_OF(names, source);
}

const char *ringside_context_state_name(uint32_t state)
{
	static const char *const names[] = {
		[RINGSIDE_CONTEXT_ABSENT] = "absent", [RINGSIDE_CONTEXT_OK] = "ok",
		[RINGSIDE_CONTEXT_NONE] = "none",
		[RINGSIDE_CONTEXT_NO_SYMBOL] = "no_symbol",
		[RINGSIDE_CONTEXT_UNRESOLVED] = "unresolved",
		[RINGSIDE_CONTEXT_UNALLOCATED] = "unallocated",
		[RINGSIDE_CONTEXT_FAULT] = "fault",
		[RINGSIDE_CONTEXT_INVALID] = "invalid",
		[RINGSIDE_CONTEXT_SCHEMA] = "schema",
	};

	return NAME_OF(names, state);
}

const char *ringside_build_id_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[RINGSIDE_BUILD_ID_NONE] = "none", [RINGSIDE_BUILD_ID_GNU] = "gnu",
		[RINGSIDE_BUILD_ID_GO] = "go", [RINGSIDE_BUILD_ID_HTLHASH] = "htlhash",
	};

	return NAME_OF(names, kind);
}

const char *ringside_skipped_name(uint32_t i)
{
	static const char *const names[] = {
		[RINGSIDE_SKIPPED_OUT_OF_SCOPE] = "out_of_scope",
		[RINGSIDE_SKIPPED_RULES] = "rules",
		[RINGSIDE_SKIPPED_PAUSED] = "paused",
	};

	return NAME_OF(names, i);
}

const char *ringside_degraded_name(uint32_t i)
{
	static const char *const names[] = {
		[RINGSIDE_DEGRADED_PROCESS_GONE] = "process_gone",
		[RINGSIDE_DEGRADED_UNREADABLE] = "unreadable",
		[RINGSIDE_DEGRADED_NAMES_LATE] = "names_late",
		[RINGSIDE_DEGRADED_DICTIONARY_FULL] = "dictionary_full",
		[RINGSIDE_DEGRADED_WORKER_RESTARTS] = "worker_restarts",
	};

	return NAME_OF(names, i);
}

const char *ringside_version(void)
{
	return "0.1.0";
}
