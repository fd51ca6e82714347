/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process and its descendants, as far as process records tell of them.  Members are known by pid and
 * start time; the start time of the root is learnt from the first record that names it.
 */
#ifndef CLIENT_FAMILY_H
#define CLIENT_FAMILY_H

#include "shm/ringside.h"

struct family_member { uint32_t pid; uint64_t start_ns; };

struct family {
	struct family_member *members;	/* sorted by pid */
	size_t		 n, cap;
	uint32_t	 root;
	bool		 seen_root;
};

void	 family_init(struct family *f, uint32_t root);
void	 family_fini(struct family *f);
/* A process record: a child of a member becomes one.  0 or -ENOMEM. */
int	 family_learn(struct family *f, const struct ringside_process *p);
bool	 family_has(struct family *f, uint32_t pid, uint64_t start_ns);

#endif
