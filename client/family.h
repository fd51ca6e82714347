/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process and its descendants.  Process records tell of them; in a storm of forks some are lost, so
 * a process that no record told of is looked up once by the callbacks.  Identity is pid and start time.
 */
#ifndef CLIENT_FAMILY_H
#define CLIENT_FAMILY_H

#include "shm/ringside.h"

struct family_member { uint32_t pid; uint64_t start_ns; };

/* Sorted by pid; a pid has one life at a time. */
struct family_set { struct family_member *members; size_t n, cap; };

struct family {
	struct family_set kin, strangers;
	uint32_t	 root;
	bool		 seen_root;
	/* What /proc says; NULL: only records count, and a pid alone is the root. */
	bool		(*is)(uint32_t pid, uint64_t start_ns);
	bool		(*descends)(uint32_t pid, uint64_t start_ns, uint32_t root);
};

void	 family_init(struct family *f, uint32_t root);
void	 family_fini(struct family *f);
/* A process record: a child of a member becomes one.  0 or -ENOMEM. */
int	 family_learn(struct family *f, const struct ringside_process *p);
bool	 family_has(struct family *f, uint32_t pid, uint64_t start_ns);

#endif
