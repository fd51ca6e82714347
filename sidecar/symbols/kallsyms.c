/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/symbols/kallsyms.h"

#define KALLSYMS_MAX (1u << 20)
#define KALLSYMS_NAMES_MAX (64u << 20)
#define KALLSYMS_CHUNK 65536u
#define KALLSYMS_READS 64		/* the kernel gives a page at a time: a few milliseconds of them */
#define KALLSYMS_AGAIN_NS 10000000000ull
/*
 * There are no sizes.  A function ends where the next one starts; behind the last one,
 * and behind code of modules and programs that we may not know the neighbours of, it ends
 * after these many bytes.
 */
#define KALLSYMS_CORE_SIZE 262144u
#define KALLSYMS_MODULE_SIZE 16384u

struct ksym {
	uint64_t addr;
	uint32_t name;			/* `name` or `name<TAB>[module]`; "" ends the one before */
};

struct kallsyms {
	int	     fd;
	struct ksym *s;			/* while reading */
	uint32_t     n_read, room;
	uint32_t     n;			/* the table: */
	uint64_t     base;
	uint64_t    *addr64;		/* only when the kernel's code spans more than 4 GiB */
	uint32_t    *addr32, *name;
	char	    *names;
	uint32_t     names_used, names_room;
	char	    *chunk;		/* while reading: lines not yet whole */
	size_t	     have;
	off_t	     offset;
	uint64_t     read_ns;		/* when; 0 never */
	uint32_t     zeros;		/* symbols without an address */
	char	     found[1024], module[128];
};

int kallsyms_create(struct kallsyms **out, int fd)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->fd = fd;
	return 0;
}

static void kallsyms_drop(struct kallsyms *k)
{
	free(k->s);
	free(k->addr64);
	free(k->addr32);
	free(k->name);
	free(k->names);
	k->s = NULL;
	k->addr64 = NULL;
	k->addr32 = k->name = NULL;
	k->names = NULL;
	k->n = k->n_read = k->room = k->names_used = k->names_room = k->zeros = 0;
}

void kallsyms_destroy(struct kallsyms *k)
{
	if (!k)
		return;
	kallsyms_drop(k);
	free(k->chunk);
	if (k->fd >= 0)
		close(k->fd);
	free(k);
}

static int names_add(struct kallsyms *k, const char *name, size_t n)
{
	if (k->names_used + n + 1 > KALLSYMS_NAMES_MAX)
		return -E2BIG;
	if (k->names_used + n + 1 > k->names_room) {
		uint32_t room = k->names_room ? k->names_room + k->names_room / 4
					      : 1u << 20;
		char *more = realloc(k->names, room);

		if (!more)
			return -ENOMEM;
		k->names = more;
		k->names_room = room;
	}
	memcpy(k->names + k->names_used, name, n);
	k->names[k->names_used + n] = '\0';
	k->names_used += (uint32_t)n + 1;
	return 0;
}

static int ksym_push(struct kallsyms *k, uint64_t addr, const char *name, size_t len)
{
	uint32_t at = k->names_used;
	int err;

	if (k->n_read == KALLSYMS_MAX)
		return -E2BIG;
	if (k->n_read == k->room) {
		uint32_t room = k->room ? k->room * 2 : 16384;
		struct ksym *more = realloc(k->s, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		k->s = more;
		k->room = room;
	}
	err = names_add(k, name, len);
	if (!err)
		k->s[k->n_read++] = (struct ksym){ addr, at };
	return err;
}

/* `ffffffff81000000 T name` or `... name<TAB>[module]`. */
static int take_line(struct kallsyms *k, const char *line, size_t n)
{
	uint64_t addr = 0;
	const char *name;
	size_t i, len;

	for (i = 0; i < n && i < 16 && line[i] != ' '; i++) {
		int c = line[i] | 0x20, d = c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - '0';

		if (d < 0 || d > 15)
			return 0;
		addr = addr << 4 | (uint64_t)d;
	}
	if (!i || n - i < 4 || line[i] != ' ' || line[i + 2] != ' ' ||
	    !strchr("tTwW", line[i + 1]))
		return 0;
	name = line + i + 3;
	len = strnlen(name, n - i - 3);
	if (!addr) {
		k->zeros++;
		return 0;
	}
	/* Padding in front of each function, half of all lines; nothing runs there. */
	if (len > 6 && !memcmp(name, "__pfx_", 6))
		return 0;
	if (len == 6 && !memcmp(name, "_etext", 6))
		len = 0;
	return ksym_push(k, addr, name, len < 512 ? len : 512);
}

/* Takes whole lines; bytes used up. */
static size_t take_lines(struct kallsyms *k, const char *text, size_t n, int *err)
{
	size_t at = 0;

	while (at < n && !*err) {
		const char *nl = memchr(text + at, '\n', n - at);

		if (!nl)
			break;
		*err = take_line(k, text + at, (size_t)(nl - text) - at);
		at = (size_t)(nl - text) + 1;
	}
	return at;
}

static int by_address(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Aliases: fewer leading underscores, then shorter, then the first in the file. */
static bool name_better(const char *a, const char *b)
{
	size_t ua = strspn(a, "_"), ub = strspn(b, "_");

	return ua != ub ? ua < ub : strlen(a) < strlen(b);
}

static uint32_t dedupe(struct kallsyms *k)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < k->n_read; i++) {
		struct ksym *last = out ? &k->s[out - 1] : NULL;

		if (!last || last->addr != k->s[i].addr)
			k->s[out++] = k->s[i];
		else if (!k->names[last->name] || (k->names[k->s[i].name] &&
			 name_better(k->names + k->s[i].name, k->names + last->name)))
			*last = k->s[i];
	}
	return out;
}

