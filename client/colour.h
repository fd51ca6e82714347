/* SPDX-License-Identifier: Apache-2.0 */
/* Colours on a terminal.  Never the only carrier of a meaning. */
#ifndef CLIENT_COLOUR_H
#define CLIENT_COLOUR_H

#include "client/text.h"

enum colour { COLOUR_ALARM, COLOUR_REMARK, COLOUR_KERNEL, COLOUR_MARK, COLOUR_DIM };

enum colour_when { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };	/* order of --color's words */

/* auto: fd is a terminal, NO_COLOR is unset or empty, TERM is not dumb. */
bool	 colour_wanted(enum colour_when when, int fd);
void	 colour_start(struct text *t, bool on, enum colour c);
/* A colour that stays the same for the same name, in every run. */
void	 colour_start_for(struct text *t, bool on, const char *name);
void	 colour_end(struct text *t, bool on);

#endif
