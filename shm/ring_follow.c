/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the writer is replaced, its file is: readers drain the old one to its end and go
 * on in the new.  The old one says that it is superseded; where it could not (a crash, a
 * foreign owner), the path shows another file.
 */
#include <errno.h>
#include <fcntl.h>

#include "shm/reader_state.h"
#include "shm/ring_time.h"

#define LOOK_EVERY_NS	(RING_SLICE_MS * 1000000ull)

bool ring_path_moved(struct ringside *r, bool force)
{
	uint64_t now = ring_clock_ns(CLOCK_MONOTONIC);
	struct stat st;

	if (!force && now - r->checked_ns < LOOK_EVERY_NS)
		return false;
	r->checked_ns = now;
	if (fstatat(AT_FDCWD, r->path, &st, AT_SYMLINK_NOFOLLOW))
		return false;		/* gone: this one is still good */
	return st.st_ino != r->f.ino || st.st_dev != r->f.dev;
}

/* Everything of the old file that can still be read was read: on to the oldest block of
 * the new. */
static int go_over(struct ringside *r, const struct ring_file *f)
{
	uint64_t intent;
	int err;

	ring_file_close(&r->f);
	r->f = *f;
	r->replaced = false;
	r->incarnation = 0;
	r->changed = true;
	r->counts.files++;
	err = ring_reader_prepare(r);
	if (!err)
		err = ring_file_intent(&r->f, &intent);
	if (err)
		return err;
	r->pos = ring_oldest_block(intent, f->nblocks, f->nblocks / 8) << f->shift;
	r->rebase = r->skipped = true;
	r->gap_cause = RINGSIDE_LOST_LAPPED;
	return 1;
}

static int drained(struct ringside *r)
{
	uint64_t tail;
	int err = ring_file_tail(&r->f, &tail);

	return err ? err : r->pos >= tail;
}

int ring_follow(struct ringside *r)
{
	struct ring_file f;
	uint32_t state;
	int err = ring_file_state(&r->f, &state);

	if (err || r->options.no_follow)
		return err;
	if (state != RING_SUPERSEDED && !r->replaced && !ring_path_moved(r, false))
		return 0;
	if (state == RING_SUPERSEDED && !ring_path_moved(r, true))
		return 0; /* e.g. opened as PATH.prev: this is the file that was asked for
			   */
	r->replaced = true;
	/* The last publish of the old writer came before the state, or before its lock
	 * was dropped. */
	err = drained(r);
	if (err <= 0)
		return err;
	err = ring_file_open(&f, &r->options);
	if (!err)
		return go_over(r, &f);
	/* Planted, or not there yet: what we hold is as good as before, and the path is
	 * looked at again.  Not so when the writer itself sent us on, or when a newer
	 * format has taken over. */
	r->replaced = false;
	return err == -ENOTSUP || (state == RING_SUPERSEDED && err != -ENOENT) ? err : 0;
}
