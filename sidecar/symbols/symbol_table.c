/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/plt.h"
#include "sidecar/symbols/symbol_table.h"

#define TABLE_PARTS 4u
#define TABLE_MAX_SYMBOLS (2u << 20)
#define TABLE_NAMES_MAX (128ull << 20)	/* string table that is read at all */
#define TABLE_NAMES_KEEP 4096u		/* smaller ones stay in memory */
#define TABLE_CHUNK 1024u		/* symbols read at a time */
#define TABLE_LOOK_BACK 16u		/* symbols that may be nested in the one looked for */

/* One string table; names are numbered through all parts from base. */
struct names {
	struct source src;
	uint64_t      offset;
	uint32_t      base, size;
	char	     *bytes;		/* NULL: in the file */
};

struct symbol_table {
	uint64_t      base;
	uint32_t      n;
	uint32_t      n_names;
	uint32_t     *addr32;		/* from base; or */
	uint64_t     *addr64;
	uint32_t     *size, *name;
	size_t	      bytes;
	struct names  names[TABLE_PARTS];
	struct elf_text plt[ELF_PLT_PARTS];	/* symbols in there are stubs */
};

struct candidate {
	uint64_t addr, size;
	uint32_t name;
	uint8_t	 rank;			/* lower is better; RANK_* */
};

struct symbol_builder {
	struct candidate *c;
	uint32_t	  n, room;
	uint32_t	  n_names;
	uint32_t	  names_size;
	struct names	  names[TABLE_PARTS];
	struct elf_text	  plt[ELF_PLT_PARTS];
};

int symbol_builder_create(struct symbol_builder **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void names_free(struct names *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(names[i].bytes);
}

void symbol_builder_destroy(struct symbol_builder *b)
{
	if (!b)
		return;
	names_free(b->names, b->n_names);
	free(b->c);
	free(b);
}

static struct names *builder_add_names(struct symbol_builder *b, const struct source *src,
				       const struct elf_part *strs)
{
	struct names *names = &b->names[b->n_names];
	void *bytes;

	if (b->n_names == TABLE_PARTS || strs->size > TABLE_NAMES_MAX ||
	    source_load(src, strs->offset, strs->size, TABLE_NAMES_MAX, &bytes))
		return NULL;
	if (strs->size)
		((char *)bytes)[strs->size - 1] = '\0';
	*names = (struct names){ .src = *src,
				 .offset = strs->offset,
				 .base = b->names_size,
				 .size = (uint32_t)strs->size,
				 .bytes = bytes };
	b->names_size += names->size;
	b->n_names++;
	return names;
}

/* arm64 and its kin mark code and data by symbols `$x`, `$d.7`: no names. */
static bool is_mapping_symbol(const struct elf_file *e, const char *name)
{
	if (name[0] != '$' ||
	    (e->machine != EM_AARCH64 && e->machine != EM_ARM && e->machine != EM_RISCV))
		return false;
	return name[1] && strchr("axtd", name[1]) &&
	       (!name[2] || name[2] == '.' || e->machine == EM_RISCV);
}

enum { RANK_UNSIZED = 1, RANK_WEAK = 2, RANK_LOCAL = 4, RANK_LABEL = 8 };

/* Rank of a symbol, lower is better; -1: no code. */
static int symbol_rank(const Elf64_Sym *s)
{
	unsigned int type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);
	int rank;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return -1;
	rank = type == STT_NOTYPE ? RANK_LABEL : 0;
	rank += bind == STB_LOCAL ? RANK_LOCAL : bind == STB_WEAK ? RANK_WEAK : 0;
	return rank + (s->st_size ? 0 : RANK_UNSIZED);
}

