/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KeyValue and AnyValue of opentelemetry-proto.  Views into the payload; nested ones are checked to the
 * last byte, to a bounded depth, before anything is made of them.
 */
#ifndef RINGSIDE_CONTEXT_VALUE_H
#define RINGSIDE_CONTEXT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/labels/labels.h"

enum any_kind { ANY_NONE, ANY_STRING, ANY_BOOL, ANY_INT, ANY_DOUBLE, ANY_ARRAY, ANY_LIST, ANY_BYTES };
struct any_value {
	enum any_kind	 kind;
	const uint8_t	*p;			/* STRING, BYTES; ARRAY, LIST: that message */
	size_t		 n;
	int64_t		 number;		/* BOOL, INT */
	double		 real;
};

/* The last of several wins; one that refers to a table of strings (profiles) is none.  0 or -EBADMSG. */
int	any_value_read(const void *p, size_t n, struct any_value *out);

struct key_value { const uint8_t *key; size_t key_len; struct any_value value; };
int	key_value_read(const void *p, size_t n, struct key_value *out);

/* All that is nested in v is well-formed and no deeper than CONTEXT_DEPTH_MAX.  0 or -EBADMSG. */
int	any_value_check(const struct any_value *v);
/*
 * The value of a label: text made valid UTF-8, words cut to LABEL_VALUE_MAX; arrays and lists as JSON, in
 * which equal keys stay as they came and bytes are base64.  v was checked.  0; -ENODATA empty (nothing, ""
 * or no bytes); -EMSGSIZE JSON or bytes beyond LABEL_VALUE_MAX; -ENOMEM.  out->key stays.
 */
int	any_value_label(const struct any_value *v, struct label *out);

#endif
