/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as text.  Each writes whole lines, newline included, or nothing.  They are pure: no clock,
 * no terminal, no ring, so that golden tests can feed them.
 */
#ifndef CLIENT_FORMAT_H
#define CLIENT_FORMAT_H

#include "client/json.h"
#include "client/regexes.h"
#include "shm/ringside.h"

struct format {
	bool	 utc, root_first, colour;
	uint32_t frames;			/* shown at most, counted from the leaf; 0: none */
	const struct regexes *highlight;	/* NULL: none */
};

void	 format_short(struct text *t, const struct format *f, const struct ringside_record *rec);
void	 format_full(struct text *t, const struct format *f, const struct ringside_record *rec);
void	 format_json(struct text *t, const struct format *f, const struct ringside_record *rec);
/* "comm;root;...;leaf 1".  Samples only: a folded line has no room for anything else. */
void	 format_folded(struct text *t, const struct format *f, const struct ringside_record *rec);

/* Everything about a record that is not a sample, without time and newline (short and full). */
void	 format_other(struct text *t, const struct ringside_record *rec);
/* A frame's name as short and full show it: coloured, highlighted. */
void	 format_frame(struct text *t, const struct format *f, const struct ringside_frame *frame);

/* {"service.name":"shop", ...}, also used by list. */
void	 format_json_attributes(struct json *j, const struct ringside_attribute *a, uint32_t n);

#endif
