/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an answer of the symbol worker: what passes the door can be used without
 * further thought. */
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/wire.h"
#include "sidecar/symbols/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t used;

static void use(const char *s, size_t max)
{
	if (!s)
		return;
	if (!*s && max != WIRE_NAME_MAX)
		return;
	if (strlen(s) >= max)
		abort();
	used += strlen(s);
}

static void use_file(const struct sym_answer *a)
{
	if (a->n_segments > SYM_MAX_SEGMENTS ||
	    (a->debug_link && strchr(a->debug_link, '/')))
		abort();
	for (uint32_t i = 0; i < a->n_segments; i++)
		used += a->segments[i].vaddr != 0;
	use(a->gnu_build_id, WIRE_BUILD_ID_MAX);
	use(a->go_build_id, WIRE_BUILD_ID_MAX);
	use(a->htlhash, WIRE_BUILD_ID_MAX);
	use(a->debug_link, WIRE_BUILD_ID_MAX);
	use(a->error, WIRE_ERROR_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct symbols_decoder *d;
	struct sym_answer a;

	if (!d && symbols_decoder_create(&d))
		abort();
	if (symbols_decode(d, data, size, &a))
		return 0;
	if (a.kind == SYM_FILE)
		use_file(&a);
	for (uint32_t i = 0; i < a.n_names; i++) {
		use(a.names[i].function, WIRE_NAME_MAX);
		use(a.names[i].system_name, WIRE_NAME_MAX);
		use(a.names[i].file, WIRE_NAME_MAX);
		if (a.names[i].inlined &&
		    (i + 1 == a.n_names || a.names[i + 1].address != a.names[i].address))
			abort();
	}
	return 0;
}
