/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring [--long]: the figures of the ring alone, as ratios in one run.  Each is the median
 * of rounds that alternate with rounds of its baseline, in CPU time of this thread, so
 * that a busy neighbour hits both.  One line a figure, ending in met or missed; exit 1
 * when one was missed.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "shm/ring_atomic.h"
#include "shm/ring_time.h"
#include "shm/writer_state.h"

#define RING_BYTES	(16u << 20)
#define DICT_BYTES	(4u << 20)
#define BATCH		64		/* records a publish, as a drained batch */
#define RAW_TYPE	77		/* no known record: copied, dated, not decoded */
#define FRAMES		64		/* a stack of 256 bytes */

static char dir[64], path[96];
static struct ring_writer *w;
static uint8_t *plain; /* the baseline's buffer: same size, same file system */
static uint8_t source[1 << 16];
static uint32_t lengths[1024];		/* payload sizes of the round */

/* ns per operation of one round. */
typedef double round_fn(void);

/* Median ratio of neighbouring rounds, and the medians themselves. */
static double compare(round_fn *ours, round_fn *base, double *ours_ns, double *base_ns)
{
	double a[ROUNDS_MAX], b[ROUNDS_MAX], q[ROUNDS_MAX];

	ours();
	base();
	for (unsigned int i = 0; i < rounds; i++) {
		a[i] = ours();
		b[i] = base();
		q[i] = a[i] / b[i];
	}
	*ours_ns = median(a, rounds);
	*base_ns = median(b, rounds);
	return median(q, rounds);
}

static void ratio(const char *what, round_fn *ours, round_fn *base, const char *unit,
		  double goal)
{
	double a, b, q = compare(ours, base, &a, &b);
	char text[80];

	snprintf(text, sizeof(text), "%.1f ns, baseline %.1f ns", a, b);
	figure(what, q, unit, true, goal, text);
}

/* Without a goal of its own. */
static void note(const char *what, round_fn *ours, round_fn *base)
{
	double a, b, q = compare(ours, base, &a, &b);

	printf("%-44s %8.2f %-7s           %.1f ns, baseline %.1f ns\n", what, q,
	       "memcpy", a, b);
}

/* --- write -------------------------------------------------------------------------- */

static void fix_lengths(uint32_t len)
{
	for (unsigned int i = 0; i < 1024; i++)
		lengths[i] = len;
}

static void mixed_lengths(void)
{
	uint32_t dice = 1;

	for (unsigned int i = 0; i < 1024; i++) {
		dice = dice * 1664525u + 1013904223u;
		lengths[i] = 200 + (dice >> 8) % 1301;
	}
}

#define WRITES	16384u

static double round_put(void)
{
	uint64_t start = cpu_ns();

	for (unsigned int i = 0; i < WRITES; i++) {
		if (ring_put(w, RAW_TYPE, 0, source, lengths[i % 1024], NULL))
			errx(1, "put");
		if (i % BATCH == BATCH - 1)
			ring_writer_publish(w);
	}
	return (double)(cpu_ns() - start) / WRITES;
}

/* The same bytes to the same places, without a ring around them. */
static double round_memcpy_in(void)
{
	static uint64_t at;
	uint64_t start = cpu_ns();

	for (unsigned int i = 0; i < WRITES; i++) {
		uint32_t len = lengths[i % 1024];

		if (RING_BYTES - at < RING_RECORD_BYTES(len))
			at = 0;
		memcpy(plain + at, source, len);
		RING_COMPILER_BARRIER();
		at += RING_RECORD_BYTES(len);
	}
	return (double)(cpu_ns() - start) / WRITES;
}

/* A record made of words, as an encoder makes one: in its place in the ring, or in a
 * buffer that is then put. */
#define ENCODED	1024u

static inline void encode(uint64_t *to, uint64_t seed)
{
	for (unsigned int i = 0; i < ENCODED / 8; i++)
		to[i] = seed + i;
	RING_COMPILER_BARRIER();
}

