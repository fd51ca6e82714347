/* SPDX-License-Identifier: Apache-2.0 */
/* The little of the protobuf wire format that writing needs. */
#ifndef CLIENT_PROTOBUF_H
#define CLIENT_PROTOBUF_H

#include "client/text.h"

void	 pb_varint(struct text *t, uint64_t v);
/* Fields; zero and empty are left out, as proto3 does. */
void	 pb_uint(struct text *t, uint32_t field, uint64_t v);
void	 pb_bool(struct text *t, uint32_t field, bool v);
/* Length-delimited: strings, messages, packed arrays.  Written even when empty. */
void	 pb_bytes(struct text *t, uint32_t field, const void *bytes, size_t len);
void	 pb_message(struct text *t, uint32_t field, const struct text *message);

#endif
