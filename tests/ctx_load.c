/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx_load run DIR [--threads 8] [--rate 1000000] [--seconds 10]
 *	Publishes a process context, then switches thread contexts, `rate` times a second
 *	over all threads, which burn what CPU they get.  Each context has a serial of its
 *	own in its ids, and DIR/THREAD.log says when it came and went.  Prints "pid PID",
 *	and at the end "switches N".
 * ctx_load verify DIR [--slack NS] < SAMPLES
 *	A sample is a line "BOOT_NS TRACE_ID SPAN_ID [THREAD]", ids in hex, or
 *	"BOOT_NS none".  Prints "samples N none N wrong N worst_ns N"; exit 1 when one
 *	carries ids that nobody had at that time.  THREAD: what attribute `thread` says.
 *
 * serial = (thread + 1) << 48 | place in that thread's log, from 1; trace id = serial
 * and its complement, span id = serial, all big endian: so no mixture of two contexts
 * is a third.  A context has attribute 0 `serial` (decimal) and 1 `thread`. Every
 * eighth serial is a pause: nothing is attached, and no sample may carry it.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctx/otelctx.h"

#define THREADS_MAX	64
#define CHUNK		4096		/* entries that a thread keeps in memory */
#define PAUSE_EACH	8

/*
 * Entry i of a thread's log, from 0, is of serial i + 1: attached (or, of a pause,
 * detached) between the two.  It goes when the next one comes.
 */
struct entry {
	uint64_t before_ns, after_ns;		/* CLOCK_BOOTTIME */
};

struct worker {
	pthread_t	 thread;
	unsigned int	 number;
	int		 fd;
	uint64_t	 count;			/* switches made */
	struct entry	 chunk[CHUNK];
};

static const char *dir;
static unsigned int n_threads = 8;
static double rate = 1e6, seconds = 10;
static uint64_t slack_ns;
static uint64_t start_ns, end_ns;

static uint64_t boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void put_be64(uint8_t *at, uint64_t v)
{
	for (int i = 7; i >= 0; i--, v >>= 8)
		at[i] = (uint8_t)v;
}

static bool is_pause(uint64_t serial)
{
	return (serial & 0xffffffffffffu) % PAUSE_EACH == 0;
}

static struct otelctx_thread *make_context(const struct worker *w, uint64_t serial)
{
	uint8_t trace_id[16], span_id[8];
	char decimal[24], thread[12];
	const struct otelctx_thread_attribute attributes[] = {
		{ .key = 0, .value = decimal, .n = OTELCTX_NUL },
		{ .key = 1, .value = thread, .n = OTELCTX_NUL },
	};
	struct otelctx_thread *t;

	put_be64(trace_id, serial);
	put_be64(trace_id + 8, ~serial);
	put_be64(span_id, serial);
	snprintf(decimal, sizeof(decimal), "%" PRIu64, serial);
	snprintf(thread, sizeof(thread), "%u", w->number);
	if (otelctx_thread_create(&t, trace_id, span_id, 1, attributes, 2))
		errx(1, "no memory for a context");
	return t;
}

static void flush(struct worker *w, size_t n)
{
	const char *at = (const char *)w->chunk;
	size_t left = n * sizeof(w->chunk[0]);

	while (left) {
		ssize_t did = write(w->fd, at, left);

		if (did <= 0)
			err(1, "%s/%u.log", dir, w->number);
		at += did;
		left -= (size_t)did;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct otelctx_thread *old = NULL, *t;
	double period = 1e9 * n_threads / rate;
	uint64_t now = boot_ns();

	while (now < end_ns) {
		struct entry *e = &w->chunk[w->count % CHUNK];
		uint64_t due = start_ns + (uint64_t)((double)w->count * period);
		uint64_t serial = ((uint64_t)w->number + 1) << 48 | (w->count + 1);

		t = is_pause(serial) ? NULL : make_context(w, serial);
		do
			now = boot_ns();
		while (now < due);
		e->before_ns = now;
		if (otelctx_thread_attach(t))
			errx(1, "cannot attach");
		e->after_ns = boot_ns();
		otelctx_thread_destroy(old);
		old = t;
		if (++w->count % CHUNK == 0)
			flush(w, CHUNK);
	}
	otelctx_thread_attach(NULL);
	otelctx_thread_destroy(old);
	flush(w, w->count % CHUNK);
	return NULL;
}

static struct otelctx_names *names;

static void publish(void)
{
	static const char *const keys[] = { "serial", "thread" };
	static const struct otelctx_attribute resource = {
		"service.name", { OTELCTX_STRING, 0, OTELCTX_NUL, { "ctx-load" } },
	};
	struct otelctx_process process = { .size = sizeof(process), .resource = &resource,
					   .n_resource = 1 };
	int error = otelctx_names_create(&names, keys, 2);

	process.names = names;
	if (!error)
		error = otelctx_process_publish(&process);
	if (error)
		errx(1, "cannot publish: %s", strerror(-error));
}

static char *log_path(unsigned int number)
{
	char *path;

	if (asprintf(&path, "%s/%u.log", dir, number) < 0)
		err(1, "asprintf");
	return path;
}

static int run(void)
{
	static struct worker workers[THREADS_MAX];
	uint64_t switches = 0;

	publish();
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	start_ns = boot_ns();
	end_ns = start_ns + (uint64_t)(seconds * 1e9);
	for (unsigned int i = 0; i < n_threads; i++) {
		char *path = log_path(i);

		workers[i].number = i;
		workers[i].fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
				     0600);
		if (workers[i].fd < 0)
			err(1, "%s", path);
		free(path);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			errx(1, "pthread_create");
	}
	for (unsigned int i = 0; i < n_threads; i++) {
		pthread_join(workers[i].thread, NULL);
		close(workers[i].fd);
		switches += workers[i].count;
	}
	printf("switches %" PRIu64 "\n", switches);
	if (otelctx_process_drop())
		return 1;
	otelctx_names_destroy(names);
	return 0;
}

