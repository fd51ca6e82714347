/* SPDX-License-Identifier: Apache-2.0 */
#include "client/protobuf.h"

void pb_varint(struct text *t, uint64_t v)
{
	while (v >= 0x80) {
		text_putc(t, (char)(v | 0x80));
		v >>= 7;
	}
	text_putc(t, (char)v);
}

void pb_uint(struct text *t, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	pb_varint(t, (uint64_t)field << 3);
	pb_varint(t, v);
}

void pb_bool(struct text *t, uint32_t field, bool v)
{
	pb_uint(t, field, v);
}

void pb_bytes(struct text *t, uint32_t field, const void *bytes, size_t len)
{
	pb_varint(t, (uint64_t)field << 3 | 2);
	pb_varint(t, len);
	text_add(t, bytes, len);
}

void pb_message(struct text *t, uint32_t field, const struct text *message)
{
	pb_bytes(t, field, text_string(message), message->len);
	t->failed |= text_failed(message);
}
