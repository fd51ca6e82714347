/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the probe: how a check says what it found. */
#ifndef RINGSIDE_PROBE_H
#define RINGSIDE_PROBE_H

#include "sidecar/config.h"
#include "sidecar/privilege.h"

#define PROBE_ROWS_MAX 64

/* What a check found.  need and effect are literals; remedy is made with probe_row(). */
struct probe_fact {
	const char	*name;
	bool		 ok, required;
	const char	*need, *effect;
	bool		 warn;		/* worth a warning at start when not ok */
};
/* remedy: a format, used when the fact is not ok. */
void	probe_row(struct probe *p, const struct probe_fact *f, const char *remedy, ...)
	__attribute__((format(printf, 3, 4)));

/* probe_rights.c */
bool	probe_has_cap(int cap);			/* in the effective set */
bool	probe_kernel_before(unsigned int major, unsigned int minor);
long	probe_number(const char *path, long otherwise);	/* first number of a file */
/* The one line that gives these capabilities (`BPF, PERFMON`) where we were started: pod, unit or shell. */
#define PROBE_GRANT_MAX 256
const char *probe_grant(const char *capabilities, char buf[PROBE_GRANT_MAX]);
void	probe_rights(struct probe *p);
/* probe_kernel.c */
void	probe_kernel(struct probe *p, bool loaded);
/* probe_place.c */
void	probe_place(struct probe *p, const struct config *c);

#endif
