/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells of clock steps: a timer on CLOCK_REALTIME that is never meant to expire and that
 * the kernel cancels when the clock is set (settimeofday, a leap second, ADJ_SETOFFSET,
 * resume from suspend).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "sidecar/clock/clock.h"

#define FAR_AWAY_S 7258118400ll		/* the year 2200 */

struct clock_step_watch { int fd; };

static int arm(int fd)
{
	const struct itimerspec when = { .it_value = { .tv_sec = FAR_AWAY_S } };

	/* ECANCELED: set again while we were arming.  Armed it is, and the caller reads
	 * the clocks next. */
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when,
			    NULL) &&
	    errno != ECANCELED)
		return -errno;
	return 0;
}

int clock_step_open(struct clock_step_watch **out)
{
	struct clock_step_watch *w;
	int err;

	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	err = w->fd < 0 ? -errno : arm(w->fd);
	if (err) {
		clock_step_close(w);
		return err;
	}
	*out = w;
	return 0;
}

int clock_step_fd(const struct clock_step_watch *w)
{
	return w->fd;
}

/* Re-armed before it returns, hence before the caller takes its anchor: a step after that
 * is told anew. */
bool clock_step_take(struct clock_step_watch *w)
{
	uint64_t expirations;
	ssize_t n;

	n = read(w->fd, &expirations, sizeof(expirations));
	if (n < 0 && errno == ECANCELED) {
		arm(w->fd);
		return true;
	}
	if (n > 0)		/* the clock stands beyond the year 2200 */
		arm(w->fd);
	return false;
}

void clock_step_close(struct clock_step_watch *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}
