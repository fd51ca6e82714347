/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Insides of struct ring_writer, shared by the files of the write side and by their
 * tests.
 */
#ifndef RING_WRITER_STATE_H
#define RING_WRITER_STATE_H

#include "shm/ring_layout.h"
#include "shm/ring_writer.h"

/* How long PATH.prev is kept. */
#define RING_PREV_CLOSED_NS	(60ull * 1000000000)
#define RING_PREV_CRASHED_NS	(900ull * 1000000000)

/* One slot of the intern index.  unit 0: free. */
struct dict_slot { uint32_t unit, hash; };

struct dict_half {
	uint32_t generation;		/* 0: never used */
	bool	 referenced;		/* last_ref is valid */
	uint64_t used;			/* bytes */
	uint64_t last_ref; /* highest block with a reference into this half */
};

struct dict {
	uint8_t		*base;		/* mapped: half 0, half 1 */
	uint64_t	 half_bytes;
	uint32_t	 current;
	uint32_t	 word;		/* generation << 8 | half of the current half */
	bool		 full;		/* an entry did not fit since the last flip */
	struct dict_half half[2];
	struct dict_slot *index; /* of the current half only; private to the writer */
	uint32_t	 index_mask, index_used;
	uint64_t seed[2]; /* tenants choose the strings: keep their hashes unguessable */
	uint32_t	 units[RING_MAX_FRAMES + 1];
};

struct ring_writer {
	/* geometry, resolved once */
	uint8_t		*map;
	size_t		 map_bytes;
	struct ring_header *hdr;
	uint8_t		*data;
	uint64_t	 data_mask;
	uint32_t	 shift, nblocks, max_payload;

	/* position; all private until published */
	uint64_t	 pos, published;
	uint64_t	 block, block_end;
	uint64_t	 announced; /* intent: block, or what a life before this one
				       announced */
	uint64_t	 seq;			/* of the next record */
	uint32_t	 process_bytes, process_limit;	/* in this block */
	struct ring_stamp last;			/* newest stamp put, for block headers */
	uint64_t	 lost[RING_CAUSES], lost_total;
	uint64_t	 lost_before[RING_CAUSES]; /* by other lives in this file */
	uint64_t	 fallbacks;
	uint32_t	 incarnation;
	uint64_t	 anchor_stamp;

	struct dict	 dict;
	uint8_t *scratch; /* max_payload bytes: records with variable parts */

	uint64_t	 next_wake_ns;		/* not before */
	bool		 wake_owed;

	/* status page under construction */
	uint8_t		*rows;
	uint32_t	 rows_used;
	bool		 rows_full;
	uint64_t	 status_stamp;

	/* files */
	int		 dirfd, fd, lock_fd;
	int prev_fd; /* PATH.prev, to free its memory; -1 none */
	uint64_t	 prev_deadline;		/* host boot ns; 0 none */
	char		 path[4096];	/* as it was given, for messages */
	char		 name[224], prev_name[240], lock_name[240], temp_name[240];
	bool		 on_tmpfs, renamed, resumed;
};

/* --- ring_write.c: put in place ----------------------------------------------------- */

/* Opens the next block and announces it. */
void	 ring_next_block(struct ring_writer *w);
/* The first block of a fresh file. */
void	 ring_first_block(struct ring_writer *w);
/* The record that tells readers of a new life, and publishes it. */
void	 ring_put_incarnation(struct ring_writer *w, const struct ring_stamp *stamp);
/* Room for len bytes of payload, contiguous, 16-byte aligned, in the mapping; fill it by
 * ring_copy_in().  Invisible until commit and publish.  Reserving again discards. */
int	 ring_reserve(struct ring_writer *w, uint32_t len, uint8_t **payload);
void	 ring_commit(struct ring_writer *w, uint16_t type, uint16_t flags, uint32_t len);
/* Nanoseconds until the next wake, after one that took so long. */
uint64_t ring_wake_pause(uint64_t took_ns);
/* reserve, copy, commit. */
int ring_put(struct ring_writer *w, uint16_t type, uint16_t flags, const void *payload,
	     uint32_t len, const struct ring_stamp *stamp);

/* --- dict_write.c ------------------------------------------------------------------- */

int	 dict_init(struct dict *d, uint8_t *base, uint64_t half_bytes);
/* As it stands in the file: entries are appended to the newer half, and both halves are
 * taken as referred to by `block`.  -EBADMSG when neither half was ever begun. */
int	 dict_resume(struct dict *d, uint8_t *base, uint64_t half_bytes, uint64_t block);
void	 dict_fini(struct dict *d);
/* A safe point: goes over to the other half when this one is full and that one is
 * dead. */
void	 dict_flip_if_due(struct ring_writer *w);
/* 0 and *unit (offset/16; 0 for ref 0), -ESTALE for a reference of another generation. */
int	 dict_unit(const struct dict *d, ringside_ref ref, uint32_t *unit);
/* A record of the current block refers to the current half. */
void	 dict_referenced(struct ring_writer *w);

/* --- ring_lock.c, ring_replace.c, ring_resume.c, ring_create.c ---------------------- */

int	 ring_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int	 ring_lock_take(struct ring_writer *w);

struct ring_geometry {
	uint32_t shift, nblocks;
	uint64_t data_bytes, half_bytes, file_bytes;
};
/* Maps w->fd: everything that put will use, but the dictionary, resolved once. */
int	 ring_map(struct ring_writer *w, const struct ring_geometry *g);
void	 ring_unmap(struct ring_writer *w);
void	 ring_boot_id(uint8_t out[16]);
/* Whose life this is, as page 0 says it. */
void	 ring_sign(struct ring_writer *w, uint64_t boot_ns);
mode_t	 ring_mode(const struct ring_writer_options *o);

/* May the file hold that number? */
static inline bool ring_number_possible(const struct ring_header *h, uint64_t seq)
{
	return seq > h->prev_final_seq && seq - h->prev_final_seq <= h->tail / RING_MIN_RECORD + 1;
}

/* What a new ring learns from the one whose place it takes. */
struct ring_predecessor {
	int	 fd;			/* -1: none that is a ring of ours */
	bool	 closed;		/* cleanly */
	uint64_t final_seq;
	uint32_t incarnation;
	uint8_t	 uuid[16];
	uint64_t data_off, data_bytes, dict_off, dict_bytes;
	uint64_t bytes;			/* allocated */
};
int	 ring_predecessor_open(struct ring_writer *w, struct ring_predecessor *p);
void	 ring_predecessor_close(struct ring_predecessor *p);
/* Marks it superseded: readers drain it, then look at the path again. */
void	 ring_supersede(const struct ring_predecessor *p);
/* Gives the memory back, even of a file that readers still hold: they find themselves
 * lapped. */
void	 ring_punch(const struct ring_predecessor *p);
void	 ring_prev_remove(struct ring_writer *w);
void	 ring_prev_keep(struct ring_writer *w, struct ring_predecessor *p);
/* PATH.prev is a second name of PATH (a writer died before its rename): it goes. */
void	 ring_prev_untwin(struct ring_writer *w);

/* 1: w goes on in the predecessor's file, from the first byte behind its tail; 0: it must be
 * replaced, and nothing in it was changed; -errno. */
int	 ring_resume(struct ring_writer *w, const struct ring_writer_options *o,
		     const struct ring_geometry *g, struct ring_predecessor *old,
		     uint64_t boot_ns);

#endif
