/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte of a ring file that both sides agree on.  ringside-ring(5) says the same in
 * words; a change here is a change there.  Little endian, only ever appended to.
 *
 *  0        page 0: struct ring_header
 *  0x1000   status slot 0, 16 KiB
 *  0x5000   status slot 1, 16 KiB
 *  0x9000   zero up to data_off (64 KiB: a page on every machine)
 *  data_off nblocks blocks of 1 << block_shift bytes
 *  dict_off half 0, half 1 of the dictionary
 *
 * A block, and the records in it, all multiples of 16 bytes:
 *
 *  +--------------+-----+--------+----------+---------+
 *  | block header | rec | rec    | ...      | pad     |  no record straddles two blocks
 *  +--------------+-----+--------+----------+---------+
 *
 * A record:
 *
 *  0        4      6      8        12       16
 *  +--------+------+------+--------+--------+---------------- - -
 *  | len    | type | flags| seq    | crc    | payload, len bytes, up to 15 of anything
 *  +--------+------+------+--------+--------+---------------- - -
 *  '---- word 0 ---------''---- word 1 -----'
 *
 * Position p (64 bits, never wraps) stands in block p >> block_shift, at data_off +
 * (p & data_bytes - 1).
 */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define RING_MAGIC		"RINGSIDE"
#define RING_ENDIAN		0x01020304u
#define RING_MAJOR		1
#define RING_MINOR		0

#define RING_HEADER_BYTES	36864u
#define RING_PAGE0_BYTES	4096u
#define RING_STATUS_OFF		0x1000u
#define RING_STATUS_BYTES	16384u
#define RING_STATUS_SLOTS	2
#define RING_DATA_OFF		65536u /* of this writer; a reader takes any legal one */
#define RING_ALIGN_FILE		65536u /* sizes and offsets are multiples of it */

#define RING_MIN_SHIFT		12
#define RING_MAX_SHIFT		24
#define RING_MIN_BLOCKS		4u
#define RING_MAX_BLOCKS		(1u << 20)
#define RING_MIN_HALF		65536u
#define RING_MAX_HALF		(256u << 20)
#define RING_MAX_DATA		(1ull << 40)

#define RING_ANCHORS		4
#define RING_CAUSES		8	/* slots for enum ringside_cause */

/* Bounds that both sides keep: a writer cuts, a reader refuses. */
#define RING_MAX_STRING		4096u
#define RING_MAX_FRAMES		2048u
#define RING_MAX_ATTRIBUTES	256u
#define RING_COMM		16

enum ring_state {
	RING_INIT	= 0,
	RING_LIVE	= 1,
	RING_CLOSED	= 2,
	RING_SUPERSEDED	= 3,
};

/* One wall-clock anchor, under the slot rule of ring_atomic.h. */
struct ring_anchor_slot {
	uint64_t stamp;			/* 0: being written */
	uint64_t boot_ns;
	int64_t	 real_ns;
	int64_t	 offset_ns;
	uint64_t bound_ns;
	uint32_t clock_epoch;
	uint32_t source;
	uint64_t taken_boot_ns;
	uint64_t pad0;
};

struct ring_half_meta {
	uint32_t generation;		/* 0: never used */
	uint32_t pad0;
	uint64_t used;			/* bytes */
	uint64_t last_ref_block;
	uint64_t pad1;
};

/* Page 0.  Fields that change at different rates stand 128 bytes apart. */
struct ring_header {
	uint8_t	 magic[8];		/* stored last, at creation */
	uint32_t endian;
	uint16_t major, minor;
	uint32_t header_bytes;
	uint32_t block_shift;
	uint32_t nblocks;
	uint32_t max_payload;
	uint64_t data_off, data_bytes;
	uint64_t dict_off, dict_bytes;
	uint64_t file_bytes;
	uint8_t	 uuid[16];
	uint8_t	 boot_id[16];
	uint32_t writer_pid;		/* informational */
	uint32_t flags;			/* RING_FILE_* */
	uint64_t writer_start;		/* field 22 of /proc/PID/stat */
	uint8_t	 prev_uuid[16];
	uint64_t prev_final_seq;	/* 0: no predecessor */
	uint8_t	 pad0[0x100 - 0x90];

