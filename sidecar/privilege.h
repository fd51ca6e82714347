/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights: what this kernel and these rights allow (probe), what is kept after start (drop), and the
 * system-call filter.  ground: the table in man/ringsided.8, RIGHTS.
 */
#ifndef RINGSIDE_PRIVILEGE_H
#define RINGSIDE_PRIVILEGE_H
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
struct config;

struct probe_row { const char *name; bool ok; const char *need, *effect, *remedy; };	/* effect: what its absence costs */
struct probe { struct probe_row *rows; uint32_t n; };
/* Starts nothing, leaves nothing.  Strings are owned by the probe. */
int	probe_run(struct probe **out, const struct config *c);
void	probe_free(struct probe *p);
void	probe_print(const struct probe *p, FILE *out, bool json);	/* text, or one JSON array of {name, ok, need, effect, remedy} */

/*
 * After everything is loaded and attached, on the main thread before helper threads are made: keeps PERFMON, SYS_PTRACE, DAC_READ_SEARCH,
 * CHECKPOINT_RESTORE and (kernels before 5.19) BPF, of those it has; drops the rest from all sets,
 * sets no_new_privs.  The uid stays.
 */
int	privilege_drop(void);
/* Names of the capabilities in the effective set now, as `CAP_...`; free with free(). */
int	privilege_list(char ***names, uint32_t *n);
/* seccomp filter of the sidecar (fork and execve denied, no network socket) and of the worker. */
int	privilege_filter_sidecar(void);
#endif
