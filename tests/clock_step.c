/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_step MODE, run by root_clock_stage.sh: the clock stage on clocks that really move.
 *   step    sets the wall clock an hour forth and back and watches; a parent puts it right whatever happens
 *   boot    prints the host's boot time as this process reads it, ns
 *   offset  prints offset and source of an anchor; offset btime: of the fallback
 *   bpf     compares clock_boot_now() with what a BPF program reads
 *   lost    exits 0 when an anchor is refused because our time namespace cannot be known
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "sidecar/clock/anchor.h"
#include "sidecar/clock/clock.h"
#include "sidecar/clock/timens.h"

#define S 1000000000ll
#define HOUR (3600 * S)
#define MS 1000000ll

static int failures;

static void expect(bool ok, const char *what)
{
	printf("%s %s\n", ok ? "ok" : "not ok", what);
	failures += !ok;
}

static int64_t now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * S + ts.tv_nsec;
}

static void set_wall(int64_t ns)
{
	const struct timespec ts = { .tv_sec = ns / S, .tv_nsec = ns % S };

	expect(!clock_settime(CLOCK_REALTIME, &ts), "the clock can be set");
}

/* Exactly by that much, as a leap second does. */
static void inject(int64_t ns)
{
	struct timex t = { .modes = ADJ_SETOFFSET | ADJ_NANO };

	t.time.tv_sec = ns / S - (ns % S < 0);
	t.time.tv_usec = ns % S < 0 ? ns % S + S : ns % S;
	expect(adjtimex(&t) >= 0, "the clock can be shifted");
}

static bool told(struct clock_step_watch *w)
{
	struct pollfd p = { .fd = clock_step_fd(w), .events = POLLIN };

	return poll(&p, 1, 1000) == 1 && clock_step_take(w);
}

static bool stamps_are_right(const struct clock_converter *c, uint32_t epoch)
{
	struct clock_stamp stamp;
	int64_t before, after;
	uint64_t boot;

	before = now(CLOCK_REALTIME);
	boot = clock_boot_now();
	after = now(CLOCK_REALTIME);
	return !clock_convert(c, boot, &stamp) && stamp.epoch == epoch &&
	       stamp.wall_ns >= before - (int64_t)stamp.error_ns &&
	       stamp.wall_ns <= after + (int64_t)stamp.error_ns;
}

/* What the pipeline does when the watch becomes readable. */
static int64_t resync(struct clock_converter *c, struct clock_step_watch *w)
{
	struct clock_anchor a;
	int64_t step;

	expect(told(w), "the step is told");
	expect(!clock_take_anchor(&a), "an anchor is taken");
	expect(clock_converter_feed(c, &a, true, &step) == CLOCK_STEPPED,
	       "a clock epoch begins");
	return step;
}

static bool near(int64_t a, int64_t b)
{
	return llabs(a - b) < 50 * MS;
}

static int run_steps(void)
{
	struct clock_converter c;
	struct clock_step_watch *w;
	struct clock_anchor a;
	struct clock_stamp before, again;
	int64_t step;
	uint64_t event;

	clock_converter_init(&c);
	expect(!clock_step_open(&w), "the watch opens");
	expect(!clock_take_anchor(&a) &&
		       clock_converter_feed(&c, &a, false, &step) == CLOCK_FIRST,
	       "first anchor");
	expect(stamps_are_right(&c, 1), "right before");
	event = clock_boot_now();
	expect(!clock_convert(&c, event, &before), "an event before the step");

	set_wall(now(CLOCK_REALTIME) + HOUR);
	expect(near(resync(&c, w), HOUR), "an hour forth");
	expect(stamps_are_right(&c, 2), "right after the step forth");
	set_wall(now(CLOCK_REALTIME) - 2 * HOUR);
	expect(near(resync(&c, w), -2 * HOUR), "two hours back");
	expect(stamps_are_right(&c, 3), "right after the step back");
	set_wall(now(CLOCK_REALTIME) + HOUR);
	expect(near(resync(&c, w), HOUR), "and right again");

	inject(-S);
	step = resync(&c, w);
	expect(llabs(step + S) < 1000, "a second back, within a microsecond");
	inject(3 * S);		/* two steps before anybody looks */
	inject(-2 * S);
	step = resync(&c, w);
	expect(llabs(step - S) < 1000, "two steps are one when nobody looked between");
	expect(!clock_step_take(w), "and are told once");
	expect(stamps_are_right(&c, 6), "right at the end");
	expect(!clock_convert(&c, event, &again) && again.wall_ns == before.wall_ns &&
		       again.epoch == 1,
	       "the event before keeps its time");
	clock_step_close(w);
	return failures != 0;
}

