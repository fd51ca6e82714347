/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consumer of a BPF ring buffer.  libbpf has one, which calls back per record and cannot
 * stop before one; this one hands out a record, and takes it off the ring only when told.
 */
#ifndef RINGSIDE_BPF_RING_H
#define RINGSIDE_BPF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_ring {
	unsigned long	*consumer;	/* the one page that we may write */
	unsigned long	*producer;	/* kernel's, followed by the data, mapped twice in a row */
	uint8_t		*data;
	size_t		 size;		/* power of two */
	size_t		 page;
	unsigned long	 pos;		/* our copy of *consumer */
};

int	 bpf_ring_open(struct bpf_ring *r, int map_fd, size_t size);
void	 bpf_ring_close(struct bpf_ring *r);		/* fine on a zeroed ring */

/* Oldest committed record, or false.  Valid until bpf_ring_pop(). */
bool	 bpf_ring_peek(struct bpf_ring *r, const void **data, size_t *len);
void	 bpf_ring_pop(struct bpf_ring *r, size_t len);

#endif
