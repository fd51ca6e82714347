/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "sidecar/loop/loop.h"

#define NS_PER_S 1000000000ull
#define BATCH 32

enum kind { KIND_FD, KIND_TIMER, KIND_SIGNAL };

struct loop_source {
	struct loop	*loop;
	enum kind	 kind;
	int		 fd;		/* ours to close unless KIND_FD */
	bool		 removed;	/* waits in loop->removed for the end of the batch */
	loop_fn		 fn;
	void		*arg;
	struct loop_source *prev, *next;
};

struct loop {
	int		 epoll;
	bool		 stopped;
	struct loop_source *sources;
	/* A batch of epoll events may still point to a source that a callback removed. */
	struct loop_source *removed;
};

int loop_create(struct loop **out)
{
	struct loop *l;
	int err;

	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		err = -errno;
		free(l);
		return err;
	}
	*out = l;
	return 0;
}

static void free_removed(struct loop *l)
{
	struct loop_source *s;

	while ((s = l->removed)) {
		l->removed = s->next;
		free(s);
	}
}

void loop_destroy(struct loop *l)
{
	if (!l)
		return;
	while (l->sources)
		loop_remove(l->sources);
	free_removed(l);
	close(l->epoll);
	free(l);
}

/* Takes over fd when it is a timer's or a signal's, also on failure. */
static int add(struct loop *l, struct loop_source **out, enum kind kind, int fd,
	       uint32_t events, loop_fn fn, void *arg)
{
	struct epoll_event ev = { .events = events };
	struct loop_source *s;
	int err = -ENOMEM;

	s = malloc(sizeof(*s));
	if (!s)
		goto out_close;
	*s = (struct loop_source){ .loop = l,
				   .kind = kind,
				   .fd = fd,
				   .fn = fn,
				   .arg = arg,
				   .next = l->sources };
	ev.data.ptr = s;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev)) {
		err = -errno;
		goto out_free;
	}
	if (l->sources)
		l->sources->prev = s;
	l->sources = s;
	*out = s;
	return 0;
out_free:
	free(s);
out_close:
	if (kind != KIND_FD)
		close(fd);
	return err;
}

int loop_add_fd(struct loop *l, struct loop_source **out, int fd, uint32_t events,
		loop_fn fn, void *arg)
{
	return add(l, out, KIND_FD, fd, events, fn, arg);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}

static int arm(int fd, uint64_t first_ns, uint64_t interval_ns)
{
	struct itimerspec when = { .it_interval = to_timespec(interval_ns) };

	/* An it_value of 0 would disarm; who asks for "at once, and then every" means at
	 * once. */
	when.it_value = to_timespec(first_ns || !interval_ns ? first_ns : 1);
	return timerfd_settime(fd, 0, &when, NULL) ? -errno : 0;
}

int loop_add_timer(struct loop *l, struct loop_source **out, uint64_t first_ns,
		   uint64_t interval_ns, loop_fn fn, void *arg)
{
	int fd, err;

	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = arm(fd, first_ns, interval_ns);
	if (err) {
		close(fd);
		return err;
	}
	return add(l, out, KIND_TIMER, fd, EPOLLIN, fn, arg);
}

int loop_set_timer(struct loop_source *s, uint64_t first_ns, uint64_t interval_ns)
{
	if (s->kind != KIND_TIMER)
		return -EINVAL;
	return arm(s->fd, first_ns, interval_ns);
}

int loop_add_signal(struct loop *l, struct loop_source **out, int signo, loop_fn fn,
		    void *arg)
{
	sigset_t set;
	int fd, err;

	sigemptyset(&set);
	if (sigaddset(&set, signo))
		return -EINVAL;
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (err)
		return -err;
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	return add(l, out, KIND_SIGNAL, fd, EPOLLIN, fn, arg);
}

/* A signal stays blocked: what is pending must not kill the process on its way out. */
void loop_remove(struct loop_source *s)
{
	if (!s || s->removed)
		return;
	epoll_ctl(s->loop->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	if (s->kind != KIND_FD)
		close(s->fd);
	if (s->prev)
		s->prev->next = s->next;
	else
		s->loop->sources = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->removed = true;
	s->next = s->loop->removed;
	s->loop->removed = s;
}

/* False: nothing there after all, e.g. the timer was set anew by a callback earlier in
 * the batch. */
static bool fetch(struct loop_source *s, uint64_t *info)
{
	struct signalfd_siginfo si;

	switch (s->kind) {
	case KIND_TIMER:
		return read(s->fd, info, sizeof(*info)) == sizeof(*info);
	case KIND_SIGNAL:
		if (read(s->fd, &si, sizeof(si)) != sizeof(si))
			return false;
		*info = si.ssi_signo;
		return true;
	case KIND_FD:
		break;
	}
	return true;
}

static void dispatch(struct loop_source *s, uint32_t events)
{
	uint64_t info = events;

	if (!s->removed && fetch(s, &info))
		s->fn(s->arg, info);
}

int loop_run(struct loop *l)
{
	struct epoll_event ev[BATCH];
	int n;

	while (!l->stopped) {
		n = epoll_wait(l->epoll, ev, BATCH, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n && !l->stopped; i++)
			dispatch(ev[i].data.ptr, ev[i].events);
		free_removed(l);
	}
	l->stopped = false;
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
}
