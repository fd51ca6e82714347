/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_JSON_COPY_H
#define CLIENT_JSON_COPY_H

#include "client/text.h"

/*
 * Appends one JSON value, compactly (no blanks or newlines between tokens, invalid UTF-8 and unpaired
 * surrogates replaced).  False when s is not exactly one valid value, nests deeper than 32, or t
 * failed; t then holds a part of it.
 */
bool json_copy(struct text *t, const char *s, size_t len);

#endif
