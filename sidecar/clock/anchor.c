/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes anchors: the only code that reads clocks.  Sources in order: several paired
 * readings, the narrowest kept; /proc/stat btime; an estimate.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "sidecar/clock/anchor.h"
#include "sidecar/clock/timens.h"

#define NS_PER_S 1000000000ll
#define PROC_STAT_MAX (1u << 20)	/* its intr line grows with the machine; btime stands behind it */

struct triple { int64_t real_before, boot, real_after, monotonic; };

static int read_clock(void *arg, clockid_t id, int64_t *ns)
{
	struct timespec ts;

	(void)arg;
	if (clock_gettime(id, &ts))
		return -errno;
	*ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	return 0;
}

static uint64_t resolution(void)
{
	struct timespec real, boot;
	uint64_t worst = 1;

	if (!clock_getres(CLOCK_REALTIME, &real) && (uint64_t)real.tv_nsec > worst)
		worst = (uint64_t)real.tv_nsec;
	if (!clock_getres(CLOCK_BOOTTIME, &boot) && (uint64_t)boot.tv_nsec > worst)
		worst = (uint64_t)boot.tv_nsec;
	return worst;
}

static int read_triple(const struct clock_reader *r, struct triple *t)
{
	int err;

	err = r->gettime(r->arg, CLOCK_REALTIME, &t->real_before);
	if (!err)
		err = r->gettime(r->arg, CLOCK_BOOTTIME, &t->boot);
	if (!err)
		err = r->gettime(r->arg, CLOCK_REALTIME, &t->real_after);
	if (!err)
		err = r->gettime(r->arg, CLOCK_MONOTONIC, &t->monotonic);
	return err;
}

static void from_triple(const struct clock_reader *r, const struct triple *t,
			struct clock_anchor *out)
{
	int64_t width = t->real_after - t->real_before;

	*out = (struct clock_anchor){
		.boot_ns = (uint64_t)(t->boot - r->timens_boot_ns),
		.real_ns = t->real_before + width / 2,
		.bound_ns = (uint64_t)(width + 1) / 2 + r->resolution_ns,
		.monotonic_ns = (uint64_t)(t->monotonic - r->timens_monotonic_ns),
		.source = CLOCK_PAIRED,
	};
	out->offset_ns = out->real_ns - (int64_t)out->boot_ns;
}

/*
 * One reading may be interrupted between its clocks (19.6 us were seen); of five, the
 * narrowest was never wider than 70 ns.  A bracket that runs backwards was hit by a clock
 * step and says nothing.
 */
static int take_paired(const struct clock_reader *r, struct clock_anchor *out)
{
	struct triple t, best = { 0 };
	bool have = false;
	int err;

	for (int i = 0; i < CLOCK_TRIPLES; i++) {
		err = read_triple(r, &t);
		if (err)
			return err;
		if (t.real_after < t.real_before || t.boot < r->timens_boot_ns)
			continue;
		if (!have ||
		    t.real_after - t.real_before < best.real_after - best.real_before)
			best = t;
		have = true;
	}
	if (!have)
		return -EAGAIN;
	from_triple(r, &best, out);
	return 0;
}

int clock_parse_btime(const char *text, int64_t *seconds)
{
	const char *line = strncmp(text, "btime ", 6) ? strstr(text, "\nbtime ") : text;
	char *end;
	long long v;

	if (!line)
		return -ENODATA;
	line += strcspn(line, " ");
	errno = 0;
	v = strtoll(line, &end, 10);
	if (errno || end == line || (*end != '\n' && *end != '\0') || v <= 0 ||
	    v > INT64_MAX / NS_PER_S - 1)
		return -ENODATA;
	*seconds = v;
	return 0;
}

