/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and lists of a process context as JSON text. */
#ifndef RINGSIDE_CONTEXT_VALUE_JSON_H
#define RINGSIDE_CONTEXT_VALUE_JSON_H

#include "sidecar/context/value.h"

/* v was checked.  0; -EMSGSIZE more than max bytes; -ENOMEM.  free() *out. */
int	any_value_json(const struct any_value *v, size_t max, char **out);

#endif
