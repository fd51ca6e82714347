/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The standard output.  Whole lines only; they are held back for as long as more is ready at once, and
 * flushed before every wait, so that a pipe sees each line as soon as there is nothing better to do.
 */
#ifndef CLIENT_OUTPUT_H
#define CLIENT_OUTPUT_H

#include "client/text.h"

struct output {
	int	 fd;
	int	 error;		/* errno of the first failed write; sticky.  EPIPE: the reader left */
	struct text held;
};

void	 output_init(struct output *o, int fd);
void	 output_fini(struct output *o);		/* flushes */
/* Whole lines.  0 or -errno. */
int	 output_lines(struct output *o, const struct text *lines);
int	 output_flush(struct output *o);

/* All of it, in spite of short writes and signals.  0 or -errno. */
int	 write_all(int fd, const void *bytes, size_t len);

#endif
