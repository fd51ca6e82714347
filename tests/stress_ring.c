/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_ring [SECONDS [KILLS]]: processes against each other on a private ring.  Every
 * sample carries its own sequence number and a content that follows from it, so a torn,
 * stale, repeated or wrongly resolved record shows; at the end each reader's received +
 * lost must equal what was written.
 *
 * 1. a writer flat out, readers that are fast, slow, stopped and continued, and reading
 * by pread 2. a writer that is killed again and again, under two readers that follow
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/ring_time.h"
#include "tests/ring_fixture.h"

#define MS		1000000ull
#define MAX_READERS	4

/* Between the processes. */
struct board {
	uint64_t final_seq;		/* 0 while writing goes on */
	uint32_t ready;
	struct { uint64_t received, lost, samples, files; } r[MAX_READERS];
};
static struct board *board;

struct reader_kind { const char *name; bool paranoid; unsigned int nap_every; };

static const struct reader_kind fast_kinds[] = {
	{ "fast", false, 0 },
	{ "slow", false, 64 },
	{ "stopped", false, 0 },
	{ "pread", true, 0 },
};
static const struct reader_kind kill_kinds[] = { { "mapped", false, 0 },
						 { "pread", true, 0 } };

static void make_board(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		err(1, "mmap");
}

/* --- readers ------------------------------------------------------------------------ */

static void check(const struct ringside_record *rec, uint64_t *last_seq, const char *name)
{
	const char *bad;

	if (!rec->seq)
		return;			/* a loss that the reader itself reports */
	if (rec->seq <= *last_seq)
		errx(1, "%s: number %llu after %llu", name, (unsigned long long)rec->seq,
		     (unsigned long long)*last_seq);
	*last_seq = rec->seq;
	if (rec->kind != RINGSIDE_SAMPLE)
		return;
	if (numbered_of(rec) != rec->seq)
		errx(1, "%s: record %llu holds %llu", name, (unsigned long long)rec->seq,
		     (unsigned long long)numbered_of(rec));
	bad = numbered_check(rec);
	if (bad)
		errx(1, "%s: record %llu: not %s", name, (unsigned long long)rec->seq,
		     bad);
}

static void run_reader(int slot, const struct reader_kind *k, const char *path)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = path,
				      .paranoid = k->paranoid };
	struct ringside_record rec;
	struct ringside_counts c;
	struct ringside *r;
	uint64_t last = 0, start, samples = 0, final = 0;
	int n;

	if (ringside_open(&r, &o))
		errx(1, "%s: %s", k->name, ringside_open_error());
	start = ringside_position(r);
	__atomic_add_fetch(&board->ready, 1, __ATOMIC_SEQ_CST);
	do {
		final = __atomic_load_n(&board->final_seq, __ATOMIC_SEQ_CST);
		while ((n = ringside_next(r, &rec)) == 1) {
			check(&rec, &last, k->name);
			samples += rec.kind == RINGSIDE_SAMPLE;
			if (k->nap_every && samples % k->nap_every == 0)
				usleep(2000);
		}
		if (n < 0)
			errx(1, "%s: next: %d", k->name, n);
		n = ringside_wait(r, 20);
		if (n < 0 && n != -EINTR)
			errx(1, "%s: wait: %d", k->name, n);
	} while (!final || ringside_position(r) <= final);
	ringside_counts(r, &c);
	if (c.corrupt_events || c.lost[RINGSIDE_LOST_CORRUPT])
		errx(1, "%s: %llu corrupt", k->name,
		     (unsigned long long)c.corrupt_events);
	if (c.received + c.lost[RINGSIDE_LOST_LAPPED] != final + 1 - start)
		errx(1, "%s: received %llu + lost %llu is not %llu", k->name,
		     (unsigned long long)c.received,
		     (unsigned long long)c.lost[RINGSIDE_LOST_LAPPED],
		     (unsigned long long)(final + 1 - start));
	board->r[slot].received = c.received;
	board->r[slot].lost = c.lost[RINGSIDE_LOST_LAPPED];
	board->r[slot].samples = samples;
	board->r[slot].files = c.files;
	ringside_close(r);
	exit(0);
}

