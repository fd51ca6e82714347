/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/protobuf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define NUMBER_MAX ((1u << 29) - 1)

static bool take_varint(struct pb_reader *r, uint64_t *out)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
		uint8_t b = *r->p++;

		if (shift == 63 && b > 1)	/* the tenth byte holds one bit */
			return false;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

/* Little endian, whatever this machine is. */
static bool take_fixed(struct pb_reader *r, unsigned bytes, uint64_t *out)
{
	uint64_t v = 0;

	if ((size_t)(r->end - r->p) < bytes)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)r->p[i] << (8 * i);
	r->p += bytes;
	*out = v;
	return true;
}

static bool take_bytes(struct pb_reader *r, struct pb_field *out)
{
	uint64_t n;

	if (!take_varint(r, &n) || n > (size_t)(r->end - r->p))
		return false;
	out->p = r->p;
	out->n = (size_t)n;
	r->p += n;
	return true;
}

int pb_next(struct pb_reader *r, struct pb_field *out)
{
	uint64_t tag;
	bool ok = false;

	memset(out, 0, sizeof(*out));
	if (r->p == r->end)
		return 0;
	if (!take_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return -EBADMSG;
	out->number = (uint32_t)(tag >> 3);
	out->wire = (enum pb_wire)(tag & 7);
	switch (out->wire) {
	case PB_VARINT:
		ok = take_varint(r, &out->value);
		break;
	case PB_FIXED64:
		ok = take_fixed(r, 8, &out->value);
		break;
	case PB_BYTES:
		ok = take_bytes(r, out);
		break;
	case PB_FIXED32:
		ok = take_fixed(r, 4, &out->value);
		break;
	}
	return ok ? 1 : -EBADMSG;
}
