/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <zlib.h>

#include "sidecar/symbols/inspect.h"
#include "sidecar/symbols/tls_symbol.h"

#define CRC_FILE_MAX (128ull << 20)	/* larger ones would hold up everybody's names */

static void windows_get(struct inspection *f, ssize_t head, ssize_t tail)
{
	uint64_t size = f->src.size;

	if (head > 0)
		f->src.have[0] = (struct window){ 0, (size_t)head, f->head };
	if (tail > 0)
		f->src.have[1] =
			(struct window){ size - (uint64_t)tail, (size_t)tail, f->tail };
}

static void fill_answer(struct inspection *f, bool hashed, int err, const char *why)
{
	struct sym_answer *a = &f->answer;
	const struct elf_file *e = &f->elf;

	memset(a, 0, sizeof(*a));
	a->kind = SYM_FILE;
	a->htlhash = hashed ? f->htlhash : NULL;
	a->error = err ? why : NULL;
	a->is_elf = !err;
	if (err)
		return;
	a->gnu_build_id = e->gnu_build_id[0] ? e->gnu_build_id : NULL;
	a->go_build_id = e->go_build_id[0] ? e->go_build_id : NULL;
	a->debug_link = e->debug_link[0] ? e->debug_link : NULL;
	a->debug_link_crc = e->debug_link_crc;
	a->stripped = !e->symtab.size;
	a->is_static = !e->has_dynamic;
	compiler_detect(e, f->compiler);
	a->compiler = f->compiler[0] ? f->compiler : NULL;
	a->want_debug = a->stripped && (a->gnu_build_id || a->debug_link);
	a->n_segments = e->n_segments;
	memcpy(a->segments, e->segments, e->n_segments * sizeof(e->segments[0]));
	a->has_tls = tls_symbol_find(e, &a->tls);
}

static void inspect_one(struct inspection *f, ssize_t head, ssize_t tail)
{
	size_t want = f->src.size < sizeof(f->head) ? (size_t)f->src.size
						    : sizeof(f->head);
	const char *why = "cannot be read";
	bool whole = head >= 0 && (size_t)head == want && tail >= 0 &&
		     (size_t)tail == want;
	int err = head < 0 ? (int)head : 0;

	if (whole)
		elf_htlhash(f->head, want, f->tail, want, f->src.size, f->htlhash);
	/* A file that shrinks while we look has no tail at the place we think. */
	windows_get(f, head, whole ? tail : 0);
	if (!err)
		err = elf_file_parse(&f->elf, &f->src, f->head, (size_t)head, &why);
	fill_answer(f, whole, err, why);
	memset(f->src.have, 0, sizeof(f->src.have));
	memset(f->elf.src.have, 0, sizeof(f->elf.src.have));
}

void inspect_files(struct inspection *const *f, unsigned int n, struct file_io *io)
{
	struct file_read r[2 * INSPECT_BATCH];

	for (unsigned int i = 0; i < n; i++) {
		uint64_t size = f[i]->src.size;
		size_t want = size < sizeof(f[i]->head) ? (size_t)size
							: sizeof(f[i]->head);

		r[2 * i] = (struct file_read){ .fd = f[i]->src.fd,
					       .buf = f[i]->head,
					       .len = want };
		r[2 * i + 1] = (struct file_read){ .fd = f[i]->src.fd,
						   .buf = f[i]->tail,
						   .len = want,
						   .offset = size - want };
	}
	file_io_batch(io, r, 2 * n);
	for (unsigned int i = 0; i < n; i++)
		inspect_one(f[i], r[2 * i].got, r[2 * i + 1].got);
}

void inspect_image(struct inspection *f)
{
	size_t n = (size_t)f->src.size;
	size_t part = n < sizeof(f->head) ? n : sizeof(f->head);
	const char *why;
	int err;

	elf_htlhash(f->src.mem, part, f->src.mem + n - part, part, n, f->htlhash);
	err = elf_file_read(&f->elf, &f->src, &why);
	fill_answer(f, true, err, why);
}

static bool crc_of(const struct source *s, uint32_t *crc)
{
	uint8_t chunk[32768];
	uint64_t at = 0;

	if (s->size > CRC_FILE_MAX)
		return false;
	*crc = 0;
	while (at < s->size) {
		ssize_t got = source_read_some(s, at, chunk, sizeof(chunk));

		if (got <= 0)
			return false;
		*crc = (uint32_t)crc32(*crc, chunk, (uInt)got);
		at += (uint64_t)got;
	}
	return true;
}

bool inspect_debug_matches(const struct elf_file *e, const struct elf_file *debug)
{
	uint32_t crc;

	if (e->is64 != debug->is64 || e->machine != debug->machine)
		return false;
	if (e->gnu_build_id[0] && debug->gnu_build_id[0])
		return !strcmp(e->gnu_build_id, debug->gnu_build_id);
	return e->debug_link[0] && crc_of(&debug->src, &crc) && crc == e->debug_link_crc;
}