static void start_readers(const struct reader_kind *kinds, int n, const char *path,
			  pid_t *pids)
{
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			err(1, "fork");
		if (!pids[i])
			run_reader(i, &kinds[i], path);
	}
	while (__atomic_load_n(&board->ready, __ATOMIC_SEQ_CST) < (uint32_t)n) {
		if (waitpid(pids[n - 1], NULL, WNOHANG) > 0)
			errx(1, "a reader ended early");
		usleep(1000);
	}
}

static int end_readers(const struct reader_kind *kinds, int n, const pid_t *pids)
{
	int status, failed = 0;

	for (int i = 0; i < n; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i] || status) {
			warnx("%s: failed (status %x)", kinds[i].name, status);
			failed = 1;
			continue;
		}
		printf("  %-8s received %llu, lost %llu, files %llu\n", kinds[i].name,
		       (unsigned long long)board->r[i].received,
		       (unsigned long long)board->r[i].lost,
		       (unsigned long long)board->r[i].files);
	}
	return failed;
}

/* --- writers ------------------------------------------------------------------------ */

static struct ring_writer *make_writer(const char *path)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .ring_bytes = 256 << 10,
					 .dict_bytes = 256 << 10,
					 .block_bytes = 16384 };
	struct ring_writer *w;

	if (ring_writer_create(&w, &o))
		errx(1, "%s", ring_writer_error());
	return w;
}

static void put(struct ring_writer *w, uint64_t n)
{
	uint64_t seq;

	while (n--) {
		seq = ring_writer_next_seq(w);
		if (seq % 8 ? numbered_put_plain(w, seq) : numbered_put(w, seq))
			errx(1, "put");
		if (seq % 13 == 0)
			ring_writer_publish(w);
	}
	ring_writer_publish(w);
}

static int flat_out(const char *path, uint64_t ms)
{
	enum { N = sizeof(fast_kinds) / sizeof(*fast_kinds) };
	struct ring_writer *w = make_writer(path);
	uint64_t end;
	pid_t pids[N];
	int failed;

	memset(board, 0, sizeof(*board));
	start_readers(fast_kinds, N, path, pids);
	end = ring_clock_ns(CLOCK_MONOTONIC) + ms * MS;
	for (unsigned int i = 0; ring_clock_ns(CLOCK_MONOTONIC) < end; i++) {
		put(w, 500);
		if (i % 64 == 0)
			kill(pids[2], i % 128 ? SIGCONT : SIGSTOP);
	}
	kill(pids[2], SIGCONT);
	__atomic_store_n(&board->final_seq, ring_writer_next_seq(w) - 1,
			 __ATOMIC_SEQ_CST);
	failed = end_readers(fast_kinds, N, pids);
	printf("flat out: %llu records, %u generations of the dictionary\n",
	       (unsigned long long)ring_writer_next_seq(w) - 1,
	       ring_writer_generation(w));
	ring_writer_close(w, true);
	return failed;
}

static void doomed_writer(const char *path)
{
	struct ring_writer *w = make_writer(path);

	for (;;)
		put(w, 20);
}

static int killed(const char *path, int kills)
{
	enum { N = sizeof(kill_kinds) / sizeof(*kill_kinds) };
	struct ring_writer *w = make_writer(path);
	unsigned int dice = 1;
	pid_t pids[N], pid;
	int failed;

	memset(board, 0, sizeof(*board));
	put(w, 10);
	ring_writer_close(w, false); /* before the fork: children would hold its lock */
	start_readers(kill_kinds, N, path, pids);
	for (int i = 0; i < kills; i++) {
		pid = fork();
		if (!pid)
			doomed_writer(path);
		dice = dice * 1664525u + 1013904223u;
		usleep((dice >> 16) %
		       (i % 4 ? 6000 : 1500)); /* some die while they create */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	w = make_writer(path);
	put(w, 100);
	__atomic_store_n(&board->final_seq, ring_writer_next_seq(w) - 1,
			 __ATOMIC_SEQ_CST);
	failed = end_readers(kill_kinds, N, pids);
	printf("killed %d times: %llu records\n", kills,
	       (unsigned long long)ring_writer_next_seq(w) - 1);
	ring_writer_close(w, true);
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "ring", "ring.lock", "ring.prev",
					     ".ring.new" };
	char dir[] = "/dev/shm/stress-ring-XXXXXX", path[64], name[96];
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
	int kills = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200, failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	make_board();
	failed = flat_out(path, (uint64_t)(seconds * 1000));
	failed |= killed(path, kills);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
	rmdir(dir);
	return failed;
}
