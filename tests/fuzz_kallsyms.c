/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as /proc/kallsyms. */
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t asked[] = { 0, 1, 0xffffffff81000000, 0xffffffffc0300100,
					  UINT64_MAX };
	const char *module;
	struct kallsyms *k;
	struct symbol s;

	if (kallsyms_create(&k, -1))
		return 0;
	kallsyms_parse(k, (const char *)data, size);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (kallsyms_find(k, asked[i], &s, &module) &&
		    (asked[i] < s.start || asked[i] >= s.end || !*s.name))
			abort();
	kallsyms_destroy(k);
	return 0;
}
