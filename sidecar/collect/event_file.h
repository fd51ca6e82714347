/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of everything that enters the pipeline, in order: what --record-events writes and
 * --replay reads.  A replay of it is deterministic and needs no right.
 *
 *	+--------------------+ struct journal_header, then text_bytes of strings (scope NUL node NUL ...),
 *	| header             | padded to 8
 *	+--------------------+
 *	| u32 type, u32 len  | entries, back to back, each padded with zeroes to 8
 *	| len bytes          |
 *	+--------------------+
 *
 * Bytes are in the byte order of the host that recorded; another order is refused by name.  A file that
 * ends inside an entry (the recorder was killed) gives all whole entries and then says so.
 */
#ifndef RINGSIDE_EVENT_FILE_H
#define RINGSIDE_EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;				/* opaque; open for writing or for reading */

#define JOURNAL_MAGIC		"RINGJRNL"
#define JOURNAL_VERSION		1
#define JOURNAL_ENDIAN		0x01020304u
#define JOURNAL_TEXT_MAX	4096	/* scope text, node name: bytes each, NUL included */
#define JOURNAL_ENTRY_MAX	(64u << 20)

enum journal_type {
	JOURNAL_EVENT	= 1,	/* one event of bpf/event.h; checked by decode.c when replayed */
	JOURNAL_DRAIN	= 2,	/* end of a batch: struct journal_drain */
	JOURNAL_STATS	= 3,	/* struct collect_stats at that point */
	/* opaque to collect/; written and read by the stage that is named */
	JOURNAL_ANCHOR	= 16,	/* clock/: a wall-clock anchor was taken */
	JOURNAL_STEP	= 17,	/* clock/: the wall clock stepped */
	JOURNAL_READING	= 18,	/* process/: what a door read answered */
	JOURNAL_SYSTEM	= 20,	/* process/: kernel release, machine, cluster */
	JOURNAL_NAMES	= 19,	/* symbols/: what the worker answered */
};

struct journal_drain {
	uint64_t	 newest_ns;	/* boot_ns of the batch's last event, 0 when it had none */
	uint32_t	 count;		/* events of the batch */
	uint32_t	 pad0;
};

/*
 * Facts of the recording host.  Strings are borrowed by journal_create(), the journal's
 * when read.
 */
struct journal_facts {
	uint32_t	 frequency;
	uint32_t	 ncpu;		/* possible CPUs */
	uint32_t	 stack_depth;
	uint32_t	 scope;		/* enum ev_scope */
	const char	*scope_text;	/* as the ready line shows it */
	const char	*node;
};

/* Writes to a new file (0600, replaced when it exists and is ours).  Buffered: 64 KiB. */
int	 journal_create(struct journal **out, const char *path, const struct journal_facts *facts);

/*
 * Appends one entry made of the two parts; the second may be empty.  An error sticks: the
 * recording ends there and every later call returns it, so that a full disk never stops the
 * profiler.
 */
int	 journal_append(struct journal *j, uint32_t type, const void *data, size_t len);
int	 journal_append2(struct journal *j, uint32_t type, const void *a, size_t alen,
			 const void *b, size_t blen);
int	 journal_flush(struct journal *j);

int	 journal_open(struct journal **out, const char *path, char *why, size_t n);
const struct journal_facts *journal_facts(const struct journal *j);

/*
 * Next entry: 1 and `*type`, `*data`, `*len` (data aligned to 8, valid until the next
 * call), 0 at the end, -EBADMSG when an entry contradicts the format.  After 0,
 * journal_truncated() tells how many trailing bytes made no whole entry.
 */
int	 journal_next(struct journal *j, uint32_t *type, const void **data, size_t *len);
uint64_t journal_truncated(const struct journal *j);

/* Flushes a journal that is written; returns the first error of its life.  NULL is fine. */
int	 journal_close(struct journal *j);

#endif
