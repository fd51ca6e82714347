/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/render.h"
#include "sidecar/labels/resolver_chain.h"

struct entry {
	struct entry	*hash_next, *newer, *older;
	uint32_t	 pid;
	uint64_t	 start_ns, exec_id;
	struct label_result *result;
};

struct resolver {
	struct chain	 chain;
	uint64_t	 ttl_ns;
	uint32_t	 cache_size, n_entries, n_buckets;
	struct entry	**buckets, *newest, *oldest;
};

void label_result_put(struct label_result *r)
{
	if (!r || --r->refs)
		return;
	label_set_free(r->attributes);
	free(r);
}

static struct entry **bucket(const struct resolver *r, uint32_t pid, uint64_t start_ns)
{
	uint64_t h = (start_ns ^ pid) * 0x9e3779b97f4a7c15ull;

	return &r->buckets[(h >> 32) & (r->n_buckets - 1)];
}

static struct entry *lookup(const struct resolver *r, const struct label_process *p)
{
	struct entry *e = *bucket(r, p->pid, p->start_ns);

	while (e && (e->pid != p->pid || e->start_ns != p->start_ns ||
		     e->exec_id != p->exec_id))
		e = e->hash_next;
	return e;
}

static void unlink_entry(struct resolver *r, struct entry *e)
{
	*(e->newer ? &e->newer->older : &r->newest) = e->older;
	*(e->older ? &e->older->newer : &r->oldest) = e->newer;
}

static void link_newest(struct resolver *r, struct entry *e)
{
	e->newer = NULL;
	e->older = r->newest;
	*(r->newest ? &r->newest->newer : &r->oldest) = e;
	r->newest = e;
}

static void remove_entry(struct resolver *r, struct entry *e)
{
	struct entry **at = bucket(r, e->pid, e->start_ns);

	while (*at != e)
		at = &(*at)->hash_next;
	*at = e->hash_next;
	unlink_entry(r, e);
	label_result_put(e->result);
	free(e);
	r->n_entries--;
}

/* Out of memory it is not remembered, that is all. */
static void remember(struct resolver *r, const struct label_process *p,
		     struct label_result *result)
{
	struct entry *e = calloc(1, sizeof(*e)), **at = bucket(r, p->pid, p->start_ns);

	if (!e)
		return;
	*e = (struct entry){ .hash_next = *at,
			     .pid = p->pid,
			     .start_ns = p->start_ns,
			     .exec_id = p->exec_id,
			     .result = result };
	result->refs++;
	*at = e;
	link_newest(r, e);
	if (++r->n_entries > r->cache_size)
		remove_entry(r, r->oldest);
}

static struct label_result *recall(struct resolver *r, const struct label_process *p,
				   uint64_t now_ns)
{
	struct entry *e = lookup(r, p);

	if (!e)
		return NULL;
	if (now_ns >= e->result->made_ns + r->ttl_ns) {
		remove_entry(r, e);
		return NULL;
	}
	if (r->newest != e) {
		unlink_entry(r, e);
		link_newest(r, e);
	}
	return e->result;
}

void resolver_trim(struct resolver *r)
{
	for (uint32_t keep = r->n_entries / 2; r->n_entries > keep;)
		remove_entry(r, r->oldest);
}

void resolver_forget(struct resolver *r, const struct label_process *p)
{
	struct entry *e = lookup(r, p);

	if (e)
		remove_entry(r, e);
}

int resolver_resolve(struct resolver *r, const struct label_process *p, uint64_t now_ns,
		     struct label_result **out)
{
	struct label_result *result = recall(r, p, now_ns);
	int err;

	if (!result) {
		result = calloc(1, sizeof(*result));
		if (!result)
			return -ENOMEM;
		result->made_ns = now_ns;
		err = chain_run(&r->chain, p, result);
		if (err) {
			free(result);
			return err;
		}
		if (result->complete)
			remember(r, p, result);
	}
	result->refs++;
	*out = result;
	return 0;
}

int resolver_explain(struct resolver *r, const struct label_process *p, FILE *out,
		     bool json)
{
	return chain_explain(&r->chain, p, out, json);
}

static int create(struct resolver **out, const struct chain *chain, uint64_t ttl_ns,
		  uint32_t cache_size)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->ttl_ns = ttl_ns ? ttl_ns : RESOLVER_TTL_NS;
	r->cache_size = cache_size ? cache_size : RESOLVER_CACHE_SIZE;
	for (r->n_buckets = 64; r->n_buckets < r->cache_size && r->n_buckets < 1u << 20; )
		r->n_buckets *= 2;
	r->buckets = calloc(r->n_buckets, sizeof(struct entry *));
	if (!r->buckets || chain_copy(&r->chain, chain)) {
		resolver_destroy(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

int resolver_create(struct resolver **out, const struct resolver_options *o)
{
	struct chain chain = { .config = o->config,
			       .rules = o->rules,
			       .seed = o->seed,
			       .n_seed = o->n_seed,
			       .external = o->external,
			       .n_external = o->n_external };

	chain.n_providers = label_providers_default(&o->config, chain.providers);
	return create(out, &chain, o->ttl_ns, o->cache_size);
}

int resolver_fork(struct resolver **out, const struct resolver *from,
		  const struct label_pair *seed, uint32_t n_seed)
{
	struct chain chain = from->chain;

	if (seed) {
		chain.seed = seed;
		chain.n_seed = n_seed;
	}
	return create(out, &chain, from->ttl_ns, from->cache_size);
}

void resolver_destroy(struct resolver *r)
{
	if (!r)
		return;
	while (r->oldest)
		remove_entry(r, r->oldest);
	chain_fini(&r->chain);
	free(r->buckets);
	free(r);
}

const struct relabel_rules *resolver_rules(const struct resolver *r)
{
	return r->chain.rules;
}

uint64_t resolver_ttl_ns(const struct resolver *r)
{
	return r->ttl_ns;
}
