/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver: seed, providers, rules, deletion of __meta_*, attributes; and a memory of results.
 *
 * A result is remembered under (pid, start time, exec) when every provider said that it is complete, for a
 * while counted from when it was made, the least recently used going first.  A fork shares providers and rules
 * and has a memory of its own, since the key says nothing of the seed.  One thread.
 */
#ifndef RINGSIDE_LABELS_RESOLVER_H
#define RINGSIDE_LABELS_RESOLVER_H

#include <stdio.h>

#include "sidecar/labels/labels.h"
#include "sidecar/labels/providers.h"
#include "sidecar/labels/relabel.h"

#define RESOLVER_TTL_NS 600000000000ull		/* ten minutes */
#define RESOLVER_CACHE_SIZE 4096u

struct label_pair { const char *name, *value; };

struct resolver_options {
	struct label_config config;		/* strings are borrowed */
	struct relabel_rules *rules;		/* borrowed; counts in it are the resolver's; NULL none */
	/* Set before the providers run, and seen by rules. */
	const struct label_pair *seed; uint32_t n_seed;
	/* Set after the rules, where they left no such label. */
	const struct label_pair *external; uint32_t n_external;
	uint64_t	 ttl_ns;		/* 0: RESOLVER_TTL_NS */
	uint32_t	 cache_size;		/* 0: RESOLVER_CACHE_SIZE */
};

/* Immutable; held by references. */
struct label_result {
	uint32_t	 refs;
	bool		 keep;			/* false: rules drop the process; no attributes then */
	bool		 complete;		/* may be remembered */
	uint64_t	 made_ns;
	struct label_set *attributes;
};
void	label_result_put(struct label_result *r);	/* NULL is fine */

struct resolver;
int	resolver_create(struct resolver **out, const struct resolver_options *o);
/* The same providers and rules over another seed (NULL: the same one). */
int	resolver_fork(struct resolver **out, const struct resolver *from, const struct label_pair *seed, uint32_t n_seed);
void	resolver_destroy(struct resolver *r);
const struct relabel_rules *resolver_rules(const struct resolver *r);	/* NULL: none */
uint64_t resolver_ttl_ns(const struct resolver *r);

/* 0 and a reference in *out, -ENOMEM.  now_ns: any clock that only goes forward. */
int	resolver_resolve(struct resolver *r, const struct label_process *p, uint64_t now_ns, struct label_result **out);
/* Something changed for that process: the next resolve makes it anew. */
void	resolver_forget(struct resolver *r, const struct label_process *p);
/* Memory is short: the less recently used half of what is remembered goes. */
void	resolver_trim(struct resolver *r);
/* Labels before rules, what each rule did, attributes after.  0, or -ENOMEM. */
int	resolver_explain(struct resolver *r, const struct label_process *p, FILE *out, bool json);

#endif
