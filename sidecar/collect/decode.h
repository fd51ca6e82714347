/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door: bytes become an event here, or are refused.  Nothing behind it checks a length
 * again.
 */
#ifndef RINGSIDE_DECODE_H
#define RINGSIDE_DECODE_H

#include <stddef.h>

#include "bpf/event.h"

/*
 * Checks n bytes at p, which must be aligned to 8, for one event: known type, size within n
 * and a multiple of 8, every inner length within size, strings NUL-terminated, enumerations
 * in range.  Returns 0 with *out == p, or -EBADMSG.  n may exceed the event's size (a ring
 * record is rounded up).
 */
int	 event_check(const void *p, size_t n, const struct ev_head **out);

const char *event_type_name(unsigned type);	/* "sample", ..., "unknown" */

#endif
