/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one wait point: epoll over file descriptors, interval timers and signals.  Callbacks run on the
 * thread that calls loop_run(), one at a time; a callback may add, remove or change any source, its own
 * included.
 */
#ifndef RINGSIDE_LOOP_H
#define RINGSIDE_LOOP_H

#include <stdint.h>

struct loop;
struct loop_source;
typedef void (*loop_fn)(void *arg, uint64_t info);	/* fd: epoll events; timer: expirations; signal: number */

int	loop_create(struct loop **out);
void	loop_destroy(struct loop *l);			/* NULL is fine; closes its own fds only */
int	loop_add_fd(struct loop *l, struct loop_source **out, int fd, uint32_t events, loop_fn fn, void *arg);
/* CLOCK_MONOTONIC; interval_ns 0 = once after first_ns; first_ns 0 = at once. */
int	loop_add_timer(struct loop *l, struct loop_source **out, uint64_t first_ns, uint64_t interval_ns,
		       loop_fn fn, void *arg);
int	loop_set_timer(struct loop_source *s, uint64_t first_ns, uint64_t interval_ns);	/* both 0 disarms */
/* Blocks the signal in the calling thread, for good, and delivers it through a signalfd. */
int	loop_add_signal(struct loop *l, struct loop_source **out, int signo, loop_fn fn, void *arg);
void	loop_remove(struct loop_source *s);		/* NULL is fine */
int	loop_run(struct loop *l);			/* until loop_stop(); 0 or -errno */
void	loop_stop(struct loop *l);			/* before loop_run(): it returns at once */
#endif
