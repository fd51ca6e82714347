/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar's side: queues requests, sends what the socket takes, restarts the worker, answers for it
 * what it can no longer answer.  Nothing blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "sidecar/symbols/fd_message.h"
#include "sidecar/symbols/pending.h"
#include "sidecar/symbols/run_watch.h"
#include "sidecar/log.h"
#include "sidecar/symbols/symbols.h"
#include "sidecar/symbols/worker_ending.h"
#include "sidecar/symbols/wire.h"

#define QUEUE_MAX 4096u			/* requests waiting or sent, and */
#define QUEUE_MAX_BYTES (2u << 20)	/* their payload */
#define SENT_MAX 256u			/* of them sent: what a dying worker takes along */
/* A worker on a CPU with a tight quota is slow, not hung: a first read of kallsyms takes 60 ms of CPU. */
#define HANG_NS 5000000000ull
#define HANG_BLOCKED(hang_ns) ((hang_ns) / 5 * 2)	/* asleep all the time: its file does not answer */
#define STATUS_WAIT_NS 200000000ull	/* how long the launcher may take to say how a worker died */
#define BACKOFF_FIRST_NS 100000000ull
#define BACKOFF_MAX_NS 10000000000ull
#define CAREFUL_NS 60000000000ull	/* after a death: files are looked at one by one */
#define HEALTHY_NS 30000000000ull	/* a worker that lived so long resets the back-off */

enum worker_state { WORKER_NONE, WORKER_SPAWNING, WORKER_UP, WORKER_ENDING, WORKER_NEVER };

