/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "client/time.h"

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t time_now(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t time_monotonic(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Exactly n digits; moves *s past them. */
static bool take_digits(const char **s, unsigned n, unsigned *out)
{
	*out = 0;
	for (; n; n--, (*s)++) {
		if (**s < '0' || **s > '9')
			return false;
		*out = *out * 10 + (unsigned)(**s - '0');
	}
	return true;
}

static bool take_char(const char **s, const char *any)
{
	if (!**s || !strchr(any, **s))
		return false;
	(*s)++;
	return true;
}

/* ".25" as nanoseconds; digits after the ninth are cut.  Absent is 0. */
static bool take_fraction(const char **s, int64_t *ns)
{
	int64_t scale = NS_PER_SEC;

	*ns = 0;
	if (**s != '.')
		return true;
	(*s)++;
	if (**s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		scale /= 10;
		*ns += (**s - '0') * scale;
	}
	return true;
}

/* "Z" or "+02:00", as seconds east of UTC. */
static bool take_zone(const char **s, int64_t *east)
{
	unsigned h, m;
	bool west;

	*east = 0;
	if (take_char(s, "Zz"))
		return true;
	west = **s == '-';
	if (!take_char(s, "+-") || !take_digits(s, 2, &h) || !take_char(s, ":") ||
	    !take_digits(s, 2, &m) || h > 23 || m > 59)
		return false;
	*east = (int64_t)(h * 3600 + m * 60) * (west ? -1 : 1);
	return true;
}

/* Days since 1970-01-01 in the Gregorian calendar. */
static int64_t days_from_date(int64_t year, unsigned month, unsigned day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	unsigned yoe = (unsigned)(y - era * 400);
	unsigned doy = (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
	static const unsigned char days[] = { 31, 28, 31, 30, 31, 30,
					      31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static int rfc3339_parse(const char *s, int64_t *out)
{
	unsigned year, month, day, hour, min, sec;
	int64_t ns, east, t;

	if (!take_digits(&s, 4, &year) || !take_char(&s, "-") ||
	    !take_digits(&s, 2, &month) || !take_char(&s, "-") ||
	    !take_digits(&s, 2, &day) || !take_char(&s, "Tt ") ||
	    !take_digits(&s, 2, &hour) || !take_char(&s, ":") ||
	    !take_digits(&s, 2, &min) || !take_char(&s, ":") ||
	    !take_digits(&s, 2, &sec) || !take_fraction(&s, &ns) ||
	    !take_zone(&s, &east) || *s)
		return -EINVAL;
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) ||
	    hour > 23 || min > 59 || sec > 60)
		return -EINVAL;
	t = days_from_date(year, month, day) * 86400 + hour * 3600 + min * 60 + sec -
	    east;
	/* What a signed 64-bit count of ns holds: 1677 to 2262. */
	if (t > INT64_MAX / NS_PER_SEC - 1 || t < INT64_MIN / NS_PER_SEC + 1)
		return -ERANGE;
	*out = t * NS_PER_SEC + ns;
	return 0;
}

int time_parse(const char *s, int64_t now_ns, int64_t *out)
{
	int64_t d;
	int err;

	if (!strcasecmp(s, "now")) {
		*out = now_ns;
		return 0;
	}
	if (*s != '-' && *s != '+')
		return rfc3339_parse(s, out);
	err = duration_parse(s + 1, &d);
	if (err)
		return err;
	if (*s == '-')
		d = -d;
	return __builtin_add_overflow(now_ns, d, out) ? -ERANGE : 0;
}

static int64_t unit_ns(const char *s)
{
	static const struct { const char *name; int64_t ns; } units[] = {
		{ "", NS_PER_SEC }, { "ms", 1000000 }, { "s", NS_PER_SEC },
		{ "m", 60 * NS_PER_SEC }, { "h", 3600 * NS_PER_SEC },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(s, units[i].name))
			return units[i].ns;
	return 0;
}

int duration_parse(const char *s, int64_t *out)
{
	int64_t whole = 0, fraction, unit, ns;
	const char *digits = s;

	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *s - '0', &whole))
			return -ERANGE;
	if (s == digits || !take_fraction(&s, &fraction))
		return -EINVAL;
	unit = unit_ns(s);
	if (!unit)
		return -EINVAL;
	/* fraction is in 1e-9 units; the product fits: 1e9 * 3600. */
	fraction = unit >= NS_PER_SEC ? fraction * (unit / NS_PER_SEC) :
					fraction / (NS_PER_SEC / unit);
	if (__builtin_mul_overflow(whole, unit, &ns) ||
	    __builtin_add_overflow(ns, fraction, &ns))
		return -ERANGE;
	*out = ns;
	return 0;
}

/* Seconds rounded down and the rest, also before 1970. */
static time_t split(int64_t ns, long *rest)
{
	int64_t sec = ns / NS_PER_SEC;

	*rest = (long)(ns % NS_PER_SEC);
	if (*rest < 0) {
		*rest += NS_PER_SEC;
		sec--;
	}
	return (time_t)sec;
}

void time_print(struct text *t, int64_t ns, bool utc)
{
	struct tm tm;
	long rest, off;
	time_t sec = split(ns, &rest);

	if (!(utc ? gmtime_r(&sec, &tm) : localtime_r(&sec, &tm)))
		memset(&tm, 0, sizeof(tm));
	text_printf(t, "%04d-%02d-%02dT%02d:%02d:%02d.%09ld", tm.tm_year + 1900,
		    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, rest);
	if (utc) {
		text_putc(t, 'Z');
		return;
	}
	off = tm.tm_gmtoff < 0 ? -tm.tm_gmtoff : tm.tm_gmtoff;
	text_printf(t, "%c%02ld:%02ld", tm.tm_gmtoff < 0 ? '-' : '+', off / 3600,
		    off / 60 % 60);
}

void time_print_short(struct text *t, int64_t ns, bool utc)
{
	struct tm tm;
	long rest;
	time_t sec = split(ns, &rest);

	if (!(utc ? gmtime_r(&sec, &tm) : localtime_r(&sec, &tm)))
		memset(&tm, 0, sizeof(tm));
	text_printf(t, "%02d:%02d:%02d.%06ld", tm.tm_hour, tm.tm_min, tm.tm_sec,
		    rest / 1000);
}

void duration_print(struct text *t, int64_t ns)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t sec = v / NS_PER_SEC;

	if (ns < 0)
		text_putc(t, '-');
	if (v < 1000)
		text_printf(t, "%" PRIu64 " ns", v);
	else if (v < 1000000)
		text_printf(t, "%" PRIu64 ".%" PRIu64 " us", v / 1000, v / 100 % 10);
	else if (v < (uint64_t)NS_PER_SEC)
		text_printf(t, "%" PRIu64 ".%" PRIu64 " ms", v / 1000000,
			    v / 100000 % 10);
	else if (sec < 60)
		text_printf(t, "%" PRIu64 ".%" PRIu64 " s", sec, v / 100000000 % 10);
	else if (sec < 3600)
		text_printf(t, "%" PRIu64 " min %" PRIu64 " s", sec / 60, sec % 60);
	else if (sec < 2 * 86400)
		text_printf(t, "%" PRIu64 " h %" PRIu64 " min", sec / 3600,
			    sec / 60 % 60);
	else
		text_printf(t, "%" PRIu64 " days %" PRIu64 " h", sec / 86400,
			    sec / 3600 % 24);
}

void seconds_print(struct text *t, int64_t ns)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	text_printf(t, "%s%" PRIu64 ".%09" PRIu64 " s", ns < 0 ? "-" : "",
		    v / (uint64_t)NS_PER_SEC, v % (uint64_t)NS_PER_SEC);
}
