/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears complete or not at all. */
#ifndef CLIENT_SAVE_H
#define CLIENT_SAVE_H

#include "client/text.h"

struct save {
	const char	*path;		/* "-": standard output */
	char		*temporary;	/* beside path; NULL: written in place (a device, a pipe) */
	int		 fd;
};

/* Opens now, so that a folder without room or right is an error before the work and not after. */
int	 save_open(struct save *s, const char *path);		/* 0 or -errno */
int	 save_commit(struct save *s, const void *bytes, size_t len);
void	 save_close(struct save *s);	/* removes what was not committed */

#endif
