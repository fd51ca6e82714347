/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whoever started us: the service manager behind $NOTIFY_SOCKET (systemd's protocol, one datagram a
 * message) and the descriptor of --ready-fd.  The socket is opened before rights are dropped and kept.
 */
#ifndef RINGSIDE_SD_NOTIFY_H
#define RINGSIDE_SD_NOTIFY_H

#include <stdint.h>

struct notify;
/* ready_fd -1: none; it is closed after `ready` was written.  Without $NOTIFY_SOCKET nothing is sent. */
int	notify_open(struct notify **out, int ready_fd);
void	notify_close(struct notify *n);		/* NULL is fine */
/* status: one line for `systemctl status`, or NULL. */
int	notify_ready(struct notify *n, const char *status);
int	notify_reloading(struct notify *n);	/* followed by notify_ready() */
int	notify_stopping(struct notify *n);
int	notify_watchdog(struct notify *n);
/* How often notify_watchdog() is to be called (half of $WATCHDOG_USEC), 0: not at all. */
uint64_t notify_watchdog_ns(const struct notify *n);

#endif
