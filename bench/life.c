/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life: a ring with readers beside it: what is counted under overload, what waiting costs, how
 * soon a woken reader runs, what a crash and a late reader cost.  Each with its baseline in the
 * same run.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/figure.h"
#include "shm/writer_state.h"

#define RING_BYTES	(16u << 20)
#define DICT_BYTES	(4u << 20)
#define RAW_TYPE	77
#define MS		1000000ull

static char dir[64], path[96];
static char payload[1024];

static struct ring_writer *make_writer(const char *at)
{
	struct ring_writer_options o = { .path = at, .group = (gid_t)-1,
					 .ring_bytes = RING_BYTES,
					 .dict_bytes = DICT_BYTES };
	struct ring_writer *w;

	if (ring_writer_create(&w, &o))
		errx(1, "%s", ring_writer_error());
	return w;
}

static struct ringside *open_reader(bool oldest)
{
	struct ringside_options o = { .size = sizeof(o), .path = path,
				      .from_oldest = oldest };
	struct ringside *r;

	if (ringside_open(&r, &o))
		errx(1, "%s", ringside_open_error());
	return r;
}

static void put(struct ring_writer *w, unsigned int n, uint32_t len)
{
	while (n--)
		if (ring_put(w, RAW_TYPE, 0, payload, len, NULL))
			errx(1, "put");
}

/* --- overload ----------------------------------------------------------------------- */

struct follower {
	struct ringside *r;
	uint64_t start, final;		/* final: 0 while the writer works */
};

static void *follow(void *arg)
{
	struct follower *f = arg;
	struct ringside_record rec;
	uint64_t final;

	do {
		final = __atomic_load_n(&f->final, __ATOMIC_SEQ_CST);
		while (ringside_next(f->r, &rec) == 1)
			;
	} while (!final || ringside_position(f->r) <= final);
	return NULL;
}

/* A writer flat out for a second, a reader beside it: counted against true. */
static void overload(void)
{
	struct ring_writer *w = make_writer(path);
	struct follower f = { .r = open_reader(false) };
	struct ringside_counts c;
	uint64_t end, wakes = 0, records = 0, published, at;
	pthread_t t;
	char text[96];

	f.start = ringside_position(f.r);
	if (pthread_create(&t, NULL, follow, &f))
		errx(1, "thread");
	end = ring_clock_ns(CLOCK_MONOTONIC) + 1000 * MS;
	while (ring_clock_ns(CLOCK_MONOTONIC) < end) {
		put(w, 64, 256);
		at = w->next_wake_ns;
		ring_writer_publish(w);
		wakes += w->next_wake_ns != at;
		records += 64;
	}
	published = ring_writer_next_seq(w);
	__atomic_store_n(&f.final, published - 1, __ATOMIC_SEQ_CST);
	pthread_join(t, NULL);
	ringside_counts(f.r, &c);
	snprintf(text, sizeof(text), "received %.1f %% of %llu, corrupt %llu",
		 100.0 * (double)c.received / (double)(published - f.start),
		 (unsigned long long)(published - f.start),
		 (unsigned long long)c.corrupt_events);
	figure("counted against true under overload", (double)c.corrupt_events +
		(double)(c.received + c.lost[RINGSIDE_LOST_LAPPED]) -
		(double)(published - f.start), "records", true, 0, text);
	snprintf(text, sizeof(text), "%llu wakes", (unsigned long long)wakes);
	figure("records published for each wake", (double)records / (double)(wakes + 1), "x",
	       false, 64, text);
	ringside_close(f.r);
	ring_writer_close(w, true);
}

/* --- waiting ------------------------------------------------------------------------ */

struct idler {
	struct ringside *r;		/* NULL: polls every millisecond */
	uint64_t end, cpu;
};

static void *idle(void *arg)
{
	struct idler *i = arg;
	uint64_t start = cpu_ns();
	struct ringside_record rec;

	while (ring_clock_ns(CLOCK_MONOTONIC) < i->end) {
		if (i->r) {
			ringside_wait(i->r, 1000);
			ringside_next(i->r, &rec);
		} else {
			usleep(1000);
		}
	}
	i->cpu = cpu_ns() - start;
	return NULL;
}

static void idling(void)
{
	struct ring_writer *w = make_writer(path);
	uint64_t end = ring_clock_ns(CLOCK_MONOTONIC) + 3000 * MS;
	struct idler waits = { .r = open_reader(false), .end = end }, polls = { .end = end };
	pthread_t t[2];
	char text[96];

	if (pthread_create(&t[0], NULL, idle, &waits) ||
	    pthread_create(&t[1], NULL, idle, &polls))
		errx(1, "thread");
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	snprintf(text, sizeof(text), "%.2f %% of a CPU, polling %.2f %%",
		 (double)waits.cpu / 30e6, (double)polls.cpu / 30e6);
	figure("CPU of an idle reader against 1 ms polling",
	       (double)waits.cpu / (double)polls.cpu, "x", true, 0.1, text);
	ringside_close(waits.r);
	ring_writer_close(w, true);
}

struct woken {
	struct ringside *r;		/* NULL: reads the pipe */
	int from;
	unsigned int n;
	double ns[ROUNDS_MAX];
};

