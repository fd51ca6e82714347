/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker does for each request: takes requests, gives answers.  worker.c decides which is next. */
#ifndef RINGSIDE_SYMBOLS_SERVICE_H
#define RINGSIDE_SYMBOLS_SERVICE_H

#include "sidecar/symbols/answer.h"
#include "sidecar/symbols/kallsyms.h"
#include "sidecar/symbols/names.h"
#include "sidecar/symbols/pending.h"

struct service {
	struct names_context names;
	struct kallsyms	    *kernel;
	struct answer	    *answer;
	bool		     reading_kernel;	/* a pass over kallsyms is under way */
	bool		     untidy;		/* there is something that goes when it is not used */
};

/* Answers it.  Its descriptor may be taken; the rest stays the caller's. */
void	service_serve(struct service *w, struct pending *r);
/* The same for n ADD_FILE at once, at most INSPECT_BATCH. */
void	service_add_files(struct service *w, struct pending *const *r, unsigned int n);
/* Tens of milliseconds, where most take one: others need not wait for it. */
bool	service_is_slow(struct service *w, const struct pending *r);
/* Works on it for a few milliseconds where that can be: true when it is answered. */
bool	service_step(struct service *w, struct pending *r);

#endif
