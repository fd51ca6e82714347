/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/escape.h"
#include "client/frame.h"
#include "client/interrupt.h"
#include "client/selection.h"
#include "client/selfcheck.h"
#include "client/time.h"

#define ENOUGH		3		/* samples */
#define BURN_SECONDS	60
#define PATIENCE_NS	(4 * NS_PER_SEC)
#define TOLERANCE_NS	(INT64_C(1000000))	/* beyond the stated clock error */

void ringside_doctor_burn(volatile uint64_t *work);

/* Global and not inlined, so that it has a symbol of its own; nothing in it calls
 * anything. */
__attribute__((noinline, visibility("default"))) void
ringside_doctor_burn(volatile uint64_t *work)
{
	for (uint64_t i = 0; i < UINT64_C(20000000); i++)
		*work = *work * UINT64_C(6364136223846793005) + i;
}

static void child(const struct selfcheck *s)
{
	volatile uint64_t work = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	signal(SIGALRM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	alarm(BURN_SECONDS);
	prctl(PR_SET_NAME, s->comm, 0, 0, 0);
	for (;;)
		ringside_doctor_burn(&work);
}

int selfcheck_start(struct selfcheck *s)
{
	ssize_t n;

	memset(s, 0, sizeof(*s));
	n = readlink("/proc/self/exe", s->exe, sizeof(s->exe) - 1);
	if (n < 0)
		s->exe[0] = '\0';
	snprintf(s->comm, sizeof(s->comm), "doctor-%08x",
		 (unsigned)((uint64_t)time_now() / 1000 ^ (uint64_t)getpid() << 20));
	s->start_ns = time_now();
	s->child = fork();
	if (s->child < 0) {
		s->child = 0;
		return -errno;
	}
	if (!s->child)
		child(s);
	return 0;
}

void selfcheck_stop(struct selfcheck *s)
{
	if (!s->child)
		return;
	kill(s->child, SIGKILL);
	while (waitpid(s->child, NULL, 0) < 0 && errno == EINTR)
		;
	s->child = 0;
}

static void look_at_stack(struct selfcheck *s, const struct ringside_sample *sample)
{
	const struct ringside_frame *f;
	struct text t;

	for (uint32_t i = 0; i < sample->user.n; i++) {
		f = sample->user.frames[i];
		if (f->function && !strcmp(f->function, SELFCHECK_FUNCTION))
			s->named = true;
	}
	if (s->named || !sample->user.n || s->other_function[0])
		return;
	text_init(&t, TEXT_LINE_MAX);
	frame_name_escaped(&t, sample->user.frames[0], "");
	snprintf(s->other_function, sizeof(s->other_function), "%.100s", text_string(&t));
	text_fini(&t);
}

static void look_at_time(struct selfcheck *s, const struct ringside_record *rec)
{
	int64_t before = s->start_ns - rec->time_ns, after = rec->time_ns - time_now();
	int64_t outside = before > after ? before : after;

	if (outside > s->time_error_ns)
		s->time_error_ns = outside;
	if (rec->clock_error_ns > s->clock_error_ns)
		s->clock_error_ns = rec->clock_error_ns;
}

static void look_at(struct selfcheck *s, const struct ringside_record *rec)
{
	const struct ringside_sample *sample = &rec->sample;
	const char *exe;

	if (rec->kind != RINGSIDE_SAMPLE ||
	    strncmp(sample->comm, s->comm, sizeof(sample->comm)))
		return;
	if (!s->samples++)
		s->first_after_ns = time_now() - s->start_ns;
	s->pid = sample->pid;
	exe = resource_string(&sample->resource, "process.executable.path");
	s->exe_seen |= exe && !strcmp(exe, s->exe);
	for (uint32_t i = 0; i < sample->user.n; i++) {
		const struct ringside_mapping *m = sample->user.frames[i]->mapping;

		s->exe_seen |= m && m->path && !strcmp(m->path, s->exe);
	}
	look_at_stack(s, sample);
	look_at_time(s, rec);
}

static int64_t patience(struct ring *r)
{
	const struct ringside_status *page;
	uint64_t hz;

	/* At 1 Hz, ENOUGH samples take their time. */
	if (ring_status(r, &page) ||
	    !ringside_status_number(page, RINGSIDE_N_FREQUENCY_HZ, &hz) || !hz)
		hz = 19;
	return PATIENCE_NS + 2 * ENOUGH * NS_PER_SEC / (int64_t)hz;
}

static bool is_ringsided(uint32_t pid)
{
	char path[48], comm[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	return !strncmp(comm, "ringsided", 9);
}

int selfcheck_look(struct selfcheck *s, struct ring *r)
{
	int64_t until = time_monotonic() + patience(r);
	struct ringside_liveness l;
	struct ringside_record rec;
	int rc = 0;

	/* Names of a new program may come a moment after its first samples. */
	while (!(s->samples >= ENOUGH && s->named) && time_monotonic() < until &&
	       !interrupt_signal()) {
		rc = ring_next(r, &rec);
		if (rc == 1)
			look_at(s, &rec);
		else if (!rc)
			rc = ring_wait(r, 100);
		if (rc < 0 && rc != -EINTR)
			return rc;
	}
	if (!ring_liveness(r, &l))
		s->writer_here = is_ringsided(l.writer_pid);
	return 0;
}

/* Another number is right when ringsided lives in another pid namespace. */
static bool judge_pid(const struct selfcheck *s, char *detail, size_t len)
{
	if (s->pid == (uint32_t)s->child) {
		snprintf(detail, len, "%" PRIu32, s->pid);
		return true;
	}
	if (s->writer_here) {
		snprintf(detail, len, "%" PRIu32 " instead of %d", s->pid, (int)s->child);
		return false;
	}
	snprintf(detail, len,
		 "%" PRIu32 ": ringsided sees another pid namespace, where %d here has "
		 "that number",
		 s->pid, (int)s->child);
	return true;
}

bool selfcheck_judge(const struct selfcheck *s,
		     void (*row)(void *arg, const char *name, bool ok,
				 const char *detail),
		     void *arg)
{
	int64_t tolerated = TOLERANCE_NS + (int64_t)s->clock_error_ns;
	bool ok, all;
	char detail[4400];
	struct text t;

	if (!s->samples) {
		row(arg, "sampled", false,
		    "no sample of a child that burned CPU: it is out of the "
		    "writer's scope, sampling is paused, or ticks do not reach it; see "
		    "'ringside status'");
		return false;
	}
	text_init(&t, 128);
	duration_print(&t, s->first_after_ns);
	snprintf(detail, sizeof(detail),
		 "%" PRIu64 " samples of a child that burned CPU, the first "
		 "in hand after %s",
		 s->samples, text_string(&t));
	row(arg, "sampled", true, detail);
	all = judge_pid(s, detail, sizeof(detail));
	row(arg, "pid", all, detail);
	snprintf(detail, sizeof(detail), "%s%s%s",
		 s->named ? SELFCHECK_FUNCTION
			  : "not named; "
			    "instead: ",
		 s->named		? ""
		 : s->other_function[0] ? s->other_function
					: "no user stack",
		 s->named ? "" : "; is symbolization working?");
	row(arg, "function", s->named, detail);
	ok = s->exe_seen;
	snprintf(detail, sizeof(detail), "%s%s", ok ? "" : "not seen: ", s->exe);
	row(arg, "executable", ok, detail);
	all = all && s->named && ok;
	ok = s->time_error_ns <= tolerated;
	text_clear(&t);
	duration_print(&t, ok ? (int64_t)s->clock_error_ns : s->time_error_ns);
	snprintf(detail, sizeof(detail),
		 ok ? "samples lie within the child's life, stated error +-%s"
		    : "a sample lies %s outside of the child's life",
		 text_string(&t));
	row(arg, "wall clock", ok, detail);
	text_fini(&t);
	return all && ok;
}
