/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw stack to interned stack: what makes a repeated sample cheap.  Takes addresses and whose they are,
 * gives the dictionary reference that they were published under last time.  A plain cache: fixed size,
 * an entry may vanish at any time.  One thread.
 */
#ifndef RINGSIDE_PUBLISH_STACKS_H
#define RINGSIDE_PUBLISH_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/ringside.h"

struct stack_key { uint64_t low, high; };	/* of owner and addresses; never both 0 */

struct stack_entry {
	struct stack_key key;
	ringside_ref	 ref;
	uint32_t	 generation;	/* dictionary generation of ref */
	uint32_t	 owner_version;	/* image version: mappings may have changed */
	uint32_t	 names_version;
	uint32_t	 used;		/* age, for replacement */
	uint64_t	 expires_ns;	/* boot time to look again for missing names; 0 never */
};

struct stacks;
int	stacks_create(struct stacks **out, uint32_t entries, uint64_t seed);
void	stacks_destroy(struct stacks *c);
/* owner: image serial, 0 for the kernel.  addr: n addresses of 8 bytes. */
struct stack_key stacks_key(const struct stacks *c, uint64_t owner, const void *addr, uint32_t n);
struct stack_entry *stacks_find(struct stacks *c, struct stack_key key);	/* NULL: not held */
struct stack_entry *stacks_take(struct stacks *c, struct stack_key key);	/* found, or the least used one emptied */
size_t	stacks_bytes(const struct stacks *c);

#endif
