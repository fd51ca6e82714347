/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sidecar/symbols/name_pack.h"

#define PACK_BLOCK 32u			/* strings in a block */
#define PACK_BLOCK_MAX 32768u		/* bytes of a block's text */
#define PACK_WINDOW (-12)		/* raw deflate; blocks are small */

struct name_pack {
	uint8_t	 *packed;
	size_t	  packed_n, packed_room;
	uint32_t *block;		/* where each begins, and the end */
	uint32_t  n;
	uint32_t  open;			/* block in text, UINT32_MAX none */
	size_t	  open_n;
	char	  text[PACK_BLOCK_MAX];
};

static uint32_t block_count(uint32_t n)
{
	return (n + PACK_BLOCK - 1) / PACK_BLOCK;
}

/* One block's strings one behind another; bytes, 0 when they are too long. */
static size_t gather(struct name_pack *p, const char *text, const uint32_t *at,
		     uint32_t first)
{
	size_t n = 0;

	for (uint32_t i = first; i < p->n && i < first + PACK_BLOCK; i++) {
		size_t len = strlen(text + at[i]) + 1;

		if (len > sizeof(p->text) - n)
			return 0;
		memcpy(p->text + n, text + at[i], len);
		n += len;
	}
	return n;
}

static int pack_room(struct name_pack *p, size_t more)
{
	size_t room = p->packed_room ? p->packed_room : 65536;
	uint8_t *buf;

	while (room - p->packed_n < more)
		room += room / 4;
	if (room == p->packed_room)
		return 0;
	buf = realloc(p->packed, room);
	if (!buf)
		return -ENOMEM;
	p->packed = buf;
	p->packed_room = room;
	return 0;
}

static int pack_block(struct name_pack *p, z_stream *z, size_t n)
{
	size_t bound = deflateBound(z, (uLong)n);
	int err = pack_room(p, bound);

	if (err)
		return err;
	deflateReset(z);
	z->next_in = (uint8_t *)p->text;
	z->avail_in = (uInt)n;
	z->next_out = p->packed + p->packed_n;
	z->avail_out = (uInt)bound;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return -EIO;
	p->packed_n += bound - z->avail_out;
	return p->packed_n > UINT32_MAX ? -E2BIG : 0;
}

static int pack_all(struct name_pack *p, z_stream *z, const char *text,
		    const uint32_t *at)
{
	uint32_t blocks = block_count(p->n);
	int err = 0;

	for (uint32_t b = 0; b < blocks && !err; b++) {
		size_t n = gather(p, text, at, b * PACK_BLOCK);

		p->block[b] = (uint32_t)p->packed_n;
		err = n ? pack_block(p, z, n) : -EMSGSIZE;
	}
	p->block[blocks] = (uint32_t)p->packed_n;
	return err;
}

int name_pack_create(struct name_pack **out, const char *text, const uint32_t *at,
		     uint32_t n)
{
	struct name_pack *p = calloc(1, sizeof(*p));
	z_stream z = { 0 };
	uint8_t *fit;
	int err = -ENOMEM;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->n = n;
	p->open = UINT32_MAX;
	p->block = calloc((size_t)block_count(n) + 1, sizeof(*p->block));
	if (!p->block ||
	    deflateInit2(&z, 1, Z_DEFLATED, PACK_WINDOW, 5, Z_DEFAULT_STRATEGY) != Z_OK)
		goto out;
	err = pack_all(p, &z, text, at);
	deflateEnd(&z);
	if (err)
		goto out;
	fit = realloc(p->packed, p->packed_n ? p->packed_n : 1);
	if (fit) {
		p->packed = fit;
		p->packed_room = p->packed_n;
	}
	*out = p;
	p = NULL;
out:
	name_pack_destroy(p);
	return err;
}

void name_pack_destroy(struct name_pack *p)
{
	if (!p)
		return;
	free(p->packed);
	free(p->block);
	free(p);
}

static bool open_block(struct name_pack *p, uint32_t b)
{
	z_stream z = { .next_in = p->packed + p->block[b],
		       .avail_in = p->block[b + 1] - p->block[b],
		       .next_out = (uint8_t *)p->text,
		       .avail_out = sizeof(p->text) };
	int ret;

	p->open = UINT32_MAX;
	if (inflateInit2(&z, PACK_WINDOW) != Z_OK)
		return false;
	ret = inflate(&z, Z_FINISH);
	p->open_n = z.total_out;
	inflateEnd(&z);
	if (ret != Z_STREAM_END || !p->open_n)
		return false;
	p->open = b;
	return true;
}

const char *name_pack_get(struct name_pack *p, uint32_t i)
{
	const char *s = p->text;

	if (i >= p->n || (p->open != i / PACK_BLOCK && !open_block(p, i / PACK_BLOCK)))
		return NULL;
	for (uint32_t k = i % PACK_BLOCK; k; k--)
		s += strlen(s) + 1;
	return s;
}

size_t name_pack_bytes(const struct name_pack *p)
{
	return p ? sizeof(*p) + p->packed_room +
			       ((size_t)block_count(p->n) + 1) * sizeof(*p->block)
		 : 0;
}
