/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's loop.  What takes long (a pass over kallsyms, much DWARF) waits until
 * everything short is done: on a busy machine the names of a new process would otherwise
 * come seconds late.  Requests for one file keep their order.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sidecar/symbols/confine.h"
#include "sidecar/symbols/fd_message.h"
#include "sidecar/symbols/inspect.h"
#include "sidecar/symbols/service.h"
#include "sidecar/symbols/worker.h"

#define WORKER_TELL_BYTES 65536u	/* heap is told again when it has changed by that much */
#define WORKER_TIDY_NS 1000000000ull
#define WORKER_TRANSIENT (512ull << 20)	/* address space for what is being unpacked */
#define WORKER_FAIR_NS 10000000ull	/* what is slow gets its turn at least that often */
#define WORKER_TAKE_MAX 512u		/* requests taken from the socket before they are served */

struct worker {
	int		    sock;
	struct service	    service;
	struct pending_list quick, slow;
	uint32_t	    info_flags;
	uint64_t	    slow_ns;	/* when something slow was worked on last */
	uint64_t	    told;
	uint64_t	    tidied_ns;
	size_t		    held;	/* table bytes when memory was trimmed last */
	uint8_t		    buf[sizeof(struct wire_request) + WIRE_IMAGE_MAX];
};

static void worker_send(void *arg, const void *buf, size_t n)
{
	struct worker *w = arg;
	ssize_t sent;

	do {
		sent = send(w->sock, buf, n, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		_exit(0);	/* nobody is there to answer */
}

/* NULL: nothing there now.  Ends the process when the sidecar has gone. */
static struct pending *receive(struct worker *w)
{
	struct wire_request h;
	struct pending *p;
	int fd;
	ssize_t n =
		fd_message_receive(w->sock, w->buf, sizeof(w->buf), &fd, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EINTR)
		return NULL;
	if (n <= 0)
		_exit(0);
	if ((size_t)n < sizeof(h))
		_exit(1);
	memcpy(&h, w->buf, sizeof(h));
	p = pending_create(h.kind, h.file_id, fd, w->buf + sizeof(h),
			   (size_t)n - sizeof(h));
	if (!p)
		_exit(1);
	p->h = h;
	return p;
}

static void receive_all(struct worker *w)
{
	struct pending *p;

	while (w->quick.n + w->slow.n < WORKER_TAKE_MAX && (p = receive(w)))
		pending_push(&w->quick, p);
}

/* Is something for this file waiting among the slow ones?  Then so must this. */
static bool must_wait(const struct worker *w, uint32_t file_id)
{
	const struct pending *p = w->slow.first;

	while (p && p->h.file_id != file_id)
		p = p->next;
	return p;
}

/*
 * The sidecar takes the oldest unanswered request for what we are busy with, unless told
 * otherwise: that is whom it will suspect when we die.
 */
static void tell_busy(struct worker *w, const struct pending *p)
{
	if (w->slow.first && (int32_t)(w->slow.first->h.seq - p->h.seq) < 0)
		answer_plain(w->service.answer, SYM_INFO, 0, 0, WIRE_BUSY, p->h.seq);
}

static bool may_join(const struct worker *w, const struct pending *p)
{
	return p && p->h.kind == WIRE_ADD_FILE && !(p->h.flags & WIRE_ALONE) &&
	       !must_wait(w, p->h.file_id);
}

/* Files that wait one behind another are looked at in one batch. */
static void serve_files(struct worker *w, struct pending *first)
{
	struct pending *batch[INSPECT_BATCH] = { first };
	unsigned int n = 1;

	while (n < INSPECT_BATCH && !(first->h.flags & WIRE_ALONE) &&
	       may_join(w, w->quick.first))
		batch[n++] = pending_pop(&w->quick);
	tell_busy(w, first);
	service_add_files(&w->service, batch, n);
	for (unsigned int i = 0; i < n; i++)
		pending_destroy(batch[i]);
}

static void serve_quick(struct worker *w)
{
	struct pending *p = pending_pop(&w->quick);

	if (must_wait(w, p->h.file_id) || service_is_slow(&w->service, p)) {
		if (!w->slow.n)
			w->slow_ns = names_now();
		pending_push(&w->slow, p);
	} else if (p->h.kind == WIRE_ADD_FILE) {
		serve_files(w, p);
	} else {
		tell_busy(w, p);
		service_serve(&w->service, p);
		pending_destroy(p);
	}
}

static void serve_slow(struct worker *w)
{
	if (service_step(&w->service, w->slow.first))
		pending_destroy(pending_pop(&w->slow));
	w->slow_ns = names_now();
}

/* What building a table took goes back to the system, then the sidecar hears what is
 * left. */
static void tell_memory(struct worker *w, bool first)
{
	size_t held =
		budget_bytes(w->service.names.budget) + kallsyms_bytes(w->service.kernel);
	struct mallinfo2 m;
	uint64_t heap;

	if (!first && held == w->held)
		return;
	malloc_trim(0);
	w->held = held;
	m = mallinfo2();
	heap = m.uordblks + m.hblkhd;
	if (!heap)	/* another allocator, a sanitizer's, which tells nothing */
		heap = held + sizeof(*w);
	if (!first && heap - w->told + WORKER_TELL_BYTES < 2 * WORKER_TELL_BYTES)
		return;
	w->told = heap;
	answer_plain(w->service.answer, SYM_INFO, 0, 0, w->info_flags, heap);
}

static void tidy(struct worker *w)
{
	struct service *s = &w->service;
	uint64_t now = names_now();

	if (!s->untidy || now - w->tidied_ns < WORKER_TIDY_NS)
		return;
	w->tidied_ns = now;
	s->untidy = budget_expire_lines(s->names.budget, now);
	tell_memory(w, false);
}

/* Wakes by itself only while there is something to tidy up. */
static void wait_for_request(struct worker *w)
{
	const struct timespec second = { .tv_sec = 1, .tv_nsec = 1000000 };
	struct pollfd p = { .fd = w->sock, .events = POLLIN };

	tell_memory(w, false);
	while (ppoll(&p, 1, w->service.untidy ? &second : NULL, NULL) <= 0)
		tidy(w);
}

static void turn(struct worker *w)
{
	if (!w->quick.n && !w->slow.n)
		wait_for_request(w);
	receive_all(w);
	if (w->slow.n && (!w->quick.n || names_now() - w->slow_ns > WORKER_FAIR_NS))
		serve_slow(w);
	else if (w->quick.n)
		serve_quick(w);
	tidy(w);
}

static int worker_init(struct worker *w, enum symbols_io io, uint64_t memory_limit,
		       pid_t parent)
{
	struct names_context *names = &w->service.names;
	bool own_uid;
	int err = confine_worker_rights(memory_limit + WORKER_TRANSIENT, &own_uid);

	pending_list_init(&w->quick);
	pending_list_init(&w->slow);
	if (!err)
		err = confine_to_parent(parent);
	if (!err)
		err = file_io_create(&names->io, io);
	if (!err)
		err = budget_create(&names->budget, memory_limit);
	if (!err)
		err = answer_create(&w->service.answer, worker_send, w);
	if (!err)
		err = confine_worker_filter(file_io_is_uring(names->io));
	names->dwarf_max = memory_limit / 2;
	w->info_flags = (file_io_is_uring(names->io) ? WIRE_URING : 0) |
			(own_uid ? WIRE_OWN_UID : 0);
	return err;
}

void worker_main(int sock, enum symbols_io io, uint64_t memory_limit, pid_t parent)
{
	static struct worker w;

	prctl(PR_SET_NAME, "ringside-symbol");
	confine_descriptors(sock);
	/* One heap, and what a table took to build goes back when it is done. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 131072);
	mallopt(M_TRIM_THRESHOLD, 131072);
	w.sock = sock;
	if (worker_init(&w, io, memory_limit, parent))
		_exit(2);
	tell_memory(&w, true);
	for (;;)
		turn(&w);
}