static double round_encode_in_place(void)
{
	uint64_t start = cpu_ns();
	uint8_t *payload;

	for (unsigned int i = 0; i < WRITES; i++) {
		if (ring_reserve(w, ENCODED, &payload))
			errx(1, "reserve");
		encode((uint64_t *)(void *)payload, i);
		ring_commit(w, RAW_TYPE, 0, ENCODED);
		if (i % BATCH == BATCH - 1)
			ring_writer_publish(w);
	}
	return (double)(cpu_ns() - start) / WRITES;
}

static double round_encode_then_put(void)
{
	static uint64_t buf[ENCODED / 8];
	uint64_t start = cpu_ns();

	for (unsigned int i = 0; i < WRITES; i++) {
		encode(buf, i);
		if (ring_put(w, RAW_TYPE, 0, buf, ENCODED, NULL))
			errx(1, "put");
		if (i % BATCH == BATCH - 1)
			ring_writer_publish(w);
	}
	return (double)(cpu_ns() - start) / WRITES;
}

/* --- read --------------------------------------------------------------------------- */

static struct ringside *r;
static struct ringside_record rec;

static double round_read(void)
{
	uint64_t start, n = 0;

	if (ringside_seek_oldest(r))
		errx(1, "seek");
	start = cpu_ns();
	while (n < WRITES / 2 && ringside_next(r, &rec) == 1)
		n++;
	return (double)(cpu_ns() - start) / (double)n;
}

static double round_memcpy_out(void)
{
	static uint8_t out[1 << 16];
	uint64_t start = cpu_ns(), at = 0, n = WRITES / 2;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t len = lengths[i % 1024];

		if (RING_BYTES - at < RING_RECORD_BYTES(len))
			at = 0;
		memcpy(out, plain + at, len);
		RING_COMPILER_BARRIER();
		at += RING_RECORD_BYTES(len);
	}
	return (double)(cpu_ns() - start) / (double)n;
}

/* --- dictionary --------------------------------------------------------------------- */

#define STACKS	256u

static ringside_ref frames[STACKS][FRAMES], stacks[STACKS], resource;

static void intern_all(void)
{
	struct ring_frame f = { .type = RINGSIDE_FRAME_NATIVE };
	struct ring_attribute a = { .type = RINGSIDE_STRING };
	char name[48];

	ring_writer_open_block(w, NULL);
	for (unsigned int s = 0; s < STACKS; s++) {
		for (unsigned int k = 0; k < FRAMES; k++) {
			f.address = k < FRAMES - 2 ? k
						   : s * 1000 + k; /* roots are shared */
			snprintf(name, sizeof(name), "some_function_name_%u",
				 (unsigned)f.address % 997);
			if (ring_intern_string(w, name, strlen(name), &f.function) ||
			    ring_intern_frame(w, &f, &frames[s][k]))
				errx(1, "intern");
		}
		if (ring_intern_stack(w, frames[s], FRAMES, &stacks[s]))
			errx(1, "intern");
	}
	if (ring_intern_string(w, "service.name", 12, &a.key) ||
	    ring_intern_string(w, "shop", 4, &a.string) ||
	    ring_intern_resource(w, &a, 1, 0, &resource))
		errx(1, "intern");
}

static double round_intern(void)
{
	uint64_t start = cpu_ns();
	ringside_ref ref;

	for (unsigned int i = 0; i < WRITES; i++)
		if (ring_intern_stack(w, frames[i * 7 % STACKS], FRAMES, &ref) ||
		    ref != stacks[i * 7 % STACKS])
			errx(1, "intern");
	return (double)(cpu_ns() - start) / WRITES;
}

static double round_memcpy_264(void)
{
	static uint8_t out[512];
	uint64_t start = cpu_ns();

	for (unsigned int i = 0; i < WRITES; i++) {
		memcpy(out, source + i * 7 % STACKS * 16, 264);
		RING_COMPILER_BARRIER();
	}
	return (double)(cpu_ns() - start) / WRITES;
}

static struct ring_sample sample_of(unsigned int i)
{
	return (struct ring_sample){
		.stamp = { .wall_ns = i, .boot_ns = i },
		.pid = i,
		.comm = "bench",
		.weight = i,
		.resource = resource,
		.user_stack = stacks[i % STACKS],
		.event = RINGSIDE_EVENT_CPU,
		.unit = RINGSIDE_UNIT_NANOSECONDS,
	};
}

