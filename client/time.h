/* SPDX-License-Identifier: Apache-2.0 */
/* Times and durations as people write them, and back. */
#ifndef CLIENT_TIME_H
#define CLIENT_TIME_H

#include "client/text.h"

#define NS_PER_SEC INT64_C(1000000000)

int64_t	 time_now(void);		/* wall clock, ns since 1970 */
int64_t	 time_monotonic(void);

/* RFC 3339 ("2026-11-30T17:05:00.25Z", "... +02:00", a blank for the T), "now", "-5m", "+10s".  0 or
 * -EINVAL, -ERANGE. */
int	 time_parse(const char *s, int64_t now_ns, int64_t *out);
/* "250ms", "5m", "1.5h", "10" (seconds); ns.  Never negative.  0 or -EINVAL, -ERANGE. */
int	 duration_parse(const char *s, int64_t *out);

/* RFC 3339 with nine digits: UTC with Z, else local time with its offset. */
void	 time_print(struct text *t, int64_t ns, bool utc);
void	 time_print_short(struct text *t, int64_t ns, bool utc);	/* HH:MM:SS.uuuuuu */
/* "1.5 s", "3 min 20 s", "2 h 5 min", rounded for people; negative values too. */
void	 duration_print(struct text *t, int64_t ns);
/* Exact: "-3600.000000000 s". */
void	 seconds_print(struct text *t, int64_t ns);

#endif
