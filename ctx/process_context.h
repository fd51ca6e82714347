/* SPDX-License-Identifier: Apache-2.0 */
/* The one process context, as the names see it. */
#ifndef OTELCTX_PROCESS_CONTEXT_H
#define OTELCTX_PROCESS_CONTEXT_H

#include "ctx/otelctx.h"

/* Guards the process context and all names. */
void	process_context_lock(void);
void	process_context_unlock(void);

/* Under the lock: when names are published, publishes again with what they are now. */
int	process_context_renew(const struct otelctx_names *names);
/* names.c: otelctx_names_attributes under the lock, with the name that is being added. */
int	names_pending_attributes(const struct otelctx_names *names,
				 struct otelctx_attribute **out, size_t *n);
/* Under the lock: names are going away. */
void	process_context_forget(const struct otelctx_names *names);

#endif
