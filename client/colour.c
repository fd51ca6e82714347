/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/colour.h"

bool colour_wanted(enum colour_when when, int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when != COLOUR_AUTO)
		return when == COLOUR_ALWAYS;
	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb");
}

void colour_start(struct text *t, bool on, enum colour c)
{
	static const char *const codes[] = {
		[COLOUR_ALARM] = "\033[1;31m", [COLOUR_REMARK] = "\033[33m",
		[COLOUR_KERNEL] = "\033[35m", [COLOUR_MARK] = "\033[1;7m",
		[COLOUR_DIM] = "\033[2m",
	};

	if (on)
		text_puts(t, codes[c]);
}

void colour_start_for(struct text *t, bool on, const char *name)
{
	/* Readable on dark and on light ground; red is left to alarms. */
	static const char *const codes[] = { "32", "33", "34", "35", "36",
					     "92", "94", "95", "96" };
	uint32_t h = 2166136261u;	/* FNV-1a */

	if (!on)
		return;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	text_printf(t, "\033[%sm", codes[h % (sizeof(codes) / sizeof(*codes))]);
}

void colour_end(struct text *t, bool on)
{
	if (on)
		text_puts(t, "\033[0m");
}
