/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_ring [ROUNDS]: the writer is stopped or killed between any two of its stores, one
 * life for each point and action, under readers that are fast, stalling, slow and
 * stopped.  After each life: what was published is read or reported lost, nothing is
 * torn, a stopped writer is alive and keeps others out, a dead one does not, and the next
 * one goes on. At the end received + lost is what was produced, for each reader.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/ring_testpoint.h"
#include "shm/writer_state.h"
#include "tests/fault_ring.h"
#include "tests/ring_fixture.h"
#include "tests/ring_readers.h"

#define RECORDS		2000	/* a life: a dozen laps, some flips of the dictionary */
#define CATCH_UP_MS	20000

/* Every RING_TESTPOINT of shm/: the census fails on one that is missing here, and on one
 * that no life comes to. */
const char *const fault_points[] = {
	"lock.opened", "lock.taken",
	"resume.locked", "resume.mapped", "resume.signed", "resume.cleared",
	"resume.announced", "resume.published", "create.predecessor", "create.no_temp",
	"create.empty", "create.allocated", "create.mapped", "create.half_formatted",
	"create.formatted", "create.stateless", "create.without_magic", "create.whole",
	"rename.before", "rename.after", "supersede.after",
	"prev.before", "prev.unlinked",
	"punch.before", "punch.superseded", "punch.counted", "punch.announced",
	"punch.data", "punch.dictionary",
	"block.unannounced", "block.announced", "block.payload", "block.word1",
	"block.word0", "pad.before", "pad.word1", "pad.word0",
	"put.reserved", "commit.payload", "commit.word1", "commit.word0",
	"publish.before", "publish.after",
	"intern.before", "intern.payload", "intern.word1", "intern.word0",
	"recycle.before", "recycle.word0", "recycle.word1",
	"meta.generation", "meta.used", "meta.last_ref",
	"anchor.before", "anchor.begun", "anchor.half", "anchor.fields", "anchor.ended",
	"status.begun", "status.head", "status.rows", "status.ended",
	"heartbeat.stored", "close.published", "close.stated",
};
enum { POINTS = sizeof(fault_points) / sizeof(*fault_points) };
const char *const fault_actions[] = { "kill",	       "exit",	   "stop, kill",
				      "stop, continue", "scribble", "half a payload" };

/* Between the test and its writers. */
static struct shared {
	uint64_t hits[POINTS];
	bool unknown, live;
} *shared;

static struct {
	const char *point;
	enum fault_action action;
	uint64_t nth;
	bool census;
	struct ring_writer *w;
} fault;

int fault_npoints(void)
{
	return POINTS;
}

/* --- in the writer ------------------------------------------------------------------ */

/* Announced and not published, and the unused rest of the dictionary: nobody may look. */
static void scribble(struct ring_writer *w)
{
	uint64_t end = (w->hdr->intent + 1) << w->shift;
	struct dict *d = &w->dict;
	uint64_t used = d->half[d->current].used;

	for (uint64_t pos = w->hdr->tail; pos < end; pos += RING_ALIGN)
		memset(w->data + (pos & w->data_mask), 0xff, RING_ALIGN);
	memset(d->base + d->current * d->half_bytes + used, 0xff, d->half_bytes - used);
}

static void act(void)
{
	struct ring_writer *w = fault.w;

	switch (fault.action) {
	case FAULT_EXIT:
		_exit(FAULT_EXIT_CODE);
	case FAULT_STOP_KILL:
	case FAULT_STOP_CONT:
		raise(SIGSTOP);
		return;
	case FAULT_SCRIBBLE:
		if (w)
			scribble(w);
		break;
	case FAULT_HALF:
		if (w)
			memset(w->data + ((w->pos + 16) & w->data_mask), 0x5a, 40);
		break;
	default:
		break;
	}
	raise(SIGKILL);
}

static void count(const char *name)
{
	for (int i = 0; i < POINTS; i++)
		if (!strcmp(name, fault_points[i])) {
			shared->hits[i]++;
			return;
		}
	shared->unknown = true;
	warnx("fault_points[] lacks %s", name);
}

void ring_testpoint(const char *name)
{
	if (fault.census)
		count(name);
	else if (fault.nth && !strcmp(name, fault.point) && !--fault.nth)
		act();
}