static int read_file(int fd, char **out)
{
	char *buf = malloc(PROC_STAT_MAX);
	size_t n = 0;
	ssize_t got;

	if (!buf)
		return -ENOMEM;
	while (n < PROC_STAT_MAX - 1) {
		got = read(fd, buf + n, PROC_STAT_MAX - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	buf[n] = '\0';
	*out = buf;		/* what a failed read cut off has no btime line, or a cut one */
	return 0;
}

static int read_btime(const struct clock_reader *r, int64_t *seconds)
{
	struct statfs fs;
	char *text = NULL;
	int fd, err;

	fd = open(r->proc_stat ? r->proc_stat : "/proc/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* lxcfs and the like lay a file of their own over it, which tells the container's
	 * age. */
	if (!r->any_fs && (fstatfs(fd, &fs) || fs.f_type != PROC_SUPER_MAGIC))
		err = -ENODATA;
	else
		err = read_file(fd, &text);
	if (!err)
		err = clock_parse_btime(text, seconds);
	free(text);
	close(fd);
	return err;
}

/* Host boot time as well as it can be had; 0 (the epoch then covers everything) when it
 * cannot. */
static int64_t boot_or_zero(const struct clock_reader *r)
{
	int64_t boot;

	if (!r->gettime(r->arg, CLOCK_BOOTTIME, &boot) && boot > r->timens_boot_ns)
		return boot - r->timens_boot_ns;
	return 0;
}

/* btime is the wall clock's second in which the machine started, as seen in our time
 * namespace. */
static int take_btime(const struct clock_reader *r, struct clock_anchor *out)
{
	int64_t seconds, boot = boot_or_zero(r);

	if (read_btime(r, &seconds))
		return -ENODATA;
	*out = (struct clock_anchor){
		.boot_ns = (uint64_t)boot,
		.offset_ns = seconds * NS_PER_S + (int64_t)CLOCK_BTIME_BOUND_NS +
			     r->timens_boot_ns,
		.bound_ns = CLOCK_BTIME_BOUND_NS,
		.source = CLOCK_BTIME,
	};
	out->real_ns = out->offset_ns + boot;
	return 0;
}

/* The machine has been up for what MONOTONIC says (it stands still in suspend), else for
 * an hour. */
static int take_estimate(const struct clock_reader *r, struct clock_anchor *out)
{
	int64_t real, up = boot_or_zero(r);
	uint64_t boot = (uint64_t)up;

	if (r->gettime(r->arg, CLOCK_REALTIME, &real) &&
	    r->gettime(r->arg, CLOCK_REALTIME_COARSE, &real))
		return -ENODATA;
	if (!up && !r->gettime(r->arg, CLOCK_MONOTONIC, &up))
		up -= r->timens_monotonic_ns;
	if (up <= 0)
		up = (int64_t)CLOCK_ESTIMATE_NS;
	*out = (struct clock_anchor){
		.boot_ns = boot,
		.real_ns = real,
		.offset_ns = real - up,
		.bound_ns = CLOCK_ESTIMATE_NS,
		.source = CLOCK_ESTIMATED,
	};
	if (!boot)
		out->real_ns = out->offset_ns;
	return 0;
}

int clock_take_anchor_from(const struct clock_reader *r, struct clock_anchor *out)
{
	int err;

	err = take_paired(r, out);
	if (err)
		err = take_btime(r, out);
	if (err)
		err = take_estimate(r, out);
	return err;
}

int clock_take_anchor(struct clock_anchor *out)
{
	const struct clock_timens *ns = clock_timens();
	struct clock_reader r = {
		.gettime = read_clock,
		.timens_boot_ns = ns->boot_ns,
		.timens_monotonic_ns = ns->monotonic_ns,
		.resolution_ns = resolution(),
	};

	if (ns->error)
		return ns->error;
	return clock_take_anchor_from(&r, out);
}

uint64_t clock_boot_now(void)
{
	int64_t boot = 0;

	if (read_clock(NULL, CLOCK_BOOTTIME, &boot) || boot < clock_timens()->boot_ns)
		return 0;
	return (uint64_t)(boot - clock_timens()->boot_ns);
}

int64_t clock_real_now(void)
{
	int64_t real = 0;

	read_clock(NULL, CLOCK_REALTIME, &real);
	return real;
}
