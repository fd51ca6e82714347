/* SPDX-License-Identifier: Apache-2.0 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ring_fixture.h"
#include "tests/ring_readers.h"

struct board *board;

void board_make(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		err(1, "mmap");
}

void board_clear(void)
{
	memset(board, 0, sizeof(*board));
}

void record_check(const struct ringside_record *rec, uint64_t *last_seq, const char *name)
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

static void take_account(struct ringside *r, int slot, const char *name,
			 uint64_t expected)
{
	struct ringside_counts c;

	ringside_counts(r, &c);
	if (c.corrupt_events || c.lost[RINGSIDE_LOST_CORRUPT])
		errx(1, "%s: %llu corrupt", name, (unsigned long long)c.corrupt_events);
	if (c.received + c.lost[RINGSIDE_LOST_LAPPED] != expected)
		errx(1, "%s: received %llu + lost %llu is not %llu", name,
		     (unsigned long long)c.received,
		     (unsigned long long)c.lost[RINGSIDE_LOST_LAPPED],
		     (unsigned long long)expected);
	board->r[slot].received = c.received;
	board->r[slot].lost = c.lost[RINGSIDE_LOST_LAPPED];
	board->r[slot].files = c.files;
}

static void run_reader(int slot, const struct reader_kind *k, const char *path)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = path,
				      .paranoid = k->paranoid };
	struct ringside_record rec;
	struct ringside *r;
	uint64_t last = 0, start, final = 0, samples = 0;
	int n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ringside_open(&r, &o))
		errx(1, "%s: %s", k->name, ringside_open_error());
	start = ringside_position(r);
	__atomic_add_fetch(&board->ready, 1, __ATOMIC_SEQ_CST);
	do {
		final = __atomic_load_n(&board->final_seq, __ATOMIC_SEQ_CST);
		while ((n = ringside_next(r, &rec)) == 1) {
			record_check(&rec, &last, k->name);
			if (rec.kind != RINGSIDE_SAMPLE)
				continue;
			samples++;
			if (k->nap_every && samples % k->nap_every == 0)
				usleep(k->nap_ms * 1000);
		}
		if (n < 0)
			errx(1, "%s: next: %d", k->name, n);
		n = ringside_wait(r, 20);
		if (n < 0 && n != -EINTR)
			errx(1, "%s: wait: %d", k->name, n);
	} while (!final || ringside_position(r) <= final);
	take_account(r, slot, k->name, final + 1 - start);
	board->r[slot].samples = samples;
	ringside_close(r);
	exit(0);
}

void readers_start(const struct reader_kind *kinds, int n, const char *path, pid_t *pids)
{
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			err(1, "fork");
		if (!pids[i])
			run_reader(i, &kinds[i], path);
	}
	while (__atomic_load_n(&board->ready, __ATOMIC_SEQ_CST) < (uint32_t)n) {
		readers_alive(kinds, n, pids, "start");
		usleep(1000);
	}
}

void readers_alive(const struct reader_kind *kinds, int n, const pid_t *pids,
		   const char *what)
{
	siginfo_t info;

	for (int i = 0; i < n; i++) {
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOHANG | WNOWAIT))
			err(1, "waitid");
		if (info.si_pid)
			errx(1, "the %s reader ended early, after %s", kinds[i].name,
			     what);
	}
}

int readers_end(const struct reader_kind *kinds, int n, const pid_t *pids)
{
	int status, failed = 0;

	for (int i = 0; i < n; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i] || status) {
			warnx("%s: failed (status %x)", kinds[i].name, status);
			failed++;
			continue;
		}
		printf("  %-8s received %llu, lost %llu, files %llu\n", kinds[i].name,
		       (unsigned long long)board->r[i].received,
		       (unsigned long long)board->r[i].lost,
		       (unsigned long long)board->r[i].files);
	}
	return failed;
}

uint64_t readers_verified(int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += board->r[i].samples;
	return sum;
}
