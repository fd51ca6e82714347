/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a mangled name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *raw = malloc(size + 3), out[4096];

	if (!raw)
		abort();
	/* As it is, and as what its first byte makes of it. */
	memcpy(raw + 2, data, size);
	raw[size + 2] = '\0';
	if (demangle(raw + 2, out, sizeof(out)) && strlen(out) >= sizeof(out))
		abort();
	raw[0] = '_';
	raw[1] = size && (data[0] & 1) ? 'R' : 'Z';
	if (demangle(raw, out, sizeof(out)) && strlen(out) >= sizeof(out))
		abort();
	free(raw);
	return 0;
}
