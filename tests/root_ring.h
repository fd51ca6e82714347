/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile worlds of the ring: claims, an attacker without rights, a ring. */
#ifndef ROOT_RING_H
#define ROOT_RING_H

#include <stdbool.h>
#include <sys/types.h>

#include "shm/ring_writer.h"

#define NOBODY	65534u

extern int claims, broken;
/* Counts a claim and says so when it does not hold. */
void	 claim(bool holds, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A child; as nobody when asked.  0 in the child, which ends when we do. */
pid_t	 attacker(bool unprivileged);
/* Kills and reaps. */
void	 end(pid_t pid);
/* Reaps: the exit status, or -1. */
int	 outcome(pid_t pid);

int	 world_create(struct ring_writer **w, const char *path);
void	 world_put(struct ring_writer *w, uint64_t n);
struct ringside *world_open(const char *path);
/* Reads to the end, judges every record; how many samples. */
uint64_t world_drain(struct ringside *r);

#endif
