/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of our time namespace, read once. */
#ifndef RINGSIDE_CLOCK_TIMENS_H
#define RINGSIDE_CLOCK_TIMENS_H

#include <stdint.h>

struct clock_timens {
	int64_t	boot_ns, monotonic_ns;	/* ours minus the host's */
	int	error;			/* -EXDEV: the offsets cannot be known */
};
const struct clock_timens *clock_timens(void);

#endif