static int step(void)
{
	int64_t real = now(CLOCK_REALTIME), mono = now(CLOCK_MONOTONIC), off;
	struct timex nothing = { .modes = ADJ_SETOFFSET | ADJ_NANO };
	struct timespec ts;
	int status = 1;
	pid_t pid;

	if (adjtimex(&nothing) < 0)	/* no right, or a clock of somebody else's */
		return 77;
	pid = fork();
	if (!pid) {
		alarm(10);
		exit(run_steps());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = 1;
	off = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC) - (real - mono);
	if (llabs(off) > 50 * MS) {
		real += now(CLOCK_MONOTONIC) - mono;
		ts = (struct timespec){ .tv_sec = real / S, .tv_nsec = real % S };
		clock_settime(CLOCK_REALTIME, &ts);
		printf("not ok the clock was left %" PRId64
		       " ns off, and was put right\n",
		       off);
		return 1;
	}
	printf("ok the clock is back within %lld us\n", (long long)llabs(off) / 1000);
	return status != 0;
}

static int no_paired(void *arg, clockid_t id, int64_t *ns)
{
	(void)arg;
	*ns = now(id);
	return id == CLOCK_REALTIME ? -EPERM : 0;
}

static int offset(bool btime)
{
	struct clock_reader r = { .gettime = no_paired,
				  .timens_boot_ns = clock_timens()->boot_ns,
				  .timens_monotonic_ns = clock_timens()->monotonic_ns,
				  .resolution_ns = 1 };
	struct clock_anchor a;
	int err = btime ? clock_take_anchor_from(&r, &a) : clock_take_anchor(&a);

	if (err)
		return 1;
	printf("%" PRId64 " %u\n", a.offset_ns, a.source);
	return 0;
}

/* return (u32)(bpf_ktime_get_boot_ns() >> 20) */
static int bpf(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_boot_ns },
		{ .code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = 20 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char packet[64] = "";
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = packet,
		    .data_size_in = sizeof(packet));
	int prog = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "rs_boot", "GPL", insns, 3,
				 NULL);
	uint64_t before, after;
	bool ok;

	if (prog < 0)
		return 77;
	before = clock_boot_now() >> 20;
	if (bpf_prog_test_run_opts(prog, &o))
		return 77;
	after = clock_boot_now() >> 20;
	ok = o.retval >= (uint32_t)before && o.retval <= (uint32_t)after;
	printf("%s BPF reads %u, we read %" PRIu64 " and %" PRIu64 " (ms or so)\n",
	       ok ? "ok" : "not ok", o.retval, before, after);
	close(prog);
	return !ok;
}

static int lost(void)
{
	struct clock_anchor a;

	if (unshare(CLONE_NEWTIME))
		return 77;
	return clock_take_anchor(&a) == -EXDEV ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "step"))
		return step();
	if (!strcmp(mode, "boot"))
		return printf("%" PRIu64 "\n", clock_boot_now()) < 0;
	if (!strcmp(mode, "offset"))
		return offset(argc > 2);
	if (!strcmp(mode, "bpf"))
		return bpf();
	if (!strcmp(mode, "lost"))
		return lost();
	fprintf(stderr, "usage: clock_step step|boot|offset [btime]|bpf|lost\n");
	return 2;
}
