/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "sidecar/units.h"

#define NS_PER_S 1000000000ull
#define FRACTION_DIGITS 9

/* Digits of base at *text, which moves behind them. */
static int digits(const char **text, unsigned int base, uint64_t *out)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p >= (char)('0' + base))
		return -EINVAL;
	for (; *p >= '0' && *p < (char)('0' + base); p++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	*text = p;
	*out = v;
	return 0;
}

static int whole(const char *text, unsigned int base, uint64_t *out)
{
	uint64_t v;
	int err;

	err = digits(&text, base, &v);
	if (err)
		return err;
	if (*text)
		return -EINVAL;
	*out = v;
	return 0;
}

int units_number(const char *text, uint64_t *out)
{
	return whole(text, 10, out);
}

int units_octal(const char *text, uint64_t *out)
{
	return whole(text, 8, out);
}

int units_size(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	const char *s;
	uint64_t v;
	int err;

	err = digits(&text, 10, &v);
	if (err)
		return err;
	if (*text) {
		s = strchr(suffixes,
			   *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
		if (!s || text[1])
			return -EINVAL;
		if (__builtin_mul_overflow(v, 1ull << (10 * (s - suffixes + 1)), &v))
			return -ERANGE;
	}
	*bytes = v;
	return 0;
}

static uint64_t unit_ns(const char *suffix)
{
	static const struct { const char *suffix; uint64_t ns;
	} units[] = {
		{ "", NS_PER_S },	{ "ms", NS_PER_S / 1000 }, { "s", NS_PER_S },
		{ "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(suffix, units[i].suffix))
			return units[i].ns;
	return 0;
}

/* The digits behind the point, as billionths; what is finer than that is refused. */
static int fraction(const char **text, uint64_t *billionths)
{
	const char *start = ++*text;
	int err;

	err = digits(text, 10, billionths);
	if (err)
		return err;
	if (*text - start > FRACTION_DIGITS)
		return -EINVAL;
	for (ptrdiff_t n = *text - start; n < FRACTION_DIGITS; n++)
		*billionths *= 10;
	return 0;
}

int units_duration(const char *text, uint64_t *ns)
{
	uint64_t v, part = 0, unit;
	int err;

	err = digits(&text, 10, &v);
	if (!err && *text == '.')
		err = fraction(&text, &part);
	if (err)
		return err;
	unit = unit_ns(text);
	if (!unit)
		return -EINVAL;
	/* part < 10^9 and unit is a multiple of 10^6, so nothing overflows or is lost but
	 * below a ns. */
	part = unit >= NS_PER_S ? part * (unit / NS_PER_S) : part / (NS_PER_S / unit);
	if (__builtin_mul_overflow(v, unit, &v) || __builtin_add_overflow(v, part, &v))
		return -ERANGE;
	*ns = v;
	return 0;
}
