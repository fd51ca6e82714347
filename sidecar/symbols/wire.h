/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes between the sidecar, the launcher and the symbol worker.  One message is one SOCK_SEQPACKET
 * datagram; all integers are in host order, since both ends are one machine (a journal of answers is
 * replayed on the architecture that wrote it).  Requests may carry one descriptor.
 *
 * Every request but FORGET and ADD_KALLSYMS is answered, those for one file in order, and the answer
 * repeats its number.  What a dying worker was busy with is the oldest unanswered request, unless an INFO
 * named another.
 */
#ifndef RINGSIDE_SYMBOLS_WIRE_H
#define RINGSIDE_SYMBOLS_WIRE_H

#include <assert.h>
#include <stdint.h>

#define WIRE_VERSION 1u

/* --- sidecar <-> launcher --- */
enum wire_launch {
	LAUNCH_SPAWN = 1,	/* to the launcher; answered by SPAWNED with the socket, or DIED */
	LAUNCH_KILL = 2,	/* to the launcher: the worker hangs */
	LAUNCH_SPAWNED = 3,
	LAUNCH_DIED = 4,
};

struct wire_launch_message {
	uint32_t what;		/* enum wire_launch */
	uint32_t io;		/* SPAWN: enum symbols_io */
	uint64_t memory_limit;	/* SPAWN */
	uint64_t serial;	/* SPAWN, echoed: which worker is meant */
	int32_t	 pid;		/* SPAWNED, DIED */
	int32_t	 status;	/* DIED: as from wait, or -errno when it was never born */
};
static_assert(sizeof(struct wire_launch_message) == 32, "launch message");

/* --- sidecar -> worker --- */
enum wire_request_kind {
	WIRE_ADD_FILE = 1,	/* + descriptor */
	WIRE_ADD_DEBUG = 2,	/* + descriptor */
	WIRE_ADD_IMAGE = 3,	/* + bytes */
	WIRE_ADD_PERF_MAP = 4,	/* + descriptor */
	WIRE_ADD_KALLSYMS = 5,	/* + descriptor */
	WIRE_FORGET = 6,
	WIRE_QUERY = 7,		/* + n times u64 */
};

#define WIRE_NO_DWARF 1u	/* flags: this file's DWARF has killed a worker before */
#define WIRE_ALONE 2u		/* a worker died lately: look at one file at a time, to know which it was */

struct wire_request {
	uint32_t kind;		/* enum wire_request_kind */
	uint32_t file_id;
	uint32_t seq;
	uint32_t flags;
	uint32_t n;		/* ADD_IMAGE: bytes; QUERY: addresses */
	uint32_t pad0;
};
static_assert(sizeof(struct wire_request) == 24, "request");

#define WIRE_IMAGE_MAX 32768u

/* --- worker -> sidecar; the first byte on is what symbols_decode() takes --- */
#define WIRE_MORE 1u		/* NAMES: another part of the same answer follows */
#define WIRE_IS_ELF 2u		/* FILE */
#define WIRE_WANT_DEBUG 4u
#define WIRE_STRIPPED 8u
#define WIRE_HAS_DEBUG 16u
#define WIRE_KPTR 32u		/* NAMES: kernel addresses are hidden */
#define WIRE_URING 64u		/* INFO */
#define WIRE_OWN_UID 128u	/* INFO */
#define WIRE_TLS 1024u		/* FILE: struct tls_facts stands behind the segments */
#define WIRE_STATIC 512u		/* FILE: nothing in it for a dynamic linker */
#define WIRE_BUSY 256u		/* INFO: value is the request that is being served, not the oldest one */

struct wire_answer {
	uint32_t kind;		/* enum sym_kind */
	uint32_t file_id;
	uint32_t seq;
	uint32_t flags;
	uint32_t n;		/* FILE: segments; NAMES: names */
	uint32_t strings;	/* bytes of the string area at the end; the first and the last are NUL */
	uint64_t value;		/* INFO: heap bytes; FILE: CRC of the debug link */
};
static_assert(sizeof(struct wire_answer) == 32, "answer");

/* FILE: wire_answer, wire_file, n times sym_segment, tls_facts when WIRE_TLS, strings.  Offsets into the string area, 0 absent. */
struct wire_file {
	uint32_t gnu_build_id, go_build_id, htlhash, debug_link, error;
	uint32_t compiler;
};
static_assert(sizeof(struct wire_file) == 24, "file");

/* NAMES: wire_answer, n times wire_name, strings. */
struct wire_name {
	uint64_t address;
	uint64_t offset;
	uint32_t function, system_name, file;	/* into the string area, 0 absent */
	uint32_t line;
	uint8_t	 type, inlined;
	uint16_t pad0;
	uint32_t same;		/* bytes from the address on that are called the same; 0: not told */
};
static_assert(sizeof(struct wire_name) == 40, "name");

/* Longest strings an answer may hold, NUL included. */
#define WIRE_NAME_MAX 4096u
#define WIRE_BUILD_ID_MAX 256u
#define WIRE_ERROR_MAX 128u

#endif
