/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/read.h"

#include <errno.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"
#include "sidecar/context/context.h"

#define DELETED " (deleted)"

_Static_assert(sizeof(struct otel_ctx_header) == OTEL_CTX_HEADER_SIZE, "as published");
_Static_assert(offsetof(struct otel_ctx_header, version) == 8, "as published");
_Static_assert(offsetof(struct otel_ctx_header, payload_size) == 12, "as published");
_Static_assert(offsetof(struct otel_ctx_header, published_ns) == 16, "as published");
_Static_assert(offsetof(struct otel_ctx_header, payload) == 24, "as published");

const char *context_verdict_words(enum context_verdict v)
{
	static const char *const words[] = {
		[CONTEXT_NONE] = "it publishes no process context",
		[CONTEXT_PAYLOAD] = "published",
		[CONTEXT_UNCHANGED] = "published, and unchanged",
		[CONTEXT_BUSY] = "it was being changed whenever it was looked at",
		[CONTEXT_SIGNATURE] = "a mapping has the name, but does not begin with the signature",
		[CONTEXT_VERSION] = "its version is not 2",
		[CONTEXT_SIZE] = "the size of its payload is 0 or beyond the limit",
		[CONTEXT_FAULT] = "the mapping cannot be read",
		[CONTEXT_PAYLOAD_FAULT] = "the address of its payload cannot be read",
		[CONTEXT_LATER] = "it was not read yet",
		[CONTEXT_DENIED] = "permission denied; run as root",
	};

	return v < CONTEXT_VERDICTS ? words[v] : "unknown";
}

const char *context_name_words(enum context_name n)
{
	static const char *const words[] = {
		[CONTEXT_NAME_NONE] = "(unnamed)",
		[CONTEXT_NAME_ANON_SHMEM] = "[anon_shmem:OTEL_CTX]",
		[CONTEXT_NAME_ANON] = "[anon:OTEL_CTX]",
		[CONTEXT_NAME_MEMFD] = "/memfd:OTEL_CTX",
		[CONTEXT_NAME_LONGER] = "(begins with OTEL_CTX)",
	};

	return n < CONTEXT_NAMES ? words[n] : "unknown";
}

/* --- where --- */

static const struct { const char *prefix, *end; enum context_name name; } forms[] = {
	{ "[anon_shmem:OTEL_CTX", "]", CONTEXT_NAME_ANON_SHMEM },
	{ "[anon:OTEL_CTX", "]", CONTEXT_NAME_ANON },
	{ "/memfd:OTEL_CTX", "", CONTEXT_NAME_MEMFD },
	{ "/memfd:OTEL_CTX", DELETED, CONTEXT_NAME_MEMFD },
};

enum context_name context_name_of(const char *path, size_t n)
{
	enum context_name longer = CONTEXT_NAME_NONE;

	/* Most lines of maps end here. */
	if (n < sizeof("[anon:OTEL_CTX") - 1 || (path[0] != '[' && path[1] != 'm'))
		return CONTEXT_NAME_NONE;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t head = strlen(forms[i].prefix), end = strlen(forms[i].end);

		if (n < head || memcmp(path, forms[i].prefix, head))
			continue;
		if (n == head + end && !memcmp(path + head, forms[i].end, end))
			return forms[i].name;
		longer = CONTEXT_NAME_LONGER;
	}
	return longer;
}

static void keep(struct context_places *p, struct context_place *list, uint32_t *n,
		 struct context_place place)
{
	if (*n < CONTEXT_PLACES_MAX)
		list[(*n)++] = place;
	else
		p->beyond++;
}

void context_places_add(struct context_places *p, uint64_t start, bool exec,
			const char *path, size_t n)
{
	struct context_place place = { .address = start };

	if (exec || !start)			/* 0 stands for no address everywhere */
		return;
	if (p->hint && start == p->hint)
		p->hint_mapped = true;
	place.name = path ? context_name_of(path, n) : CONTEXT_NAME_NONE;
	if (place.name == CONTEXT_NAME_LONGER)
		keep(p, p->longer, &p->n_longer, place);
	else if (place.name != CONTEXT_NAME_NONE)
		keep(p, p->exact, &p->n_exact, place);
}

/* --- what --- */

static int read_stamp(const struct context_memory *m, uint64_t address, uint64_t *ns)
{
	return m->read(m->arg, address + offsetof(struct otel_ctx_header, published_ns),
		       ns, sizeof(*ns));
}

/* What a header that stands still says; CONTEXT_PAYLOAD: all is well so far. */
static enum context_verdict judge(const struct otel_ctx_header *h)
{
	if (memcmp(h->signature, OTEL_CTX_SIGNATURE, OTEL_CTX_SIGNATURE_LEN))
		return CONTEXT_SIGNATURE;
	if (h->version != OTEL_CTX_VERSION)
		return CONTEXT_VERSION;
	if (!h->payload_size || h->payload_size > CONTEXT_PAYLOAD_MAX)
		return CONTEXT_SIZE;
	return CONTEXT_PAYLOAD;
}