/* The same bytes in other blocks: what a crash left is resumed, unless this was turned. */
static uint32_t block_bytes = 4096;

void fault_turn(void)
{
	block_bytes ^= 4096 ^ 8192;
}

int fault_create(struct ring_writer **w, const char *path)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .ring_bytes = 128 << 10,
					 .dict_bytes = 128 << 10,
					 .block_bytes = block_bytes };

	return ring_writer_create(w, &o);
}

static void tell(struct ring_writer *w, uint64_t seq)
{
	struct ring_anchor a = { .boot_ns = seq, .real_ns = (int64_t)seq, .source = 1 };

	ring_writer_anchor(w, &a);
	ring_status_begin(w);
	ring_status_number(w, 1, seq);
	ring_status_end(w);
	ring_writer_heartbeat(w, seq);
}

/* Fills a half faster than the ring goes round, so that it is the ring's last reference
 * that every recycling waits for: one block too early would show. */
static void crowd_dictionary(struct ring_writer *w, uint64_t seq)
{
	char name[96];
	ringside_ref ref;

	snprintf(name, sizeof(name), "%095llu", (unsigned long long)seq);
	ring_intern_string(w, name, sizeof(name) - 1, &ref);
}

void fault_put(struct ring_writer *w, uint64_t n)
{
	uint64_t seq;

	while (n--) {
		seq = ring_writer_next_seq(w);
		crowd_dictionary(w, seq);
		if (seq % 8 ? numbered_put_plain(w, seq) : numbered_put(w, seq))
			errx(1, "put");
		if (seq % 100 == 0)
			tell(w, seq);
		if (seq % 13 && n)
			continue;
		ring_writer_publish(w);
		__atomic_store_n(&board->published, ring_writer_next_seq(w),
				 __ATOMIC_SEQ_CST);
	}
}

static void live(const char *path, uint64_t records)
{
	struct ring_writer *w;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fault_create(&w, path))
		errx(1, "%s", ring_writer_error());
	fault.w = w;
	shared->live = true;
	fault_put(w, records);
	if (!fault.census || records)
		ring_writer_heartbeat(w, UINT64_MAX);
	fault.w = NULL;
	ring_writer_close(w, true);
	_exit(fault.nth ? FAULT_NOT_REACHED : 0);
}

pid_t fault_life(const char *path, const char *point, enum fault_action action,
		 uint64_t nth, uint64_t records)
{
	pid_t pid;

	shared->live = false;
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	fault.point = point;
	fault.action = action;
	fault.nth = nth;
	fault.census = !point;
	live(path, records);
	return 0;
}

/* --- in the test -------------------------------------------------------------------- */

void fault_catch_up(struct ringside *r, uint64_t *last, const char *what)
{
	uint64_t published = __atomic_load_n(&board->published, __ATOMIC_SEQ_CST);
	struct ringside_record rec;
	int n;

	for (int ms = 0; ms < CATCH_UP_MS; ms += 10) {
		while ((n = ringside_next(r, &rec)) == 1)
			record_check(&rec, last, what);
		if (n < 0)
			errx(1, "%s: next: %d", what, n);
		if (ringside_position(r) >= published)
			return;
		ringside_wait(r, 10);
	}
	errx(1, "%s: the reader stands at %llu, and %llu was published", what,
	     (unsigned long long)ringside_position(r), (unsigned long long)published);
}

void fault_account(struct ringside *r, uint64_t start, const char *what)
{
	struct ringside_counts c;

	ringside_counts(r, &c);
	if (c.corrupt_events || c.received + c.lost[RINGSIDE_LOST_LAPPED] !=
				ringside_position(r) - start)
		errx(1, "%s: received %llu, lost %llu, corrupt %llu, from %llu to %llu",
		     what, (unsigned long long)c.received,
		     (unsigned long long)c.lost[RINGSIDE_LOST_LAPPED],
		     (unsigned long long)c.corrupt_events, (unsigned long long)start,
		     (unsigned long long)ringside_position(r));
}

