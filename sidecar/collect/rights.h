/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel refused: names the missing right, limit or feature behind an errno. */
#ifndef RINGSIDE_RIGHTS_H
#define RINGSIDE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* perf_event_open() failed with -err. */
void	 rights_explain_perf(char *why, size_t n, int err);
/* Loading BPF failed with -err; `detail` is libbpf's last line, or "". */
void	 rights_explain_bpf(char *why, size_t n, int err, const char *detail);

/* First number in a file of /proc or /sys, or `otherwise`. */
long	 rights_number(const char *path, long otherwise);

#endif
