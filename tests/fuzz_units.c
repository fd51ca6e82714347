/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as size, duration, number and option value; the first byte chooses the option.
 */
#include <stdlib.h>
#include <string.h>
#include "sidecar/options.h"
#include "sidecar/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char text[512], why[OPTION_WHY_MAX] = "";
	struct config c;
	uint64_t v;

	if (n < 1 || n > sizeof(text))
		return 0;
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	if (!units_size(text, &v) && strlen(text) < 2 && v > 9)
		abort();
	units_duration(text, &v);
	units_octal(text, &v);
	units_number(text, &v);
	text_distance(text, "relabel_configs", 4);
	memset(&c, 0, sizeof(c));
	if (option_set(&c, &options[data[0] % n_options], text, why) && !why[0])
		abort();
	config_free(&c);
	return 0;
}