/* A writer that hangs is not dead: others stay out, and readers can tell. */
static void look_at_stopped(struct ringside *r, const char *path, pid_t pid,
			    uint64_t *last, const char *what)
{
	struct ringside_liveness l;
	struct ring_writer *w;
	int e;

	if (!strncmp(what, "lock.opened", 11))
		return;			/* it holds nothing yet */
	e = fault_create(&w, path);
	if (e != -EBUSY)
		errx(1, "%s: a second writer got %d beside a stopped one", what, e);
	if (!shared->live)
		return;
	fault_catch_up(r, last, what);
	if (ringside_liveness(r, &l) || !l.alive || l.writer_pid != (uint32_t)pid)
		errx(1, "%s: a stopped writer is taken for dead", what);
}

static bool begins(const char *point, const char *with)
{
	return !strncmp(point, with, strlen(with));
}

/* Who comes only now finds everything that is held whole, and all that it refers to. */
static void look_as_late(const char *path, const char *what)
{
	struct ringside_options o = { .size = sizeof(o), .path = path,
				      .from_oldest = true };
	struct ringside_record rec;
	struct ringside_counts c;
	struct ringside *r;
	uint64_t last = 0;
	int n;

	if (ringside_open(&r, &o))
		errx(1, "%s: %s", what, ringside_open_error());
	while ((n = ringside_next(r, &rec)) == 1)
		record_check(&rec, &last, what);
	ringside_counts(r, &c);
	if (n || c.corrupt_events || c.lost[RINGSIDE_LOST_LAPPED])
		errx(1, "%s: a late reader: %d, corrupt %llu, lost %llu", what, n,
		     (unsigned long long)c.corrupt_events,
		     (unsigned long long)c.lost[RINGSIDE_LOST_LAPPED]);
	ringside_close(r);
}

static void look_at_dead(struct ringside *r, const char *path, uint64_t *last,
			 const char *what)
{
	struct ringside_liveness l;

	fault_catch_up(r, last, what);
	if (ringside_liveness(r, &l) || l.alive)
		errx(1, "%s: a dead writer is taken for alive", what);
	look_as_late(path, what);
	if (begins(what, "resume.") && stranger_agrees(path))
		exit(1);
}

