/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, as flame graph tools read them: "comm;root;...;leaf N". */
#include <string.h>

#include "client/escape.h"
#include "client/format.h"
#include "client/frame.h"

static void put_stack(struct text *t, const struct ringside_sample *s)
{
	if (s->comm[0])
		escape_terminal_except(t, s->comm, strnlen(s->comm, sizeof(s->comm)),
				       ";");
	else
		text_puts(t, "[no name]");
	for (uint32_t i = stack_depth(s); i; i--) {
		const struct ringside_frame *frame = stack_frame(s, i - 1);

		if (frame->cut)
			text_puts(t, ";" FRAME_CUT_NAME);
		text_putc(t, ';');
		frame_name_escaped(t, frame, ";");
	}
}

void format_folded(struct text *t, const struct format *f,
		   const struct ringside_record *rec)
{
	(void)f;
	if (rec->kind != RINGSIDE_SAMPLE)
		return;
	put_stack(t, &rec->sample);
	/* The number of samples and not ns: viewers repeat a stack N times. */
	text_puts(t, " 1\n");
}
