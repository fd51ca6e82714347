/* SPDX-License-Identifier: Apache-2.0 */
/* What the explain commands share: tenants' text and labels, for people and for programs. */
#ifndef RINGSIDE_LABELS_EXPLAIN_TEXT_H
#define RINGSIDE_LABELS_EXPLAIN_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "sidecar/labels/labels.h"

/* Tenants' text for a terminal: nothing in it that moves a cursor. */
void	explain_text(FILE *out, const char *s, size_t n);
void	explain_label(FILE *out, const struct label *l);	/* a line: `  key = value` */
/* References for the caller; NULL: out of memory. */
json_t	*explain_text_json(const char *s, size_t n);
json_t	*explain_value_json(const struct label *l);

#endif
