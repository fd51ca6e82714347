/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_ring [RECORDS [KILLS [SECONDS]]]: processes against each other on a private
 * ring, until so many records were verified and so many writers killed, or the time is
 * over: it says which.  Every sample carries its own sequence number and a content that
 * follows from it, so a torn, stale, repeated or wrongly resolved record shows; at the
 * end each reader's received + lost must equal what was written.
 *
 * 1. a writer that is killed again and again at random moments, in creation too, under
 * readers that are fast, stalling, slow, stopped and continued, and reading by pread
 * 2. a writer flat out, under the same
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/ring_time.h"
#include "tests/ring_fixture.h"
#include "tests/ring_readers.h"

#define MS		1000000ull

/* The fast one and the one that reads by pread keep up; the others are lapped. */
static const struct reader_kind kinds[] = {
	{ "fast", false, 0, 0 },     { "stalling", false, 20000, 100 },
	{ "slow", false, 64, 2 },    { "stopped", false, 0, 0 },
	{ "pread", true, 0, 0 },
};
enum { READERS = sizeof(kinds) / sizeof(*kinds), STOPPED = 3 };
static uint64_t verified, deadline;

static bool late(void)
{
	return ring_clock_ns(CLOCK_MONOTONIC) > deadline;
}

static int account(const pid_t *pids)
{
	int failed;

	kill(pids[STOPPED], SIGCONT);
	failed = readers_end(kinds, READERS, pids);
	verified += readers_verified(READERS);
	return failed;
}

/* --- writers ------------------------------------------------------------------------ */

/* A dead writer's ring is resumed, but by one that wants another size. */
static uint64_t dict_bytes = 256 << 10;

static struct ring_writer *make_writer(const char *path)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .ring_bytes = 256 << 10,
					 .dict_bytes = dict_bytes,
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
	struct ring_writer *w = make_writer(path);
	uint64_t end;
	struct stranger stranger;
	pid_t pids[READERS];
	int failed;

	board_clear();
	readers_start(kinds, READERS, path, pids);
	stranger_start(&stranger, path);
	end = ring_clock_ns(CLOCK_MONOTONIC) + ms * MS;
	for (unsigned int i = 0; ring_clock_ns(CLOCK_MONOTONIC) < end; i++) {
		put(w, 500);
		if (i % 64 == 0)
			kill(pids[STOPPED], i % 128 ? SIGCONT : SIGSTOP);
	}
	__atomic_store_n(&board->final_seq, ring_writer_next_seq(w) - 1,
			 __ATOMIC_SEQ_CST);
	failed = account(pids);
	failed += stranger_end(&stranger, ring_writer_next_seq(w) - 1);
	printf("flat out: %llu records, %u generations of the dictionary\n",
	       (unsigned long long)ring_writer_next_seq(w) - 1,
	       ring_writer_generation(w));
	ring_writer_close(w, true);
	return failed;
}

static void doomed_writer(const char *path)
{
	struct ring_writer *w;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	w = make_writer(path);
	for (;;)
		put(w, 20);
}

static int killed(const char *path, int kills)
{
	struct ring_writer *w = make_writer(path);
	struct stranger stranger;
	unsigned int dice = 1;
	pid_t pids[READERS], pid;
	int failed, i;

	board_clear();
	put(w, 10);
	ring_writer_close(w, false); /* before the fork: children would hold its lock */
	readers_start(kinds, READERS, path, pids);
	stranger_start(&stranger, path);
	for (i = 0; i < kills && !late(); i++) {
		if (i % 3 == 0)
			dict_bytes ^= 256 << 10 ^ 128 << 10;
		pid = fork();
		if (!pid)
			doomed_writer(path);
		dice = dice * 1664525u + 1013904223u;
		usleep((dice >> 16) %
		       (i % 4 ? 30000 : 1500)); /* some die while they create */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (i % 8 == 0)
			kill(pids[STOPPED], i % 16 ? SIGCONT : SIGSTOP);
		readers_alive(kinds, READERS, pids, "a kill");
	}
	w = make_writer(path);
	put(w, 100);
	__atomic_store_n(&board->final_seq, ring_writer_next_seq(w) - 1,
			 __ATOMIC_SEQ_CST);
	failed = account(pids);
	failed += stranger_end(&stranger, ring_writer_next_seq(w) - 1);
	failed += stranger_agrees(path);
	printf("killed %d of %d times: %llu records\n", i, kills,
	       (unsigned long long)ring_writer_next_seq(w) - 1);
	ring_writer_close(w, true);
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "ring", "ring.lock", "ring.prev",
					     ".ring.new" };
	char dir[] = "/dev/shm/stress-ring-XXXXXX", path[64], name[96];
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	int kills = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000, failed;
	uint64_t seconds = argc > 3 ? strtoull(argv[3], NULL, 10) : 50;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	board_make();
	deadline = ring_clock_ns(CLOCK_MONOTONIC) + seconds * 1000 * MS;
	failed = killed(path, kills);
	while (!failed && verified < wanted && !late())
		failed = flat_out(path, wanted - verified > 5000000 ? 10000 : 1000);
	if (!failed)
		printf("%llu of %llu records verified%s: nothing torn, misordered or "
		       "unresolvable, every account exact\n",
		       (unsigned long long)verified, (unsigned long long)wanted,
		       verified < wanted ? ", then the time was over" : "");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
	rmdir(dir);
	return failed;
}