	uint64_t tail;			/* low half = the futex word */
	uint8_t	 pad1[0x180 - 0x108];
	uint64_t intent;
	uint8_t	 pad2[0x200 - 0x188];
	uint32_t state;			/* enum ring_state */
	uint32_t incarnation;
	uint64_t heartbeat;		/* host CLOCK_BOOTTIME */
	int64_t	 started_ns;		/* wall clock at creation */
	uint64_t lost[RING_CAUSES];	/* by enum ringside_cause, cumulative */
	uint64_t dict_fallbacks;	/* self-contained records */
	uint64_t final_seq;		/* 0, or the last number, before the memory goes */
	uint8_t	 pad3[0x300 - 0x268];
	struct ring_half_meta half[2];
	uint8_t	 pad4[0x400 - 0x340];
	struct ring_anchor_slot anchors[RING_ANCHORS];
	uint8_t	 pad5[0x1000 - 0x500];
};

#define RING_FILE_CRC 1u /* records carry crc32c; this writer never sets it */

#define RING_AT(type, field, off) \
	_Static_assert(offsetof(struct type, field) == (off), #type "." #field)

RING_AT(ring_header, magic, 0x000);
RING_AT(ring_header, endian, 0x008);
RING_AT(ring_header, major, 0x00c);
RING_AT(ring_header, minor, 0x00e);
RING_AT(ring_header, header_bytes, 0x010);
RING_AT(ring_header, block_shift, 0x014);
RING_AT(ring_header, nblocks, 0x018);
RING_AT(ring_header, max_payload, 0x01c);
RING_AT(ring_header, data_off, 0x020);
RING_AT(ring_header, data_bytes, 0x028);
RING_AT(ring_header, dict_off, 0x030);
RING_AT(ring_header, dict_bytes, 0x038);
RING_AT(ring_header, file_bytes, 0x040);
RING_AT(ring_header, uuid, 0x048);
RING_AT(ring_header, boot_id, 0x058);
RING_AT(ring_header, writer_pid, 0x068);
RING_AT(ring_header, flags, 0x06c);
RING_AT(ring_header, writer_start, 0x070);
RING_AT(ring_header, prev_uuid, 0x078);
RING_AT(ring_header, prev_final_seq, 0x088);
RING_AT(ring_header, tail, 0x100);
RING_AT(ring_header, intent, 0x180);
RING_AT(ring_header, state, 0x200);
RING_AT(ring_header, incarnation, 0x204);
RING_AT(ring_header, heartbeat, 0x208);
RING_AT(ring_header, started_ns, 0x210);
RING_AT(ring_header, lost, 0x218);
RING_AT(ring_header, dict_fallbacks, 0x258);
RING_AT(ring_header, final_seq, 0x260);
RING_AT(ring_header, half, 0x300);
RING_AT(ring_header, anchors, 0x400);
RING_AT(ring_half_meta, used, 8);
RING_AT(ring_half_meta, last_ref_block, 16);
RING_AT(ring_anchor_slot, boot_ns, 8);
RING_AT(ring_anchor_slot, real_ns, 16);
RING_AT(ring_anchor_slot, offset_ns, 24);
RING_AT(ring_anchor_slot, bound_ns, 32);
RING_AT(ring_anchor_slot, clock_epoch, 40);
RING_AT(ring_anchor_slot, source, 44);
RING_AT(ring_anchor_slot, taken_boot_ns, 48);
_Static_assert(sizeof(struct ring_half_meta) == 32, "half meta");
_Static_assert(sizeof(struct ring_anchor_slot) == 64, "anchor");
_Static_assert(sizeof(struct ring_header) == RING_PAGE0_BYTES, "page 0");

/* --- records ------------------------------------------------------------------------ */

#define RING_ALIGN		16u
#define RING_MIN_RECORD	32u		/* bytes of one with a number: no file holds more than that */
#define RING_RECORD_BYTES(len)	((16u + (uint64_t)(len) + 15u) & ~(uint64_t)15u)

enum ring_type {
	RING_T_ILLEGAL		= 0,	/* what a hole in the file reads as */
	RING_T_SAMPLE		= 1,
	RING_T_PROCESS		= 2,
	RING_T_SOURCE_LOST	= 0xfffb,
	RING_T_CLOCK		= 0xfffc,
	RING_T_INCARNATION	= 0xfffd,
	RING_T_BLOCK		= 0xfffe,
	RING_T_PAD		= 0xffff,
};

/* Record flags.  Bit 0 for every type, the rest for samples and processes. */
#define RING_F_CRC		0x0001u	/* crc is the crc32c of the payload */
#define RING_F_LINK		0x0002u	/* trace_id[16], span_id[8] follow */
#define RING_F_RESOURCE		0x0004u	/* a self-contained resource follows */
#define RING_F_KERNEL		0x0008u	/* a self-contained kernel stack follows */
#define RING_F_USER		0x0010u	/* a self-contained user stack follows */
#define RING_F_CUT		0x0020u /* something self-contained was cut for room */

/* Word 0 and word 1, each one 8-byte access. */
static inline uint64_t ring_word0(uint32_t len, uint16_t type, uint16_t flags)
{
	return len | (uint64_t)type << 32 | (uint64_t)flags << 48;
}

static inline uint64_t ring_word1(uint32_t seq, uint32_t crc)
{
	return seq | (uint64_t)crc << 32;
}

static inline uint32_t ring_word0_len(uint64_t w)
{
	return (uint32_t)w;
}

static inline uint16_t ring_word0_type(uint64_t w)
{
	return (uint16_t)(w >> 32);
}

static inline uint16_t ring_word0_flags(uint64_t w)
{
	return (uint16_t)(w >> 48);
}

/* First record of every block. */
struct ring_block {
	uint64_t block_no;
	uint64_t first_seq;		/* of the next record that has a number */
	uint64_t boot_ns;		/* of the newest record before this block */
	int64_t	 real_ns;
	uint64_t lost_total;		/* all writer-side causes together */
	uint32_t incarnation;
	uint32_t clock_epoch;
};
RING_AT(ring_block, first_seq, 8);
RING_AT(ring_block, boot_ns, 16);
RING_AT(ring_block, real_ns, 24);
RING_AT(ring_block, lost_total, 32);
RING_AT(ring_block, incarnation, 40);
RING_AT(ring_block, clock_epoch, 44);
_Static_assert(sizeof(struct ring_block) == 48, "block header");

/* Every record that has a number begins with this, of whatever type: a reader can date
 * what it does not know.  The last word belongs to the type. */
struct ring_stamp_wire {
	uint64_t boot_ns;
	int64_t	 real_ns;
	uint64_t clock_error_ns;
	uint32_t clock_epoch;
	uint32_t u;
};
RING_AT(ring_stamp_wire, real_ns, 8);
RING_AT(ring_stamp_wire, clock_error_ns, 16);
RING_AT(ring_stamp_wire, clock_epoch, 24);
RING_AT(ring_stamp_wire, u, 28);
_Static_assert(sizeof(struct ring_stamp_wire) == 32, "stamp");

/*
 * A reference in a record is an offset/16 into the half that `dict` names (generation <<
 * 8 | half); 0 refers to nothing.  After the fixed part, in this order and only when
 * present: link, self- contained resource, kernel stack, user stack, nattributes
 * attributes.
 */
struct ring_sample_wire {
	struct ring_stamp_wire stamp;	/* u = dict */
	uint64_t start_ns;
	uint64_t weight;
	uint32_t pid, tid, cpu;
	uint32_t resource, kernel, user;
	char	 comm[RING_COMM];
	uint8_t	 event, unit;
	uint8_t	 ends;			/* user | kernel << 4 */
	uint8_t	 context_state;
	uint8_t	 trace_flags;
	uint8_t	 pad0;
	uint16_t nattributes;
};
RING_AT(ring_sample_wire, start_ns, 32);
RING_AT(ring_sample_wire, weight, 40);
RING_AT(ring_sample_wire, pid, 48);
RING_AT(ring_sample_wire, tid, 52);
RING_AT(ring_sample_wire, cpu, 56);
RING_AT(ring_sample_wire, resource, 60);
RING_AT(ring_sample_wire, kernel, 64);
RING_AT(ring_sample_wire, user, 68);
RING_AT(ring_sample_wire, comm, 72);
RING_AT(ring_sample_wire, event, 88);
RING_AT(ring_sample_wire, unit, 89);
RING_AT(ring_sample_wire, ends, 90);
RING_AT(ring_sample_wire, context_state, 91);
RING_AT(ring_sample_wire, trace_flags, 92);
RING_AT(ring_sample_wire, nattributes, 94);
_Static_assert(sizeof(struct ring_sample_wire) == 96, "sample: 112 bytes in the ring");

/* Then command_len bytes, zeroes up to 4, and the self-contained resource. */
struct ring_process_wire {
	struct ring_stamp_wire stamp;	/* u = dict */
	uint64_t start_ns;
	uint32_t pid, parent_pid;
	uint32_t exit_code, exit_signal;
	uint32_t resource;
	uint8_t	 action;
	uint8_t	 pad0;
	uint16_t command_len;
	char	 comm[RING_COMM];
};
RING_AT(ring_process_wire, start_ns, 32);
RING_AT(ring_process_wire, pid, 40);
RING_AT(ring_process_wire, parent_pid, 44);
RING_AT(ring_process_wire, exit_code, 48);
RING_AT(ring_process_wire, exit_signal, 52);
RING_AT(ring_process_wire, resource, 56);
RING_AT(ring_process_wire, action, 60);
RING_AT(ring_process_wire, command_len, 62);
RING_AT(ring_process_wire, comm, 64);
_Static_assert(sizeof(struct ring_process_wire) == 80, "process");

struct ring_lost_wire {
	struct ring_stamp_wire stamp;	/* u = cause */
	uint64_t count;
};
RING_AT(ring_lost_wire, count, 32);
_Static_assert(sizeof(struct ring_lost_wire) == 40, "source-lost");

struct ring_clock_wire {
	struct ring_stamp_wire stamp;	/* u = source */
	int64_t	 offset_ns;
	int64_t	 step_ns;
	uint64_t suspended_ns;
};
RING_AT(ring_clock_wire, offset_ns, 32);
RING_AT(ring_clock_wire, step_ns, 40);
RING_AT(ring_clock_wire, suspended_ns, 48);
_Static_assert(sizeof(struct ring_clock_wire) == 56, "clock");

struct ring_incarnation_wire {
	struct ring_stamp_wire stamp;	/* u = incarnation */
	uint32_t writer_pid;
	uint32_t pad0;
};
RING_AT(ring_incarnation_wire, writer_pid, 32);
_Static_assert(sizeof(struct ring_incarnation_wire) == 40, "incarnation");

/* --- self-contained parts: each on a multiple of 4, zeroes up to 4 behind it -------- */

struct ring_attr_inline {		/* then the key's and the value's bytes */
	uint32_t key;			/* reference, or 0: key_len bytes follow */
	uint16_t key_len;
	uint8_t	 type;			/* enum ringside_value_type */
	uint8_t	 pad0;
	uint32_t value_len;		/* INT, BOOL, DOUBLE: 8 */
};
RING_AT(ring_attr_inline, key_len, 4);
RING_AT(ring_attr_inline, type, 6);
RING_AT(ring_attr_inline, value_len, 8);
_Static_assert(sizeof(struct ring_attr_inline) == 12, "attribute");

struct ring_resource_inline {		/* then the schema URL, then n attributes */
	uint32_t n;
	uint32_t schema_len;
};
_Static_assert(sizeof(struct ring_resource_inline) == 8, "resource");

struct ring_stack_inline {		/* then nmappings mappings, then n frames */
	uint16_t n;
	uint16_t nmappings;
};
_Static_assert(sizeof(struct ring_stack_inline) == 4, "stack");

struct ring_mapping_inline { /* then path, build id; 64-bit values on 4-byte boundaries */
	uint32_t start[2], end[2], file_offset[2];
	uint16_t path_len;
	uint8_t	 build_id_len;
	uint8_t	 build_id_kind;
};
RING_AT(ring_mapping_inline, end, 8);
RING_AT(ring_mapping_inline, file_offset, 16);
RING_AT(ring_mapping_inline, path_len, 24);
RING_AT(ring_mapping_inline, build_id_len, 26);
RING_AT(ring_mapping_inline, build_id_kind, 27);
_Static_assert(sizeof(struct ring_mapping_inline) == 28, "mapping");

struct ring_frame_inline {		/* then function, system name, file */
	uint32_t address[2], offset[2];
	uint32_t line;
	uint16_t mapping;		/* index, RING_NO_MAPPING */
	uint16_t function_len, system_len, file_len;
	uint8_t	 type;			/* enum ringside_frame_type */
	uint8_t	 flags;			/* RING_FRAME_* */
	uint16_t pad0;
};
RING_AT(ring_frame_inline, offset, 8);
RING_AT(ring_frame_inline, line, 16);
RING_AT(ring_frame_inline, mapping, 20);
RING_AT(ring_frame_inline, function_len, 22);
RING_AT(ring_frame_inline, system_len, 24);
RING_AT(ring_frame_inline, file_len, 26);
RING_AT(ring_frame_inline, type, 28);
RING_AT(ring_frame_inline, flags, 29);
_Static_assert(sizeof(struct ring_frame_inline) == 32, "frame");

#define RING_NO_MAPPING		0xffffu
#define RING_FRAME_INLINED	0x01u
#define RING_FRAME_CUT		0x02u	/* frames were left out after this one */

/* --- dictionary ------------------------------------------------------------------------
 *
 *  0        4    5    6      8            12       16
 *  +--------+----+----+------+------------+--------+---------------- - -
 *  | len    |kind| 0  | 0    | generation | 0      | payload, then zeroes up to 16
 *  +--------+----+----+------+------------+--------+---------------- - -
 *
 * The first 16 bytes of a half are an entry of kind RING_D_HALF without payload, so that
 * offset 0 is no entry.  References inside an entry are offset/16 in the same half; 0
 * refers to nothing.  Kinds are layered: an entry refers only to kinds with a smaller
 * number.
 */
enum ring_dict_kind {
	RING_D_STRING		= 1,
	RING_D_MAPPING		= 2,	/* to strings */
	RING_D_FRAME		= 3,	/* to strings, a mapping */
	RING_D_STACK		= 4,	/* to frames */
	RING_D_ATTRIBUTE	= 5,	/* to strings */
	RING_D_RESOURCE		= 6,	/* to a string, attributes */
	RING_D_HALF		= 255,
};

#define RING_ENTRY_BYTES(len)	RING_RECORD_BYTES(len)
#define RING_MAX_GENERATION	0xffffffu

/* generation(24) | half(8) | offset/16(32) */
static inline uint64_t ring_ref(uint32_t generation, uint32_t half, uint32_t unit)
{
	return (uint64_t)(generation << 8 | half) << 32 | unit;
}

struct ring_dict_mapping {
	uint32_t path, build_id;
	uint64_t start, end, file_offset;
	uint8_t	 build_id_kind;
	uint8_t	 pad0[7];
};
RING_AT(ring_dict_mapping, build_id, 4);
RING_AT(ring_dict_mapping, start, 8);
RING_AT(ring_dict_mapping, end, 16);
RING_AT(ring_dict_mapping, file_offset, 24);
RING_AT(ring_dict_mapping, build_id_kind, 32);
_Static_assert(sizeof(struct ring_dict_mapping) == 40, "dictionary mapping");

struct ring_dict_frame {
	uint32_t function, system_name, file, mapping;
	uint64_t address, offset;
	uint32_t line;
	uint8_t	 type;
	uint8_t	 flags;			/* RING_FRAME_* */
	uint16_t pad0;
};
RING_AT(ring_dict_frame, system_name, 4);
RING_AT(ring_dict_frame, file, 8);
RING_AT(ring_dict_frame, mapping, 12);
RING_AT(ring_dict_frame, address, 16);
RING_AT(ring_dict_frame, offset, 24);
RING_AT(ring_dict_frame, line, 32);
RING_AT(ring_dict_frame, type, 36);
RING_AT(ring_dict_frame, flags, 37);
_Static_assert(sizeof(struct ring_dict_frame) == 40, "dictionary frame");

/* A stack is an array of u32 frame references, leaf first. */

struct ring_dict_attribute {
	uint32_t key;
	uint8_t	 type;			/* enum ringside_value_type */
	uint8_t	 pad0[3];
	uint64_t value; /* a string reference, or the number's or double's bits */
};
RING_AT(ring_dict_attribute, type, 4);
RING_AT(ring_dict_attribute, value, 8);
_Static_assert(sizeof(struct ring_dict_attribute) == 16, "dictionary attribute");

/* A resource is u32 schema URL, then an array of u32 attribute references. */

/* --- status slots: rows until `length` bytes are used, each on a multiple of 8 ------ */

struct ring_status_head {
	uint64_t stamp;
	uint32_t length;		/* bytes of rows */
	uint32_t crc;			/* crc32c of the rows */
};
RING_AT(ring_status_head, length, 8);
RING_AT(ring_status_head, crc, 12);
_Static_assert(sizeof(struct ring_status_head) == 16, "status slot");

enum ring_status_kind { RING_S_NUMBER = 1, RING_S_TEXT = 2 };

struct ring_status_row {		/* then len bytes, zeroes up to 8 */
	uint16_t kind;			/* enum ring_status_kind */
	uint16_t id;
	uint32_t len;			/* NUMBER: 8 */
};
RING_AT(ring_status_row, id, 2);
RING_AT(ring_status_row, len, 4);
_Static_assert(sizeof(struct ring_status_row) == 8, "status row");

#endif
