/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and copies the process context of another process (OTEP 4719) while that process may change it.
 * Takes lines of its maps and a function that reads its memory; knows nothing of /proc, so that tests can
 * change the memory between any two reads.
 *
 *	ts1 = stamp		0: being written, again
 *	header			its own stamp must be ts1
 *	payload
 *	ts2 = stamp		not ts1: what was copied is worth nothing, again
 *
 * The stamp alone is read first and last: size stands before it and the pointer behind it, so no single
 * read of the header tells that both belong to it.
 */
#ifndef RINGSIDE_CONTEXT_READ_H
#define RINGSIDE_CONTEXT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTEXT_ATTEMPTS	4
#define CONTEXT_PLACES_MAX	64	/* mappings that are tried, of thousands that a process may name so */

/* Journaled: only ever appended to. */
enum context_verdict {
	CONTEXT_NONE		= 0,	/* no mapping of that name */
	CONTEXT_PAYLOAD		= 1,	/* copied */
	CONTEXT_UNCHANGED	= 2,	/* the stamp is the one that is known: payload not read */
	CONTEXT_BUSY		= 3,	/* was being written at every attempt */
	CONTEXT_SIGNATURE	= 4,	/* mappings of that name, none with the signature */
	CONTEXT_VERSION		= 5,	/* not version 2 */
	CONTEXT_SIZE		= 6,	/* payload of 0 or more than CONTEXT_PAYLOAD_MAX bytes */
	CONTEXT_FAULT		= 7,	/* the header cannot be read */
	CONTEXT_PAYLOAD_FAULT	= 8,	/* the payload cannot, though the stamp stood still */
	CONTEXT_LATER		= 9,	/* found, not read: no room in this answer */
	CONTEXT_DENIED		= 10,	/* no right to read its memory or its maps */
	CONTEXT_VERDICTS	= 11,
};
/* In plain words, for people. */
const char *context_verdict_words(enum context_verdict v);

/* How the mapping is called in maps.  Journaled. */
enum context_name {
	CONTEXT_NAME_NONE	= 0,	/* by address alone: told by the hook */
	CONTEXT_NAME_ANON_SHMEM	= 1,	/* [anon_shmem:OTEL_CTX] */
	CONTEXT_NAME_ANON	= 2,	/* [anon:OTEL_CTX] */
	CONTEXT_NAME_MEMFD	= 3,	/* /memfd:OTEL_CTX, perhaps deleted */
	CONTEXT_NAME_LONGER	= 4,	/* begins with one of these */
	CONTEXT_NAMES		= 5,
};
const char *context_name_words(enum context_name n);

struct context_place { uint64_t address; enum context_name name; };

/* Mappings that may hold a context, in the order in which they should be tried. */
struct context_places {
	uint64_t	hint;			/* where the hook saw one named; 0 none */
	bool		hint_mapped;		/* a mapping begins there, and is not executable */
	uint32_t	n_exact, n_longer;
	struct context_place exact[CONTEXT_PLACES_MAX], longer[CONTEXT_PLACES_MAX];
	uint32_t	beyond;			/* mappings of that name that were not kept */
};

/* What the name says of it; CONTEXT_NAME_NONE: no context. */
enum context_name context_name_of(const char *path, size_t n);
/* One line of maps. */
void	context_places_add(struct context_places *p, uint64_t start, bool exec, const char *path, size_t n);

struct context_memory {
	/* All n bytes or nothing: 0 or -errno. */
	int	(*read)(void *arg, uint64_t address, void *buf, size_t n);
	void	(*pause)(void *arg, unsigned attempt);	/* between two attempts; may be NULL */
	void	*arg;
};

struct context_reading {
	enum context_verdict verdict;
	enum context_name name;
	uint64_t	address;		/* of the mapping; 0 none */
	uint64_t	published_ns, payload_address;
	uint32_t	version, payload_size;
	uint32_t	attempts;
	uint32_t	places;			/* mappings of that name */
};

/*
 * One place.  seen_ns: the stamp of what is known already, 0 nothing.  payload: CONTEXT_PAYLOAD_MAX bytes;
 * nothing beyond what the header says is written.
 */
void	context_read(const struct context_memory *m, uint64_t address, uint64_t seen_ns, void *payload,
		     struct context_reading *out);
/*
 * All places: the hint, exact names, then those that only begin so.  The first that holds a context wins;
 * without one, out tells of the place that came closest.
 */
void	context_read_places(const struct context_memory *m, const struct context_places *p,
			    uint64_t known_address, uint64_t seen_ns, void *payload,
			    struct context_reading *out);

#endif
