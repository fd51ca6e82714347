/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints events: of a recording (ringsided --record-events), or, as root, what the kernel
 * gives right now. The root tests of collect read its output.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sidecar/collect/collect.h"
#include "sidecar/collect/event_file.h"
#include "tests/event_print.h"

static const struct option longopts[] = {
	{ "live", required_argument, NULL, 'l' },
	{ "frequency", required_argument, NULL, 'F' },
	{ "cgroup", required_argument, NULL, 'c' },
	{ "pid", required_argument, NULL, 'p' },
	{ "depth", required_argument, NULL, 'd' },
	{ "ring-bytes", required_argument, NULL, 'r' },
	{ "drain-ms", required_argument, NULL, 'm' },
	{ "record", required_argument, NULL, 'w' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "stack", no_argument, NULL, 's' },
	{ "verbose", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: event_dump [--stack] RECORDING\n"
	"       event_dump --live SECONDS [--frequency HZ] [--cgroup DIR | --pid N[,N...]] [--depth N]\n"
	"                  [--ring-bytes N] [--drain-ms N] [--record FILE] [--quiet] [--stack] [--verbose]\n"
	"Prints one line an event; statistics go to stderr.  --quiet: the statistics alone.\n";

struct dump {
	struct collect_options opt;
	double		 seconds;
	unsigned	 drain_ms;
	const char	*record;
	int		 quiet, stack;
	uint64_t	 last_ns, disorder, events;
};

static void log_line(void *arg, enum collect_log_level level, const char *line)
{
	(void)arg;
	fprintf(stderr, "log %d: %s\n", level, line);
}

static void print_stats(struct collect *c, struct dump *d)
{
	struct collect_stats st;

	collect_stats(c, &st);
	fprintf(stderr,
		"ticks=%llu idle=%llu samples=%llu out_of_scope=%llu paused=%llu kernel_ring_full=%llu "
		"process_ring_full=%llu sideband_lost=%llu malformed=%llu throttled=%llu bpf_nano=%llu "
		"bpf_map_bytes=%llu cpus_online=%u cpus_armed=%u cpus_failed=%u rearmed=%u events=%llu "
		"disorder=%llu\n",
		(unsigned long long)st.ticks, (unsigned long long)st.idle,
		(unsigned long long)st.samples, (unsigned long long)st.out_of_scope,
		(unsigned long long)st.paused, (unsigned long long)st.kernel_ring_full,
		(unsigned long long)st.process_ring_full,
		(unsigned long long)st.sideband_lost, (unsigned long long)st.malformed,
		(unsigned long long)st.throttled, (unsigned long long)st.bpf_nano,
		(unsigned long long)st.bpf_map_bytes, st.cpus_online, st.cpus_armed,
		st.cpus_failed, st.rearmed, (unsigned long long)d->events,
		(unsigned long long)d->disorder);
}

static bool print_batch(struct collect *c, struct dump *d)
{
	struct collect_batch batch;
	int e;

	do {
		e = collect_drain(c, 0, &batch);
		if (e)
			errx(1, "drain: %s", strerror(-e));
		for (size_t i = 0; i < batch.count; i++) {
			d->disorder += batch.events[i]->boot_ns < d->last_ns;
			d->last_ns = batch.events[i]->boot_ns;
			if (!d->quiet)
				event_print(stdout, batch.events[i], d->stack);
		}
		d->events += batch.count;
	} while (batch.more);
	return batch.end;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void run_live(struct collect *c, struct dump *d)
{
	double end = now() + d->seconds, look = now() + 1;
	char why[COLLECT_WHY_MAX];

	while (now() < end) {
		usleep(d->drain_ms * 1000);
		print_batch(c, d);
		if (now() < look)
			continue;
		look += 1;
		if (collect_hotplug(c, why, sizeof(why)) != 0)
			fprintf(stderr, "hotplug: %s\n", why);
	}
	collect_pause(c, true);
	collect_hotplug(c, why, sizeof(why));
	print_batch(c, d);
	print_batch(c, d);
}

static int dump_live(struct dump *d)
{
	struct journal_facts facts = { .frequency = d->opt.frequency,
				       .ncpu = 1,
				       .scope_text = "test" };
	char why[COLLECT_WHY_MAX] = "";
	struct collect *c;
	int e;

	if (d->record) {
		e = journal_create(&d->opt.record, d->record, &facts);
		if (e)
			errx(1, "%s: %s", d->record, strerror(-e));
	}
	if (collect_open(&c, &d->opt, why, sizeof(why)))
		errx(1, "%s", why);
	if (collect_arm(c, why, sizeof(why)))
		errx(1, "%s", why);
	fprintf(stderr, "ready\n");
	run_live(c, d);
	print_stats(c, d);
	collect_close(c);
	e = journal_close(d->opt.record);
	if (e)
		errx(1, "%s: %s", d->record, strerror(-e));
	return 0;
}

static void print_entry(void *arg, uint32_t type, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	printf("entry type=%u bytes=%zu\n", type, len);
}

static int dump_file(struct dump *d, const char *path)
{
	char why[COLLECT_WHY_MAX];
	const struct journal_facts *f;
	struct collect *c;

	d->opt.entry = print_entry;
	if (collect_open_replay(&c, path, &d->opt, why, sizeof(why)))
		errx(1, "%s", why);
	f = collect_replay_facts(c);
	fprintf(stderr, "recorded: %u Hz, %u CPUs, scope %s, node %s\n", f->frequency,
		f->ncpu, f->scope_text,
		f->node);
	while (!print_batch(c, d))
		if (!d->quiet)
			printf("drain\n");
	print_stats(c, d);
	collect_close(c);
	return 0;
}

static void parse_pids(struct dump *d, char *list)
{
	static uint32_t pids[64];
	char *p;

	for (p = strtok(list, ","); p && d->opt.npids < 64; p = strtok(NULL, ","))
		pids[d->opt.npids++] = (uint32_t)strtoul(p, NULL, 10);
	d->opt.pids = pids;
	d->opt.scope = EV_SCOPE_PIDS;
}

static int set_option(struct dump *d, int c)
{
	switch (c) {
	case 'l': d->seconds = atof(optarg); break;
	case 'F': d->opt.frequency = (unsigned)strtoul(optarg, NULL, 10); break;
	case 'c': d->opt.scope = EV_SCOPE_CGROUP; d->opt.cgroup = optarg; break;
	case 'p': parse_pids(d, optarg); break;
	case 'd': d->opt.stack_depth = (unsigned)strtoul(optarg, NULL, 10); break;
	case 'r': d->opt.ring_bytes = strtoul(optarg, NULL, 0); break;
	case 'm': d->drain_ms = (unsigned)strtoul(optarg, NULL, 10); break;
	case 'w': d->record = optarg; break;
	case 'q': d->quiet = 1; break;
	case 's': d->stack = 1; break;
	case 'v': d->opt.log = log_line; break;
	default: return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct dump d = { .opt = { .frequency = 99, .scope = EV_SCOPE_PIDNS },
			  .drain_ms = 50 };
	int c;

	while ((c = getopt_long(argc, argv, "", longopts, NULL)) != -1)
		if (set_option(&d, c))
			break;
	if (c != -1 || (d.seconds > 0) == (optind < argc)) {
		fputs(usage, stderr);
		return 2;
	}
	return d.seconds > 0 ? dump_live(&d) : dump_file(&d, argv[optind]);
}