struct symbols {
	struct symbols_options	 o;
	struct symbols_launcher *launcher;
	int			 epoll_fd, event_fd;
	int			 sock;		/* the worker's, -1 none */
	int			 kallsyms_fd;	/* ours: each new worker gets a copy */
	enum worker_state	 state;
	uint64_t		 serial;	/* of the worker */
	uint64_t		 spawn_ns;	/* NONE: not before that */
	uint64_t		 up_ns;		/* when the last one came up; 0: it did not */
	uint64_t		 ending_ns;	/* ENDING: since */
	uint64_t		 backoff_ns;
	uint64_t		 progress_ns;	/* when there was an answer, or something to answer, last */
	struct run_watch	 watch;		/* while there is no progress */
	pid_t			 pid;		/* of the worker */
	bool			 blocked;	/* killed because it did not even run */
	uint64_t		 careful_ns;	/* until when files go one at a time */
	uint32_t		 busy_seq;	/* the request that the worker named as its own */
	bool			 killed;	/* by us, for a hang or a lie */
	bool			 died, by_itself; /* the launcher said so; not by somebody's SIGKILL */
	int			 status;	/* as it said */
	bool			 told;
	bool			 uring, own_uid;
	bool			 kallsyms_sent;
	uint64_t		 restarts, worker_bytes;
	uint32_t		 seq;
	struct pending_list	 waiting, sent, orphans;
	struct strikes		 strikes;
	struct symbols_decoder	*decoder;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int watch(struct symbols *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* --- the worker's life --- */

/* An answer of our own: makes symbols_fd() readable. */
static void orphan(struct symbols *s, struct pending *p, enum verdict verdict)
{
	uint64_t one = 1;

	p->verdict = verdict;
	if (!s->orphans.n && write(s->event_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		s->state = WORKER_NEVER;
	pending_push(&s->orphans, p);
}

static bool needs_answer(uint32_t kind)
{
	return kind != WIRE_FORGET && kind != WIRE_ADD_KALLSYMS;
}

static void orphan_all(struct symbols *s, struct pending_list *l, enum verdict verdict)
{
	struct pending *p;

	while ((p = pending_pop(l))) {
		if (needs_answer(p->h.kind))
			orphan(s, p, verdict);
		else
			pending_destroy(p);
	}
}

static void never_again(struct symbols *s)
{
	if (s->state == WORKER_NEVER)
		return;
	if (s->sock >= 0)
		close(s->sock);
	s->sock = -1;
	s->state = WORKER_NEVER;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->launcher->sock, NULL);
	orphan_all(s, &s->sent, VERDICT_NO_WORKER);
	orphan_all(s, &s->waiting, VERDICT_NO_WORKER);
}

static void launch(struct symbols *s, uint32_t what)
{
	struct wire_launch_message m = { .what = what, .io = s->o.io, .memory_limit = s->o.memory_limit,
					 .serial = s->serial };

	if (send(s->launcher->sock, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN)
		never_again(s);
}

static void spawn_when_due(struct symbols *s, uint64_t now)
{
	if (s->state != WORKER_NONE || now < s->spawn_ns)
		return;
	s->serial++;
	s->up_ns = 0;
	s->state = WORKER_SPAWNING;
	s->kallsyms_sent = s->died = false;
	launch(s, LAUNCH_SPAWN);
}

/*
 * The worker is dead and we know how.  Whoever it was busy with is suspected, unless somebody else
 * killed it (an administrator, the OOM killer): after one such death the file's DWARF is left alone,
 * after two the file is not parsed any more.  One whose reads block is never read again.
 */
static void worker_ended(struct symbols *s, uint64_t now, bool by_itself)
{
	struct pending *busy = pending_find(&s->sent, s->busy_seq);
	bool healthy = s->up_ns && now > s->up_ns + HEALTHY_NS;
	char how[WORKER_ENDING_MAX];

	log_limited(LOG_LEVEL_WARN, "the symbol worker ended: %s: it is started again; what it was asked is asked again, "
		    "but the samples that waited go out without names",
		    worker_ending(how, s->status, s->blocked ? "its reads block" :
				  s->killed ? "it kept one request too long" : NULL));
	busy = busy ? busy : s->sent.first;
	if (busy && busy->h.file_id != SYMBOLS_KERNEL_FILE && (by_itself || s->killed)) {
		strikes_add(&s->strikes, busy->h.file_id, s->blocked ? STRIKES_REFUSE : 1);
		s->careful_ns = now + CAREFUL_NS;
	}
	if (busy && strikes_of(&s->strikes, busy->h.file_id) >= STRIKES_REFUSE) {
		pending_remove(&s->sent, busy);
		orphan(s, busy, VERDICT_REFUSED);
	}
	orphan_all(s, &s->sent, VERDICT_GONE);
	s->state = WORKER_NONE;
	s->killed = s->blocked = false;
	s->worker_bytes = 0;
	s->restarts++;
	/* The first comes back at once. */
	if (healthy)
		s->backoff_ns = 0;
	s->spawn_ns = now + s->backoff_ns;
	s->backoff_ns = s->backoff_ns ? s->backoff_ns * 2 : BACKOFF_FIRST_NS;
	if (s->backoff_ns > BACKOFF_MAX_NS)
		s->backoff_ns = BACKOFF_MAX_NS;
	spawn_when_due(s, now);
}

/* End of file on the worker's socket: what it died of comes from the launcher. */
static void worker_lost(struct symbols *s)
{
	if (s->sock >= 0)
		close(s->sock);		/* leaves the epoll set with it */
	s->sock = -1;
	if (s->state == WORKER_UP) {
		s->state = WORKER_ENDING;
		s->ending_ns = now_ns();
	}
}

static void worker_kill(struct symbols *s)
{
	if (s->state != WORKER_UP)
		return;
	s->killed = true;
	launch(s, LAUNCH_KILL);
	worker_lost(s);
}

/* SPAWNED carries the worker's socket. */
static void worker_up(struct symbols *s, int fd, pid_t pid)
{
	if (fd < 0 || s->state != WORKER_SPAWNING || watch(s, fd)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	s->sock = fd;
	s->state = WORKER_UP;
	s->pid = pid;
	s->up_ns = now_ns();
}

static void launcher_said(struct symbols *s, const struct wire_launch_message *m, int fd)
{
	bool mine = m->serial == s->serial;

	if (mine && m->what == LAUNCH_SPAWNED) {
		worker_up(s, fd, m->pid);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (!mine || m->what != LAUNCH_DIED)
		return;
	/* Answers that it sent before are still in the socket: symbols_take() gets them first. */
	s->died = true;
	s->status = m->status;
	s->by_itself = m->status < 0 || !WIFSIGNALED(m->status) || WTERMSIG(m->status) != SIGKILL;
	if (s->state == WORKER_SPAWNING) {
		s->ending_ns = now_ns();
		s->state = WORKER_ENDING;
	}
}

/* false: nothing there. */
static bool launcher_receive(struct symbols *s)
{
	struct wire_launch_message msg;
	int fd;
	ssize_t n = fd_message_receive(s->launcher->sock, &msg, sizeof(msg), &fd, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (n != sizeof(msg)) {
		if (fd >= 0)
			close(fd);
		never_again(s);
		return false;
	}
	launcher_said(s, &msg, fd);
	return true;
}

/* Working on one request for too long, or asleep over it. */
static bool worker_hangs(struct symbols *s, uint64_t now)
{
	if (s->state != WORKER_UP || !s->sent.n || now < s->progress_ns + HANG_BLOCKED(s->o.hang_ns) / 2) {
		s->watch.since_ns = 0;
		return false;
	}
	s->blocked = run_watch_blocked(&s->watch, s->pid, now, HANG_BLOCKED(s->o.hang_ns) / 2);
	return s->blocked || now > s->progress_ns + s->o.hang_ns;
}

static void worker_look_after(struct symbols *s, uint64_t now)
{
	while (s->state != WORKER_NEVER && launcher_receive(s))
		;
	if (worker_hangs(s, now))
		worker_kill(s);
	if (s->state == WORKER_ENDING && (s->died || now > s->ending_ns + STATUS_WAIT_NS)) {
		bool by_itself = !s->died || s->by_itself;

		s->died = false;
		worker_ended(s, now, by_itself);
	}
	spawn_when_due(s, now);
}

/* --- requests --- */

static int enqueue(struct symbols *s, struct pending *p)
{
	if (!p)
		return -ENOMEM;
	if (p->h.kind != WIRE_FORGET && (s->waiting.n + s->sent.n >= QUEUE_MAX ||
	    s->waiting.bytes + s->sent.bytes + p->len > QUEUE_MAX_BYTES)) {
		pending_destroy(p);
		return -EAGAIN;
	}
	p->h.seq = ++s->seq;
	p->h.n = p->h.kind == WIRE_QUERY ? (uint32_t)(p->len / sizeof(uint64_t)) : (uint32_t)p->len;
	if (s->state == WORKER_NEVER && needs_answer(p->h.kind))
		orphan(s, p, VERDICT_NO_WORKER);
	else if (s->state == WORKER_NEVER)
		pending_destroy(p);
	else if (needs_answer(p->h.kind) && strikes_of(&s->strikes, p->h.file_id) >= STRIKES_REFUSE)
		orphan(s, p, VERDICT_REFUSED);
	else
		pending_push(&s->waiting, p);
	return 0;
}

static int add(struct symbols *s, uint32_t kind, uint32_t file_id, int fd)
{
	return enqueue(s, pending_create(kind, file_id, fd, NULL, 0));
}

int symbols_add_file(struct symbols *s, uint32_t file_id, int fd)
{
	return add(s, WIRE_ADD_FILE, file_id, fd);
}

int symbols_add_debug(struct symbols *s, uint32_t file_id, int fd)
{
	return add(s, WIRE_ADD_DEBUG, file_id, fd);
}

int symbols_add_perf_map(struct symbols *s, uint32_t file_id, int fd)
{
	return add(s, WIRE_ADD_PERF_MAP, file_id, fd);
}

int symbols_add_image(struct symbols *s, uint32_t file_id, const void *data, size_t n)
{
	if (n > WIRE_IMAGE_MAX)
		return -EMSGSIZE;
	return enqueue(s, pending_create(WIRE_ADD_IMAGE, file_id, -1, data, n));
}

int symbols_add_kallsyms(struct symbols *s, int fd)
{
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	s->kallsyms_fd = fd;
	s->kallsyms_sent = false;
	return 0;
}

void symbols_forget(struct symbols *s, uint32_t file_id)
{
	strikes_forget(&s->strikes, file_id);
	add(s, WIRE_FORGET, file_id, -1);
}

int symbols_query(struct symbols *s, uint32_t file_id, const uint64_t *addr, uint32_t n)
{
	if (!n || n > SYMBOLS_MAX_ADDRESSES)
		return -EINVAL;
	return enqueue(s, pending_create(WIRE_QUERY, file_id, -1, addr, n * sizeof(*addr)));
}

/* 0 sent, -EAGAIN the socket is full, else the worker is lost. */
static int send_request(struct symbols *s, const struct wire_request *h, const void *payload, size_t len, int fd)
{
	const struct iovec iov[2] = { { (void *)h, sizeof(*h) }, { (void *)payload, len } };
	int err = fd_message_send(s->sock, iov, len ? 2 : 1, fd, MSG_DONTWAIT);

	/* ETOOMANYREFS: descriptors under way count against our own limit; the worker takes them soon. */
	return err == -EINTR || err == -ETOOMANYREFS || err == -ENOBUFS ? -EAGAIN : err;
}

static int send_kallsyms(struct symbols *s)
{
	struct wire_request h = { .kind = WIRE_ADD_KALLSYMS, .file_id = SYMBOLS_KERNEL_FILE };
	int err = 0;

	if (s->kallsyms_fd >= 0 && !s->kallsyms_sent)
		err = send_request(s, &h, NULL, 0, s->kallsyms_fd);
	s->kallsyms_sent = !err;
	return err;
}

static void mark_sent(struct symbols *s, struct pending *p, uint64_t now)
{
	if (!needs_answer(p->h.kind)) {
		pending_destroy(p);
		return;
	}
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	if (!s->sent.n)
		s->progress_ns = now;
	pending_push(&s->sent, p);
}

void symbols_flush(struct symbols *s)
{
	uint64_t now = now_ns();
	int err;

	worker_look_after(s, now);
	if (s->state != WORKER_UP)
		return;
	err = send_kallsyms(s);
	while (!err && s->waiting.n && s->sent.n < SENT_MAX) {
		struct pending *p = s->waiting.first;

		if (needs_answer(p->h.kind) && strikes_of(&s->strikes, p->h.file_id) >= STRIKES_REFUSE) {
			orphan(s, pending_pop(&s->waiting), VERDICT_REFUSED);
			continue;
		}
		if (strikes_of(&s->strikes, p->h.file_id))
			p->h.flags |= WIRE_NO_DWARF;
		if (now < s->careful_ns)
			p->h.flags |= WIRE_ALONE;
		err = send_request(s, &p->h, p->payload, p->len, p->fd);
		if (!err)
			mark_sent(s, pending_pop(&s->waiting), now);
	}
	if (err && err != -EAGAIN)
		worker_lost(s);
}

/* --- answers --- */

/* Does this answer that request? */
static bool answers(const struct pending *p, const struct wire_answer *h)
{
	if (!p || h->file_id != p->h.file_id)
		return false;
	if (p->h.kind == WIRE_QUERY)
		return h->kind == SYM_NAMES || h->kind == SYM_GONE;
	return h->kind == SYM_FILE || (h->kind == SYM_GONE && p->h.kind == WIRE_ADD_DEBUG);
}

static void take_info(struct symbols *s, const struct wire_answer *h)
{
	if (h->flags & WIRE_BUSY) {
		s->busy_seq = (uint32_t)h->value;
		return;
	}
	s->uring = h->flags & WIRE_URING;
	s->own_uid = h->flags & WIRE_OWN_UID;
	s->worker_bytes = h->value;
	s->told = true;
}

/* >0 for the caller, -EINTR look again. */
static int take_message(struct symbols *s, const void *buf, size_t n)
{
	struct sym_answer decoded;
	struct wire_answer h;
	struct pending *p;

	if (n < sizeof(h) || symbols_decode(s->decoder, buf, n, &decoded))
		goto liar;
	memcpy(&h, buf, sizeof(h));
	if (h.kind == SYM_INFO) {
		take_info(s, &h);
		return -EINTR;
	}
	p = pending_find(&s->sent, h.seq);
	if (!answers(p, &h))
		goto liar;
	s->progress_ns = now_ns();
	if (h.kind != SYM_NAMES || !(h.flags & WIRE_MORE)) {
		pending_remove(&s->sent, p);
		pending_destroy(p);
	}
	return (int)n;
liar:
	/* Nobody who is in his right mind sends that. */
	worker_kill(s);
	return -EINTR;
}

static int take_orphan(struct symbols *s, void *buf, size_t cap)
{
	int n = pending_compose(s->orphans.first, buf, cap);
	uint64_t count;

	if (n < 0)
		return n;
	pending_destroy(pending_pop(&s->orphans));
	if (!s->orphans.n && read(s->event_fd, &count, sizeof(count)) < 0)
		return errno == EAGAIN ? n : -errno;
	return n;
}

int symbols_take(struct symbols *s, void *buf, size_t cap)
{
	if (cap < SYMBOLS_MESSAGE_MAX)
		return -EMSGSIZE;
	for (;;) {
		ssize_t n;
		int got;

		worker_look_after(s, now_ns());
		if (s->orphans.n)
			return take_orphan(s, buf, cap);
		if (s->state != WORKER_UP)
			return 0;
		n = recv(s->sock, buf, cap, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0) {
			worker_lost(s);
			continue;
		}
		got = take_message(s, buf, (size_t)n);
		if (got != -EINTR)
			return got;
	}
}

/* --- the object --- */

int symbols_create(struct symbols **out, struct symbols_launcher *l, const struct symbols_options *o)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->o = *o;
	if (!s->o.hang_ns)
		s->o.hang_ns = HANG_NS;
	s->launcher = l;
	s->sock = s->kallsyms_fd = -1;
	pending_list_init(&s->waiting);
	pending_list_init(&s->sent);
	pending_list_init(&s->orphans);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = s->epoll_fd < 0 || s->event_fd < 0 ? -errno : symbols_decoder_create(&s->decoder);
	if (!err)
		err = watch(s, s->event_fd);
	if (!err)
		err = watch(s, l->sock);
	if (err) {
		symbols_destroy(s);
		return err;
	}
	spawn_when_due(s, now_ns());
	*out = s;
	return 0;
}

void symbols_destroy(struct symbols *s)
{
	if (!s)
		return;
	pending_list_clear(&s->waiting);
	pending_list_clear(&s->sent);
	pending_list_clear(&s->orphans);
	if (s->sock >= 0)
		close(s->sock);
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	if (s->event_fd >= 0)
		close(s->event_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	symbols_decoder_destroy(s->decoder);
	free(s);
}

int symbols_fd(const struct symbols *s)
{
	return s->epoll_fd;
}

const char *symbols_io_backend(const struct symbols *s)
{
	return !s->told ? NULL : s->uring ? "uring" : "plain";
}

bool symbols_own_uid(const struct symbols *s)
{
	return s->own_uid;
}

bool symbols_given_up(const struct symbols *s)
{
	return s->state == WORKER_NEVER;
}

uint64_t symbols_restarts(const struct symbols *s)
{
	return s->restarts;
}

uint64_t symbols_worker_bytes(const struct symbols *s)
{
	return s->worker_bytes;
}
