/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as configuration: no crash, and what is wrong is counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sidecar/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static FILE *null;
	struct yaml_result r = { 0 };
	struct config c;

	if (!null)
		null = fopen("/dev/null", "w");
	if (!null || n > YAML_CONFIG_MAX)
		return 0;
	memset(&c, 0, sizeof(c));
	yaml_config_parse(&c, "fuzz.yaml", (const char *)data, n, null, &r);
	if (!r.errors &&
	    (c.frequency > 10000 || c.stack_depth > 127 || (c.ring_mode & ~0755u)))
		abort();
	config_free(&c);
	return 0;
}
