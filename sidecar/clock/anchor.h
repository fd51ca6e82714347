/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the anchor taker: where it reads.  Tests put other clocks and other files here; everybody
 * else calls clock_take_anchor().
 */
#ifndef RINGSIDE_CLOCK_ANCHOR_H
#define RINGSIDE_CLOCK_ANCHOR_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "sidecar/clock/clock.h"

#define CLOCK_TRIPLES 5
#define CLOCK_BTIME_BOUND_NS 500000000ull	/* btime is cut to seconds */
#define CLOCK_ESTIMATE_NS 3600000000000ull	/* assumed time since boot, and bound, of the last resort */

struct clock_reader {
	/* Like clock_gettime(), in ns; 0 or -errno. */
	int		(*gettime)(void *arg, clockid_t id, int64_t *ns);
	void		*arg;
	const char	*proc_stat;	/* NULL: /proc/stat */
	bool		 any_fs;	/* take proc_stat from a file system other than proc */
	int64_t		 timens_boot_ns, timens_monotonic_ns;	/* offsets of our time namespace */
	uint64_t	 resolution_ns;	/* of the coarser of the two clocks */
};

int	clock_take_anchor_from(const struct clock_reader *r, struct clock_anchor *out);

/*
 * Text of timens_offsets: `monotonic SECONDS NANOSECONDS` and `boottime ...`, a line each.
 * 0 or -EINVAL; absent lines leave 0.
 */
int	clock_parse_timens(const char *text, int64_t *monotonic_ns, int64_t *boot_ns);
/* Text of /proc/stat: the value of its btime line.  0 or -ENODATA. */
int	clock_parse_btime(const char *text, int64_t *seconds);

#endif
