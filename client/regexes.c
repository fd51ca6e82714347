/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "client/complain.h"
#include "client/regexes.h"

int regexes_init(struct regexes *r, const struct options *o, enum option_id id)
{
	const struct option_value *v = &o->value[id];
	char why[256];
	int err;

	r->n = 0;
	r->re = NULL;
	if (!v->count)
		return 0;
	r->re = calloc(v->count, sizeof(*r->re));
	if (!r->re) {
		complain("out of memory");
		return CLIENT_FAILED;
	}
	for (; r->n < v->count; r->n++) {
		err = regcomp(&r->re[r->n], v->list[r->n], REG_EXTENDED | REG_NOSUB);
		if (err) {
			regerror(err, &r->re[r->n], why, sizeof(why));
			complain("--%s: %s: not a regular expression: %s",
				 option_row_find(id, IN_ALL)->name, v->list[r->n], why);
			return CLIENT_USAGE;
		}
	}
	return 0;
}

void regexes_fini(struct regexes *r)
{
	while (r->n)
		regfree(&r->re[--r->n]);
	free(r->re);
	r->re = NULL;
}

bool regexes_match(const struct regexes *r, const char *s)
{
	if (!s)
		return false;
	for (unsigned i = 0; i < r->n; i++)
		if (!regexec(&r->re[i], s, 0, NULL, 0))
			return true;
	return false;
}
