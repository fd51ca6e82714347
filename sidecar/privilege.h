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

/*
 * need: what it takes; effect: what its absence costs; remedy: one command, or one line of a manifest, empty
 * when ok.  required: ringsided does not start without it.  warn: not ok, and worth a warning at start.
 */
struct probe_row { const char *name; bool ok; const char *need, *effect, *remedy; bool required, warn; };
struct probe { struct probe_row *rows; uint32_t n; };
/*
 * Starts nothing, leaves nothing.  Strings are owned by the probe.  Unless c->mode is MODE_PROBE, ringsided has
 * loaded its programs already: what these prove is not tried again (the kernel's types alone cost 10 ms).
 */
int	probe_run(struct probe **out, const struct config *c);
void	probe_free(struct probe *p);
bool	probe_usable(const struct probe *p);	/* every required row is ok */
void	probe_print(const struct probe *p, FILE *out, bool json);	/* text, or one JSON array of {name, ok, need, effect, remedy} */

/*
 * After everything is loaded and attached, on the main thread before helper threads are made: keeps PERFMON, SYS_PTRACE, DAC_READ_SEARCH,
 * CHECKPOINT_RESTORE and (kernels before 5.19) BPF, of those it has; drops the rest from all sets,
 * empties the bounding set where CAP_SETPCAP allows it, sets no_new_privs.  The uid stays.
 * -EPERM: something that should be gone is still there; do not go on.
 */
int	privilege_drop(void);
/* Whether BPF maps of ours stay reachable without CAP_BPF: tried on a map, which is then gone. */
bool	privilege_maps_need_bpf(void);
/* Names of the capabilities in the effective set now, as `CAP_...`; free with free(). */
int	privilege_list(char ***names, uint32_t *n);
/*
 * seccomp filter of the sidecar: an allow list (seccomp.c tells why); fork, execve and sockets other than
 * AF_UNIX fail with EPERM.  For all threads; after privilege_drop(), which sets no_new_privs.
 * -errno: this kernel has no filters; go on and say so.
 */
int	privilege_filter_sidecar(void);
#endif
