/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency [--ring PATH] [--seconds S] [--pid PID] [--oldest] [--first] [--pause MS]: a
 * reader that follows the ring, as any client does, and measures what arrives: how late,
 * named or not, complete or not, how far its wall clock is from ours.  --first ends at
 * the first sample of PID whose leaf has a name.
 * --pause makes a reader that is too slow.  Prints one JSON object at the end or on
 * SIGTERM.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shm/ringside.h"

#define BUCKET_NS	10000u		/* lateness is told to 10 us ... */
#define BUCKETS		1000000u	/* ... up to 10 s */

static volatile sig_atomic_t stop;
/*
 * Apart: in the first second the symbol worker reads its files for the first time, and what has no name
 * yet goes out unnamed at the next drain.  How late a sample is when names are known is told afterwards.
 */
#define WARM_NS		1000000000u
static uint32_t cold[BUCKETS], late[BUCKETS];

struct tally {
	uint64_t opened_boot, warm;	/* counted in late[] */
	uint64_t records, samples, mine, late_max;
	uint64_t frames, frames_named, stacks_19, seventy, twenty, ten;
	uint64_t next_seq, gaps, lapped, lost_writer;
	uint64_t first_boot, last_boot, first_named;
	int64_t	 wall_error_max, wall_error_min;
	uint64_t weight;
};

static void on_signal(int sig)
{
	stop = sig;
}

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* REALTIME - BOOTTIME, by the narrowest of some brackets. */
static int64_t wall_offset(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 50; i++) {
		uint64_t a = now(CLOCK_BOOTTIME), w = now(CLOCK_REALTIME),
			 b = now(CLOCK_BOOTTIME);

		if (b - a < best) {
			best = b - a;
			offset = (int64_t)(w - a - (b - a) / 2);
		}
	}
	return offset;
}

static void tally_wall(struct tally *t, const struct ringside_record *rec, int64_t offset)
{
	int64_t error = rec->time_ns - (int64_t)rec->boot_ns - offset;

	if (error > t->wall_error_max)
		t->wall_error_max = error;
	if (error < t->wall_error_min)
		t->wall_error_min = error;
}

static void tally_stack(struct tally *t, const struct ringside_stack *s)
{
	const char *leaf = s->n ? s->frames[0]->function : NULL;

	for (uint32_t i = 0; i < s->n; i++) {
		t->frames++;
		t->frames_named += s->frames[i]->function != NULL;
	}
	if (!leaf)
		return;
	t->seventy += !strcmp(leaf, "burn_seventy");
	t->twenty += !strcmp(leaf, "burn_twenty");
	t->ten += !strcmp(leaf, "burn_ten");
}

static void tally_sample(struct tally *t, const struct ringside_record *rec, uint32_t pid)
{
	const struct ringside_sample *s = &rec->sample;
	uint64_t arrived = now(CLOCK_BOOTTIME), ns, bucket;

	t->samples++;
	if (pid && s->pid != pid)
		return;
	ns = arrived > rec->boot_ns ? arrived - rec->boot_ns : 0;
	bucket = ns / BUCKET_NS < BUCKETS ? ns / BUCKET_NS : BUCKETS - 1;
	if (rec->boot_ns < t->opened_boot + WARM_NS) {
		cold[bucket]++;
	} else {
		late[bucket]++;
		t->warm++;
		if (ns > t->late_max)
			t->late_max = ns;
	}
	if (!t->mine++)
		t->first_boot = rec->boot_ns;
	t->last_boot = rec->boot_ns;
	t->weight += s->weight;
	tally_stack(t, &s->user);
	if (!t->first_named && s->user.n && s->user.frames[0]->function)
		t->first_named = arrived;
}

static void tally_record(struct tally *t, const struct ringside_record *rec, uint32_t pid)
{
	if (rec->kind == RINGSIDE_LOST && rec->lost.by_reader) {
		t->lapped += rec->lost.count;
		return;
	}
	/* Counted from where the reader stood when it opened the ring. */
	t->gaps += rec->seq - t->next_seq;
	t->next_seq = rec->seq + 1;
	t->records++;
	if (rec->kind == RINGSIDE_LOST)
		t->lost_writer += rec->lost.count;
	else if (rec->kind == RINGSIDE_SAMPLE)
		tally_sample(t, rec, pid);
}

static double percentile(const uint32_t *of, uint64_t total, double p)
{
	uint64_t rank = (uint64_t)((double)total * p), seen = 0;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		seen += of[i];
		if (seen > rank)
			return (double)(i + 1) * BUCKET_NS / 1e6;
	}
	return 0;
}

