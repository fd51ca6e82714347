/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who descends from whom, as /proc here tells: for when process records were lost.  The numbers of a
 * ring may be of another pid namespace, where they name other processes: a pid counts only together
 * with its start time.
 */
#ifndef CLIENT_ANCESTRY_H
#define CLIENT_ANCESTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* start_ns: host CLOCK_BOOTTIME, as in records; 0: not known, then nothing is claimed. */
bool	 ancestry_is(uint32_t pid, uint64_t start_ns);		/* pid here is that process */
bool	 ancestry_descends(uint32_t pid, uint64_t start_ns, uint32_t root);

/* One line of /proc/PID/stat; the name in it may hold anything.  For tests. */
bool	 ancestry_parse(const char *stat, size_t len, uint32_t *parent, uint64_t *start_ticks);

#endif
