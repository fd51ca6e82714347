/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ring's tests share: a private folder in memory, a writer in it, and samples
 * whose content follows from a number, so that a reader can check every field of whatever
 * it gets.
 */
#ifndef RING_FIXTURE_H
#define RING_FIXTURE_H

#include <check.h>

#include "shm/ring_layout.h"
#include "shm/ring_writer.h"

#define ck_assert_ok(e)                                                                  \
	do {                                                                             \
		int err_ = (e);                                                          \
		ck_assert_msg(!err_, "%s: %d (%s / %s)", #e, err_, ring_writer_error(),  \
			      ringside_open_error());                                    \
	} while (0)

struct ring_fixture {
	char	 dir[64], path[128];
	int	 fds;			/* open at setup: all must be closed again */
	struct ring_writer *w;
};
extern struct ring_fixture fx;

void	 fixture_setup(void);		/* a folder, no ring yet */
void	 fixture_teardown(void);
/* A writer at fx.path; sizes 0: 256 KiB of records in 4 KiB blocks, 128 KiB of
 * dictionary. */
void	 fixture_create(uint64_t ring_bytes, uint64_t dict_bytes, uint32_t block_bytes);
struct ring_writer *fixture_writer(const char *path, uint64_t ring_bytes,
				   uint64_t dict_bytes, uint32_t block_bytes);
struct ringside *fixture_open(bool paranoid, bool from_oldest);

/* Sample number i, of one of NUMBERED_FORMS shapes.  Returns what ring_put_sample()
 * returned. */
#define NUMBERED_FORMS	8
int	 numbered_put(struct ring_writer *w, uint64_t i);
/* Interned only, one stack of three frames per 7 numbers: the fast shape, for filling. */
int	 numbered_put_plain(struct ring_writer *w, uint64_t i);
/* NULL, or what is wrong with the record. */
const char *numbered_check(const struct ringside_record *rec);
uint64_t numbered_of(const struct ringside_record *rec);

/* Reads to the end.  Checks every sample, that numbers and losses add up, and counts. */
struct drained { uint64_t samples, lost, first, last; };
struct drained drain(struct ringside *r);

/* Suites, one per file. */
Suite	*records_suite(void);
Suite	*loss_suite(void);
Suite	*dict_suite(void);
Suite	*restart_suite(void);
Suite	*resume_suite(void);
Suite	*files_suite(void);
Suite	*reading_suite(void);
Suite	*status_suite(void);
Suite	*hostile_suite(void);

#endif
