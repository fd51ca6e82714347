/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Layouts that OpenTelemetry fixes between a process that publishes its context and whoever reads it:
 * OTEP 4719 (process context) and OTEP 4947 (thread context).  Nothing of Ringside is in here.  Shared by
 * the writer (ctx/), the kernel program (bpf/) and the readers (sidecar/); the only header of ctx/ that the
 * latter two see.  Sections named below are those of the OTEPs.
 */
#ifndef OTEL_CTX_ABI_H
#define OTEL_CTX_ABI_H

#ifndef __bpf__	/* bpf/ brings its own __u32 and friends */
#include <linux/types.h>
#endif

/* --- OTEP 4719: process context ----------------------------------------------------------- */

#define OTEL_CTX_SIGNATURE	"OTEL_CTX"	/* eight bytes, no NUL; also the mapping's name */
#define OTEL_CTX_SIGNATURE_LEN	8
#define OTEL_CTX_VERSION	2		/* the only one that readers accept */
#define OTEL_CTX_HEADER_SIZE	32

/*
 * At the start of the mapping, native endian.  published_ns is CLOCK_BOOTTIME of the publisher's time
 * namespace: 0 while the rest is being written, else larger at every update; never to be compared with
 * a clock, only with itself.  payload is an address in the publisher: behind this header, or anywhere.
 */
struct otel_ctx_header {
	unsigned char	signature[OTEL_CTX_SIGNATURE_LEN];
	__u32		version;
	__u32		payload_size;	/* bytes of protobuf, > 0 */
	__u64		published_ns;
	__u64		payload;
};

/* Keys of ProcessContext field 2 that make thread contexts readable. */
#define OTEL_CTX_KEY_SCHEMA	"threadlocal.schema_version"		/* string */
#define OTEL_CTX_KEY_MAP	"threadlocal.attribute_key_map"		/* array of strings: position = key */
#define OTEL_CTX_SCHEMA_TLSDESC	"tlsdesc_v1_dev"

/* --- OTEP 4947: thread context ------------------------------------------------------------ */

#define OTEL_THREAD_CTX_SYMBOL	"otel_thread_ctx_v1"	/* STT_TLS, eight bytes: address of a record, or 0 */
#define OTEL_THREAD_CTX_HEADER_SIZE	28
#define OTEL_THREAD_CTX_ATTRS_MAX	612		/* recommended: a record of 640 bytes */
#define OTEL_THREAD_CTX_VALUE_MAX	255
#define OTEL_THREAD_CTX_KEYS_MAX	256

/*
 * A record; packed, aligned to two bytes at least.  Attributes follow: key index, length, that many
 * bytes, and so on, attrs_size bytes in all.  Every value of valid but 1 means: ignore all of it.
 */
struct otel_thread_ctx {
	unsigned char	trace_id[16];	/* W3C order; all zero: no trace */
	unsigned char	span_id[8];
	unsigned char	valid;
	unsigned char	trace_flags;	/* W3C */
	__u16		attrs_size;
	unsigned char	attrs[];
} __attribute__((packed, aligned(2)));

#endif
