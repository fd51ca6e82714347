/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a perf map that grows: the first byte says where it was cut at the first
 * look. */
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t asked[] = {
		0, 1, 0x1000, 0x100f, 0x7f0000001000, UINT64_MAX
	};
	struct perf_map *m;
	struct source src;
	struct symbol s;

	if (!size || perf_map_create(&m))
		return 0;
	source_from_memory(&src, data + 1, (size - 1) * data[0] / 256);
	perf_map_update(m, &src);
	source_from_memory(&src, data + 1, size - 1);
	perf_map_update(m, &src);
	perf_map_update(m, &src);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (perf_map_find(m, asked[i], &s) &&
		    (asked[i] < s.start || asked[i] >= s.end ||
		     strlen(s.name) >= WIRE_NAME_MAX))
			abort();
	perf_map_destroy(m);
	return 0;
}
