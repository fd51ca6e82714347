/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that carry at most one descriptor (SCM_RIGHTS). */
#ifndef RINGSIDE_SYMBOLS_FD_MESSAGE_H
#define RINGSIDE_SYMBOLS_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* 0 or -errno; fd -1: none.  The descriptor stays the caller's. */
int	fd_message_send(int sock, const struct iovec *iov, size_t n_iov, int fd, int flags);
/* Bytes, 0 end of file, -errno; *fd is the caller's, or -1. */
ssize_t	fd_message_receive(int sock, void *buf, size_t cap, int *fd, int flags);

#endif
