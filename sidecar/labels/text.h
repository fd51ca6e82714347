/* SPDX-License-Identifier: Apache-2.0 */
/* Text that tenants wrote: trimmed and made valid, never trusted to be UTF-8. */
#ifndef RINGSIDE_LABELS_TEXT_H
#define RINGSIDE_LABELS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Moves *s and *n past white space (Unicode's White_Space) at both ends. */
void	text_trim(const char **s, size_t *n);
/*
 * A copy that is valid UTF-8 without NUL: what is not becomes U+FFFD, one per maximal part of a sequence.
 * At most max bytes, cut on a code point.  0 or -ENOMEM; free() *out.
 */
int	text_valid_utf8(const char *s, size_t n, size_t max, char **out);
/* The first code point of valid UTF-8, and how many bytes it takes. */
uint32_t text_code_point(const char *s, size_t *len);
/* Length of s cut to max bytes without splitting a code point. */
size_t	text_cut(const char *s, size_t n, size_t max);

#endif