static void *take(void *arg)
{
	struct woken *k = arg;
	struct ringside_record rec;
	uint64_t sent;

	while (k->n < ROUNDS_MAX) {
		if (k->r) {
			ringside_wait(k->r, 1000);
			if (ringside_next(k->r, &rec) != 1)
				continue;
			sent = rec.boot_ns;
		} else if (read(k->from, &sent, sizeof(sent)) != sizeof(sent)) {
			err(1, "pipe");
		}
		k->ns[k->n++] = (double)(ring_clock_ns(CLOCK_MONOTONIC) - sent);
	}
	return NULL;
}

/* The time of sending stands where a record has its own. */
static void latency(void)
{
	struct ring_writer *w = make_writer(path);
	struct woken ring = { .r = open_reader(false) }, through = { .from = -1 };
	double p50, pipe50;
	pthread_t t[2];
	char text[96];
	uint64_t now;
	int fds[2];

	if (pipe(fds))
		err(1, "pipe");
	through.from = fds[0];
	if (pthread_create(&t[0], NULL, take, &ring) ||
	    pthread_create(&t[1], NULL, take, &through))
		errx(1, "thread");
	for (unsigned int i = 0; i < ROUNDS_MAX; i++) {
		usleep(3000);
		now = ring_clock_ns(CLOCK_MONOTONIC);
		memcpy(payload, &now, sizeof(now));
		put(w, 1, 64);
		ring_writer_publish(w);
		usleep(3000);
		now = ring_clock_ns(CLOCK_MONOTONIC);
		if (write(fds[1], &now, sizeof(now)) != sizeof(now))
			err(1, "pipe");
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	p50 = median(ring.ns, ROUNDS_MAX);
	pipe50 = median(through.ns, ROUNDS_MAX);
	snprintf(text, sizeof(text), "p50 %.1f us, pipe %.1f us", p50 / 1000, pipe50 / 1000);
	figure("publish to woken reader against a pipe", p50 / pipe50, "x", true, 1.3, text);
	close(fds[0]);
	close(fds[1]);
	ringside_close(ring.r);
	ring_writer_close(w, true);
}

/* --- a crash, a late reader --------------------------------------------------------- */

static double ms_of(uint64_t start)
{
	return (double)(cpu_ns() - start) / 1e6;
}

/* From nothing to the first publish; and from what a crash left.  Some names stand in the
 * dictionary, which the new life walks. */
static void crash(void)
{
	double fresh[ROUNDS_MAX], resumed[ROUNDS_MAX], quotient[ROUNDS_MAX], lost = 0;
	unsigned int n = rounds;
	struct ring_writer *w;
	char name[64], text[96];
	ringside_ref ref;
	uint64_t start, block;

	for (unsigned int i = 0; i < n; i++) {
		unlink(path);
		start = cpu_ns();
		w = make_writer(path);
		fresh[i] = ms_of(start);
		for (int k = 0; k < 20000; k++) {
			snprintf(name, sizeof(name), "a_function_of_that_name_%d", k);
			ring_intern_string(w, name, strlen(name), &ref);
		}
		put(w, 40000, 1000);
		ring_writer_publish(w);
		put(w, 7, 1000);
		w->published = w->pos;	/* as a killed writer leaves them */
		block = w->hdr->intent;
		ring_writer_close(w, false);
		start = cpu_ns();
		w = make_writer(path);
		resumed[i] = ms_of(start);
		quotient[i] = resumed[i] / fresh[i];
		if (!ring_writer_resumed(w))
			errx(1, "not resumed");
		lost += (double)(w->hdr->intent - block);
		ring_writer_close(w, false);
	}
	snprintf(text, sizeof(text), "%.2f ms, fresh %.2f ms", median(resumed, n),
		 median(fresh, n));
	figure("kill -9 to next publish against a fresh ring", median(quotient, n), "x", true,
	       0.2, text);
	figure("blocks that a crash costs", lost / n, "blocks", true, 1, "beside those announced");
}

/* Reads a byte of every page, as a reader that maps everything first would. */
static double touch_all(void)
{
	int fd = open(path, O_RDONLY);
	volatile uint8_t sum = 0;
	uint64_t start, bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	uint8_t *p;
	double ns;

	start = cpu_ns();
	p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	for (uint64_t i = 0; i < bytes; i += 64)
		sum += p[i];
	ns = (double)(cpu_ns() - start);
	munmap(p, bytes);
	close(fd);
	return ns;
}

static void late(void)
{
	double attach[ROUNDS_MAX], touch[ROUNDS_MAX], q[ROUNDS_MAX];
	struct ring_writer *w = make_writer(path);
	struct ringside_record rec;
	struct ringside *r;
	uint64_t start;
	char text[96];

	put(w, 40000, 1000);
	ring_writer_publish(w);
	for (unsigned int i = 0; i < rounds; i++) {
		start = cpu_ns();
		r = open_reader(true);
		if (ringside_next(r, &rec) != 1)
			errx(1, "nothing");
		attach[i] = (double)(cpu_ns() - start);
		ringside_close(r);
		touch[i] = touch_all();
		q[i] = attach[i] / touch[i];
	}
	snprintf(text, sizeof(text), "%.0f us, touching all %.0f us",
		 median(attach, rounds) / 1000, median(touch, rounds) / 1000);
	figure("open to first record against touching all", median(q, rounds), "x", true, 0.05,
	       text);
	ring_writer_close(w, true);
}

int main(void)
{
	static const char *const names[] = { "", ".lock", ".prev" };
	char name[112];

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(dir, sizeof(dir), "/dev/shm/bench-life-XXXXXX");
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	overload();
	idling();
	latency();
	crash();
	late();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s%s", path, names[i]);
		unlink(name);
	}
	rmdir(dir);
	return missed;
}
