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

/* The protobuf message, not compressed.  0 or -ENOMEM. */
int	 pprof_encode(struct text *out, const struct profile *p);

/* --- for pprof.c ------------------------------------------------------------------------------ */

/* Keys of the tables below, compared as bytes: no padding, all bytes written. */
struct profile_function { uint32_t name, system_name, file; };
struct profile_mapping { uint32_t path, build_id; };
struct profile_line { uint32_t function, line; };
/* Followed by the lines, innermost first. */
struct profile_location { uint64_t address; uint32_t mapping, nlines; };
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
	uint64_t	 samples, period_ns;
	int64_t		 start_ns, end_ns;
	uint32_t	*comments;	/* string numbers */
	uint32_t	 ncomments;
	struct text	 scratch, key;
};

#endif
