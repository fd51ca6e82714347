/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An io_uring that can do one thing: read from descriptors.  Made before the worker's system-call
 * filter and restricted by the kernel to IORING_OP_READ, since the filter does not see what is queued.
 */
#ifndef RINGSIDE_SYMBOLS_URING_READ_H
#define RINGSIDE_SYMBOLS_URING_READ_H

#include "sidecar/symbols/file_io.h"

struct uring_read;
int	uring_read_create(struct uring_read **out, unsigned int entries);
void	uring_read_destroy(struct uring_read *u);
/* Fills got of each read with what one read gave: short reads are the caller's to complete. */
void	uring_read_batch(struct uring_read *u, struct file_read *reads, unsigned int n);

#endif
