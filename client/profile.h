/* SPDX-License-Identifier: Apache-2.0 */
/* Samples added up by stack and labels, in the tables that pprof wants. */
#ifndef CLIENT_PROFILE_H
#define CLIENT_PROFILE_H

#include "client/intern.h"
#include "client/text.h"
#include "shm/ringside.h"

struct profile;

int	 profile_create(struct profile **out);
void	 profile_destroy(struct profile *p);
/*
 * Adds a sample of the CPU event.  -ENOMEM: it did not fit any more and is not in the profile (the
 * caller counts it).
 */
int	 profile_add(struct profile *p, const struct ringside_record *rec);
uint64_t profile_samples(const struct profile *p);

/* The span of time that was watched; grown to hold all samples. */
void	 profile_span(struct profile *p, int64_t start_ns, int64_t end_ns);
void	 profile_comment(struct profile *p, const char *comment);

/*
 * A program's first samples may come before its names are known.  Gives unnamed frames the names that
 * later samples of the same file brought: an address between the start of a function and another
 * address inside of it is inside of it.  Call it once, before encoding.  0 or -ENOMEM.
 */
int	 profile_resolve(struct profile *p);

/* The protobuf message, not compressed.  0 or -ENOMEM. */
int	 pprof_encode(struct text *out, const struct profile *p);
/* Lines "comm;root;...;leaf N", sorted by bytes; N is the number of samples.  0 or -ENOMEM. */
int	 folded_encode(struct text *out, const struct profile *p);

/* --- for the encoders --------------------------------------------------------------- */

/* Keys of the tables below, compared as bytes: no padding, all bytes written. */
struct profile_function { uint32_t name, system_name, file; };
struct profile_mapping { uint32_t path, build_id; };
struct profile_line { uint32_t function, line; };
/* Followed by the lines, innermost first. */
struct profile_location { uint64_t address; uint32_t mapping, nlines, named, pad; };
/* Of a function in a file: where it starts. */
struct profile_range { uint64_t start; uint32_t mapping, function; };
/* Followed by location numbers, leaf first.  Label strings: 0 for none. */
struct profile_key { uint32_t pid, comm, service, container, trace_id, span_id, nlocations; };

struct profile_value { uint64_t count, ns; };

struct profile {
	struct intern	 strings, functions, mappings, locations, stacks;
	struct profile_value *values;	/* by stack number - 1 */
	uint32_t	 values_cap;
	uint64_t	*main_samples;	/* by mapping number - 1: as the process's executable */
	uint64_t	*limit;		/* by mapping number - 1: one past the highest address */
	uint32_t	 mappings_cap;
	struct intern	 ranges;
	uint64_t	*range_last;	/* by range number - 1: the highest address seen in it */
	uint32_t	 ranges_cap;
	uint32_t	*alias;		/* by location number - 1, of the first naliases: what stands for it */
	uint32_t	 naliases;
	uint64_t	 samples, period_ns;
	int64_t		 start_ns, end_ns;
	uint32_t	*comments;	/* string numbers */
	uint32_t	 ncomments;
	struct text	 scratch, key;
};

/* The location that is to be shown for a number in a stack. */
uint32_t profile_location_of(const struct profile *p, uint32_t id);

#endif