/* --- verify --- */

static struct {
	const struct entry	*entries;
	uint64_t		 n;
} logs[THREADS_MAX];

static void map_logs(void)
{
	for (unsigned int i = 0; i < THREADS_MAX; i++) {
		char *path = log_path(i);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct stat st;

		free(path);
		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && st.st_size > 0) {
			void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
					 fd, 0);

			if (map == MAP_FAILED)
				err(1, "%s/%u.log", dir, i);
			logs[i].entries = map;
			logs[i].n = (uint64_t)st.st_size / sizeof(struct entry);
		}
		close(fd);
	}
}

static bool same_ids(uint64_t serial, const char *trace_id, const char *span_id)
{
	char want[33];

	snprintf(want, sizeof(want), "%016" PRIx64 "%016" PRIx64, serial, ~serial);
	return !strcmp(trace_id, want) && !strncmp(span_id, want, 16) &&
		span_id[16] == '\0';
}

/*
 * How far boot_ns lies outside of the time that the serial was attached; UINT64_MAX: it
 * never was.
 */
static uint64_t outside(uint64_t serial, uint64_t ns)
{
	uint64_t thread = (serial >> 48) - 1, place = (serial & 0xffffffffffffu) - 1;
	const struct entry *e;

	if (thread >= THREADS_MAX || place >= logs[thread].n || is_pause(serial))
		return UINT64_MAX;
	e = &logs[thread].entries[place];
	if (ns < e->before_ns)
		return e->before_ns - ns;
	if (place + 1 < logs[thread].n && ns > e[1].after_ns)
		return ns - e[1].after_ns;
	return 0;
}

static int verify(void)
{
	uint64_t samples = 0, none = 0, wrong = 0, worst = 0, ns, off;
	char line[512], trace_id[64], span_id[64];
	unsigned int thread;

	map_logs();
	while (fgets(line, sizeof(line), stdin)) {
		int words = sscanf(line, "%" SCNu64 " %63s %63s %u", &ns, trace_id, span_id,
				   &thread);
		uint64_t serial;
		bool same;

		if (words < 2)
			errx(2, "no sample: %s", line);
		samples++;
		if (!strcmp(trace_id, "none")) {
			none++;
			continue;
		}
		serial = words < 3 ? 0 : strtoull(span_id, NULL, 16);
		same = words >= 3 && same_ids(serial, trace_id, span_id) &&
			(words < 4 || thread == (serial >> 48) - 1);
		off = same ? outside(serial, ns) : UINT64_MAX;
		if (off > worst)
			worst = off;
		if (off > slack_ns && wrong++ < 10)
			fprintf(stderr, "wrong: %s", line);
	}
	printf("samples %" PRIu64 " none %" PRIu64 " wrong %" PRIu64, samples, none, wrong);
	printf(" worst_ns %" PRIu64 "\n", worst);
	return wrong != 0 || samples == 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "rate", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "slack", required_argument, NULL, 'l' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 't': n_threads = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'r': rate = strtod(optarg, NULL); break;
		case 's': seconds = strtod(optarg, NULL); break;
		case 'l': slack_ns = strtoull(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	if (argc - optind != 2 || n_threads < 1 || n_threads > THREADS_MAX || rate < 1)
		errx(2, "usage: ctx_load run|verify DIR [options]");
	dir = argv[optind + 1];
	if (!strcmp(argv[optind], "run"))
		return run();
	if (!strcmp(argv[optind], "verify"))
		return verify();
	errx(2, "%s: run or verify", argv[optind]);
}
