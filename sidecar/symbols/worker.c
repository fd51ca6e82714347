/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sidecar/symbols/answer.h"
#include "sidecar/symbols/budget.h"
#include "sidecar/symbols/confine.h"
#include "sidecar/symbols/inspect.h"
#include "sidecar/symbols/kallsyms.h"
#include "sidecar/symbols/names.h"
#include "sidecar/symbols/wire.h"
#include "sidecar/symbols/worker.h"

#define WORKER_TELL_BYTES 65536u	/* heap is told again when it has changed by that much */
#define WORKER_TIDY_NS 1000000000ull
#define WORKER_TRANSIENT (512ull << 20)	/* address space for what is being unpacked */

struct request {
	struct wire_request h;
	int		    fd;		/* -1 none; owned */
	const uint8_t	   *payload;	/* valid until the next receive */
	size_t		    len;
};

struct worker {
	int		     sock;
	struct names_context names;
	struct kallsyms	    *kernel;
	struct answer	    *answer;
	uint32_t	     info_flags;
	uint64_t	     told;
	uint64_t	     tidied_ns;
	bool		     untidy;	/* there is something that goes when it is not used */
	size_t		     held;	/* table bytes when memory was trimmed last */
	uint8_t		     buf[sizeof(struct wire_request) + WIRE_IMAGE_MAX];
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

static int take_fd(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* false: nothing there now.  Ends the process when the sidecar has gone. */
static bool receive(struct worker *w, struct request *r, int flags)
{
	union { char buf[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
	struct iovec iov = { w->buf, sizeof(w->buf) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(w->sock, &m, flags | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0)
		_exit(0);
	r->fd = take_fd(&m);
	if ((size_t)n < sizeof(r->h))
		_exit(1);
	memcpy(&r->h, w->buf, sizeof(r->h));
	r->payload = w->buf + sizeof(r->h);
	r->len = (size_t)n - sizeof(r->h);
	return true;
}

static void answer_gone(struct worker *w, const struct request *r)
{
	answer_plain(w->answer, SYM_GONE, r->h.file_id, r->h.seq, 0, 0);
}

static void answer_error(struct worker *w, const struct request *r, const char *why)
{
	struct sym_answer a = { .kind = SYM_FILE, .file_id = r->h.file_id, .error = why };

	answer_file(w->answer, &a, r->h.seq);
}

/* Keeps what the inspection found and answers; takes the descriptor. */
static void file_settle(struct worker *w, const struct request *r, struct inspection *f)
{
	struct sym_file *file = NULL;

	if (f->answer.is_elf)
		file = budget_add(w->names.budget, r->h.file_id);
	if (file) {
		file->fd = r->fd;
		file->is_elf = true;
		file->is_go = f->answer.go_build_id;
		file->no_dwarf = r->h.flags & WIRE_NO_DWARF;
	} else if (r->fd >= 0) {
		close(r->fd);
	}
	f->answer.file_id = r->h.file_id;
	answer_file(w->answer, &f->answer, r->h.seq);
}

static void add_files(struct worker *w, const struct request *r, unsigned int n)
{
	struct inspection *f = calloc(n, sizeof(*f)), *good[INSPECT_BATCH];
	int state[INSPECT_BATCH];
	unsigned int n_good = 0;

	for (unsigned int i = 0; i < n; i++) {
		state[i] = !f ? -ENOMEM : source_from_fd(&f[i].src, w->names.io, r[i].fd);
		if (!state[i])
			good[n_good++] = &f[i];
	}
	inspect_files(good, n_good, w->names.io);
	for (unsigned int i = 0; i < n; i++) {
		if (!state[i]) {
			file_settle(w, &r[i], &f[i]);
			continue;
		}
		if (r[i].fd >= 0)
			close(r[i].fd);
		answer_error(w, &r[i], state[i] == -EINVAL ? "not a regular file" : "cannot be read");
	}
	free(f);
}

static void add_image(struct worker *w, struct request *r)
{
	struct inspection *f = calloc(1, sizeof(*f));
	struct sym_file *file = budget_add(w->names.budget, r->h.file_id);
	void *copy = malloc(r->len ? r->len : 1);

	if (!f || !file || !copy || r->h.n != r->len) {
		budget_forget(w->names.budget, r->h.file_id);
		free(copy);
		answer_error(w, r, "no memory for the image");
	} else {
		memcpy(copy, r->payload, r->len);
		file->image = copy;
		file->image_size = r->len;
		file->is_elf = true;
		budget_settle(w->names.budget, file);
		source_from_memory(&f->src, copy, r->len);
		inspect_image(f);
		f->answer.want_debug = false;
		f->answer.file_id = r->h.file_id;
		answer_file(w->answer, &f->answer, r->h.seq);
	}
	free(f);
}

/* The file's own story again, now with or without the debug file. */
static void answer_debug(struct worker *w, const struct request *r, struct sym_file *file, int fd)
{
	struct inspection *f = calloc(1, sizeof(*f));
	struct elf_file *debug = calloc(1, sizeof(*debug));
	struct source src;
	const char *why;

	if (!f || !debug || sym_file_source(file, w->names.io, &f->src)) {
		answer_error(w, r, "cannot be read");
		goto out;
	}
	inspect_files(&f, 1, w->names.io);
	if (f->answer.is_elf && fd >= 0 && !source_from_fd(&src, w->names.io, fd) &&
	    !elf_file_read(debug, &src, &why) && inspect_debug_matches(&f->elf, debug)) {
		if (file->debug_fd >= 0)
			close(file->debug_fd);
		file->debug_fd = fd;
		fd = -1;
		budget_drop_tables(w->names.budget, file);
	}
	f->answer.has_debug = file->debug_fd >= 0;
	f->answer.want_debug = false;
	f->answer.file_id = r->h.file_id;
	answer_file(w->answer, &f->answer, r->h.seq);
out:
	if (fd >= 0)
		close(fd);
	free(f);
	free(debug);
}

static void add_debug(struct worker *w, struct request *r)
{
	struct sym_file *file = budget_find(w->names.budget, r->h.file_id);

	if (file && file->fd >= 0 && file->is_elf) {
		answer_debug(w, r, file, r->fd);
		return;
	}
	if (r->fd >= 0)
		close(r->fd);
	answer_gone(w, r);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !file_stat(a, &x) && !file_stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void add_perf_map(struct worker *w, struct request *r)
{
	struct sym_file *file = budget_find(w->names.budget, r->h.file_id);
	struct source src;

	if (source_from_fd(&src, w->names.io, r->fd)) {
		if (r->fd >= 0)
			close(r->fd);
		answer_error(w, r, "perf map is not a regular file");
		return;
	}
	if (file && file->is_jit && same_file(file->fd, r->fd)) {
		/* The same file again: read on from where we were. */
		close(file->fd);
		file->jit_read_ns = 0;
	} else {
		file = budget_add(w->names.budget, r->h.file_id);
	}
	if (file) {
		file->fd = r->fd;
		file->is_jit = true;
	} else {
		close(r->fd);
	}
	answer_error(w, r, file ? NULL : "no memory for the perf map");
}

static void query(struct worker *w, struct request *r)
{
	uint64_t addr[SYMBOLS_MAX_ADDRESSES];
	struct sym_file *file = NULL;
	uint32_t flags = 0, n = r->h.n;

	if (n > SYMBOLS_MAX_ADDRESSES || r->len != n * sizeof(addr[0]))
		_exit(1);
	memcpy(addr, r->payload, r->len);
	if (r->h.file_id != SYMBOLS_KERNEL_FILE) {
		file = budget_find(w->names.budget, r->h.file_id);
		if (!file) {
			answer_gone(w, r);
			return;
		}
	}
	w->untidy = true;
	answer_names_begin(w->answer, r->h.file_id, r->h.seq);
	if (!file) {
		names_of_kernel(w->kernel, addr, n, names_now(), w->answer);
		flags = w->kernel && kallsyms_hidden(w->kernel) ? WIRE_KPTR : 0;
	} else if (file->is_jit) {
		names_of_jit(&w->names, file, addr, n, names_now(), w->answer);
	} else {
		names_of_file(&w->names, file, addr, n, w->answer);
	}
	answer_names_end(w->answer, flags);
}

static void add_kallsyms(struct worker *w, struct request *r)
{
	kallsyms_destroy(w->kernel);
	w->kernel = NULL;
	if (r->fd >= 0 && kallsyms_create(&w->kernel, r->fd))
		close(r->fd);
}

static void serve(struct worker *w, struct request *r)
{
	switch (r->h.kind) {
	case WIRE_ADD_DEBUG:
		add_debug(w, r);
		break;
	case WIRE_ADD_IMAGE:
		add_image(w, r);
		break;
	case WIRE_ADD_PERF_MAP:
		add_perf_map(w, r);
		break;
	case WIRE_ADD_KALLSYMS:
		add_kallsyms(w, r);
		break;
	case WIRE_FORGET:
		budget_forget(w->names.budget, r->h.file_id);
		break;
	case WIRE_QUERY:
		query(w, r);
		break;
	default:
		_exit(1);
	}
}

/* What building a table took goes back to the system, then the sidecar hears what is left. */
static void tell_memory(struct worker *w, bool first)
{
	size_t held = budget_bytes(w->names.budget) + kallsyms_bytes(w->kernel);
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
	answer_plain(w->answer, SYM_INFO, 0, 0, w->info_flags, heap);
}

static void tidy(struct worker *w)
{
	uint64_t now = names_now();

	if (!w->untidy || now - w->tidied_ns < WORKER_TIDY_NS)
		return;
	w->tidied_ns = now;
	w->untidy = budget_expire_lines(w->names.budget, now);
	if (w->kernel)
		w->untidy |= kallsyms_compact(w->kernel, now);
}

/* Waits for a request; wakes by itself only while there is something to tidy up. */
static void wait_for_request(struct worker *w)
{
	struct pollfd p = { .fd = w->sock, .events = POLLIN };
	struct timespec second = { .tv_sec = 1, .tv_nsec = 1000000 };

	while (w->untidy && ppoll(&p, 1, &second, NULL) == 0) {
		tidy(w);
		tell_memory(w, false);
	}
}

/* Files that wait one behind another are looked at in one batch. */
static void turn(struct worker *w)
{
	struct request adds[INSPECT_BATCH], r;
	unsigned int n = 0;
	bool more;

	wait_for_request(w);
	more = receive(w, &r, 0);
	while (more && r.h.kind == WIRE_ADD_FILE) {
		adds[n++] = r;
		more = n < INSPECT_BATCH && receive(w, &r, MSG_DONTWAIT);
	}
	if (n)
		add_files(w, adds, n);
	if (more)
		serve(w, &r);
	tidy(w);
	tell_memory(w, false);
}

static int worker_init(struct worker *w, enum symbols_io io, uint64_t memory_limit, pid_t parent)
{
	bool own_uid;
	int err = confine_worker_rights(memory_limit + WORKER_TRANSIENT, &own_uid);

	if (!err)
		err = confine_to_parent(parent);
	if (!err)
		err = file_io_create(&w->names.io, io);
	if (!err)
		err = budget_create(&w->names.budget, memory_limit);
	if (!err)
		err = answer_create(&w->answer, worker_send, w);
	if (!err)
		err = confine_worker_filter(file_io_is_uring(w->names.io));
	w->names.dwarf_max = memory_limit / 2;
	w->info_flags = (file_io_is_uring(w->names.io) ? WIRE_URING : 0) | (own_uid ? WIRE_OWN_UID : 0);
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
