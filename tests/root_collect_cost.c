/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs cost: instructions that the verifier walks, nanoseconds of a 64-frame
 * sample.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "sidecar/collect/bpf_load.h"
#include "sidecar/collect/bpf_ring.h"
#include "sidecar/collect/collect_source.h"
#include "sidecar/collect/cpus.h"
#include "sidecar/collect/perf_events.h"

#define VERIFIED_MAX	50000
#define SAMPLE_NS_MAX	10000
#define DEPTH		60	/* of burn() alone; the thread's start and what burn() calls add a few */

static volatile int stop;

static __attribute__((noinline)) unsigned burn(int depth)
{
	volatile unsigned x = 0;

	if (depth > 1)
		return burn(depth - 1) + x;
	while (!stop)
		x++;
	return x;
}

static void *burner(void *arg)
{
	(void)arg;
	burn(DEPTH);
	return NULL;
}

static int prog_info(uint32_t id, struct bpf_prog_info *info)
{
	uint32_t len = sizeof(*info);
	int fd = bpf_prog_get_fd_by_id(id), e;

	if (fd < 0)
		return fd;
	memset(info, 0, len);
	e = bpf_obj_get_info_by_fd(fd, info, &len);
	close(fd);
	return e;
}

/* Of all programs with our names that were loaded last. */
static int check_verified(void)
{
	static const char *const names[] = {
		"ringside_tick", "ringside_fork", "ringside_exec", "ringside_exit",
	};
	uint32_t id = 0, verified[4] = { 0 };
	struct bpf_prog_info info;
	int failed = 0;

	while (!bpf_prog_get_next_id(id, &id))
		for (int i = 0; !prog_info(id, &info) && i < 4; i++)
			if (!strcmp(info.name, names[i]))
				verified[i] = info.verified_insns;
	for (int i = 0; i < 4; i++) {
		printf("%s: %u instructions verified\n", names[i], verified[i]);
		failed |= verified[i] > VERIFIED_MAX;
	}
	if (!verified[0])
		printf("(kernels before 5.16 do not tell)\n");
	return failed;
}

static void drain(struct bpf_ring *r, uint64_t *frames, uint64_t *samples)
{
	const void *data;
	size_t len;

	while (bpf_ring_peek(r, &data, &len)) {
		const struct ev_sample *s = data;

		if (s->head.type == EV_SAMPLE && s->head.tgid == (uint32_t)getpid() &&
		    s->user_frames > 40) {
			*frames += s->user_frames;
			++*samples;
		}
		bpf_ring_pop(r, len);
	}
}

static uint64_t own_clock(const struct bpf_parts *p)
{
	uint64_t ns = 0, samples = 0;

	for (unsigned i = 0; i < p->ncpu; i++) {
		ns += p->stats[i].slot[EV_STAT_RUN_NS];
		samples += p->stats[i].slot[EV_STAT_SAMPLES];
	}
	return samples ? ns / samples : 0;
}

static int check_cost(struct bpf_parts *p, unsigned cpu)
{
	uint64_t frames = 0, samples = 0, ns;
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	struct bpf_ring ring;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	int fd = perf_open_tick(cpu, 1000000, p->tick_fd, -1);

	if (fd < 0 || stats < 0 || bpf_ring_open(&ring, p->events_fd, p->ring_bytes))
		errx(1, "event, statistics or ring: %s", strerror(errno));
	perf_enable(fd, true);
	for (int i = 0; i < 40; i++) {
		usleep(50000);
		drain(&ring, &frames, &samples);
	}
	perf_enable(fd, false);
	bpf_obj_get_info_by_fd(p->tick_fd, &info, &len);
	close(fd);
	close(stats);
	bpf_ring_close(&ring);
	if (samples < 100) {
		printf("only %llu samples of the burner\n", (unsigned long long)samples);
		return 1;
	}
	/*
	 * The other threads of the CPU are out of scope: their runs are short, and
	 * counted with the burner's.
	 */
	ns = own_clock(p);
	printf("%llu ns by bpf_stats a run (%llu runs); %llu ns by its own clock a sample of %.1f user frames "
	       "(%llu samples)\n",
	       (unsigned long long)(info.run_time_ns / info.run_cnt),
	       (unsigned long long)info.run_cnt, (unsigned long long)ns,
	       (double)frames / (double)samples, (unsigned long long)samples);
	if (ns > SAMPLE_NS_MAX)
		printf("more than %d ns: missed, or the machine is busy\n",
		       SAMPLE_NS_MAX);
	return 0;
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static unsigned maps_of_ours(void)
{
	uint32_t id = 0, len;
	unsigned n = 0;

	while (!bpf_map_get_next_id(id, &id)) {
		struct bpf_map_info info = { 0 };
		int fd = bpf_map_get_fd_by_id(id);

		len = sizeof(info);
		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &len))
			n += !strcmp(info.name, "scope_pids");
		close(fd);
	}
	return n;
}

