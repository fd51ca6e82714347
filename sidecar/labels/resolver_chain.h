/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the resolver: one run from what is known of a process to its attributes. */
#ifndef RINGSIDE_LABELS_RESOLVER_CHAIN_H
#define RINGSIDE_LABELS_RESOLVER_CHAIN_H

#include "sidecar/labels/resolver.h"

struct attributes;
struct chain {
	struct label_config config;
	struct relabel_rules *rules;
	const struct label_pair *seed; uint32_t n_seed;
	const struct label_pair *external; uint32_t n_external;
	const struct label_provider *providers[LABEL_PROVIDERS_MAX]; uint32_t n_providers;
	struct label_builder builder;
	struct attributes *attributes;
};

int	chain_copy(struct chain *to, const struct chain *from);	/* what it works in is made anew */
void	chain_fini(struct chain *c);
int	chain_run(struct chain *c, const struct label_process *p, struct label_result *out);
int	chain_explain(struct chain *c, const struct label_process *p, FILE *out, bool json);
/* The steps of a run.  begin: true when all that was given is complete; rules: false when dropped. */
bool	chain_begin(struct chain *c, const struct label_process *p);
bool	chain_rules(struct chain *c, const struct relabel_trace *trace);
int	chain_finish(struct chain *c, const struct label_process *p, struct label_set **out);

#endif
