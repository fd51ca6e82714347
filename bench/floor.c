/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor clock HZ SECONDS: the bare software clock event on every CPU, nothing else.
 * floor poll HZ SECONDS OBJECT [TGID]: with bench/floor.bpf.c attached, its ring buffer
 * polled each 50 ms and what it holds thrown away.
 *
 * Prints `ready` and at the end `samples N`.  Below this no sampling profiler on this
 * machine can get.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CPUS = 512 };

static uint64_t samples;

static int discard(void *ctx, void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	samples++;
	return 0;
}

/* One event a CPU that is on line.  Returns how many. */
static int open_clocks(int *fds, uint64_t hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
	};
	int n = 0;

	for (int cpu = 0; cpu < MAX_CPUS && n < MAX_CPUS; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0)
			fds[n++] = fd;
		else if (errno != ENODEV && errno != EINVAL)
			break;
	}
	return n;
}

static struct bpf_object *load(const char *path, uint32_t tgid)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	struct bpf_map *rodata;
	int err = -ENOENT;

	if (!obj)
		return NULL;
	rodata = bpf_object__find_map_by_name(obj, ".rodata");
	if (rodata)
		err = bpf_map__set_initial_value(rodata, &tgid, sizeof(tgid));	/* its only constant */
	if (err || bpf_object__load(obj)) {
		bpf_object__close(obj);
		return NULL;
	}
	return obj;
}

static int attach(struct bpf_object *obj, const int *fds, int n)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "floor_tick");
	int prog_fd = prog ? bpf_program__fd(prog) : -1;

	for (int i = 0; i < n; i++) {
		if (ioctl(fds[i], PERF_EVENT_IOC_SET_BPF, prog_fd))
			return -errno;
	}
	return prog_fd < 0 ? -ENOENT : 0;
}

static void run(struct ring_buffer *ring, double seconds)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };

	printf("ready\n");
	fflush(stdout);
	for (long i = (long)(seconds * 20); i > 0; i--) {
		nanosleep(&pause, NULL);
		if (ring)
			ring_buffer__consume(ring);
	}
	printf("samples %llu\n", (unsigned long long)samples);
}

int main(int argc, char **argv)
{
	bool poll = argc >= 5 && !strcmp(argv[1], "poll");
	struct ring_buffer *ring = NULL;
	struct bpf_object *obj = NULL;
	int fds[MAX_CPUS], n;

	if (!poll && (argc != 4 || strcmp(argv[1], "clock"))) {
		fprintf(stderr,
			"usage: floor clock HZ SECONDS | floor poll HZ SECONDS OBJECT [TGID]\n");
		return 2;
	}
	n = open_clocks(fds, strtoull(argv[2], NULL, 10));
	if (n <= 0) {
		perror("floor: perf_event_open");
		return 1;
	}
	if (poll) {
		obj = load(argv[4], argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 0);
		if (obj && !attach(obj, fds, n))
			ring = ring_buffer__new(
				bpf_object__find_map_fd_by_name(obj, "samples"), discard,
				NULL, NULL);
		if (!ring) {
			fprintf(stderr, "floor: cannot load %s\n", argv[4]);
			return 1;
		}
	}
	run(ring, strtod(argv[3], NULL));
	ring_buffer__free(ring);
	bpf_object__close(obj);
	return 0;
}
