/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libringside as the commands use it: opened by the options of the command line, and every call
 * guarded against SIGBUS, which a file that its owner truncates raises in whoever has it mapped.
 */
#ifndef CLIENT_RING_H
#define CLIENT_RING_H

#include "client/options.h"
#include "shm/ringside.h"

/* After a SIGBUS: the reader is only good for ring_close() any more. */
#define RING_SHRANK (-0x5b05)

struct ring {
	struct ringside	*reader;
	const char	*path;
	int		 open_error;	/* -errno of ringside_open() */
	bool		 broken;	/* it shrank: even closing touches nothing */
};

struct ring_flags {
	bool		 from_oldest, no_follow, no_resolve;
	bool		 quiet;		/* no message: ringside_open_error() has it */
	const char	*path;		/* instead of --ring and $RINGSIDE_RING */
};

/*
 * 0, or an exit code after a message that says what to do.  With --wait it waits for a ring that is
 * not there; a signal ends the wait.
 */
int	 ring_open(struct ring *r, const struct options *o, const struct ring_flags *flags);
void	 ring_close(struct ring *r);

int	 ring_next(struct ring *r, struct ringside_record *rec);
int	 ring_wait(struct ring *r, int timeout_ms);
int	 ring_seek_time(struct ring *r, int64_t ns);
int	 ring_seek_seq(struct ring *r, uint64_t seq);
int	 ring_seek_oldest(struct ring *r);
int	 ring_geometry(struct ring *r, struct ringside_geometry *out);
int	 ring_liveness(struct ring *r, struct ringside_liveness *out);
int	 ring_status(struct ring *r, const struct ringside_status **out);

/* Says why a call on an open ring failed; CLIENT_FAILED. */
int	 ring_complain(const struct ring *r, int err);

#endif
