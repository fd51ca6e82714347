/* SPDX-License-Identifier: Apache-2.0 */
/* Fixtures of the symbol tests: files made by symbols-fixtures.sh, and names asked of the worker's inside. */
#ifndef RINGSIDE_TESTS_SYMBOLS_FIXTURES_H
#define RINGSIDE_TESTS_SYMBOLS_FIXTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/symbols/answer.h"
#include "sidecar/symbols/names.h"
#include "sidecar/symbols/symbols.h"

/* Makes the folder; its name is "" when that failed. */
void	fixtures_make(void);
void	fixtures_remove(void);
const char *fixture_path(const char *name);	/* valid until the next call */
/* False, and the reason is printed, when the tools to make it were missing. */
bool	fixture_have(const char *name);
int	fixture_open(const char *name);
/* Address of a symbol by NAME.nm; aborts the test when it is not listed. */
uint64_t fixture_symbol(const char *name, const char *symbol);

/* A file as the worker holds it, without a worker. */
struct named {
	struct names_context names;
	struct sym_file	    *file;
	struct answer	    *answer;
	struct symbols_decoder *decoder;
	struct sym_answer    got;		/* of the last named_ask() */
	char		     buf[SYMBOLS_MESSAGE_MAX];
	size_t		     n;
};
void	named_open(struct named *n, const char *fixture, const char *debug);	/* debug may be NULL */
void	named_close(struct named *n);
/* Asks for one address; the first level, valid until the next. */
const struct sym_name *named_ask(struct named *n, uint64_t addr);

#endif
