/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_GZIP_H
#define CLIENT_GZIP_H

#include "client/text.h"

/* Appends a gzip member.  Without zlib (HAVE_ZLIB) it is stored, not compressed.  0 or -ENOMEM. */
int	 gzip_write(struct text *out, const void *bytes, size_t len);
/* The form without zlib, always there. */
int	 gzip_store(struct text *out, const void *bytes, size_t len);

#endif