static double round_put_sample(void)
{
	uint64_t start = cpu_ns();
	struct ring_sample s;

	for (unsigned int i = 0; i < WRITES; i++) {
		ring_writer_open_block(w, NULL);
		s = sample_of(i);
		if (ring_put_sample(w, &s))
			errx(1, "put");
		if (i % BATCH == BATCH - 1)
			ring_writer_publish(w);
	}
	return (double)(cpu_ns() - start) / WRITES;
}

static double round_memcpy_96(void)
{
	fix_lengths(96);
	return round_memcpy_in();
}

static struct ringside *r_unresolved;

/* Reading samples with one stack and one resource; found in the cache, as all but the
 * first use are. */
static double round_resolved(void)
{
	return round_read();
}

static double round_unresolved(void)
{
	struct ringside *resolving = r;
	double ns;

	r = r_unresolved;
	ns = round_read();
	r = resolving;
	return ns;
}

static void resolve(void)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = path,
				      .no_resolve = true };
	double with, without, copy[ROUNDS_MAX], one, base;
	char text[80];

	if (ringside_open(&r_unresolved, &o))
		errx(1, "%s", ringside_open_error());
	for (int i = 0; i < 8; i++)
		round_put_sample();
	compare(round_resolved, round_unresolved, &with, &without);
	for (unsigned int i = 0; i < rounds; i++)
		copy[i] = round_memcpy_264();
	base = median(copy, rounds);
	one = (with - without) / 2;
	snprintf(text, sizeof(text), "%.1f ns, memcpy of 264 bytes %.1f ns", one, base);
	figure("resolve a known reference", one / base, "memcpy", true, 2, text);
	printf("%-44s %8.1f ns\n", "read an interned sample, resolved", with);
	ringside_close(r_unresolved);
}

/* Bytes of a sample with its stack once in the dictionary, against standing in every
 * record. */
static void history(void)
{
	static struct ringside_frame f[FRAMES];
	static const struct ringside_frame *list[FRAMES];
	static char names[FRAMES][48];
	struct ringside_stack stack = { .n = FRAMES, .frames = list };
	struct ring_sample s = sample_of(1);
	uint64_t before = w->pos, interned, whole;
	char text[80];

	if (ring_put_sample(w, &s))
		errx(1, "put");
	interned = w->pos - before;
	for (unsigned int k = 0; k < FRAMES; k++) {
		snprintf(names[k], sizeof(names[k]), "some_function_name_%u", k);
		f[k] = (struct ringside_frame){ .address = k, .function = names[k] };
		list[k] = &f[k];
	}
	s.user_stack = 0;
	s.inline_user = &stack;
	ring_next_block(w);
	before = w->pos;
	if (ring_put_sample(w, &s))
		errx(1, "put");
	whole = w->pos - before;
	figure("bytes of an interned sample", (double)interned, "bytes", true, 125,
	       "stack and resource by reference");
	snprintf(text, sizeof(text), "%llu bytes against %llu, %d frames",
		 (unsigned long long)whole, (unsigned long long)interned, FRAMES);
	figure("history per MiB against self-contained", (double)whole / (double)interned,
	       "x", false, 5, text);
}

/* --- wake --------------------------------------------------------------------------- */

static void *park(void *arg)
{
	struct timespec ts = { .tv_sec = 20 };
	uint32_t *word = arg;

	/* Not even a ring's reader: waits until the value is what it was never waited
	 * for. */
	for (uint32_t v = __atomic_load_n(word, __ATOMIC_RELAXED); v != UINT32_MAX;
	     v = __atomic_load_n(word, __ATOMIC_RELAXED))
		syscall(SYS_futex, word, 0, v, &ts, NULL, 0);
	return NULL;
}

static unsigned int start_parked(pthread_t *threads, unsigned int n, uint32_t *word)
{
	pthread_attr_t attr;
	unsigned int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, park, word))
			break;
	pthread_attr_destroy(&attr);
	usleep(200000);
	return i;
}

/* CPU time of one wake of two, as publish does it: what the waiters cost the writer,
 * without what other work on the machine does.  Of many, the lower quartile: a wake-up
 * that has to reach another virtual processor takes three times as long, crowd or not. */
