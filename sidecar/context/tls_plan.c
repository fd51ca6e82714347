/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/tls_plan.h"

#include <elf.h>
#include <string.h>

/*
 * On aarch64 the argument of a static descriptor is a small offset, that of a dynamic one
 * an address; nothing is mapped below this.  On x86-64 the sign tells.
 */
#define STATIC_MAX (16ull << 20)
#define AARCH64_TCB 16ull

static const struct tls_word *word_at(const struct tls_target *t, uint64_t address)
{
	for (uint32_t i = 0; i < t->n_words && i < TLS_MAX_WORDS; i++) {
		if (t->words[i].address == address)
			return &t->words[i];
	}
	return NULL;
}

/* The value of a word that was read; false: it was not, or could not be. */
static bool word(const struct tls_target *t, uint64_t address, uint64_t *value)
{
	const struct tls_word *w = word_at(t, address);

	if (!w || !w->ok)
		return false;
	*value = w->value;
	return true;
}

struct needs { const struct tls_target *t; uint64_t *to; uint32_t n, max; };

static void need(struct needs *n, uint64_t address, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++, address += 8) {
		if (n->n < n->max && n->t->n_words + n->n < TLS_MAX_WORDS &&
		    !word_at(n->t, address))
			n->to[n->n++] = address;
	}
}

/* The argument of a descriptor is the offset itself. */
static bool is_static(const struct tls_target *t, uint64_t arg)
{
	return t->machine == EM_X86_64 ? (int64_t)arg < 0 : arg < STATIC_MAX;
}

static bool is_lazy(const struct tls_module *m, uint64_t entry)
{
	return m->facts->lazy && entry == m->bias + m->facts->lazy;
}

static void reloc_needs(struct needs *n, const struct tls_module *m,
			const struct tls_reloc *r)
{
	uint64_t at = m->bias + r->at, entry, arg;

	need(n, at, r->access == TLS_TPOFF ? 1 : 2);
	if (r->access != TLS_DESC || !word(n->t, at, &entry) || !word(n->t, at + 8, &arg))
		return;
	if (entry && arg && !is_lazy(m, entry) && !is_static(n->t, arg))
		need(n, arg, n->t->libc == TLS_LIBC_GLIBC ? 3 : 2);
}

uint32_t tls_plan_needs(const struct tls_target *t, uint64_t *addresses, uint32_t max)
{
	struct needs n = { .t = t, .to = addresses, .max = max };

	for (uint32_t i = 0; i < t->n_modules && i < TLS_MAX_MODULES; i++) {
		const struct tls_facts *f = t->modules[i].facts;

		for (uint16_t k = 0; f->machine == t->machine && k < f->n_relocs; k++)
			reloc_needs(&n, &t->modules[i], &f->relocs[k]);
	}
	return n.n;
}

/* By the thread's vector of module blocks, whose address and shape the libc decides. */
static enum tls_why by_dtv(const struct tls_target *t, uint64_t module, uint64_t offset,
			   uint64_t generation, struct ev_context_way *way)
{
	bool musl = t->libc == TLS_LIBC_MUSL;

	if (!module)
		return TLS_WHY_UNBOUND;
	*way = (struct ev_context_way){
		.kind = musl ? EV_WAY_MUSL : EV_WAY_GLIBC,
		.dtv_at = t->machine == EM_X86_64 ? 8 : musl ? -8 : 0,
		.module = module, .offset = (int64_t)offset, .generation = generation,
	};
	return TLS_WHY_NONE;
}

static enum tls_why by_offset(uint64_t offset, struct ev_context_way *way)
{
	*way = (struct ev_context_way){ .kind = EV_WAY_STATIC,
					.offset = (int64_t)offset };
	return TLS_WHY_NONE;
}

static enum tls_why by_descriptor(const struct tls_target *t, const struct tls_module *m,
				  uint64_t at, struct ev_context_way *way)
{
	uint64_t entry, arg, module, offset, generation = 0;

	if (!word(t, at, &entry) || !word(t, at + 8, &arg))
		return TLS_WHY_UNREADABLE;
	if (!entry || !arg || is_lazy(m, entry))
		return TLS_WHY_UNBOUND;
	if (is_static(t, arg))
		return by_offset(arg, way);
	if (!word(t, arg, &module) || !word(t, arg + 8, &offset))
		return TLS_WHY_UNREADABLE;
	if (t->libc == TLS_LIBC_GLIBC && !word(t, arg + 16, &generation))
		return TLS_WHY_UNREADABLE;
	return by_dtv(t, module, offset, generation, way);
}

