/* SPDX-License-Identifier: Apache-2.0 */
/* One event as one line of text, for people and for tests. */
#ifndef RINGSIDE_EVENT_PRINT_H
#define RINGSIDE_EVENT_PRINT_H

#include <stdio.h>

#include "bpf/event.h"

/* `stack`: also the addresses of a sample. */
void	 event_print(FILE *out, const struct ev_head *e, int stack);

#endif
