/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/client_records.h"

#define HEAD .time_ns = RECORD_TIME, .boot_ns = 5000000000, .clock_epoch = 3, .clock_error_ns = 120
#define STRING(k, s) { .key = k, .type = RINGSIDE_STRING, .len = sizeof(s) - 1, .string = s }

static const struct ringside_mapping exe = {
	.path = "/usr/bin/worker",
	.build_id = "abcdef",
	.build_id_kind = RINGSIDE_BUILD_ID_GNU,
	.start = 0x400000,
	.end = 0x500000,
};
static const struct ringside_mapping libc_mapping = { .path = "/lib/libc.so.6" };
static const struct ringside_mapping kernel = { .path = "[kernel.kallsyms]" };
static const struct ringside_mapping evil = { .path = "/tmp/" HOSTILE };

static const struct ringside_frame f_read = {
	.type = RINGSIDE_FRAME_KERNEL,
	.address = UINT64_C(0xffffffff81000010),
	.offset = 0x10,
	.function = "vfs_read",
	.mapping = &kernel,
};
static const struct ringside_frame f_inner = {
	.type = RINGSIDE_FRAME_NATIVE,
	.inlined = true,
	.address = 0x1149,
	.offset = 9,
	.function = "shop::sum(int)",
	.system_name = "_ZN4shop3sumEi",
	.file = "shop.cc",
	.line = 12,
	.mapping = &exe,
};
static const struct ringside_frame f_burn = {
	.type = RINGSIDE_FRAME_NATIVE, .address = 0x1149, .offset = 9, .function = "burn",
	.file = "shop.cc", .line = 40, .mapping = &exe, .cut = true,
};
static const struct ringside_frame f_main = {
	.type = RINGSIDE_FRAME_NATIVE,
	.address = 0x1200,
	.function = "main",
	.mapping = &exe,
};
static const struct ringside_frame f_unnamed = {
	.type = RINGSIDE_FRAME_NATIVE, .address = 0x27000, .mapping = &libc_mapping,
};
static const struct ringside_frame f_nowhere = { .type = RINGSIDE_FRAME_JIT,
						 .address = 0x7f00 };
static const struct ringside_frame f_evil = {
	.type = RINGSIDE_FRAME_NATIVE,
	.address = 0x10,
	.function = HOSTILE,
	.file = HOSTILE,
	.line = 1,
	.mapping = &evil,
};

static const struct ringside_frame *const kernel_frames[] = { &f_read };
static const struct ringside_frame *const user_frames[] = { &f_inner, &f_burn, &f_main,
							    &f_unnamed };
static const struct ringside_frame *const plain_frames[] = { &f_main, &f_nowhere };
static const struct ringside_frame *const evil_frames[] = { &f_evil };

static const struct ringside_attribute resource[] = {
	STRING("service.name", "shop"),
	{ .key = "process.pid", .type = RINGSIDE_INT, .number = 77 },
	STRING("process.executable.path", "/usr/bin/worker"),
	STRING("container.id", "0123456789abcdef"),
	STRING("k8s.namespace.name", "prod"),
	STRING("k8s.container.name", "web"),
	{ .key = "debug", .type = RINGSIDE_BOOL, .number = 1 },
	{ .key = "ratio", .type = RINGSIDE_DOUBLE, .real = 0.1 },
	{ .key = "raw", .type = RINGSIDE_BYTES, .len = 4, .string = "\x01\x02\xff\xfe" },
	{ .key = "list",
	  .type = RINGSIDE_JSON,
	  .len = 16,
	  .string = "[ 1,\n \"a\" , {}]"
		    "\n" },
};
static const struct ringside_attribute attributes[] = { STRING("http.route", "/cart") };
static const struct ringside_attribute evil_resource[] = {
	STRING("service.name", HOSTILE), STRING("k" HOSTILE, "v"),
	{ .key = "list", .type = RINGSIDE_JSON, .len = 6, .string = "[1,2,]" },
};

const struct ringside_record record_sample = {
	.kind = RINGSIDE_SAMPLE, .seq = 4294967297, HEAD,
	.sample = {
		.pid = 77, .tid = 78, .cpu = 3, .process_start_ns = 123, .comm = "worker",
		.event = RINGSIDE_EVENT_CPU, .unit = RINGSIDE_UNIT_NANOSECONDS,
		.user_end = RINGSIDE_END_FRAME_POINTER, .kernel_end = RINGSIDE_END_COMPLETE,
		.has_link = true, .trace_flags = 1,
		.trace_id = { 0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21,
			      0x1c, 0x80, 0x31, 0x9c },
		.span_id = { 0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31 },
		.weight = 52631578,
		.resource = { .n = 10, .attributes = resource,
			      .schema_url = "https://opentelemetry.io/schemas/1.37.0" },
		.kernel = { .n = 1, .frames = kernel_frames },
		.user = { .n = 4, .frames = user_frames },
		.nattributes = 1, .attributes = attributes,
	},
};

const struct ringside_record record_plain = {
	.kind = RINGSIDE_SAMPLE, .seq = 2, HEAD,
	.sample = {
		.pid = 9, .tid = 9, .comm = "sixteen-bytes-xx", .event = RINGSIDE_EVENT_CPU,
		.unit = RINGSIDE_UNIT_NANOSECONDS, .weight = 52631578,
		.user_end = RINGSIDE_END_ANONYMOUS, .user = { .n = 2, .frames = plain_frames },
	},
};

const struct ringside_record record_hostile = {
	.kind = RINGSIDE_SAMPLE, .seq = 3, HEAD,
	.sample = {
		.pid = 13, .tid = 14, .comm = "c\033;\n\xff", .event = RINGSIDE_EVENT_CPU,
		.unit = RINGSIDE_UNIT_NANOSECONDS, .weight = 1,
		.resource = { .n = 3, .attributes = evil_resource },
		.user = { .n = 1, .frames = evil_frames },
	},
};

const struct ringside_record record_process = {
	.kind = RINGSIDE_PROCESS,
	.seq = 5,
	HEAD,
	.process = { .pid = 80,
		     .parent_pid = 77,
		     .process_start_ns = 456,
		     .action = RINGSIDE_EXIT,
		     .exit_code = 3,
		     .comm = "x) R 1 (y",
		     .command = "worker --fast\n" },
};
const struct ringside_record record_lost = {
	.kind = RINGSIDE_LOST, .seq = 6, HEAD,
	.lost = { .count = 7, .cause = RINGSIDE_LOST_THROTTLED },
};
const struct ringside_record record_lapped = {
	.kind = RINGSIDE_LOST, HEAD,
	.lost = { .count = UINT64_C(18446744073709551615), .cause = RINGSIDE_LOST_LAPPED,
		  .by_reader = true },
};
const struct ringside_record record_clock = {
	.kind = RINGSIDE_CLOCK, .seq = 8, HEAD,
	.clock = { .offset_ns = -5, .step_ns = INT64_C(-3600000000001),
		   .source = RINGSIDE_CLOCK_PAIRED },
};
const struct ringside_record record_incarnation = {
	.kind = RINGSIDE_INCARNATION, .seq = 9, HEAD,
	.incarnation = { .incarnation = 2, .writer_pid = 4711 },
};
