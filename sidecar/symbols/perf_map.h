/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf-PID.map: names that a runtime gives to the code it has made, `START SIZE name` a line in hex.
 * Nobody guarantees a line: they may be cut, empty, absurd, and more are appended at any time.
 */
#ifndef RINGSIDE_SYMBOLS_PERF_MAP_H
#define RINGSIDE_SYMBOLS_PERF_MAP_H

#include "sidecar/symbols/file_io.h"
#include "sidecar/symbols/symbol_table.h"

struct perf_map;
int	perf_map_create(struct perf_map **out);
void	perf_map_destroy(struct perf_map *m);
/*
 * Reads what was appended since the last time; a file that became shorter is read anew.  A last line
 * without its end is left for the next time.  0, or -errno with what was read so far in place.
 */
int	perf_map_update(struct perf_map *m, const struct source *src);
/* The line that was written last wins. */
bool	perf_map_find(struct perf_map *m, uint64_t addr, struct symbol *out);
size_t	perf_map_bytes(const struct perf_map *m);
uint32_t perf_map_count(const struct perf_map *m);

#endif