/* Between two reads, on machines that may reorder them; the kernel's own copying pairs with nothing. */
static void fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static enum context_verdict attempt(const struct context_memory *m, uint64_t address,
				    uint64_t seen_ns, void *payload,
				    struct context_reading *out)
{
	struct otel_ctx_header h;
	enum context_verdict v;
	uint64_t before, after;
	int err = 0;

	if (read_stamp(m, address, &before))
		return CONTEXT_FAULT;
	fence();
	if (m->read(m->arg, address, &h, sizeof(h)))
		return CONTEXT_FAULT;
	v = judge(&h);
	out->version = h.version;
	if (v == CONTEXT_SIGNATURE || v == CONTEXT_VERSION)
		return v;			/* these never change in a context */
	if (!before || h.published_ns != before)
		return CONTEXT_BUSY;
	if (before == seen_ns)
		return CONTEXT_UNCHANGED;
	fence();
	if (v == CONTEXT_PAYLOAD)
		err = m->read(m->arg, h.payload, payload, h.payload_size);
	fence();
	/* A failure counts only when nothing changed: the old payload is freed at once. */
	if (read_stamp(m, address, &after))
		return CONTEXT_FAULT;
	if (after != before)
		return CONTEXT_BUSY;
	out->published_ns = before;
	out->payload_size = h.payload_size;
	out->payload_address = h.payload;
	return err ? CONTEXT_PAYLOAD_FAULT : v;
}

void context_read(const struct context_memory *m, uint64_t address, uint64_t seen_ns,
		  void *payload, struct context_reading *out)
{
	*out = (struct context_reading){ .address = address };
	do {
		if (out->attempts && m->pause)
			m->pause(m->arg, out->attempts);
		out->attempts++;
		out->verdict = attempt(m, address, seen_ns, payload, out);
	} while (out->verdict == CONTEXT_BUSY && out->attempts < CONTEXT_ATTEMPTS);
	if (out->verdict == CONTEXT_UNCHANGED)
		out->published_ns = seen_ns;
}

/* --- both --- */

/* How much of a context a place holds that holds none: the closest one is what people want to hear of. */
static int closeness(enum context_verdict v)
{
	static const int order[] = {
		[CONTEXT_SIGNATURE] = 2, [CONTEXT_FAULT] = 1, [CONTEXT_VERSION] = 3,
		[CONTEXT_SIZE] = 4, [CONTEXT_PAYLOAD_FAULT] = 5, [CONTEXT_BUSY] = 6,
		[CONTEXT_UNCHANGED] = 7, [CONTEXT_PAYLOAD] = 7,
	};

	return v < sizeof(order) / sizeof(order[0]) ? order[v] : 0;
}

struct search {
	const struct context_memory *m;
	uint64_t	known_address, seen_ns;
	void		*payload;
	struct context_reading *best;
};

/* True: found. */
static bool try_place(struct search *s, const struct context_place *p)
{
	struct context_reading r;
	uint64_t seen = p->address == s->known_address ? s->seen_ns : 0;

	context_read(s->m, p->address, seen, s->payload, &r);
	r.name = p->name;
	if (closeness(r.verdict) > closeness(s->best->verdict))
		*s->best = r;
	return closeness(r.verdict) > closeness(CONTEXT_BUSY);
}

static bool try_list(struct search *s, const struct context_place *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (try_place(s, &list[i]))
			return true;
	}
	return false;
}

/* The hook tells an address and no name; maps may tell it. */
static struct context_place hinted(const struct context_places *p)
{
	for (uint32_t i = 0; i < p->n_exact; i++) {
		if (p->exact[i].address == p->hint)
			return p->exact[i];
	}
	return (struct context_place){ .address = p->hint };
}

void context_read_places(const struct context_memory *m, const struct context_places *p,
			 uint64_t known_address, uint64_t seen_ns, void *payload,
			 struct context_reading *out)
{
	struct search s = { m, known_address, seen_ns, payload, out };
	struct context_place hint = hinted(p);

	*out = (struct context_reading){ .verdict = CONTEXT_NONE };
	if (!(p->hint_mapped && try_place(&s, &hint)) &&
	    !try_list(&s, p->exact, p->n_exact))
		try_list(&s, p->longer, p->n_longer);
	/* Somebody's other mapping, named so by prctl, is no failure of a context. */
	if (out->name == CONTEXT_NAME_NONE && closeness(out->verdict) <= 2)
		*out = (struct context_reading){ .verdict = CONTEXT_NONE };
	out->places = p->n_exact + p->n_longer + p->beyond;
}
