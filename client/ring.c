/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/complain.h"
#include "client/interrupt.h"
#include "client/ring.h"
#include "client/time.h"

#define RETRY_NS (200 * 1000 * 1000)

static sigjmp_buf escape_hatch;
static volatile sig_atomic_t guarded;

/*
 * The mapping lost its pages.  Leave the library where it stands: it holds no lock, and
 * its reader is never used again.  Outside of a guarded call the fault is somebody
 * else's, and kills as it should.
 */
static void on_sigbus(int sig)
{
	if (guarded)
		siglongjmp(escape_hatch, 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void guard_install(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_sigbus;
	sa.sa_flags = SA_NODEFER;	/* siglongjmp without a saved mask: one system call less a record */
	sigaction(SIGBUS, &sa, NULL);
}

/* Evaluates the call; RING_SHRANK when it faulted. */
#define GUARDED(ring, call) ({				\
	int guarded_rc_;				\
	if ((ring)->broken) {				\
		guarded_rc_ = RING_SHRANK;		\
	} else if (sigsetjmp(escape_hatch, 0)) {	\
		guarded = 0;				\
		(ring)->broken = true;			\
		guarded_rc_ = RING_SHRANK;		\
	} else {					\
		guarded = 1;				\
		guarded_rc_ = (call);			\
		guarded = 0;				\
	}						\
	guarded_rc_; })

static const char *ring_path(const struct options *o)
{
	const char *env = getenv("RINGSIDE_RING");

	if (option_given(o, OPTION_RING))
		return o->value[OPTION_RING].text;
	return env && *env ? env : RINGSIDE_DEFAULT_RING;
}

static void pause_ns(int64_t ns)
{
	struct timespec ts = { ns / NS_PER_SEC, ns % NS_PER_SEC };

	nanosleep(&ts, NULL);
}

static int open_once(struct ring *r, const struct ringside_options *options)
{
	return GUARDED(r, ringside_open(&r->reader, options));
}

/* Only a ring that is not there is worth waiting for. */
static int open_waiting(struct ring *r, const struct ringside_options *options,
			int64_t wait_ns)
{
	int64_t until = time_monotonic() + wait_ns;
	bool said = false;
	int err;

	for (;;) {
		err = open_once(r, options);
		if (err != -ENOENT || interrupt_signal() || time_monotonic() >= until)
			return err;
		if (!said)
			complain_note("waiting for a ring at %s", r->path);
		said = true;
		pause_ns(RETRY_NS);
	}
}

int ring_open(struct ring *r, const struct options *o, const struct ring_flags *flags)
{
	struct ringside_options options = { .size = sizeof(options) };
	const char *why;
	int err;

	memset(r, 0, sizeof(*r));
	guard_install();
	r->path = flags->path ? flags->path : ring_path(o);
	options.path = r->path;
	options.paranoid = option_given(o, OPTION_PARANOID);
	options.has_owner = option_given(o, OPTION_OWNER);
	options.owner = (uid_t)o->value[OPTION_OWNER].number;
	options.from_oldest = flags->from_oldest;
	options.no_follow = flags->no_follow;
	options.no_resolve = flags->no_resolve;
	err = open_waiting(r, &options, (int64_t)o->value[OPTION_WAIT].number);
	if (!err) {
		complain_detail("reading %s", r->path);
		return 0;
	}
	r->open_error = err;
	if (flags->quiet)
		return CLIENT_FAILED;
	if (interrupt_signal())
		return interrupt_exit(CLIENT_OK);
	if (err == RING_SHRANK)
		return ring_complain(r, err);
	why = ringside_open_error();
	if (why && *why)
		complain("%s", why);
	else
		complain("opening the ring: %s: %s", r->path, strerror(-err));
	return CLIENT_FAILED;
}

void ring_close(struct ring *r)
{
	if (r->reader && !r->broken)
		ringside_close(r->reader);
	r->reader = NULL;
}

int ring_next(struct ring *r, struct ringside_record *rec)
{
	return GUARDED(r, ringside_next(r->reader, rec));
}

int ring_wait(struct ring *r, int timeout_ms)
{
	return GUARDED(r, ringside_wait(r->reader, timeout_ms));
}

int ring_seek_time(struct ring *r, int64_t ns)
{
	return GUARDED(r, ringside_seek_time(r->reader, ns));
}

int ring_seek_seq(struct ring *r, uint64_t seq)
{
	return GUARDED(r, ringside_seek_seq(r->reader, seq));
}

int ring_seek_oldest(struct ring *r)
{
	return GUARDED(r, ringside_seek_oldest(r->reader));
}

int ring_geometry(struct ring *r, struct ringside_geometry *out)
{
	return GUARDED(r, ringside_geometry(r->reader, out));
}

int ring_liveness(struct ring *r, struct ringside_liveness *out)
{
	return GUARDED(r, ringside_liveness(r->reader, out));
}

int ring_status(struct ring *r, const struct ringside_status **out)
{
	return GUARDED(r, ringside_status(r->reader, out));
}

int ring_complain(const struct ring *r, int err)
{
	switch (err) {
	case RING_SHRANK:
		complain("reading: %s: the file was truncated while it was read; "
			 "start ringsided anew, or read with --paranoid", r->path);
		break;
	case -EBADMSG:
		complain(
			"reading: %s: the ring became inconsistent (overwritten or truncated by "
			"something else than ringsided); start ringsided anew",
			r->path);
		break;
	case -ENOMEM:
		complain("reading: %s: out of memory", r->path);
		break;
	default:
		complain("reading: %s: %s", r->path, strerror(-err));
	}
	return CLIENT_FAILED;
}
