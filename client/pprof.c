/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile as pprof's protobuf message (profile.proto).  Numbers of our tables are the
 * ids: 1..n. String number 0 is "", as pprof wants, and ours start at 1.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/profile.h"
#include "client/protobuf.h"

#define PPROF_MAX ((size_t)1 << 30)

/* Fields of Profile. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE
};

/* Strings that the message itself needs, numbered after those of the samples. */
enum {
	S_SAMPLES = 1,
	S_COUNT,
	S_CPU,
	S_NANOSECONDS,
	S_PID,
	S_COMM,
	S_SERVICE,
	S_CONTAINER,
	S_TRACE,
	S_SPAN,
	S_END
};
static const char *const own_strings[S_END] = {
	[S_SAMPLES] = "samples",
	[S_COUNT] = "count",
	[S_CPU] = "cpu",
	[S_NANOSECONDS] = "nanoseconds",
	[S_PID] = "pid",
	[S_COMM] = "thread.name",
	[S_SERVICE] = "service.name",
	[S_CONTAINER] = "container.id",
	[S_TRACE] = "trace_id",
	[S_SPAN] = "span_id",
};

struct encoder {
	const struct profile *p;
	struct text	*out, message, part;
	uint32_t	 first_mapping;		/* ours that goes out as id 1 */
};

static uint32_t own(const struct encoder *e, int s)
{
	return e->p->strings.n + (uint32_t)s;
}

static void put(struct encoder *e, uint32_t field)
{
	pb_message(e->out, field, &e->message);
	text_clear(&e->message);
}

static void put_value_type(struct encoder *e, uint32_t field, int type, int unit)
{
	pb_uint(&e->message, 1, own(e, type));
	pb_uint(&e->message, 2, own(e, unit));
	put(e, field);
}

static void put_label(struct encoder *e, int key, uint32_t string, uint64_t number)
{
	if (!string && !number)
		return;
	text_clear(&e->part);
	pb_uint(&e->part, 1, own(e, key));
	pb_uint(&e->part, 2, string);
	pb_uint(&e->part, 3, number);
	pb_message(&e->message, 3, &e->part);
}

static void put_sample(struct encoder *e, uint32_t id)
{
	const struct profile_value *v = &e->p->values[id - 1];
	struct profile_key key;
	const char *bytes;
	uint32_t location;
	size_t len;

	bytes = intern_get(&e->p->stacks, id, &len);
	memcpy(&key, bytes, sizeof(key));
	text_clear(&e->part);
	for (uint32_t i = 0; i < key.nlocations; i++) {
		memcpy(&location, bytes + sizeof(key) + i * sizeof(location),
		       sizeof(location));
		pb_varint(&e->part, profile_location_of(e->p, location));
	}
	pb_message(&e->message, 1, &e->part);
	text_clear(&e->part);
	pb_varint(&e->part, v->count);
	pb_varint(&e->part, v->ns);
	pb_message(&e->message, 2, &e->part);
	put_label(e, S_PID, 0, key.pid);
	put_label(e, S_COMM, key.comm, 0);
	put_label(e, S_SERVICE, key.service, 0);
	put_label(e, S_CONTAINER, key.container, 0);
	put_label(e, S_TRACE, key.trace_id, 0);
	put_label(e, S_SPAN, key.span_id, 0);
	put(e, PROFILE_SAMPLE);
}

/* Ours and theirs differ in that the main binary trades places with the first. */
static uint32_t mapping_id(const struct encoder *e, uint32_t ours)
{
	if (ours == e->first_mapping)
		return 1;
	return ours == 1 ? e->first_mapping : ours;
}

static void put_mapping(struct encoder *e, uint32_t id)
{
	uint32_t ours = mapping_id(e, id);	/* a swap is its own inverse */
	uint64_t limit = e->p->limit[ours - 1];
	struct profile_mapping key;
	size_t len;

	memcpy(&key, intern_get(&e->p->mappings, ours, &len), sizeof(key));
	/* Addresses are those of the ELF file: the mapping begins at 0, whatever the
	 * process saw. */
	limit = limit > UINT64_MAX - 4095 ? UINT64_MAX : (limit + 4095) & ~UINT64_C(4095);
	pb_uint(&e->message, 1, id);
	pb_uint(&e->message, 3, limit);
	pb_uint(&e->message, 5, key.path);
	pb_uint(&e->message, 6, key.build_id);
	/* Every location has a function, made up if need be: tools must not symbolize
	 * again. */
	pb_bool(&e->message, 7, true);
	put(e, PROFILE_MAPPING);
}

