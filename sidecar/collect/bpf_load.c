/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/bpf_load.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/ringside.skel.h"
#include "sidecar/collect/collect_source.h"
#include "sidecar/collect/context_hook.h"
#include "sidecar/collect/cpus.h"
#include "sidecar/collect/perf_events.h"
#include "sidecar/collect/rights.h"

#define RING_BYTES_MIN	(256u << 10)
#define RING_BYTES_MAX	(64u << 20)
#define RECORD_HEADER	8		/* what the ring puts before a record */

/*
 * What libbpf says while it loads.  It has no argument for its callback; loading happens
 * on one thread.
 */
static _Thread_local struct {
	const struct collect_options *opt;
	char		 last[256];	/* last warning: the best cause that it gives */
} capture;

static int capture_line(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[1024];

	if (!capture.opt)
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	if (level == LIBBPF_WARN && line[0])
		snprintf(capture.last, sizeof(capture.last), "%.255s", line);
	if (level != LIBBPF_DEBUG)
		collect_logf(capture.opt, COLLECT_LOG_DEBUG, "%s", line);
	return 0;
}

/*
 * The 640 bytes of a thread context are not reckoned with: no tick is that deep in the kernel and in user
 * space at once, and they would double the buffer at 999 Hz.
 */
size_t bpf_ring_bytes(const struct collect_options *opt, unsigned ncpu)
{
	size_t depth = opt->stack_depth ? opt->stack_depth : EV_MAX_FRAMES;
	size_t largest =
		sizeof(struct ev_sample) + 2 * depth * sizeof(uint64_t) + RECORD_HEADER;
	unsigned interval_ms = opt->low_latency ? 2 : 50;
	size_t ticks = (size_t)opt->frequency * interval_ms / 1000 + 1;
	size_t want = opt->ring_bytes ? opt->ring_bytes : 2 * ticks * ncpu * largest;
	size_t least = opt->ring_bytes ? (size_t)sysconf(_SC_PAGESIZE) : RING_BYTES_MIN;
	size_t bytes = least;

	while (bytes < want && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

static int own_pidns(struct ringside_bpf *skel, char *why, size_t n)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st)) {
		int err = -errno;

		snprintf(
			why, n,
			"/proc/self/ns/pid: %s: which pid namespace is ours cannot be told; mount a "
			"/proc of it",
			strerror(-err));
		return err;
	}
	skel->rodata->own_pidns_inum = (uint32_t)st.st_ino;
	skel->rodata->own_pidns_initial = collect_in_initial_pidns();
	return 0;
}

/* Before load: constants and sizes. */
static int set_knobs(struct ringside_bpf *skel, const struct collect_options *opt,
		     size_t ring_bytes,
		     unsigned ncpu)
{
	uint32_t depth = opt->stack_depth ? opt->stack_depth : EV_MAX_FRAMES;
	uint32_t pids = opt->scope == EV_SCOPE_PIDS ? COLLECT_PIDS_MAX : 1;
	int err;

	skel->rodata->scope = opt->scope;
	skel->rodata->stack_depth = depth;
	skel->rodata->stack_ask = (depth + 1) * (uint32_t)sizeof(uint64_t);
	skel->rodata->stack_max = perf_max_stack();
	skel->rodata->ring_half = ring_bytes / 2;
	err = bpf_map__set_max_entries(skel->maps.events, (uint32_t)ring_bytes);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.stats, ncpu);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.scope_pids, pids);
	return err;
}

static int set_scope(struct ringside_bpf *skel, const struct collect_options *opt,
		     int cgroup_fd)
{
	uint32_t zero = 0, fd = (uint32_t)cgroup_fd;
	uint8_t one = 1;
	int err = 0;

	if (opt->scope == EV_SCOPE_CGROUP)
		err = bpf_map_update_elem(bpf_map__fd(skel->maps.scope_cgroup), &zero,
					  &fd, BPF_ANY);
	for (size_t i = 0; opt->scope == EV_SCOPE_PIDS && i < opt->npids && !err; i++)
		err = bpf_map_update_elem(bpf_map__fd(skel->maps.scope_pids),
					  &opt->pids[i], &one, BPF_ANY);
	return err;
}

static int keep(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

/*
 * A copy of each descriptor that outlives the skeleton; mappings of the two maps that we
 * look into.
 */
static int keep_parts(struct bpf_parts *p, struct ringside_bpf *skel)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *m;

	p->tick_fd = keep(bpf_program__fd(skel->progs.ringside_tick));
	p->events_fd = keep(bpf_map__fd(skel->maps.events));
	p->scope_pids_fd = keep(bpf_map__fd(skel->maps.scope_pids));
	p->context_plans_fd = keep(bpf_map__fd(skel->maps.context_plans));
	if (p->tick_fd < 0 || p->events_fd < 0 || p->scope_pids_fd < 0 ||
	    p->context_plans_fd < 0)
		return -EMFILE;
	p->stats_bytes = (p->ncpu * sizeof(*p->stats) + page - 1) & ~(page - 1);
	m = mmap(NULL, p->stats_bytes, PROT_READ, MAP_SHARED,
		 bpf_map__fd(skel->maps.stats), 0);
	if (m == MAP_FAILED)
		return -errno;
	p->stats = m;
	p->bss_bytes = (sizeof(*skel->bss) + page - 1) & ~(page - 1);
	m = mmap(NULL, p->bss_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(skel->maps.bss), 0);
	if (m == MAP_FAILED)
		return -errno;
	p->bss = m;
	p->paused = &((struct ringside_bpf__bss *)m)->paused;
	return 0;
}

