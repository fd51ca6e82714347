/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Range of the second byte: it rules out overlong forms, surrogates and what lies beyond
 * U+10FFFF. */
static bool second_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0: return second >= 0xa0 && second <= 0xbf;
	case 0xed: return second >= 0x80 && second <= 0x9f;
	case 0xf0: return second >= 0x90 && second <= 0xbf;
	case 0xf4: return second >= 0x80 && second <= 0x8f;
	default:   return is_continuation(second);
	}
}

static size_t sequence_length(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	if (c >= 0xf0 && c <= 0xf4)
		return 4;
	return 0;
}

/* Bytes of the sequence at s that belong together; *valid: they are a whole code point.
 */
static size_t take_sequence(const char *s, size_t n, bool *valid)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t len = sequence_length(u[0]), have = 1;

	*valid = false;
	if (len == 0)
		return 1;
	while (have < len && have < n &&
	       (have == 1 ? second_fits(u[0], u[1]) : is_continuation(u[have])))
		have++;
	*valid = have == len && u[0] != 0;
	return have;
}

static uint32_t code_point(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;

	switch (len) {
	case 1:  return u[0];
	case 2:  return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
	case 3:  return (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
	default: return (u[0] & 7u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
	}
}

uint32_t text_code_point(const char *s, size_t *len)
{
	*len = sequence_length((unsigned char)s[0]);
	return code_point(s, *len);
}

static bool is_space(uint32_t c)
{
	return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
	       c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Bytes of white space at the end of s, 0 when it ends with something else. */
static size_t space_at_end(const char *s, size_t n)
{
	for (size_t len = 1; len <= 3 && len <= n; len++) {
		bool valid;

		if (take_sequence(s + n - len, len, &valid) == len && valid &&
		    is_space(code_point(s + n - len, len)))
			return len;
	}
	return 0;
}

void text_trim(const char **s, size_t *n)
{
	size_t len;
	bool valid;

	while (*n > 0) {
		len = take_sequence(*s, *n, &valid);
		if (!valid || !is_space(code_point(*s, len)))
			break;
		*s += len;
		*n -= len;
	}
	while (*n > 0 && (len = space_at_end(*s, *n)))
		*n -= len;
}

int text_valid_utf8(const char *s, size_t n, size_t max, char **out)
{
	size_t cap = n < max ? n * 3 : max, used = 0;
	char *to;

	if (cap > max)
		cap = max;
	to = malloc(cap + 1);
	if (!to)
		return -ENOMEM;
	while (n > 0) {
		bool valid;
		size_t len = take_sequence(s, n, &valid), put = valid ? len : 3;

		if (put > cap - used)
			break;
		memcpy(to + used, valid ? s : "\xef\xbf\xbd", put);
		used += put;
		s += len;
		n -= len;
	}
	to[used] = 0;
	*out = to;
	return 0;
}

size_t text_cut(const char *s, size_t n, size_t max)
{
	if (n <= max)
		return n;
	while (max > 0 && is_continuation((unsigned char)s[max]))
		max--;
	return max;
}