/* From what was read to the table: 8 bytes a symbol beside its name. */
static int build(struct kallsyms *k)
{
	uint32_t n;
	bool wide;

	if (!k->n_read)
		return 0;
	qsort(k->s, k->n_read, sizeof(*k->s), by_address);
	n = dedupe(k);
	k->base = k->s[0].addr;
	wide = k->s[n - 1].addr - k->base > UINT32_MAX;
	k->name = calloc(n, sizeof(*k->name));
	if (wide)
		k->addr64 = calloc(n, sizeof(*k->addr64));
	else
		k->addr32 = calloc(n, sizeof(*k->addr32));
	if (!k->name || !(wide ? (void *)k->addr64 : (void *)k->addr32))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		k->name[i] = k->s[i].name;
		if (wide)
			k->addr64[i] = k->s[i].addr - k->base;
		else
			k->addr32[i] = (uint32_t)(k->s[i].addr - k->base);
	}
	k->n = n;
	return 0;
}

static int finish(struct kallsyms *k, int err)
{
	char *fit;

	if (!err || err == -E2BIG)
		err = build(k);
	free(k->s);
	k->s = NULL;
	fit = realloc(k->names, k->names_used ? k->names_used : 1);
	if (fit) {
		k->names = fit;
		k->names_room = k->names_used;
	}
	if (err)
		kallsyms_drop(k);
	return err;
}

int kallsyms_parse(struct kallsyms *k, const char *text, size_t n)
{
	int err = 0;

	kallsyms_drop(k);
	take_lines(k, text, n, &err);
	return finish(k, err);
}

void kallsyms_read_begin(struct kallsyms *k, uint64_t now_ns)
{
	kallsyms_drop(k);
	k->read_ns = now_ns ? now_ns : 1;
	k->offset = 0;
	k->have = 0;
	k->chunk = malloc(KALLSYMS_CHUNK);
}

static int read_end(struct kallsyms *k, int err)
{
	free(k->chunk);
	k->chunk = NULL;
	return finish(k, err);
}

/* Its size reads as zero and only reading on from the front is cheap: plain reads, one
 * after another. */
int kallsyms_read_some(struct kallsyms *k)
{
	int err = k->chunk ? 0 : -ENOMEM;

	for (int i = 0; i < KALLSYMS_READS && !err; i++) {
		ssize_t got = pread(k->fd, k->chunk + k->have, KALLSYMS_CHUNK - k->have,
				    k->offset);
		size_t used;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = -errno;
		if (got <= 0)
			return read_end(k, err);
		k->offset += got;
		k->have += (size_t)got;
		used = take_lines(k, k->chunk, k->have, &err);
		memmove(k->chunk, k->chunk + used, k->have - used);
		k->have -= used;
		if (k->have == KALLSYMS_CHUNK)	/* no line is that long */
			return read_end(k, -EBADMSG);
	}
	return err ? read_end(k, err) : 1;
}

static bool lookup(struct kallsyms *k, uint64_t addr, struct symbol *out,
		   const char **module)
{
	uint32_t low = 0, high = k->n, room;
	uint64_t start, end;
	const char *name, *tab;

	if (!k->n || addr < k->base)
		return false;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (k->base + (k->addr64 ? k->addr64[mid] : k->addr32[mid]) <= addr)
			low = mid;
		else
			high = mid;
	}
	start = k->base + (k->addr64 ? k->addr64[low] : k->addr32[low]);
	name = k->names + k->name[low];
	tab = strchr(name, '\t');
	room = tab ? KALLSYMS_MODULE_SIZE : KALLSYMS_CORE_SIZE;
	end = start + room < start ? UINT64_MAX : start + room;
	if (high < k->n) {
		uint64_t next = k->base + (k->addr64 ? k->addr64[high] : k->addr32[high]);

		end = next < end ? next : end;
	}
	if (addr >= end || !*name || tab == name)
		return false;
	*module = NULL;
	strncpy(k->found, name, sizeof(k->found) - 1);
	if (tab && (size_t)(tab - name) < sizeof(k->found)) {
		k->found[tab - name] = '\0';
		strncpy(k->module, tab + 1, sizeof(k->module) - 1);
		*module = k->module;
	}
	*out = (struct symbol){ .start = start, .end = end, .name = k->found, .until = end };
	return true;
}

bool kallsyms_due(struct kallsyms *k, const uint64_t *addr, uint32_t n, uint64_t now_ns)
{
	const char *module;
	struct symbol s;

	if (k->fd < 0 || (k->read_ns && now_ns - k->read_ns < KALLSYMS_AGAIN_NS))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!lookup(k, addr[i], &s, &module))
			return true;
	return false;
}

bool kallsyms_find(struct kallsyms *k, uint64_t addr, struct symbol *out, const char **module)
{
	return lookup(k, addr, out, module);
}

bool kallsyms_hidden(const struct kallsyms *k)
{
	return !k->n && k->zeros;
}

size_t kallsyms_bytes(const struct kallsyms *k)
{
	size_t each;

	if (!k)
		return 0;
	each = (k->name ? sizeof(*k->name) : 0) +
	       (k->addr64 ? sizeof(*k->addr64) : sizeof(*k->addr32));
	return sizeof(*k) + k->names_room + k->n * each;
}

uint32_t kallsyms_count(const struct kallsyms *k)
{
	return k->n;
}