static int builder_push(struct symbol_builder *b, const struct candidate *c)
{
	if (b->n == b->room) {
		uint32_t room = b->room ? b->room * 2 : 1024;
		struct candidate *more = realloc(b->c, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		b->c = more;
		b->room = room;
	}
	b->c[b->n++] = *c;
	return 0;
}

static int builder_take(struct symbol_builder *b, const struct elf_file *from,
			const struct names *names, const Elf64_Sym *s,
			const struct elf_file *text)
{
	struct candidate c = { .addr = s->st_value, .size = s->st_size };
	int rank = symbol_rank(s);
	uint64_t end;

	if (from->machine == EM_ARM)
		c.addr &= ~1ull;	/* Thumb */
	if (rank < 0 || s->st_shndx == SHN_UNDEF || s->st_name >= names->size ||
	    !elf_file_in_text(text, c.addr, &end))
		return 0;
	if (!names->bytes[s->st_name] ||
	    is_mapping_symbol(from, names->bytes + s->st_name))
		return 0;
	if (b->n == TABLE_MAX_SYMBOLS)
		return -E2BIG;
	/* Without a size: to the end of the section, until the next symbol is known. */
	if (!c.size || c.size > end - c.addr)
		c.size = end - c.addr;
	c.name = names->base + s->st_name;
	c.rank = (uint8_t)rank;
	return builder_push(b, &c);
}

static void sym_get(const struct elf_file *e, const uint8_t *p, Elf64_Sym *out)
{
	Elf32_Sym s;

	if (e->is64) {
		memcpy(out, p, sizeof(*out));
		return;
	}
	memcpy(&s, p, sizeof(s));
	*out = (Elf64_Sym){ .st_name = s.st_name,
			    .st_info = s.st_info,
			    .st_other = s.st_other,
			    .st_shndx = s.st_shndx,
			    .st_value = s.st_value,
			    .st_size = s.st_size };
}

int symbol_builder_add(struct symbol_builder *b, const struct elf_file *from,
		       const struct elf_part *syms, const struct elf_part *strs,
		       const struct elf_file *text)
{
	uint64_t entry = from->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), n;
	uint8_t chunk[TABLE_CHUNK * sizeof(Elf64_Sym)];
	struct names *names;
	int err = 0;

	if (!syms->size || !strs->size || (syms->entsize && syms->entsize != entry))
		return 0;
	names = builder_add_names(b, &from->src, strs);
	if (!names)
		return -ENOMEM;
	n = syms->size / entry;
	for (uint64_t i = 0; i < n && !err; i += TABLE_CHUNK) {
		uint64_t count = n - i < TABLE_CHUNK ? n - i : TABLE_CHUNK;

		err = source_read(&from->src, syms->offset + i * entry, chunk,
				  (size_t)(count * entry));
		for (uint64_t k = 0; k < count && !err; k++) {
			Elf64_Sym s;

			sym_get(from, chunk + k * entry, &s);
			err = builder_take(b, from, names, &s, text);
		}
	}
	/* What was got before the file turned out to be cut or too big is still right. */
	return err == -ENOMEM ? err : 0;
}

struct stubs { struct symbol_builder *b; const struct names *names; };

static int take_stub(void *arg, uint64_t addr, uint32_t size, uint32_t name)
{
	const struct stubs *s = arg;
	struct candidate c = { .addr = addr, .size = size, .rank = RANK_LABEL };

	if (name >= s->names->size || !s->names->bytes[name])
		return 0;
	c.name = s->names->base + name;
	return s->b->n == TABLE_MAX_SYMBOLS ? -E2BIG : builder_push(s->b, &c);
}

int symbol_builder_add_plt(struct symbol_builder *b, const struct elf_file *e)
{
	struct stubs stubs = { .b = b };

	for (unsigned int i = 0; i < ELF_PLT_PARTS; i++)
		b->plt[i] = (struct elf_text){ e->plt[i].addr,
					       e->plt[i].addr + e->plt[i].size };
	if (!e->dynstr.size || !(e->rela_plt.size + e->rela_dyn.size) ||
	    !(e->plt[ELF_PLT].size + e->plt[ELF_PLT_SEC].size + e->plt[ELF_PLT_GOT].size))
		return 0;
	stubs.names = builder_add_names(b, &e->src, &e->dynstr);
	return stubs.names ? plt_walk(e, take_stub, &stubs) : -ENOMEM;
}

