/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which records a command wants.  Repeated options of one kind are alternatives; different kinds must
 * all hold.  It judges samples and process records; losses, clock steps and incarnations concern
 * everybody and always pass, inside the time range.
 */
#ifndef CLIENT_SELECTION_H
#define CLIENT_SELECTION_H

#include "client/options.h"
#include "shm/ringside.h"

struct selection;

/* 0; CLIENT_USAGE or CLIENT_FAILED after a message.  Borrows the texts of o. */
int	 selection_create(struct selection **out, const struct options *o);
void	 selection_destroy(struct selection *s);

/* [since, until) by wall clock.  A reader-side loss has no time of its own and always passes. */
bool	 selection_in_time(const struct selection *s, const struct ringside_record *rec);
/* Everything but the time. */
bool	 selection_matches(const struct selection *s, const struct ringside_record *rec);

bool	 selection_since(const struct selection *s, int64_t *ns);
bool	 selection_until(const struct selection *s, int64_t *ns);
uint64_t selection_max_events(const struct selection *s);	/* 0: no limit */

/* The attribute of that key, NULL when there is none. */
const struct ringside_attribute *attribute_find(const struct ringside_attribute *a, uint32_t n,
						const char *key);
/* Its STRING value, else NULL. */
const char *resource_string(const struct ringside_resource *r, const char *key);

#endif