static bool ended_as_told(int status, enum fault_action action)
{
	if (action == FAULT_EXIT)
		return WIFEXITED(status) && WEXITSTATUS(status) == FAULT_EXIT_CODE;
	if (action == FAULT_STOP_CONT)
		return WIFEXITED(status) && !WEXITSTATUS(status);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* A crash in the middle of a batch that reaches two blocks further. */
static void leave_torn(const char *path)
{
	struct ring_writer *w;
	uint64_t block;

	if (fault_create(&w, path))
		errx(1, "%s", ring_writer_error());
	fault_put(w, RECORDS);		/* every block has a life to be mistaken for */
	block = w->block;
	while (w->block < block + 2)
		if (numbered_put_plain(w, 1))
			errx(1, "put");
	scribble(w);
	w->published = w->pos;		/* never published, as for who is killed */
	ring_writer_close(w, false);
}

/* A point of creation needs a file that cannot be resumed, one of resuming a crash just
 * before; the others come in either. */
static void prepare(const char *path, const char *point, uint32_t dice)
{
	static const char *const making[] = { "create.", "rename.", "supersede.",
					      "prev.", "punch." };
	bool anew = dice % 8 == 0;

	for (size_t i = 0; i < sizeof(making) / sizeof(*making); i++)
		anew |= begins(point, making[i]);
	if (begins(point, "resume."))
		leave_torn(path);
	else if (anew)
		fault_turn();
}

/* False: the life came to its end without coming to the point so often. */
static bool one_life(struct ringside *r, const char *path, int point,
		     enum fault_action action, uint64_t nth, uint64_t *last)
{
	int status;
	pid_t pid;
	char what[96];

	prepare(path, fault_points[point], (uint32_t)nth);
	pid = fault_life(path, fault_points[point], action, nth, RECORDS);
	snprintf(what, sizeof(what), "%s: %s", fault_points[point],
		 fault_actions[action]);
	if (waitpid(pid, &status, WUNTRACED) != pid)
		err(1, "waitpid");
	if (WIFSTOPPED(status)) {
		look_at_stopped(r, path, pid, last, what);
		kill(pid, action == FAULT_STOP_CONT ? SIGCONT : SIGKILL);
		if (waitpid(pid, &status, 0) != pid)
			err(1, "waitpid");
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == FAULT_NOT_REACHED)
		return false;
	if (!ended_as_told(status, action))
		errx(1, "%s: ended with status %x", what, (unsigned int)status);
	look_at_dead(r, path, last, what);
	return true;
}

static const struct reader_kind kinds[] = {
	{ "fast", false, 0, 0 }, { "stalling", false, 2000, 100 },
	{ "slow", true, 64, 2 }, { "stopped", false, 0, 0 },
};
enum { READERS = sizeof(kinds) / sizeof(*kinds), STOPPED = 3 };

static int every_point(const char *path, struct ringside *r, const pid_t *pids,
		       uint64_t *last, uint32_t dice)
{
	int lives = 0;
	uint64_t nth;

	for (int a = 0; a < FAULT_ACTIONS; a++)
		for (int p = 0; p < POINTS; p++) {
			if (a == FAULT_HALF && strcmp(fault_points[p], "put.reserved"))
				continue;
			dice = dice * 1664525u + 1013904223u;
			nth = a == FAULT_EXIT ? 1 : 1 + (dice >> 8) % shared->hits[p];
			if (!one_life(r, path, p, a, nth, last) &&
			    !one_life(r, path, p, a, 1, last))
				errx(1, "no life comes to %s", fault_points[p]);
			kill(pids[STOPPED], lives++ % 2 ? SIGCONT : SIGSTOP);
			readers_alive(kinds, READERS, pids, fault_points[p]);
		}
	return lives;
}

/* Which points does a life come to, and how often? */
static int census(const char *path)
{
	int status, missing = 0;

	for (int i = 0; i < 4; i++) {	/* two before it, one resumed, one whole */
		pid_t pid;

		if (i == 2)
			prepare(path, "resume.", 1);
		pid = fault_life(path, NULL, 0, 0, i < 3 ? 0 : RECORDS);
		if (waitpid(pid, &status, 0) != pid || status)
			errx(1, "census: status %x", status);
		if (i < 2)
			memset(shared->hits, 0, sizeof(shared->hits));
	}
	for (int i = 0; i < POINTS; i++)
		if (!shared->hits[i]) {
			warnx("no life comes to %s", fault_points[i]);
			missing++;
		}
	return missing || shared->unknown;
}

static int under_readers(const char *path, uint32_t rounds)
{
	struct ringside_options o = { .size = sizeof(o), .path = path };
	struct ring_writer *w;
	struct ringside *r;
	struct stranger stranger;
	pid_t pids[READERS];
	uint64_t start, last = 0;
	int lives = 0, failed;

	if (ringside_open(&r, &o))
		errx(1, "%s", ringside_open_error());
	start = ringside_position(r);
	stranger_start(&stranger, path);
	readers_start(kinds, READERS, path, pids);
	for (uint32_t i = 1; i <= rounds; i++)
		lives += every_point(path, r, pids, &last, i);
	if (fault_create(&w, path))
		errx(1, "%s", ring_writer_error());
	fault_put(w, 100);
	fault_catch_up(r, &last, "the last life");
	fault_account(r, start, "the reader of the test");
	__atomic_store_n(&board->final_seq, ring_writer_next_seq(w) - 1,
			 __ATOMIC_SEQ_CST);
	kill(pids[STOPPED], SIGCONT);
	failed = readers_end(kinds, READERS, pids);
	failed += stranger_end(&stranger, ring_writer_next_seq(w) - 1);
	failed += stranger_agrees(path);
	printf("%d points, %d lives, %llu records: nothing torn, every account exact\n",
	       POINTS, lives, (unsigned long long)ring_writer_next_seq(w) - 1);
	ring_writer_close(w, true);
	ringside_close(r);
	return failed;
}

static void make_shared(void)
{
	board_make();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "ring", "ring.lock", "ring.prev",
					     ".ring.new" };
	char dir[] = "/dev/shm/fault-ring-XXXXXX", path[64], name[96];
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 3;
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	make_shared();
	failed = census(path);
	if (!failed)
		failed = under_readers(path, rounds);
	board_clear();
	failed |= fault_started_together(path);
	failed |= fault_boot_id(path);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
	failed |= fault_full_tmpfs(dir);
	rmdir(dir);
	return failed != 0;
}
