/* SPDX-License-Identifier: Apache-2.0 */
/* The door's threads and queues; what they read is in door_process.c and door_file.c. */
#include "sidecar/process/door.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sidecar/clock/clock.h"
#include "sidecar/process/target.h"

#define QUEUE_MAX	1024			/* requests */
#define ANSWERS_MAX	(16u << 20)		/* bytes; threads wait beyond it */
#define BLOCKED_MAX	64
#define STACK_BYTES	(256u << 10)
#define SCRATCH_KEEP	(128u << 10)		/* an answer larger than this gives its pages back */

/* First resolutions: a tenth of a CPU, and a head start for all that runs when we begin.
 */
#define BUDGET_SHARE	10
#define BUDGET_BURST_NS	400000000ll
/* Contexts that may have changed: half of that. */
#define CONTEXT_SHARE	20
#define CONTEXT_BURST_NS 200000000ll

struct job {
	struct job	*next;
	size_t		 bytes;			/* of request that were copied */
	struct door_request request;		/* path last, and only as long as needed */
};

struct reply {
	struct reply	*next;
	size_t		 n;
	int		 fd;
	uint8_t		 bytes[];
};

enum slot_state { SLOT_IDLE, SLOT_BUSY, SLOT_ABANDONED };
struct slot {
	struct door	*door;
	pthread_t	 thread;
	int		 tid;
	enum slot_state	 state;
	uint64_t	 since_ns;		/* BUSY: CLOCK_MONOTONIC */
	uint64_t	 delay_ns;		/* BUSY: run_delay() when it was last looked at */
	struct door_request *request;		/* BUSY: what it works on, in scratch */
	struct door_scratch *scratch;
};

struct blocked { uint32_t pid; uint64_t start_ns; };

/* CPU time that may be spent on something: a share of what passes, saved up to a burst. */
struct budget { int64_t left_ns, burst_ns; uint64_t at_ns; unsigned share; };

struct door {
	pthread_mutex_t	 lock;
	pthread_cond_t	 work, room;
	unsigned	 refs;			/* owner and threads: a thread that hangs keeps all of it */
	bool		 stop;
	int		 event_fd;
	struct job	*first_job, **last_job;
	size_t		 jobs;
	struct reply	*first_reply, **last_reply;
	size_t		 reply_bytes;
	struct slot	 slots[DOOR_THREADS];
	unsigned	 abandoned;		/* now */
	uint64_t	 lost;			/* ever */
	struct blocked	 blocked[BLOCKED_MAX];
	unsigned	 next_blocked;
	struct budget	 first, contexts;
	struct door_allowed allowed;
};

static const char *const always_allowed[] = { "OTEL_SERVICE_NAME",
					      "OTEL_RESOURCE_ATTRIBUTES" };

