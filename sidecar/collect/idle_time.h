/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long each CPU was idle, by /proc/stat.  An idle virtual CPU may sleep through ticks of its clock;
 * nothing is lost by that, and without this it would look like loss.
 */
#ifndef RINGSIDE_IDLE_TIME_H
#define RINGSIDE_IDLE_TIME_H

#include <stddef.h>
#include <stdint.h>

struct idle_time {
	int		 fd;		/* /proc/stat, kept open; -1: no idea, all zero */
	unsigned	 n;		/* CPUs: highest number + 1 */
	uint64_t	*ns;		/* since boot, by CPU; as of the last read */
	char		*text;
	size_t		 text_bytes;
};

int	 idle_time_open(struct idle_time *t, unsigned n);
void	 idle_time_close(struct idle_time *t);		/* fine on a zeroed one */
void	 idle_time_read(struct idle_time *t);

/* The lines `cpuN user nice system idle iowait ...`, in units of 1/hz s.  CPUs without one keep ns. */
void	 idle_time_parse(const char *text, size_t len, unsigned hz, uint64_t *ns, unsigned n);

#endif
