/* SPDX-License-Identifier: Apache-2.0 */
/* Samples added up by folded stack. */
#ifndef CLIENT_FOLDED_H
#define CLIENT_FOLDED_H

#include "client/intern.h"
#include "client/text.h"
#include "shm/ringside.h"

struct folded {
	struct intern	 stacks;
	uint64_t	*counts;	/* by stack number - 1 */
	uint32_t	 counts_cap;
	struct text	 line;
};

void	 folded_init(struct folded *f);
void	 folded_fini(struct folded *f);
int	 folded_add(struct folded *f, const struct ringside_sample *s);	/* 0 or -ENOMEM */
/* Lines "a;b;c N", sorted by bytes.  0 or -ENOMEM. */
int	 folded_encode(struct text *out, const struct folded *f);

#endif
