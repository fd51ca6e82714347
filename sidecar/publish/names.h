/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What addresses are called.  Takes the symbol worker's answers, gives names by (file, ELF address);
 * used by publish/ and by pipeline.c.  Bounded in bytes: entries that were not used lately go first.
 * One thread.
 */
#ifndef RINGSIDE_PUBLISH_NAMES_H
#define RINGSIDE_PUBLISH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/ringside.h"

struct sym_name;

enum named_state {
	NAMED_NEW,	/* nobody asked yet */
	NAMED_ASKED,	/* the worker was asked */
	NAMED_READY,	/* answered; n may be 0: it has no name */
};

struct name {			/* one source level; inlined ones first */
	const char	*function;	/* NULL unnamed; into the entry's own bytes */
	const char	*system_name;	/* NULL when equal */
	const char	*file;
	uint32_t	 line;
	uint64_t	 offset;
	ringside_ref	 ref;		/* frame, valid under the entry's generation */
	bool		 inlined;
	uint8_t		 type;
};

struct named {
	uint64_t	 address;
	uint32_t	 file_id;
	uint32_t	 version;	/* of the file's names when asked */
	uint64_t	 asked_ns;	/* boot time of the last question */
	uint32_t	 generation;	/* dictionary generation of the refs */
	uint32_t	 bytes;
	uint16_t	 n;
	uint8_t		 state;		/* enum named_state */
	bool		 used;		/* since the eviction hand last passed */
	struct name	*names;
	ringside_ref	 bare;		/* frame without a name, same generation */
};

struct names;
int	names_create(struct names **out, size_t limit_bytes);
void	names_destroy(struct names *t);
/* Finds or makes the entry; NULL only when memory is out.  Valid until the next names_evict(). */
void	names_trim(struct names *t);	/* memory is short: half of them go */
struct named *names_get(struct names *t, uint32_t file_id, uint64_t address);
/* Stores the answer for one address: n levels, all of the same address.  0 or -ENOMEM. */
int	names_put(struct names *t, uint32_t file_id, uint64_t address, const struct sym_name *levels, uint32_t n);
/* Everything of that file is asked anew on next use (the worker restarted, or knows better now). */
void	names_forget(struct names *t, uint32_t file_id);
/* The same for addresses first..last only. */
void	names_forget_range(struct names *t, uint32_t file_id, uint64_t first, uint64_t last);
/* Gives back memory beyond the limit.  Only between batches: entries go. */
void	names_evict(struct names *t);
size_t	names_bytes(const struct names *t);

#endif
