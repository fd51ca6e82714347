/* SPDX-License-Identifier: Apache-2.0 */
/* What rules need to know of code points.  Case is simple, one to one, as in Go. */
#ifndef RINGSIDE_LABELS_UNICODE_H
#define RINGSIDE_LABELS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNE_BAD 0xfffdu
#define RUNE_MAX 0x10ffffu

/* The code point at s (n > 0) and its length; RUNE_BAD and 1 for a byte that is not UTF-8, *valid false. */
size_t	unicode_decode(const char *s, size_t n, uint32_t *rune, bool *valid);
size_t	unicode_encode(uint32_t rune, char out[4]);
bool	unicode_is_utf8(const char *s, size_t n);
uint32_t unicode_lower(uint32_t rune);
uint32_t unicode_upper(uint32_t rune);
/* The next code point that is equal but for case; comes round to rune again. */
uint32_t unicode_fold(uint32_t rune);

/* A general category or a script, by the names that Go knows (`L`, `Lu`, `Greek`); NULL: no such name. */
struct unicode_property;
const struct unicode_property *unicode_property(const char *name, size_t n);
bool	unicode_has(const struct unicode_property *p, uint32_t rune);
bool	unicode_is_letter_or_digit(uint32_t rune);
#endif
