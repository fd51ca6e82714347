/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's side-band of one CPU: records of a dummy perf event, made into EV_MMAP
 * (executable ones only), EV_COMM_EXEC and EV_KSYMBOL.  Pids in them are those of the pid
 * namespace that opened the event, which is ours; a process that is not visible there has
 * pid 0 and is left out.
 */
#ifndef RINGSIDE_SIDEBAND_H
#define RINGSIDE_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/collect/batch.h"

#define SIDEBAND_RECORD_MAX	8192	/* a path of 4096 and all that stands around it */

struct sideband {
	int		 fd;		/* the event; owned by whoever opened it */
	uint8_t		*base;		/* the perf ring's control page, then data */
	size_t		 size;		/* data bytes, a power of two */
	uint64_t	 lost;		/* PERF_RECORD_LOST, summed */
	uint64_t	 malformed;
	uint64_t	 newest_ns;	/* stamp of the last record taken */
	uint64_t	 head;		/* how far sideband_look() saw records */
};

int	 sideband_open(struct sideband *s, int fd, size_t data_bytes);
void	 sideband_close(struct sideband *s);		/* fine on a zeroed one; leaves fd alone */

/*
 * Notes how far the ring is written.  All rings are looked at before one is drained:
 * draining takes time, and what is written meanwhile would be ahead of its causes in other
 * rings.
 */
void	 sideband_look(struct sideband *s);

/*
 * Moves records seen by sideband_look() into the batch.  True: it was full, something was
 * left.
 */
bool	 sideband_drain(struct sideband *s, struct batch *b);

/*
 * One record of `len` bytes (header included, a multiple of 8, aligned to 8), made into at
 * most one event of the batch.  0 made or left out on purpose, -ENOSPC the batch is full
 * (nothing consumed), -EBADMSG contradicts the format.
 */
int	 sideband_record(struct sideband *s, const void *record, size_t len, struct batch *b);

#endif
