/* SPDX-License-Identifier: Apache-2.0 */
/* What the two sources share with collect.c, and nobody else. */
#ifndef RINGSIDE_COLLECT_SOURCE_H
#define RINGSIDE_COLLECT_SOURCE_H

#include "sidecar/collect/collect.h"

/* First member of a source. */
struct collect {
	const struct collect_ops *ops;
	struct collect_options	 opt;	/* paths and pids in it are not kept beyond open */
};

void	 collect_logf(const struct collect_options *opt, enum collect_log_level level,
		      const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));

/* Checks what the user could have chosen wrong, with the remedy in `why`. */
int	 collect_check_options(const struct collect_options *opt, char *why, size_t n);

#endif