static void door_free(struct door *d)
{
	for (struct job *j = d->first_job; j; ) {
		struct job *next = j->next;

		free(j);
		j = next;
	}
	for (struct reply *r = d->first_reply; r; ) {
		struct reply *next = r->next;

		if (r->fd >= 0)
			close(r->fd);
		free(r);
		r = next;
	}
	for (unsigned i = 0; i < DOOR_THREADS; i++) {
		if (d->slots[i].scratch)
			munmap(d->slots[i].scratch, sizeof(struct door_scratch));
	}
	for (uint32_t i = 0; i < d->allowed.n_names; i++)
		free(d->allowed.names[i]);
	free(d->allowed.names);
	pods_fini(&d->allowed.pods);
	if (d->event_fd >= 0)
		close(d->event_fd);
	pthread_cond_destroy(&d->work);
	pthread_cond_destroy(&d->room);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static void door_unref_unlock(struct door *d)
{
	bool last = --d->refs == 0;

	pthread_mutex_unlock(&d->lock);
	if (last)
		door_free(d);
}

/* Queues an answer; the lock is held. */
static void push_reply(struct door *d, const void *bytes, size_t n, int fd)
{
	struct reply *r = malloc(sizeof(*r) + n);
	uint64_t one = 1;

	if (!r) {
		if (fd >= 0)
			close(fd);
		return;
	}
	*r = (struct reply){ .n = n, .fd = fd };
	memcpy(r->bytes, bytes, n);
	*d->last_reply = r;
	d->last_reply = &r->next;
	d->reply_bytes += n;
	if (write(d->event_fd, &one, sizeof(one)) < 0)
		return;				/* the counter is full: it is readable already */
}

static struct answer_head *begin_reply(struct answer_writer *w, void *buf, size_t cap,
				       const struct door_request *r)
{
	struct answer_head *h = answer_begin(w, buf, cap);

	h->ask = r->ask;
	h->pid = r->pid;
	h->start_ns = r->start_ns;
	h->image_serial = r->image_serial;
	h->file_id = r->file_id;
	return h;
}

static void push_failure(struct door *d, const struct door_request *r, int error)
{
	struct answer_head h;
	struct answer_writer w;

	begin_reply(&w, &h, sizeof(h), r);
	h.error = error;
	h.begin_ns = h.end_ns = clock_boot_now();
	answer_end(&w);
	push_reply(d, &h, sizeof(h), -1);
}

static bool is_blocked(const struct door *d, const struct door_request *r)
{
	for (unsigned i = 0; i < BLOCKED_MAX; i++) {
		if (d->blocked[i].pid == r->pid && d->blocked[i].start_ns == r->start_ns)
			return r->pid != 0;
	}
	return false;
}

static size_t answer_request(struct door_scratch *s, const struct door_allowed *a,
			     int *fd)
{
	const struct door_request *r = &s->request;
	struct answer_writer w;
	struct answer_head *h = begin_reply(&w, s->message, sizeof(s->message), r);
	int err = -EINVAL;

	switch (r->ask) {
	case DOOR_PROCESS:
	case DOOR_CGROUP:
	case DOOR_MAPS:
		err = door_read_process(s, &w, r, a);
		break;
	case DOOR_CONTEXT:
		err = door_read_context(s, &w, r);
		break;
	case DOOR_TLS:
		err = door_read_words(&w, r);
		break;
	case DOOR_FILE:
		err = door_open_file(s, &w, r, fd);
		break;
	case DOOR_DEBUG:
		err = door_open_debug(s, &w, r, fd);
		break;
	case DOOR_PERF_MAP:
		err = door_open_perf_map(s, &w, r, fd);
		break;
	case DOOR_VDSO:
		err = door_open_vdso(s, &w, r, fd);
		break;
	}
	if (err)
		w.n = sizeof(*h);		/* what was read of whom we do not know is worth nothing */
	h->error = err;
	h->end_ns = clock_boot_now();
	answer_end(&w);
	return w.n;
}

static void scratch_trim(struct door_scratch *s, size_t used)
{
	if (used > SCRATCH_KEEP)
		madvise(s, sizeof(*s), MADV_DONTNEED);
}

/* Works on one request; called and left with the lock held. */
static void serve(struct door *d, struct slot *slot, struct job *job)
{
	struct door_scratch *s = slot->scratch;
	int64_t cpu;
	size_t n;
	int fd = -1;

	memcpy(&s->request, &job->request, job->bytes);
	free(job);
	if (is_blocked(d, &s->request)) {
		push_failure(d, &s->request, -ETIMEDOUT);
		return;
	}
	slot->state = SLOT_BUSY;
	slot->since_ns = door_now();
	slot->delay_ns = 0;
	slot->request = &s->request;
	pthread_mutex_unlock(&d->lock);
	cpu = thread_cpu_ns();
	n = answer_request(s, &d->allowed, &fd);
	cpu = thread_cpu_ns() - cpu;
	pthread_mutex_lock(&d->lock);
	if (s->request.ask == DOOR_PROCESS || s->request.ask == DOOR_MAPS)
		d->first.left_ns -= cpu;
	else if (s->request.ask == DOOR_CONTEXT)
		d->contexts.left_ns -= cpu;
	if (slot->state == SLOT_ABANDONED) {	/* it came back after all; its answer was given already */
		d->abandoned--;
		if (fd >= 0)
			close(fd);
	} else {
		push_reply(d, s->message, n, fd);
	}
	slot->state = SLOT_IDLE;
	slot->request = NULL;
	scratch_trim(s, n);
}

static void *thread_main(void *arg)
{
	struct slot *slot = arg;
	struct door *d = slot->door;

	pthread_mutex_lock(&d->lock);
	slot->tid = gettid();
	while (!d->stop) {
		struct job *job = d->first_job;

		if (!job) {
			pthread_cond_wait(&d->work, &d->lock);
			continue;
		}
		if (d->reply_bytes > ANSWERS_MAX) {
			pthread_cond_wait(&d->room, &d->lock);
			continue;
		}
		d->first_job = job->next;
		if (!d->first_job)
			d->last_job = &d->first_job;
		d->jobs--;
		serve(d, slot, job);
	}
	door_unref_unlock(d);
	return NULL;
}

static int start_threads(struct door *d)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);	/* signals are the loop's */
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < DOOR_THREADS && !err; i++) {
		err = pthread_create(&d->slots[i].thread, &attr, thread_main,
				     &d->slots[i]);
		if (!err)
			d->refs++;
	}
	pthread_mutex_unlock(&d->lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static int map_scratch(struct door *d)
{
	for (unsigned i = 0; i < DOOR_THREADS; i++) {
		void *p = mmap(NULL, sizeof(struct door_scratch), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return -errno;
		d->slots[i].scratch = p;
		d->slots[i].door = d;
	}
	return 0;
}

int door_create(struct door **out)
{
	struct door *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->work, NULL);
	pthread_cond_init(&d->room, NULL);
	d->refs = 1;
	d->last_job = &d->first_job;
	d->last_reply = &d->first_reply;
	d->first = (struct budget){ BUDGET_BURST_NS, BUDGET_BURST_NS, door_now(), BUDGET_SHARE };
	d->contexts = (struct budget){ CONTEXT_BURST_NS, CONTEXT_BURST_NS, door_now(), CONTEXT_SHARE };
	d->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	err = d->event_fd < 0 ? -errno : map_scratch(d);
	if (!err)
		err = door_allow(d, NULL, 0, false, false);
	if (!err)
		err = start_threads(d);
	if (err) {
		door_destroy(d);
		return err;
	}
	*out = d;
	return 0;
}

void door_destroy(struct door *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_broadcast(&d->work);
	pthread_cond_broadcast(&d->room);
	/* The last thread out frees it; one that hangs in a target's file never does. */
	door_unref_unlock(d);
}

int door_allow(struct door *d, const char *const *env_names, uint32_t n,
	       bool command_line, bool working_directory)
{
	uint32_t always = sizeof(always_allowed) / sizeof(always_allowed[0]);
	char **names = calloc(always + n, sizeof(*names));
	int err = names ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < always + n; i++) {
		names[i] = strdup(i < always ? always_allowed[i] : env_names[i - always]);
		if (!names[i])
			err = -ENOMEM;
	}
	if (err) {
		for (uint32_t i = 0; names && i < always + n; i++)
			free(names[i]);
		free(names);
		return err;
	}
	for (uint32_t i = 0; i < d->allowed.n_names; i++)
		free(d->allowed.names[i]);
	free(d->allowed.names);
	d->allowed.names = names;
	d->allowed.n_names = always + n;
	d->allowed.command_line = command_line;
	d->allowed.working_directory = working_directory;
	return 0;
}

