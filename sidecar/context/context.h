/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process publishes of itself: OTEP 4719.  Takes the protobuf that the door copied out of it and
 * gives its resource attributes, its schema and key map.  Pure functions over bytes, no process is read
 * here; used by sidecar/process/ (labels), the thread-context reader and ringsided --explain-context.
 */
#ifndef RINGSIDE_CONTEXT_H
#define RINGSIDE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/labels/labels.h"

#define CONTEXT_PAYLOAD_MAX	65536u	/* larger payloads are refused unread */
#define CONTEXT_DEPTH_MAX	16u	/* nesting of arrays and lists */

/* Which thread contexts a process has, by its threadlocal.schema_version. */
enum context_schema {
	CONTEXT_SCHEMA_ABSENT,		/* no thread context: no TLS look-up */
	CONTEXT_SCHEMA_TLS,		/* tlsdesc_v1_dev, tls_v1 */
	CONTEXT_SCHEMA_NODEJS,		/* nodejs_v1_dev, nodejs_v1 */
	CONTEXT_SCHEMA_GO_LABELS,	/* go_pprof_labels_v1: known, not walked by TLS */
	CONTEXT_SCHEMA_UNKNOWN,
};

/* One published context; immutable, held by references. */
struct process_context {
	uint32_t	 refs;
	uint64_t	 published_ns;		/* as stamped by the publisher; compare with itself only */
	struct otel_env	 resource;		/* service name apart; keys sorted; empty values and
						 * threadlocal.* left out; the last of equal keys wins, and
						 * field 2 fills what the resource lacks */
	enum context_schema schema;
	char		*schema_name;		/* as published; NULL absent */
	uint32_t	 n_keys;		/* of the key map, <= 256 */
	char		**keys;			/* NULL where the map had no usable name */
	size_t		 bytes;			/* of memory, about */
	bool		 keys_in_resource;	/* threadlocal.* stood in the wrong field */
	uint32_t	 left_out;		/* attributes: key or value too long, service.name that is no text,
						 * more than LABELS_MAX */
};

/* 0 and a reference; -EBADMSG malformed, -ENOMEM. */
int	process_context_parse(struct process_context **out, const void *payload, size_t n, uint64_t published_ns);
struct process_context *process_context_get(struct process_context *c);
void	process_context_put(struct process_context *c);		/* NULL is fine */
/* Equal in all but the stamp: published anew without a change. */
bool	process_context_same(const struct process_context *a, const struct process_context *b);

#endif
