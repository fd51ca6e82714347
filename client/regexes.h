/* SPDX-License-Identifier: Apache-2.0 */
/* A few POSIX extended regular expressions of which any may match (regcomp, which musl has too). */
#ifndef CLIENT_REGEXES_H
#define CLIENT_REGEXES_H

#include <regex.h>

#include "client/options.h"

struct regexes {
	unsigned n;
	regex_t	*re;
};

/* From the texts of a repeated option; 0, or CLIENT_USAGE after a message that quotes the bad one. */
int	 regexes_init(struct regexes *r, const struct options *o, enum option_id id);
void	 regexes_fini(struct regexes *r);
bool	 regexes_match(const struct regexes *r, const char *s);	/* s may be NULL: no match */

#endif