static const char *builder_name(const struct symbol_builder *b, uint32_t name)
{
	uint32_t i = b->n_names - 1;

	while (b->names[i].base > name)
		i--;
	return b->names[i].bytes + (name - b->names[i].base);
}

static int by_address(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (int)x->rank - (int)y->rank;
}

/* Equal ranks at one address: the name decides. */
static bool name_better(const char *a, const char *b)
{
	size_t ua = strspn(a, "_"), ub = strspn(b, "_"), la, lb;

	if (ua != ub)
		return ua < ub;
	la = strlen(a);
	lb = strlen(b);
	return la != lb ? la < lb : strcmp(a, b) < 0;
}

/* Keeps the best of each address, in place. */
static void builder_dedupe(struct symbol_builder *b)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < b->n; ) {
		uint32_t best = i, next = i + 1;

		for (; next < b->n && b->c[next].addr == b->c[i].addr; next++)
			if (b->c[next].rank == b->c[best].rank &&
			    name_better(builder_name(b, b->c[next].name),
					builder_name(b, b->c[best].name)))
				best = next;
		b->c[out++] = b->c[best];
		i = next;
	}
	b->n = out;
}

/*
 * An unsized symbol reaches to the next one.  A label without a size in the middle of a
 * function is no function of its own.
 */
static void builder_settle_sizes(struct symbol_builder *b)
{
	uint64_t sized_end = 0;
	uint32_t out = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		struct candidate c = b->c[i];

		if (!(c.rank & RANK_UNSIZED))
			sized_end = c.addr + c.size > sized_end ? c.addr + c.size
								: sized_end;
		else if ((c.rank & RANK_LABEL) && c.addr < sized_end)
			continue;
		if (out && (b->c[out - 1].rank & RANK_UNSIZED) &&
		    c.addr - b->c[out - 1].addr < b->c[out - 1].size)
			b->c[out - 1].size = c.addr - b->c[out - 1].addr;
		b->c[out++] = c;
	}
	b->n = out;
}

static int table_alloc(struct symbol_table *t, uint32_t n, bool wide)
{
	size_t each = wide ? sizeof(*t->addr64) : sizeof(*t->addr32);
	void *addr = calloc(n, each);

	t->size = calloc(n, sizeof(*t->size));
	t->name = calloc(n, sizeof(*t->name));
	if (wide)
		t->addr64 = addr;
	else
		t->addr32 = addr;
	t->n = n;
	t->bytes = sizeof(*t) + n * (each + sizeof(*t->size) + sizeof(*t->name));
	return addr && t->size && t->name ? 0 : -ENOMEM;
}

/* Small string tables stay, large ones are read again name by name. */
static void table_take_names(struct symbol_table *t, struct symbol_builder *b)
{
	for (uint32_t i = 0; i < b->n_names; i++) {
		struct names *names = &t->names[i];

		*names = b->names[i];
		if (names->src.fd >= 0 && names->size > TABLE_NAMES_KEEP) {
			free(names->bytes);
			names->bytes = NULL;
		} else {
			t->bytes += names->size;
		}
	}
	t->n_names = b->n_names;
	b->n_names = 0;
}

static void table_fill(struct symbol_table *t, const struct symbol_builder *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct candidate *c = &b->c[i];

		if (t->addr64)
			t->addr64[i] = c->addr - t->base;
		else
			t->addr32[i] = (uint32_t)(c->addr - t->base);
		t->size[i] = c->size < UINT32_MAX ? (uint32_t)c->size : UINT32_MAX;
		t->name[i] = c->name;
	}
}

