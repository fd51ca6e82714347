/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Insides of struct ringside, shared by the files of the read side.
 *
 * What comes from the file is hostile.  It is copied first and judged after: geometry
 * once, at open; a record when it is copied; a dictionary entry when it is decoded.
 */
#ifndef RING_READER_STATE_H
#define RING_READER_STATE_H

#include <sys/stat.h>

#include "shm/arena.h"
#include "shm/ring_atomic.h"
#include "shm/ring_layout.h"
#include "shm/ringside.h"

#define RING_HOPS		4	/* at most, in one call of ringside_next() */
#define RING_SLICE_MS		100	/* of waiting: a wake-up can be stolen */

/* An open file whose page 0 was checked.  Trusted: nothing here is read from the file
 * again. */
struct ring_file {
	int		 fd;
	bool		 paranoid;
	const uint8_t *map; /* whole file; paranoid: only page 0, for the futex */
	size_t		 map_bytes;
	dev_t		 dev;
	ino_t		 ino;
	uint32_t	 shift, nblocks, max_payload;
	uint64_t	 data_off, data_bytes, dict_off, half_bytes, file_bytes;
	uint64_t	 prev_final_seq; /* numbers of this file are above it */
	uint16_t	 major, minor;
	uint8_t		 uuid[16];
};

/* Decoded entries of one half, by offset/16.  Pointers stay valid until the half is
 * dropped. */
struct dict_cache {
	uint32_t	 generation;	/* 0: empty */
	void		**slots;	/* half_bytes / 16 of them; pages appear on use */
	size_t		 slots_bytes;
	struct arena	 arena;
	uint32_t *fresh; /* put in by the record under way: taken out when it is lapped */
	uint32_t	 nfresh, fresh_cap;
};

struct ringside {
	struct ring_file f;
	char		*path;
	struct ringside_options options; /* path points to the copy */
	int64_t		 timens_offset;

	/* where we are */
	uint64_t	 pos;
	uint64_t	 next_seq;
	bool		 seq_known;	/* else the next block header tells */
	bool		 rebase;	/* another file: its numbers may begin anywhere */
	uint32_t	 incarnation;	/* of the record before; 0 not known */
	bool		 changed;	/* tell the caller to forget refs */
	uint8_t gap_cause; /* why a gap before the next block header would be there */
	bool		 skipped;	/* moved on without a record: a gap may follow */
	struct ringside_counts counts;

	/* following */
	bool		 replaced;	/* another file has the path */
	uint64_t	 checked_ns;	/* when we last looked */

	/* copies */
	uint8_t		*payload;	/* max_payload */
	uint8_t		*chunk;		/* paranoid: bytes of one block, proven intact */
	uint64_t	 chunk_pos, chunk_end;
	size_t		 chunk_cap;
	bool		 touched;	/* the file was read since the chunk was proven */
	struct arena	 arena;		/* what the last record points to */
	struct dict_cache cache[2];
	uint32_t	 stack_units[RING_MAX_FRAMES];
	uint32_t	 resource_units[RING_MAX_ATTRIBUTES + 1];

	struct ringside_status *status;
};

/* --- ring_open.c, ring_file.c ------------------------------------------------------- */

int ring_open_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int	 ring_file_open(struct ring_file *f, const struct ringside_options *o);
void	 ring_file_close(struct ring_file *f);
/* Copies; -EBADMSG when the file is not that long any more. */
int	 ring_file_read(const struct ring_file *f, uint64_t off, void *dst, size_t len);
int	 ring_file_pread_tail(const struct ring_file *f, uint64_t *tail);
int	 ring_file_pread_intent(const struct ring_file *f, uint64_t *intent);
int	 ring_file_state(const struct ring_file *f, uint32_t *state);
/* -EBADMSG when the size is not that of open. */
int	 ring_file_check_size(const struct ring_file *f);

static inline const struct ring_header *ring_file_header(const struct ring_file *f)
{
	return (const struct ring_header *)(const void *)f->map;
}

/* Once a record each, so inline. */
static inline int ring_file_tail(const struct ring_file *f, uint64_t *tail)
{
	if (f->paranoid)
		return ring_file_pread_tail(f, tail);
	*tail = ring_published(&ring_file_header(f)->tail);
	return 0;
}

/* After the copies that it judges. */
static inline int ring_file_intent(const struct ring_file *f, uint64_t *intent)
{
	if (f->paranoid)
		return ring_file_pread_intent(f, intent);
	*intent = ring_announced(&ring_file_header(f)->intent);
	return 0;
}

/* Buffers for the geometry of r->f; drops what was cached of another file. */
int	 ring_reader_prepare(struct ringside *r);

/* --- ring_read.c -------------------------------------------------------------------- */

/* 1: bytes at pos up to the tail or the block's end; 0: nothing published there; -ESTALE:
 * lapped. */
int ring_view(struct ringside *r, uint64_t pos, const uint64_t **words, uint64_t *avail);
/* Is what was copied from this block still that block?  1, 0, -errno. */
int	 ring_intact(const struct ringside *r, uint64_t block);
/* Tail and intent, in this order; -EBADMSG when no writer can have stored them. */
int	 ring_positions(const struct ringside *r, uint64_t *tail, uint64_t *intent);
/* Copies and checks the header of a block; 1, 0 when it is gone or not one. */
int	 ring_block_header(struct ringside *r, uint64_t block, struct ring_block *out);
/* What comes now is of this incarnation. */
void	 ring_enter_life(struct ringside *r, uint32_t incarnation);
/* The oldest block that is worth reading, `margin` blocks away from the writer. */
uint64_t ring_oldest_block(uint64_t intent, uint32_t nblocks, uint32_t margin);

/* --- ring_seek.c -------------------------------------------------------------------- */

int	 ring_position(struct ringside *r);	/* as the options say, after open */
int	 ring_go_to_block(struct ringside *r, uint64_t block);

/* --- ring_follow.c ------------------------------------------------------------------ */

/* At the end of what is published: 1 followed to another file, 0 nothing new, -errno. */
int	 ring_follow(struct ringside *r);
/* Another file at the path?  Rate-limited unless forced. */
bool	 ring_path_moved(struct ringside *r, bool force);

/* --- ring_decode.c: 0, -EBADMSG for bytes that break the rules, -ENOMEM, -ENOBUFS --- */

int	 ring_decode(struct ringside *r, uint16_t type, uint16_t flags, uint32_t len,
		     struct ringside_record *rec);
/* len bytes and a NUL, from the record's arena. */
char	*ring_string(struct arena *a, const void *bytes, size_t len);

/* --- dict_read.c: the same results -------------------------------------------------- */

int dict_resource(struct ringside *r, uint32_t dict, uint32_t unit,
		  struct ringside_resource *out);
int dict_stack(struct ringside *r, uint32_t dict, uint32_t unit,
	       struct ringside_stack *out);
int	 dict_string(struct ringside *r, uint32_t dict, uint32_t unit, const char **out);
/* The record under way was intact, or was not. */
void	 dict_keep(struct ringside *r);
void	 dict_forget_fresh(struct ringside *r);
void	 dict_drop(struct dict_cache *c);
int	 dict_cache_init(struct dict_cache *c, uint64_t half_bytes);
void	 dict_cache_fini(struct dict_cache *c);

#endif