/* What was opened is closed again: descriptors here, maps in the kernel. */
static int check_leaks(const struct collect_options *opt)
{
	int before = open_fds(), after;
	unsigned maps = maps_of_ours(), maps_after = 0;
	char why[COLLECT_WHY_MAX];
	struct collect_batch batch;
	struct collect *c;

	for (int i = 0; i < 5; i++) {
		if (collect_open(&c, opt, why, sizeof(why)) ||
		    collect_arm(c, why, sizeof(why)))
			errx(1, "%s", why);
		usleep(20000);
		collect_drain(c, 0, &batch);
		if (collect_rescope(c, opt->pids, opt->npids) ||
		    collect_hotplug(c, why, sizeof(why)))
			errx(1, "rescope or hotplug: %s", why);
		collect_close(c);
	}
	after = open_fds();
	/* The kernel frees maps a moment after the last descriptor went. */
	for (int i = 0; i < 50 && (maps_after = maps_of_ours()) > maps; i++)
		usleep(100000);
	printf("opened and closed 5 times: %d descriptors before, %d after; maps %u, %u\n",
	       before, after, maps, maps_after);
	return before != after || maps_after > maps;
}

/*
 * Milliseconds until the collect asks to be drained, or -1 when it does not within
 * `wait_ms`.
 */
static int wait_for_wake(const struct collect_options *opt, int wait_ms,
			 struct collect **out)
{
	struct timespec a, b;
	struct pollfd p;
	char why[COLLECT_WHY_MAX];
	struct collect_batch batch;

	if (collect_open(out, opt, why, sizeof(why)))
		errx(1, "%s", why);
	collect_drain(*out, 0, &batch);		/* takes the edge of the epoll descriptor's birth */
	if (collect_arm(*out, why, sizeof(why)))
		errx(1, "%s", why);
	p = (struct pollfd){ .fd = collect_fd(*out), .events = POLLIN };
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (poll(&p, 1, wait_ms) != 1)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (int)((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000);
}

/* Not woken per sample; woken when the ring would not last. */
static int check_wake(const struct collect_options *base)
{
	struct collect_options opt = *base;
	struct collect_batch batch;
	struct collect *c;
	struct pollfd p;
	int slow, fast, again;
	size_t waiting;

	opt.frequency = 99;
	slow = wait_for_wake(&opt, 700, &c);
	collect_drain(c, 0, &batch);
	waiting = batch.count;
	printf("99 Hz in 256 KiB: woken after %d ms (-1 never), %zu events waiting\n",
	       slow, waiting);
	collect_close(c);
	opt.frequency = 999;
	opt.ring_bytes = 16384;
	fast = wait_for_wake(&opt, 2000, &c);
	while (!collect_drain(c, 0, &batch) && batch.more)
		;
	p = (struct pollfd){ .fd = collect_fd(c), .events = POLLIN };
	again = poll(&p, 1, 0);
	printf("999 Hz in 16 KiB: woken after %d ms; %s after the drain\n", fast,
	       again ? "readable" : "quiet");
	collect_close(c);
	/*
	 * A storm of execs elsewhere may half fill a side-band's ring: then there are
	 * hundreds.
	 */
	return (slow != -1 && waiting < 150) || fast < 1 || again != 0;
}

int main(void)
{
	uint32_t self = (uint32_t)getpid();
	/* Only ourselves, so that a run is a sample of the burner. */
	struct collect_options opt = {
		.frequency = 1000, .scope = EV_SCOPE_PIDS, .pids = &self, .npids = 1
	};
	char why[COLLECT_WHY_MAX];
	struct cpu_set online;
	struct bpf_parts parts;
	struct timespec a, b;
	cpu_set_t cpus;
	pthread_t t;
	int failed;

	if (cpus_read(&online, "online"))
		errx(1, "no CPUs");
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (bpf_load(&parts, &opt, bpf_ring_bytes(&opt, online.count), online.end, -1,
		     why, sizeof(why)))
		errx(1, "%s", why);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("loaded in %.1f ms\n", (double)(b.tv_sec - a.tv_sec) * 1e3 +
					      (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	CPU_ZERO(&cpus);
	CPU_SET(online.end - 1, &cpus);
	pthread_create(&t, NULL, burner, NULL);
	pthread_setaffinity_np(t, sizeof(cpus), &cpus);
	failed = check_verified();
	failed |= check_cost(&parts, online.end - 1);
	failed |= check_wake(&opt);
	stop = 1;
	pthread_join(t, NULL);
	bpf_unload(&parts);
	failed |= check_leaks(&opt);
	return failed;
}
