/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a thread's record, with key maps of any length. */
#include <stdlib.h>
#include <string.h>

#include "sidecar/context/thread_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct thread_record r;
	static char name[] = "key", root[] = "datadog.local_root_span_id";
	char *keys[THREAD_RECORD_KEYS];
	uint32_t n_keys;
	uint8_t *copy;

	if (!size)
		return 0;
	n_keys = data[0];
	for (uint32_t i = 0; i < THREAD_RECORD_KEYS; i++)
		keys[i] = i == 0 ? root : i % 7 == 3 ? NULL : name;
	copy = malloc(size);		/* so that a byte too many is seen */
	if (!copy)
		abort();
	memcpy(copy, data + 1, size - 1);
	if (!thread_record_read(&r, copy, size - 1, keys, n_keys)) {
		if (r.n > n_keys ||
		    r.unknown_key != thread_record_unknown_key(copy, size - 1, n_keys))
			abort();
		for (uint32_t i = 0; i < r.n; i++) {
			const struct ringside_attribute *a = &r.attributes[i];

			if (!a->key || a->len > 255 || a->string[a->len] ||
			    (a->type == RINGSIDE_STRING && strlen(a->string) != a->len))
				abort();
		}
	}
	free(copy);
	return 0;
}
