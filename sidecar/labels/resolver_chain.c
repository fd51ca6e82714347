/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/resolver_chain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/labels/render.h"

#define NAME_MAX_BYTES 512
#define BUILDER_KEEP (64u << 10)

int chain_copy(struct chain *to, const struct chain *from)
{
	*to = *from;
	memset(&to->builder, 0, sizeof(to->builder));
	return attributes_create(&to->attributes);
}

void chain_fini(struct chain *c)
{
	label_builder_fini(&c->builder);
	attributes_destroy(c->attributes);
	c->attributes = NULL;
}

/* The node, and the variables that the operator asked for: as labels for rules, and as
 * attributes. */
static void put_seed(struct chain *c, const struct label_process *p)
{
	char name[NAME_MAX_BYTES];

	label_builder_put(&c->builder, LABEL_NODE, c->config.node);
	for (uint32_t i = 0; i < c->n_seed; i++)
		label_builder_put(&c->builder, c->seed[i].name, c->seed[i].value);
	for (uint32_t i = 0; i < p->n_environment; i++) {
		const struct label *e = &p->environment[i];

		snprintf(name, sizeof(name), META_ENV "%s", e->key);
		label_builder_put(&c->builder, name, e->string);
		snprintf(name, sizeof(name), KEY_ENVIRONMENT "%s", e->key);
		label_builder_put(&c->builder, name, e->string);
	}
}

bool chain_begin(struct chain *c, const struct label_process *p)
{
	bool complete = true;

	label_builder_reset(&c->builder);
	put_seed(c, p);
	for (uint32_t i = 0; i < c->n_providers; i++) {
		if (!c->providers[i]->provide(&c->config, p, &c->builder))
			complete = false;
	}
	return complete;
}

bool chain_rules(struct chain *c, const struct relabel_trace *trace)
{
	if (!c->rules || !c->rules->n)
		return true;
	label_builder_begin_rules(&c->builder);
	return relabel_run(c->rules, &c->builder, trace);
}

static void put_external(struct chain *c)
{
	for (uint32_t i = 0; i < c->n_external; i++) {
		if (!label_builder_find(&c->builder, c->external[i].name))
			label_builder_put(&c->builder, c->external[i].name,
					  c->external[i].value);
	}
}

int chain_finish(struct chain *c, const struct label_process *p, struct label_set **out)
{
	int err;

	put_external(c);
	attributes_reset(c->attributes);
	attributes_put_process(c->attributes, &c->config, p, &c->builder);
	err = attributes_finish(c->attributes, out);
	if (c->builder.bytes > BUILDER_KEEP)	/* an odd one out: its room is not kept */
		label_builder_fini(&c->builder);
	return err;
}

int chain_run(struct chain *c, const struct label_process *p, struct label_result *out)
{
	out->complete = chain_begin(c, p);
	out->keep = chain_rules(c, NULL);
	return out->keep ? chain_finish(c, p, &out->attributes) : 0;
}
