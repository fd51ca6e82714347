/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, durations, numbers as people write them.  The whole text must be one: nothing before, nothing
 * after.  0, -EINVAL (not of that form) or -ERANGE (does not fit); *out is only set on success.
 */
#ifndef RINGSIDE_UNITS_H
#define RINGSIDE_UNITS_H

#include <stdint.h>

int	units_number(const char *text, uint64_t *out);		/* decimal digits */
int	units_octal(const char *text, uint64_t *out);
int	units_size(const char *text, uint64_t *bytes);		/* 64, 64K, 16M, 2G: powers of 1024 */
int	units_duration(const char *text, uint64_t *ns);		/* 250ms, 5s, 1.5h, 10 (seconds) */

#endif
