/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking rights away: from the launcher, which only forks workers, and from the worker, which only
 * reads descriptors it is given and answers on its socket.
 */
#ifndef RINGSIDE_SYMBOLS_CONFINE_H
#define RINGSIDE_SYMBOLS_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The worker's user and group.  A number of its own, in no range that distributions, systemd
 * (61184-65519 dynamic users, 65534 nobody) or container runtimes hand out: whoever shares it could send
 * signals to the worker.  Not configurable, since the launcher starts before any configuration is read.
 */
#define WORKER_UID 65529u

/* Closes every descriptor but keep. */
void	confine_descriptors(int keep);
/* The process dies with its parent.  -ESRCH: the parent is gone already.  After every change of rights. */
int	confine_to_parent(pid_t parent);

/*
 * Launcher: the worker's uid and gid if that is possible, and no capability.  Workers inherit both, so
 * that it may signal one (and the kernel may deliver the parent-death signal) without CAP_KILL.
 */
int	confine_launcher(void);

/*
 * Worker: own uid and gid if that is possible (*own_uid tells), no capability, no_new_privs, limits.
 * memory: bytes of address space on top of what is mapped now.
 */
int	confine_worker_rights(uint64_t memory, bool *own_uid);
/* The filter, last of all; uring: io_uring_enter is let through. */
int	confine_worker_filter(bool uring);

#endif
