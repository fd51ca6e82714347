/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sidecar/symbols/mini_debug.h"

#define XZ_IN_MAX (32ull << 20)
#define XZ_DICTIONARY_MAX (96ull << 20)	/* what the decoder itself may take */
#define XZ_STEP (256u << 10)

static int xz_run(lzma_stream *s, size_t max, uint8_t **out, size_t *out_n)
{
	size_t room = 0;
	lzma_ret ret = LZMA_OK;

	for (*out = NULL; ret == LZMA_OK;) {
		if (s->avail_out == 0) {
			size_t more = room ? room * 2 : XZ_STEP;
			uint8_t *buf;

			if (room >= max)
				return -EFBIG;
			more = more < max ? more : max;
			buf = realloc(*out, more);
			if (!buf)
				return -ENOMEM;
			*out = buf;
			s->next_out = buf + room;
			s->avail_out = more - room;
			room = more;
		}
		ret = lzma_code(s, LZMA_FINISH);
	}
	*out_n = room - s->avail_out;
	return ret == LZMA_STREAM_END ? 0 : ret == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int unpack_xz(const uint8_t *in, size_t n, size_t max, uint8_t **out, size_t *out_n)
{
	lzma_stream s = LZMA_STREAM_INIT;
	int err;

	*out = NULL;
	*out_n = 0;
	if (lzma_stream_decoder(&s, XZ_DICTIONARY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	s.next_in = in;
	s.avail_in = n;
	err = xz_run(&s, max, out, out_n);
	lzma_end(&s);
	if (err) {
		free(*out);
		*out = NULL;
		*out_n = 0;
	}
	return err;
}

static int inflate_to(const uint8_t *in, size_t n, uint8_t *out, size_t out_n)
{
	z_stream z = { .next_in = (uint8_t *)in, .avail_in = (uInt)n, .next_out = out,
		       .avail_out = (uInt)out_n };
	int ret;

	if (n > UINT32_MAX || out_n > UINT32_MAX || inflateInit(&z) != Z_OK)
		return -ENOMEM;
	ret = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return ret == Z_STREAM_END && z.total_out == out_n ? 0 : -EBADMSG;
}

int unpack_section(const uint8_t *in, size_t n, bool is64, size_t max, uint8_t **out,
		   size_t *out_n)
{
	size_t head = is64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	uint32_t type, size32;
	uint64_t size;
	int err;

	*out = NULL;
	*out_n = 0;
	if (n < head)
		return -EBADMSG;
	memcpy(&type, in, sizeof(type));
	memcpy(&size32, in + offsetof(Elf32_Chdr, ch_size), sizeof(size32));
	memcpy(&size, in + offsetof(Elf64_Chdr, ch_size), is64 ? sizeof(size) : 0);
	size = is64 ? size : size32;
	if (type != ELFCOMPRESS_ZLIB)
		return -EPROTONOSUPPORT;
	if (size > max)
		return -EFBIG;
	*out = malloc(size ? (size_t)size : 1);
	if (!*out)
		return -ENOMEM;
	err = inflate_to(in + head, n - head, *out, (size_t)size);
	if (err) {
		free(*out);
		*out = NULL;
		return err;
	}
	*out_n = (size_t)size;
	return 0;
}

int mini_debug_add(struct symbol_builder *b, const struct elf_file *e)
{
	struct elf_file *inner = calloc(1, sizeof(*inner));
	uint8_t *plain = NULL;
	void *packed = NULL;
	struct source src;
	const char *why;
	size_t n;
	int err;

	if (!inner)
		return -ENOMEM;
	err = source_load(&e->src, e->debugdata.offset, e->debugdata.size, XZ_IN_MAX,
			  &packed);
	if (!err)
		err = unpack_xz(packed, (size_t)e->debugdata.size, MINI_DEBUG_MAX, &plain,
				&n);
	free(packed);
	if (err)
		goto out;
	source_from_memory(&src, plain, n);
	err = elf_file_read(inner, &src, &why);
	if (!err)
		err = symbol_builder_add(b, inner, &inner->symtab, &inner->strtab, e);
out:
	free(plain);
	free(inner);
	return err;
}