static int attach_links(struct bpf_parts *p, struct ringside_bpf *skel)
{
	const struct bpf_program *progs[BPF_LINKS] = {
		skel->progs.ringside_fork,
		skel->progs.ringside_exec,
		skel->progs.ringside_exit,
	};

	/*
	 * Not bpf_program__attach(): a link of libbpf's would have to outlive the
	 * skeleton.
	 */
	for (int i = 0; i < BPF_LINKS; i++) {
		int fd = bpf_raw_tracepoint_open(NULL, bpf_program__fd(progs[i]));

		if (fd < 0)
			return fd;
		p->link_fds[i] = fd;
	}
	return 0;
}

/* A profile without it is poorer, and no more than that. */
static void attach_context(struct bpf_parts *p, struct ringside_bpf *skel,
			   const struct collect_options *opt, int id)
{
	char why[COLLECT_WHY_MAX];
	int fd = context_hook_open(id, bpf_program__fd(skel->progs.ringside_context), why,
				   sizeof(why));

	if (fd < 0)
		collect_logf(opt, COLLECT_LOG_INFO,
			     "process contexts are found by looking, not at once: %s", why);
	else
		p->context_fd = fd;
}

/* "memlock:" in fdinfo is what the kernel says a map takes. */
static uint64_t fdinfo_memlock(int fd)
{
	char path[64], text[1024], *line;
	ssize_t n = -1;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info >= 0) {
		n = read(info, text, sizeof(text) - 1);
		close(info);
	}
	if (n <= 0)
		return 0;
	text[n] = 0;
	line = strstr(text, "memlock:");
	return line ? strtoull(line + 8, NULL, 10) : 0;
}

static void account_maps(struct bpf_parts *p, struct ringside_bpf *skel)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj) {
		uint64_t bytes = fdinfo_memlock(bpf_map__fd(map));

		if (map == skel->maps.events && bytes < p->ring_bytes)
			bytes = p->ring_bytes;	/* before 6.4 the kernel told of rings nothing useful */
		p->map_bytes += bytes;
	}
}

static void parts_init(struct bpf_parts *p, size_t ring_bytes, unsigned ncpu)
{
	memset(p, 0, sizeof(*p));
	p->tick_fd = p->events_fd = p->scope_pids_fd = -1;
	p->context_plans_fd = p->context_fd = -1;
	for (int i = 0; i < BPF_LINKS; i++)
		p->link_fds[i] = -1;
	p->ring_bytes = ring_bytes;
	p->ncpu = ncpu;
}

static int load_parts(struct bpf_parts *p, struct ringside_bpf *skel,
		      const struct collect_options *opt,
		      int cgroup_fd, char *why, size_t n)
{
	int err = own_pidns(skel, why, n), hook = context_hook_id();

	if (err)
		return err;
	if (hook < 0)
		bpf_program__set_autoload(skel->progs.ringside_context, false);
	err = set_knobs(skel, opt, p->ring_bytes, p->ncpu);
	if (!err)
		err = ringside_bpf__load(skel);
	if (!err)
		err = set_scope(skel, opt, cgroup_fd);
	if (!err)
		err = keep_parts(p, skel);
	if (!err)
		err = attach_links(p, skel);
	if (!err)
		attach_context(p, skel, opt, hook);
	if (err)
		rights_explain_bpf(why, n, -err, capture.last);
	else
		account_maps(p, skel);
	return err;
}

int bpf_load(struct bpf_parts *p, const struct collect_options *opt, size_t ring_bytes,
	     unsigned ncpu,
	     int cgroup_fd, char *why, size_t n)
{
	libbpf_print_fn_t before = libbpf_set_print(capture_line);
	struct ringside_bpf *skel;
	int err;

	capture.opt = opt;
	capture.last[0] = 0;
	parts_init(p, ring_bytes, ncpu);
	skel = ringside_bpf__open();
	if (skel) {
		err = load_parts(p, skel, opt, cgroup_fd, why, n);
	} else {
		err = -errno;
		rights_explain_bpf(why, n, -err, capture.last);
	}
	ringside_bpf__destroy(skel);
	capture.opt = NULL;
	libbpf_set_print(before);
	malloc_trim(0);		/* the kernel's types were megabytes of small allocations */
	if (err)
		bpf_unload(p);
	return err;
}

static void drop(int *fd)
{
	if (*fd > 0)
		close(*fd);
	*fd = -1;
}

void bpf_unload(struct bpf_parts *p)
{
	for (int i = 0; i < BPF_LINKS; i++)
		drop(&p->link_fds[i]);
	if (p->stats)
		munmap((void *)p->stats, p->stats_bytes);
	if (p->bss)
		munmap(p->bss, p->bss_bytes);
	p->stats = NULL;
	p->bss = NULL;
	p->paused = NULL;
	drop(&p->context_fd);
	drop(&p->tick_fd);
	drop(&p->events_fd);
	drop(&p->scope_pids_fd);
	drop(&p->context_plans_fd);
}
