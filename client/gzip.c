/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "client/gzip.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#define STORED_MAX 65535u	/* of one stored block */

/* RFC 1952; four bits at a time: a table of 16 words is enough for a file. */
static uint32_t crc(const unsigned char *p, size_t len)
{
	static const uint32_t half[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	uint32_t c = 0xffffffff;

	for (size_t i = 0; i < len; i++) {
		c ^= p[i];
		c = c >> 4 ^ half[c & 15];
		c = c >> 4 ^ half[c & 15];
	}
	return ~c;
}

static void put_le(struct text *t, uint32_t v, unsigned bytes)
{
	for (; bytes; bytes--, v >>= 8)
		text_putc(t, (char)v);
}

int gzip_store(struct text *out, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	size_t left = len;

	/* magic, deflate, no flags, no time, unknown system */
	text_add(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	do {
		uint32_t n = left < STORED_MAX ? (uint32_t)left : STORED_MAX;

		text_putc(out, n == left);	/* last block, stored */
		put_le(out, n, 2);
		put_le(out, ~n, 2);
		text_add(out, p, n);
		p += n;
		left -= n;
	} while (left);
	put_le(out, crc(bytes, len), 4);
	put_le(out, (uint32_t)len, 4);
	return text_failed(out) ? -ENOMEM : 0;
}

#ifdef HAVE_ZLIB
int gzip_write(struct text *out, const void *bytes, size_t len)
{
	unsigned char block[65536];
	z_stream z;
	int rc;

	if (len > UINT32_MAX)	/* avail_in */
		return -ENOMEM;
	memset(&z, 0, sizeof(z));
	/* 16: gzip and not zlib wrapping */
	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)len;
	do {
		z.next_out = block;
		z.avail_out = sizeof(block);
		rc = deflate(&z, Z_FINISH);
		text_add(out, block, sizeof(block) - z.avail_out);
	} while (rc == Z_OK);
	deflateEnd(&z);
	return rc != Z_STREAM_END || text_failed(out) ? -ENOMEM : 0;
}
#else
int gzip_write(struct text *out, const void *bytes, size_t len)
{
	return gzip_store(out, bytes, len);
}
#endif
