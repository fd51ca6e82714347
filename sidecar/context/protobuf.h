/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf as it lies on the wire, field by field.  Takes bytes that a stranger wrote and gives views into
 * them; allocates nothing.  Fields come in any order, unknown ones are skipped by their wire type; groups,
 * which nobody writes any more, are refused.
 */
#ifndef RINGSIDE_CONTEXT_PROTOBUF_H
#define RINGSIDE_CONTEXT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
	uint32_t	 number;
	enum pb_wire	 wire;
	uint64_t	 value;			/* VARINT, FIXED64, FIXED32 */
	const uint8_t	*p;			/* BYTES */
	size_t		 n;
};

struct pb_reader { const uint8_t *p, *end; };

static inline struct pb_reader pb_reader(const void *p, size_t n)
{
	return (struct pb_reader){ p, n ? (const uint8_t *)p + n : p };	/* NULL is fine when n is 0 */
}

/* 1 a field; 0 the end; -EBADMSG: cut, longer than what holds it, a varint of more than 64 bits. */
int	pb_next(struct pb_reader *r, struct pb_field *out);

#endif