void door_allow_pods(struct door *d, struct pods *pods)
{
	pods_fini(&d->allowed.pods);
	d->allowed.pods = *pods;
	memset(pods, 0, sizeof(*pods));
}

int door_fd(const struct door *d)
{
	return d->event_fd;
}

/* The lock is held. */
static bool budget_left(struct budget *b)
{
	uint64_t now = door_now();

	b->left_ns += (int64_t)((now - b->at_ns) / b->share);
	b->at_ns = now;
	if (b->left_ns > b->burst_ns)
		b->left_ns = b->burst_ns;
	return b->left_ns > 0;
}

/* The lock is held. */
static bool may_work(struct door *d, uint32_t ask)
{
	if (ask == DOOR_PROCESS)
		return budget_left(&d->first);
	return ask != DOOR_CONTEXT || budget_left(&d->contexts);
}

int door_ask(struct door *d, const struct door_request *r)
{
	size_t bytes = offsetof(struct door_request, path) +
		       strnlen(r->path, sizeof(r->path) - 1) + 1;
	struct job *job = malloc(offsetof(struct job, request) + bytes);
	int err = 0;

	if (!job)
		return -ENOMEM;
	job->next = NULL;
	job->bytes = bytes;
	memcpy(&job->request, r, bytes);
	((char *)&job->request)[bytes - 1] = 0;
	pthread_mutex_lock(&d->lock);
	if (d->abandoned == DOOR_THREADS)
		err = -EBUSY;
	else if (d->jobs == QUEUE_MAX || !may_work(d, r->ask))
		err = -EAGAIN;
	if (!err) {
		*d->last_job = job;
		d->last_job = &job->next;
		d->jobs++;
		pthread_cond_signal(&d->work);
	}
	pthread_mutex_unlock(&d->lock);
	if (err)
		free(job);
	return err;
}