static void report(struct ringside *r, const struct tally *t)
{
	struct ringside_geometry g = { 0 };
	uint64_t n = t->mine;

	ringside_geometry(r, &g);
	printf("{\"records\": %ju, \"samples\": %ju, \"mine\": %ju, \"p50_ms\": %.2f, \"p99_ms\": %.2f, "
	       "\"p999_ms\": %.2f, \"max_ms\": %.2f, ",
	       (uintmax_t)t->records, (uintmax_t)t->samples, (uintmax_t)n,
	       percentile(late, t->warm, 0.5), percentile(late, t->warm, 0.99),
	       percentile(late, t->warm, 0.999), (double)t->late_max / 1e6);
	printf("\"cold_p99_ms\": %.2f, ", percentile(cold, n - t->warm, 0.99));
	printf("\"frames\": %ju, \"named\": %ju, \"seventy\": %ju, \"twenty\": %ju, \"ten\": %ju, "
	       "\"weight\": %ju, ",
	       (uintmax_t)t->frames, (uintmax_t)t->frames_named, (uintmax_t)t->seventy,
	       (uintmax_t)t->twenty, (uintmax_t)t->ten, (uintmax_t)t->weight);
	printf("\"gaps\": %ju, \"lapped\": %ju, \"lost_writer\": %ju, \"wall_error_ns\": %jd, ",
	       (uintmax_t)t->gaps, (uintmax_t)t->lapped, (uintmax_t)t->lost_writer,
	       (intmax_t)(t->wall_error_max > -t->wall_error_min ? t->wall_error_max
								 : -t->wall_error_min));
	printf("\"first_boot\": %ju, \"last_boot\": %ju, \"first_named\": %ju, ",
	       (uintmax_t)t->first_boot, (uintmax_t)t->last_boot,
	       (uintmax_t)t->first_named);
	printf("\"data_bytes\": %ju, \"dict_used\": %ju, \"held\": %ju, \"next_seq\": %ju}\n",
	       (uintmax_t)g.data_bytes, (uintmax_t)g.dict_used_bytes,
	       (uintmax_t)(g.next_seq - g.first_seq), (uintmax_t)g.next_seq);
}

/* Until SECONDS are over, a signal comes, or (first) somebody has a name. */
static int follow(struct ringside *r, struct tally *t, uint32_t pid, double seconds,
		  bool first, useconds_t pause)
{
	uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	int64_t offset = wall_offset();
	struct ringside_record rec;
	bool fresh = false;
	int got = 0;

	while (!stop && got >= 0 && now(CLOCK_MONOTONIC) < end &&
	       !(first && t->first_named)) {
		if (pause)
			usleep(pause);
		else
			ringside_wait(r, 100);
		fresh = true;
		while (!stop && (got = ringside_next(r, &rec)) > 0) {
			tally_record(t, &rec, pid);
			/* Once a wake-up, against slewing: a clock that we read now. */
			if (fresh && rec.kind == RINGSIDE_SAMPLE)
				tally_wall(t, &rec, offset = wall_offset());
			fresh = false;
			if (first && t->first_named)
				break;
		}
	}
	return got < 0 ? got : 0;
}

static int open_ring(struct ringside **r, const char *path, bool oldest, double seconds)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = path,
				      .from_oldest = oldest };
	uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	int err;

	while ((err = ringside_open(r, &o)) == -ENOENT && !stop &&
	       now(CLOCK_MONOTONIC) < end)
		usleep(1000);
	return err;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ring", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "pid", required_argument, NULL, 'p' },
		{ "oldest", no_argument, NULL, 'o' },
		{ "first", no_argument, NULL, 'f' },
		{ "pause", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	struct sigaction sa = { .sa_handler = on_signal };
	bool oldest = false, first = false;
	const char *path = NULL;
	double seconds = 1e6;
	useconds_t pause = 0;
	struct tally t = { 0 };
	struct ringside *r;
	uint32_t pid = 0;
	int c, err;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			path = optarg;
		else if (c == 's')
			seconds = strtod(optarg, NULL);
		else if (c == 'p')
			pid = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'w')
			pause = (useconds_t)strtoul(optarg, NULL, 10) * 1000;
		else if (c == 'o')
			oldest = true;
		else if (c == 'f')
			first = true;
		else
			return 2;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	err = open_ring(&r, path, oldest || first, seconds);
	if (err) {
		fprintf(stderr, "latency: %s\n", ringside_open_error());
		return 1;
	}
	t.next_seq = ringside_position(r);
	t.opened_boot = now(CLOCK_BOOTTIME);
	err = follow(r, &t, pid, seconds, first, pause);
	report(r, &t);
	ringside_close(r);
	return err ? 1 : 0;
}
