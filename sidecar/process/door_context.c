/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context of a target, copied out of its memory.  It may be changed at any
 * moment, hence the protocol of sidecar/context/read.h; it may be a trap, hence
 * /proc/PID/mem, bounds, and little CPU time.
 */
#include "sidecar/process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCAN_CPU_NS	100000000ll	/* of maps; a process of 100000 mappings takes half of it */
#define PAUSE_NS	100000ll	/* an update writes two words and a stamp */

static int read_memory(void *arg, uint64_t address, void *buf, size_t n)
{
	int fd = *(const int *)arg;
	size_t have = 0;

	if (address > INT64_MAX - n)
		return -EFAULT;
	while (have < n) {
		ssize_t got = pread(fd, (char *)buf + have, n - have,
				    (off_t)(address + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EFAULT;
		have += (size_t)got;
	}
	return 0;
}

static void pause_between(void *arg, unsigned attempt)
{
	struct timespec ts = { .tv_nsec = PAUSE_NS * attempt };

	(void)arg;
	nanosleep(&ts, NULL);
}

static void put_reading(struct answer_writer *w, const struct context_reading *r,
			const void *payload)
{
	struct answer_context c = {
		.verdict = r->verdict,		.name = r->name,
		.address = r->address,		.published_ns = r->published_ns,
		.payload_address = r->payload_address,
		.version = r->version,		.payload_size = r->payload_size,
		.attempts = r->attempts,	.places = r->places,
	};

	answer_put(w, TAG_CONTEXT, &c, sizeof(c));
	if (r->verdict == CONTEXT_PAYLOAD)
		answer_put(w, TAG_CONTEXT_PAYLOAD, payload, r->payload_size);
}

static void put_verdict(struct answer_writer *w, enum context_verdict v)
{
	put_reading(w, &(struct context_reading){ .verdict = v }, NULL);
}

void door_put_context(struct target *t, struct door_scratch *s, struct answer_writer *w)
{
	struct context_memory m = { .read = read_memory, .pause = pause_between };
	size_t room = 2 * sizeof(struct answer_section) + sizeof(struct answer_context) +
		      CONTEXT_PAYLOAD_MAX;
	struct context_reading r;
	int fd;

	if (!s->places.n_exact && !s->places.n_longer)
		return;
	if (w->cap - w->n < room) {
		put_verdict(w, CONTEXT_LATER);
		return;
	}
	fd = openat(t->base, "mem", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		put_verdict(w, CONTEXT_DENIED);
		return;
	}
	m.arg = &fd;
	context_read_places(&m, &s->places, 0, 0, s->payload, &r);
	close(fd);
	put_reading(w, &r, s->payload);
}

/* --- asked for by itself --- */

static void on_mapping(void *arg, const struct maps_line *l)
{
	context_places_add(arg, l->start, l->exec, l->path, l->path_len);
}

static int scan(struct target *t, struct door_scratch *s, uint64_t hint)
{
	struct maps_stream stream = { .every = on_mapping,
				      .arg = &s->places,
				      .buf = s->line };
	int64_t limit = thread_cpu_ns() + SCAN_CPU_NS;
	int fd = openat(t->base, "maps", O_RDONLY | O_CLOEXEC);
	ssize_t got;

	memset(&s->places, 0, sizeof(s->places));
	s->places.hint = hint;
	if (fd < 0)
		return -errno;
	do {
		got = read(fd, s->text, sizeof(s->text));
		if (got > 0)
			maps_stream_feed(&stream, s->text, (size_t)got);
	} while ((got > 0 && stream.lines < READ_LINES_MAX && thread_cpu_ns() < limit) ||
		 (got < 0 && errno == EINTR));
	maps_stream_end(&stream);
	close(fd);
	return 0;
}

static bool is_settled(enum context_verdict v)
{
	return v == CONTEXT_UNCHANGED || v == CONTEXT_PAYLOAD;
}

static void read_at(struct target *t, struct door_scratch *s,
		    const struct door_request *q, int fd, struct context_reading *r)
{
	struct context_memory m = { read_memory, pause_between, &fd };
	bool moved = q->context_hint && q->context_hint != q->context_address;

	/* The usual case: nothing changed where it was, and no line of maps is read. */
	if (q->context_address && !moved) {
		context_read(&m, q->context_address, q->context_seen_ns, s->payload, r);
		if (is_settled(r->verdict))
			return;
	}
	if (scan(t, s, moved ? q->context_hint : q->context_address)) {
		*r = (struct context_reading){ .verdict = CONTEXT_DENIED };
		return;
	}
	context_read_places(&m, &s->places, q->context_address, q->context_seen_ns,
			    s->payload, r);
}

int door_read_context(struct door_scratch *s, struct answer_writer *w,
		      const struct door_request *q)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	struct context_reading r = { .verdict = CONTEXT_DENIED };
	struct target t;
	int err = target_open(&t, q->pid, q->start_ns), fd;

	if (err)
		return err;
	h->begin_ns = t.begin_ns;
	fd = openat(t.base, "mem", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		read_at(&t, s, q, fd, &r);
		close(fd);
	}
	put_reading(w, &r, s->payload);
	err = target_check(&t);
	target_close(&t);
	return err;
}