/* The counter goes back to zero before the queue is looked at, so that no wake-up is
 * lost. */
static void clear_event(struct door *d)
{
	uint64_t count;

	if (read(d->event_fd, &count, sizeof(count)) < 0)
		return;
}

int door_take(struct door *d, void *buf, size_t cap, size_t *n, int *fd)
{
	struct reply *r;

	pthread_mutex_lock(&d->lock);
	r = d->first_reply;
	if (!r) {
		clear_event(d);
		pthread_mutex_unlock(&d->lock);
		return 0;
	}
	d->first_reply = r->next;
	if (!d->first_reply)
		d->last_reply = &d->first_reply;
	d->reply_bytes -= r->n;
	pthread_cond_broadcast(&d->room);
	pthread_mutex_unlock(&d->lock);
	*fd = r->fd;
	*n = r->n;
	if (r->n > cap) {
		if (r->fd >= 0)
			close(r->fd);
		free(r);
		return -ENOSPC;
	}
	memcpy(buf, r->bytes, r->n);
	free(r);
	return 1;
}

/* How long a thread of ours has stood ready and was given no CPU, in its life; 0 when
 * nobody tells. */
static uint64_t run_delay(int tid)
{
	char name[64], text[128];
	unsigned long long ran, waited;
	int n;

	snprintf(name, sizeof(name), "/proc/self/task/%d/schedstat", tid);
	n = read_whole(AT_FDCWD, name, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

/*
 * Late because the target blocks it, not because the machine is so busy that it got no
 * turn: then it is given as much time again.
 */
static bool hangs(struct slot *s, uint64_t monotonic_ns)
{
	uint64_t delay, before = s->delay_ns;

	if (s->state != SLOT_BUSY || monotonic_ns < s->since_ns + DOOR_TIMEOUT_NS / 2)
		return false;
	delay = run_delay(s->tid);
	if (!before) {
		s->delay_ns = delay ? delay : 1;
	} else if (delay > before) {
		s->since_ns += delay - before;
		s->delay_ns = delay;
	}
	return monotonic_ns >= s->since_ns + DOOR_TIMEOUT_NS;
}

static void abandon(struct door *d, struct slot *slot)
{
	const struct door_request *r = slot->request;

	slot->state = SLOT_ABANDONED;
	d->abandoned++;
	d->lost++;
	d->blocked[d->next_blocked] = (struct blocked){ r->pid, r->start_ns };
	d->next_blocked = (d->next_blocked + 1) % BLOCKED_MAX;
	push_failure(d, r, -ETIMEDOUT);
}

void door_tick(struct door *d, uint64_t monotonic_ns)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < DOOR_THREADS; i++) {
		struct slot *s = &d->slots[i];

		if (hangs(s, monotonic_ns))
			abandon(d, s);
	}
	/* Nobody is left to answer what still waits. */
	while (d->abandoned == DOOR_THREADS && d->first_job) {
		struct job *job = d->first_job;

		d->first_job = job->next;
		d->jobs--;
		push_failure(d, &job->request, -ETIMEDOUT);
		free(job);
	}
	if (!d->first_job)
		d->last_job = &d->first_job;
	pthread_mutex_unlock(&d->lock);
}

uint64_t door_lost_threads(const struct door *d)
{
	return d->lost;
}
