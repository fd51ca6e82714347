/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "sidecar/options.h"

#define WORD_MAX 64

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

/* Levenshtein, one row at a time. */
unsigned int text_distance(const char *a, const char *b, unsigned int cap)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned int row[WORD_MAX + 1], diagonal, above;

	if (na > WORD_MAX || nb > WORD_MAX)
		return cap;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		diagonal = row[0];
		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			above = row[j];
			row[j] = least(above + 1, row[j - 1] + 1,
				       diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb] < cap ? row[nb] : cap;
}