static enum tls_why by_reloc(const struct tls_target *t, const struct tls_module *m,
			     const struct tls_reloc *r, struct ev_context_way *way)
{
	uint64_t at = m->bias + r->at, first, second;

	if (r->access == TLS_DESC)
		return by_descriptor(t, m, at, way);
	if (!word(t, at, &first))
		return TLS_WHY_UNREADABLE;
	if (r->access == TLS_TPOFF)
		return first ? by_offset(first, way) : TLS_WHY_UNBOUND;
	if (!word(t, at + 8, &second))
		return TLS_WHY_UNREADABLE;
	return by_dtv(t, first, second, 0, way);
}

/*
 * The program's own TLS stands at a place that the linker knew: on x86-64 it ends at the
 * thread pointer, on aarch64 it begins behind a control block of two words; either way
 * aligned as the segment's address is.
 */
static enum tls_why by_layout(const struct tls_target *t, const struct tls_facts *f,
			      struct ev_context_way *way)
{
	uint64_t mask = f->align - 1;

	if (t->machine == EM_X86_64)
		return by_offset(f->st_value - (f->memsz + ((-f->vaddr - f->memsz) & mask)),
				 way);
	return by_offset(f->st_value + AARCH64_TCB + ((f->vaddr - AARCH64_TCB) & mask), way);
}

static bool same_way(const struct ev_context_way *a, const struct ev_context_way *b)
{
	/* The generation is not always known, and the module's number is what is in use now. */
	return a->kind == b->kind && a->dtv_at == b->dtv_at && a->module == b->module &&
	       a->offset == b->offset;
}

static void add_way(struct tls_plan *p, const struct ev_context_way *way, uint32_t module,
		    uint32_t access)
{
	for (uint32_t i = 0; i < p->n_ways; i++) {
		if (same_way(&p->way[i], way))
			return;
	}
	if (p->n_ways == EV_CONTEXT_WAYS)
		return;
	p->module[p->n_ways] = module;
	p->access[p->n_ways] = access;
	p->way[p->n_ways++] = *way;
}

/* One file: all relocations of its symbol say the same, so the first that is bound will do. */
static void add_module(const struct tls_target *t, uint32_t i, struct tls_plan *p)
{
	/* In this order: a descriptor tells the generation too. */
	static const uint32_t order[] = { TLS_DESC, TLS_TPOFF, TLS_MODULE };
	const struct tls_module *m = &t->modules[i];
	const struct tls_facts *f = m->facts;
	struct ev_context_way way;
	enum tls_why why = TLS_WHY_NO_RELOC, got;

	for (uint32_t o = 0; o < 3; o++) {
		for (uint16_t k = 0; k < f->n_relocs; k++) {
			if (f->relocs[k].access != order[o])
				continue;
			got = by_reloc(t, m, &f->relocs[k], &way);
			if (!got) {
				add_way(p, &way, i, order[o]);
				return;
			}
			why = got > why ? got : why;
		}
	}
	if (!f->n_relocs && (m->is_main || f->is_program)) {
		by_layout(t, f, &way);
		add_way(p, &way, i, 0);
		return;
	}
	p->why = why > p->why ? why : p->why;
}

void tls_plan_make(const struct tls_target *t, struct tls_plan *out)
{
	memset(out, 0, sizeof(*out));
	out->why = TLS_WHY_NO_SYMBOL;
	for (uint32_t i = 0; i < t->n_modules && i < TLS_MAX_MODULES; i++) {
		if (t->modules[i].facts->machine == t->machine)
			add_module(t, i, out);
		else if (out->why < TLS_WHY_MACHINE)
			out->why = TLS_WHY_MACHINE;
	}
	if (out->n_ways)
		out->why = TLS_WHY_NONE;
}

const char *tls_why_text(enum tls_why why)
{
	switch (why) {
	case TLS_WHY_NONE:
		return "reached";
	case TLS_WHY_NO_SYMBOL:
		return "no mapped file defines the variable";
	case TLS_WHY_MACHINE:
		return "it is defined by a file of another architecture";
	case TLS_WHY_NO_RELOC:
		return "a library defines the variable, and none of its code uses it";
	case TLS_WHY_UNREADABLE:
		return "memory that tells where it is cannot be read";
	case TLS_WHY_UNBOUND:
		return "it is not bound yet";
	}
	return "unknown";
}
