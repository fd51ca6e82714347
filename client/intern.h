/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of distinct byte strings, numbered 1, 2, 3... in order of arrival.  Compared by content and
 * never by hash alone: a collision would silently swap two stacks.
 */
#ifndef CLIENT_INTERN_H
#define CLIENT_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern {
	unsigned char	*bytes;		/* all keys, one after the other */
	size_t		 len, cap, max;
	size_t		*ends;		/* ends[i]: where key i + 1 ends */
	uint32_t	 n, ends_cap;
	uint32_t	*slots;		/* open addressing; 0: free */
	uint32_t	 nslots;
};

void	 intern_init(struct intern *t, size_t max_bytes);
void	 intern_fini(struct intern *t);
/* The key's number, or 0: out of memory or over max_bytes. */
uint32_t intern_add(struct intern *t, const void *key, size_t len);
const void *intern_get(const struct intern *t, uint32_t id, size_t *len);

#endif
