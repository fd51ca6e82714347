/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's record (OTEP 4947) as BPF copied it, and the key map of its process: what they say
 * together.  Pure, over hostile bytes.
 *
 * Odd records: of equal keys the last wins; an entry that does not end within the bytes is left out, with
 * all behind it; ids that are all zero mean no trace, and the attributes count all the same; a value of
 * 255 bytes that ends inside a code point loses that tail (a writer cut it there); other bytes that are no
 * UTF-8 stay, for readers to escape; a value that holds a NUL is of type BYTES; a local root span id of
 * zeroes only is left out.
 */
#ifndef RINGSIDE_THREAD_RECORD_H
#define RINGSIDE_THREAD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/ringside.h"

#define THREAD_RECORD_KEYS 256u

struct thread_record {
	bool		 has_link;	/* neither id is all zero */
	uint8_t		 trace_id[16], span_id[8], trace_flags;
	bool		 unknown_key;	/* an index beyond the map: look at the process context again */
	uint32_t	 n;		/* by index, ascending */
	struct ringside_attribute attributes[THREAD_RECORD_KEYS];	/* string: in text; key: in the map */
	char		 text[1024];
};

/*
 * keys: names by index, NULL where there is none, borrowed as long as out is used.  0, or -EBADMSG: too
 * short, or it says that it is not valid.
 */
int	thread_record_read(struct thread_record *out, const void *record, size_t n, char *const *keys,
			   uint32_t n_keys);
/* The same test, for who only wants to know whether to wait: an index at or beyond n_keys. */
bool	thread_record_unknown_key(const void *record, size_t n, uint32_t n_keys);

#endif