static double stall_ns(uint32_t *word, double *v, unsigned int tries)
{
	uint64_t start;

	for (unsigned int i = 0; i < tries; i++) {
		usleep(1000);
		start = cpu_ns();
		__atomic_store_n(word, *word + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, word, 1, 2, NULL, NULL, 0);
		v[i] = (double)(cpu_ns() - start);
	}
	return quantile(v, tries, 0.25);
}

static void stop_parked(pthread_t *threads, unsigned int n, uint32_t *word)
{
	__atomic_store_n(word, UINT32_MAX, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, 1, INT32_MAX, NULL, NULL, 0);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void wake_price(unsigned int crowd)
{
	uint32_t *words = (uint32_t *)(void *)plain;
	pthread_t *threads = calloc(crowd + 2, sizeof(*threads));
	double one, many, v[ROUNDS_MAX];
	unsigned int few, n;
	char text[80];

	if (!threads)
		err(1, "threads");
	memset(words, 0, 4096);
	few = start_parked(threads, 2, &words[0]);
	one = stall_ns(&words[0], v, ROUNDS_MAX);
	n = start_parked(threads + few, crowd, &words[512]);
	many = stall_ns(&words[512], v, ROUNDS_MAX);
	stop_parked(threads + few, n, &words[512]);
	stop_parked(threads, few, &words[0]);
	free(threads);
	snprintf(text, sizeof(text), "%u waiters %.1f us, two waiters %.1f us", n, many / 1000,
		 one / 1000);
	figure("writer stall with a hostile crowd", many / one, "x", true, 1.2, text);
}

/* --- frame -------------------------------------------------------------------------- */

static void make(void)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .ring_bytes = RING_BYTES,
					 .dict_bytes = DICT_BYTES };
	struct ringside_options ro = { .size = sizeof(ro),
				       .path = path,
				       .from_oldest = true };
	char name[112];
	int fd;

	snprintf(dir, sizeof(dir), "/dev/shm/bench-ring-XXXXXX");
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	if (ring_writer_create(&w, &o))
		errx(1, "%s", ring_writer_error());
	snprintf(name, sizeof(name), "%s/plain", dir);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, RING_BYTES))
		err(1, "%s", name);
	plain = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		     fd, 0);
	if (plain == MAP_FAILED)
		err(1, "mmap");
	close(fd);
	if (ringside_open(&r, &ro))
		errx(1, "%s", ringside_open_error());
	memset(source, 'x', sizeof(source));
	memset(plain, 1, RING_BYTES);
}

static void unmake(void)
{
	static const char *const names[] = { "ring", "ring.lock", "plain" };
	char name[112];

	ringside_close(r);
	ring_writer_close(w, true);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
	rmdir(dir);
}

int main(int argc, char **argv)
{
	bool lengthy = argc > 1 && !strcmp(argv[1], "--long");
	double intern, base;
	char text[64];

	if (lengthy)
		rounds = ROUNDS_MAX;
	setvbuf(stdout, NULL, _IOLBF, 0);
	make();
	mixed_lengths();
	ratio("publish 200-1500 bytes", round_put, round_memcpy_in, "memcpy", 1.15);
	fix_lengths(64);
	ratio("publish 64 bytes", round_put, round_memcpy_in, "memcpy", 1.2);
	fix_lengths(1024);
	ratio("publish 1 KiB", round_put, round_memcpy_in, "memcpy", 1.5);
	ratio("encode 1 KiB in place, against encode and put", round_encode_in_place,
	      round_encode_then_put, "x", 0.6);
	ratio("read 1 KiB", round_read, round_memcpy_out, "memcpy", 1.25);
	fix_lengths(64);
	for (int i = 0; i < 16; i++)
		round_put();
	ratio("read 64 bytes", round_read, round_memcpy_out, "memcpy", 2.5);
	intern_all();
	compare(round_intern, round_memcpy_264, &intern, &base);
	snprintf(text, sizeof(text), "%.1fx memcpy of the same bytes", intern / base);
	figure("intern a known stack of 64 frames", intern, "ns", true, 224, text);
	note("put an interned sample", round_put_sample, round_memcpy_96);
	resolve();
	history();
	wake_price(8000);
	unmake();
	return missed;
}
