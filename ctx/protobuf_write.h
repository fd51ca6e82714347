/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protobuf from its end to its beginning into a buffer that does not grow: so
 * the length of a message is known when it has to be written, and nothing is measured
 * beforehand.  What does not fit is noticed once, at the end.
 */
#ifndef OTELCTX_PROTOBUF_WRITE_H
#define OTELCTX_PROTOBUF_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "ctx/otelctx.h"

struct protobuf {
	uint8_t	*buf;
	size_t	 at;		/* what is written begins here, to the buffer's end */
	int	 err;		/* the first; nothing is written any more */
};

void	protobuf_init(struct protobuf *p, void *buf, size_t n);
void	protobuf_raw(struct protobuf *p, const void *bytes, size_t n);

/* A KeyValue each, as field `tag` of the message around them. */
void	protobuf_attributes(struct protobuf *p, uint8_t tag,
			    const struct otelctx_attribute *a, size_t n);
/* What was written since `end`, which is a former p->at, becomes field `tag`. */
void	protobuf_wrap(struct protobuf *p, uint8_t tag, size_t end);

/* -EILSEQ when it is no UTF-8. */
int	utf8_check(const void *s, size_t n);

#define PROTOBUF_LEN(field)	((uint8_t)((field) << 3 | 2))

#endif