static void put_location(struct encoder *e, uint32_t id)
{
	struct profile_location key;
	struct profile_line line;
	const char *bytes;
	size_t len;

	bytes = intern_get(&e->p->locations, id, &len);
	memcpy(&key, bytes, sizeof(key));
	pb_uint(&e->message, 1, id);
	pb_uint(&e->message, 2, key.mapping ? mapping_id(e, key.mapping) : 0);
	pb_uint(&e->message, 3, key.address);
	for (uint32_t i = 0; i < key.nlines; i++) {
		memcpy(&line, bytes + sizeof(key) + i * sizeof(line), sizeof(line));
		text_clear(&e->part);
		pb_uint(&e->part, 1, line.function);
		pb_uint(&e->part, 2, line.line);
		pb_message(&e->message, 4, &e->part);
	}
	put(e, PROFILE_LOCATION);
}

static void put_function(struct encoder *e, uint32_t id)
{
	struct profile_function key;
	size_t len;

	memcpy(&key, intern_get(&e->p->functions, id, &len), sizeof(key));
	pb_uint(&e->message, 1, id);
	pb_uint(&e->message, 2, key.name);
	pb_uint(&e->message, 3, key.system_name);
	pb_uint(&e->message, 4, key.file);
	put(e, PROFILE_FUNCTION);
}

static void put_strings(struct encoder *e)
{
	const void *s;
	size_t len;

	pb_bytes(e->out, PROFILE_STRING, "", 0);
	for (uint32_t id = 1; id <= e->p->strings.n; id++) {
		s = intern_get(&e->p->strings, id, &len);
		pb_bytes(e->out, PROFILE_STRING, s, len);
	}
	for (int i = 1; i < S_END; i++)
		pb_bytes(e->out, PROFILE_STRING, own_strings[i], strlen(own_strings[i]));
}

static void mapping_key(const struct profile *p, uint32_t id, struct profile_mapping *key)
{
	size_t len;

	memcpy(key, intern_get(&p->mappings, id, &len), sizeof(*key));
}

/* The mapping of the executable with the most samples; of several for one file, that with
 * a build id. */
static uint32_t main_mapping(const struct profile *p)
{
	uint64_t *by_path = calloc(p->strings.n + 1, sizeof(*by_path));
	struct profile_mapping key, best_key = { 0 };
	uint32_t best = 1;

	for (uint32_t id = 1; by_path && id <= p->mappings.n; id++) {
		mapping_key(p, id, &key);
		by_path[key.path] += p->main_samples[id - 1];
	}
	for (uint32_t id = 1; by_path && id <= p->mappings.n; id++) {
		mapping_key(p, id, &key);
		if (by_path[key.path] > by_path[best_key.path] ||
		    (key.path == best_key.path && !best_key.build_id && key.build_id)) {
			best = id;
			best_key = key;
		}
	}
	free(by_path);
	return best;
}

static void put_tables(struct encoder *e)
{
	const struct profile *p = e->p;

	for (uint32_t id = 1; id <= p->stacks.n; id++)
		if (id <= p->values_cap && p->values[id - 1].count)
			put_sample(e, id);
	for (uint32_t id = 1; id <= p->mappings.n; id++)
		put_mapping(e, id);
	for (uint32_t id = 1; id <= p->locations.n; id++)
		put_location(e, id);
	for (uint32_t id = 1; id <= p->functions.n; id++)
		put_function(e, id);
	put_strings(e);
}

int pprof_encode(struct text *out, const struct profile *p)
{
	struct encoder e = { .p = p, .out = out, .first_mapping = main_mapping(p) };

	text_init(out, PPROF_MAX);
	text_init(&e.message, TEXT_LINE_MAX);
	text_init(&e.part, TEXT_LINE_MAX);
	put_value_type(&e, PROFILE_SAMPLE_TYPE, S_SAMPLES, S_COUNT);
	put_value_type(&e, PROFILE_SAMPLE_TYPE, S_CPU, S_NANOSECONDS);
	put_tables(&e);
	pb_uint(out, PROFILE_TIME, (uint64_t)p->start_ns);
	pb_uint(out, PROFILE_DURATION, (uint64_t)(p->end_ns - p->start_ns));
	put_value_type(&e, PROFILE_PERIOD_TYPE, S_CPU, S_NANOSECONDS);
	pb_uint(out, PROFILE_PERIOD, p->period_ns);
	for (uint32_t i = 0; i < p->ncomments; i++)
		pb_uint(out, PROFILE_COMMENT, p->comments[i]);
	pb_uint(out, PROFILE_DEFAULT_TYPE, own(&e, S_CPU));
	text_fini(&e.message);
	text_fini(&e.part);
	return text_failed(out) ? -ENOMEM : 0;
}
