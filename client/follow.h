/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop that tail, record and list share: where to start, when to end, what was lost, whether a
 * writer is still there.
 */
#ifndef CLIENT_FOLLOW_H
#define CLIENT_FOLLOW_H

#include "client/ring.h"
#include "client/selection.h"

struct follow_counts {
	uint64_t seen;		/* samples and process records of the ring, in the time range */
	uint64_t shown;		/* of them, taken by the record callback */
	uint64_t lost[RINGSIDE_LOST_MAX];
};

struct follow {
	struct ring	*ring;
	const struct selection *selection;
	bool		 no_follow;	/* end at what the ring holds at the start */
	bool		 quiet_liveness; /* say nothing about the writer */
	bool		 has_duration;
	int64_t		 duration_ns;	/* of following, held records not counted */
	int		 slice_ms;	/* longest wait between calls of idle(); 0: half a second */
	uint64_t	 lines;		/* start at the last n wanted records; 0: as selection says */
	/*
	 * For each record of the time range, the selection not yet asked.  1 taken, 0 left out, negative:
	 * end, with that -errno as follow_run()'s result.
	 */
	int		(*record)(void *arg, const struct ringside_record *rec);
	/* For lines: would record() take it? */
	bool		(*wants)(void *arg, const struct ringside_record *rec);
	/* Nothing is ready: flush.  Nonzero ends, negative as above; NULL: nothing to do. */
	int		(*idle)(void *arg);
	void		*arg;
	struct follow_counts counts;
	/* private */
	uint64_t	 end_seq, checked;
	int64_t		 deadline_ns;	/* monotonic; 0: not started */
	int64_t		 liveness_ns;	/* next look */
	bool		 was_alive, ending;
};

/* Positions the ring as selection and lines ask.  0 or -errno (RING_SHRANK). */
int	 follow_start(struct follow *f);
/* Until the end or a signal.  0 or a negative error: ring_complain() knows the ring's. */
int	 follow_run(struct follow *f);

/* "1234 seen, 1200 shown, 0 lost, 34 skipped" on stderr, and the causes of what was lost. */
void	 follow_summary(const struct follow *f, const char *shown_word);

#endif