int symbol_builder_finish(struct symbol_builder *b, struct symbol_table **out)
{
	struct symbol_table *t = NULL;
	int err = -ENOENT;

	*out = NULL;
	if (!b->n)
		goto out;
	qsort(b->c, b->n, sizeof(*b->c), by_address);
	builder_dedupe(b);
	builder_settle_sizes(b);
	err = -ENOMEM;
	t = calloc(1, sizeof(*t));
	if (!t)
		goto out;
	t->base = b->c[0].addr;
	err = table_alloc(t, b->n, b->c[b->n - 1].addr - t->base > UINT32_MAX);
	if (err)
		goto out;
	table_fill(t, b);
	memcpy(t->plt, b->plt, sizeof(t->plt));
	table_take_names(t, b);
	*out = t;
	t = NULL;
out:
	symbol_table_destroy(t);
	symbol_builder_destroy(b);
	return err;
}

static uint64_t table_addr(const struct symbol_table *t, uint32_t i)
{
	return t->base + (t->addr64 ? t->addr64[i] : t->addr32[i]);
}

/* Index of the last symbol that starts at or before addr; the caller knows there is one.
 */
static uint32_t table_at_or_before(const struct symbol_table *t, uint64_t addr)
{
	uint32_t low = 0, high = t->n;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (table_addr(t, mid) <= addr)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static const char *table_name(const struct symbol_table *t, uint32_t name)
{
	static char buf[WIRE_NAME_MAX];		/* one thread; valid until the next lookup */
	const struct names *names = &t->names[t->n_names - 1];
	uint32_t at, room;
	ssize_t got;

	while (names->base > name)
		names--;
	at = name - names->base;
	if (names->bytes)
		return names->bytes + at;
	room = names->size - at < sizeof(buf) - 1 ? names->size - at
						  : (uint32_t)sizeof(buf) - 1;
	/* Most are short; the rest is fetched only when it is needed. */
	got = source_read_some(&names->src, names->offset + at, buf,
			       room < 256 ? room : 256);
	if (got == 256 && !memchr(buf, 0, 256))
		got = source_read_some(&names->src, names->offset + at, buf, room);
	if (got <= 0)
		return NULL;
	buf[got] = '\0';
	return buf[0] ? buf : NULL;
}

static bool is_stub(const struct symbol_table *t, uint64_t addr)
{
	for (unsigned int i = 0; i < ELF_PLT_PARTS; i++)
		if (addr >= t->plt[i].start && addr < t->plt[i].end)
			return true;
	return false;
}

bool symbol_table_find(struct symbol_table *t, uint64_t addr, struct symbol *out)
{
	uint64_t until;
	uint32_t i;

	if (!t || !t->n || addr < t->base)
		return false;
	i = table_at_or_before(t, addr);
	until = i + 1 < t->n ? table_addr(t, i + 1) : UINT64_MAX;
	for (uint32_t back = 0; back < TABLE_LOOK_BACK; back++, i--) {
		uint64_t start = table_addr(t, i);

		if (addr - start < t->size[i]) {
			uint64_t end = start + t->size[i];

			*out = (struct symbol){ .start = start,
						.end = end,
						.name = table_name(t, t->name[i]),
						/* Not around a symbol that lies in this one. */
						.until = back ? addr : until < end ? until : end,
						.plt = is_stub(t, start) };
			return out->name;
		}
		if (!i)
			break;
	}
	return false;
}

size_t symbol_table_bytes(const struct symbol_table *t)
{
	return t ? t->bytes : 0;
}

uint32_t symbol_table_count(const struct symbol_table *t)
{
	return t ? t->n : 0;
}

void symbol_table_destroy(struct symbol_table *t)
{
	if (!t)
		return;
	names_free(t->names, t->n_names);
	free(t->addr32);
	free(t->addr64);
	free(t->size);
	free(t->name);
	free(t);
}
