/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a process blocked, or only slow?  A target can serve its own files (FUSE) and never answer a read;
 * a worker that is short of CPU looks the same from outside, but for what /proc tells.
 */
#ifndef RINGSIDE_SYMBOLS_RUN_WATCH_H
#define RINGSIDE_SYMBOLS_RUN_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run_watch {
	uint64_t runtime;	/* ns on a CPU when looked at last */
	uint64_t since_ns;	/* it has not run since; 0: look afresh */
};
/* It sleeps, and has not run for limit_ns.  False when /proc does not tell. */
bool	run_watch_blocked(struct run_watch *w, pid_t pid, uint64_t now_ns, uint64_t limit_ns);

#endif
