/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent's requests on their way: waiting to be sent, sent and not yet answered, and those that the
 * parent must answer itself because their worker died.  Also remembers which files workers died of.
 */
#ifndef RINGSIDE_SYMBOLS_PENDING_H
#define RINGSIDE_SYMBOLS_PENDING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/symbols/wire.h"

enum verdict {
	VERDICT_GONE,		/* SYM_GONE: add it again */
	VERDICT_REFUSED,	/* workers died of this file: SYM_FILE with an error, names without names */
	VERDICT_NO_WORKER,	/* the same, since there will be no worker any more */
};

struct pending {
	struct pending	   *next;
	struct wire_request h;
	int		    fd;		/* -1 none; owned */
	size_t		    len;
	enum verdict	    verdict;	/* only on the list of those to answer */
	uint8_t		    payload[];
};

struct pending_list {
	struct pending	*first, **last;
	uint32_t	 n;
	size_t		 bytes;		/* payload */
};

void	pending_list_init(struct pending_list *l);
void	pending_list_clear(struct pending_list *l);
void	pending_push(struct pending_list *l, struct pending *p);
struct pending *pending_pop(struct pending_list *l);	/* NULL: empty */
struct pending *pending_find(const struct pending_list *l, uint32_t seq);	/* NULL: none */
void	pending_remove(struct pending_list *l, struct pending *p);		/* it is on the list */
/* fd is taken, also on failure (NULL). */
struct pending *pending_create(uint32_t kind, uint32_t file_id, int fd, const void *payload, size_t len);
void	pending_destroy(struct pending *p);
/* The answer that p gets without a worker; bytes written, -EMSGSIZE when cap is too small. */
int	pending_compose(const struct pending *p, void *buf, size_t cap);

/* Files that workers died of.  Bounded; the longest unharmed is forgotten first. */
#define STRIKES_MAX 64u
#define STRIKES_REFUSE 2u
struct strikes {
	struct { uint32_t file_id, count; } s[STRIKES_MAX];
	uint32_t next;
};
void	 strikes_add(struct strikes *s, uint32_t file_id, uint32_t count);
uint32_t strikes_of(const struct strikes *s, uint32_t file_id);
void	 strikes_forget(struct strikes *s, uint32_t file_id);

#endif
