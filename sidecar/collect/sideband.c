/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/sideband.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "sidecar/collect/decode.h"

/*
 * Fixed parts of the records, as in perf_event_open(2).  Each ends in the trailer that we
 * asked for.
 */
struct trailer {
	uint32_t	 pid, tid;
	uint64_t	 time;
	uint32_t	 cpu, res;
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t	 pid, tid;
	uint64_t	 addr, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, generation;
		};
		struct {
			uint8_t	 build_id_size, pad[3];
			uint8_t	 build_id[20];
		};
	};
	uint32_t	 prot, flags;
	char		 filename[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t	 pid, tid;
	char		 comm[];
};

struct ksymbol_record {
	struct perf_event_header header;
	uint64_t	 addr;
	uint32_t	 len;
	uint16_t	 ksym_type, flags;
	char		 name[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t	 id, lost;
};

/* Values of linux/perf_event.h that Debian 11's headers lack. */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID	(1 << 14)
#endif

int sideband_open(struct sideband *s, int fd, size_t data_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	memset(s, 0, sizeof(*s));
	/*
	 * Writable: data_tail is how the kernel learns what it may reuse; it never
	 * overwrites.
	 */
	p = mmap(NULL, page + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	s->fd = fd;
	s->base = p;
	s->size = data_bytes;
	return 0;
}

void sideband_close(struct sideband *s)
{
	if (s->base)
		munmap(s->base, (size_t)sysconf(_SC_PAGESIZE) + s->size);
	s->base = NULL;
}

/*
 * Length of the text between the fixed part and the trailer, or -1 when it is not
 * NUL-terminated there.
 */
static long text_length(const void *record, size_t len, const char *text)
{
	const char *end = (const char *)record + len - sizeof(struct trailer);

	if (text >= end)
		return -1;
	text = memchr(text, 0, (size_t)(end - text)) ? text : NULL;
	return text ? (long)strlen(text) : -1;
}

static void fill_head(struct ev_head *h, uint32_t type, size_t size,
		      const struct trailer *t, uint32_t pid,
		      uint32_t tid)
{
	memset(h, 0, size);
	h->type = type;
	h->size = (uint32_t)size;
	h->boot_ns = t->time;
	h->tgid = pid;
	h->tid = tid;
	h->cpu = t->cpu;
}

static size_t with_text(size_t fixed, size_t text)
{
	return fixed + ((text + 8) & ~(size_t)7);
}

/*
 * Either which file it is by build id, or by device and inode: a record carries one of
 * the two.
 */
static void fill_file(struct ev_mmap *e, const struct mmap2_record *r)
{
	if (r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		e->head.flags |= EV_F_MMAP_BUILD_ID;
		e->build_id_len = r->build_id_size < EV_BUILD_ID_MAX ? r->build_id_size
								     : EV_BUILD_ID_MAX;
		memcpy(e->build_id, r->build_id, e->build_id_len);
		return;
	}
	e->dev_major = r->maj;
	e->dev_minor = r->min;
	e->inode = r->ino;
	e->inode_generation = r->generation;
}

static int mmap_event(const struct mmap2_record *r, size_t len, const struct trailer *t,
		      struct batch *b)
{
	long path_len = text_length(r, len, r->filename);
	struct ev_mmap *e;
	size_t size;

	if (path_len < 0 || path_len > EV_PATH_MAX || r->addr + r->len < r->addr)
		return -EBADMSG;
	if (!r->pid || r->pid == UINT32_MAX || !(r->prot & PROT_EXEC))
		return 0;
	size = with_text(sizeof(*e), (size_t)path_len);
	e = batch_reserve(b, size);
	if (!e)
		return -ENOSPC;
	fill_head(&e->head, EV_MMAP, size, t, r->pid, r->tid);
	e->addr = r->addr;
	e->len = r->len;
	e->pgoff = r->pgoff;
	fill_file(e, r);
	e->path_len = (uint32_t)path_len;
	memcpy(e->path, r->filename, (size_t)path_len);
	batch_commit(b, &e->head);
	return 0;
}

static int comm_event(const struct comm_record *r, size_t len, const struct trailer *t,
		      struct batch *b)
{
	long comm_len = text_length(r, len, r->comm);
	struct ev_comm_exec *e;

	if (comm_len < 0)
		return -EBADMSG;
	if (!r->pid || r->pid == UINT32_MAX ||
	    !(r->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;
	e = batch_reserve(b, sizeof(*e));
	if (!e)
		return -ENOSPC;
	fill_head(&e->head, EV_COMM_EXEC, sizeof(*e), t, r->pid, r->tid);
	memcpy(e->comm, r->comm,
	       (size_t)(comm_len < EV_COMM_LEN ? comm_len : EV_COMM_LEN - 1));
	batch_commit(b, &e->head);
	return 0;
}

static int ksymbol_event(const struct ksymbol_record *r, size_t len,
			 const struct trailer *t, struct batch *b)
{
	long name_len = text_length(r, len, r->name);
	struct ev_ksymbol *e;
	size_t size;

	if (name_len < 0 || name_len > EV_PATH_MAX)
		return -EBADMSG;
	size = with_text(sizeof(*e), (size_t)name_len);
	e = batch_reserve(b, size);
	if (!e)
		return -ENOSPC;
	fill_head(&e->head, EV_KSYMBOL, size, t, 0, 0);
	if (r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		e->head.flags |= EV_F_KSYM_UNREGISTER;
	e->addr = r->addr;
	e->len = r->len;
	e->name_len = (uint32_t)name_len;
	memcpy(e->name, r->name, (size_t)name_len);
	batch_commit(b, &e->head);
	return 0;
}

/* Bytes before text or trailer; 0: a type that we did not ask for and may ignore. */
static size_t fixed_bytes(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP2:		return sizeof(struct mmap2_record);
	case PERF_RECORD_COMM:		return sizeof(struct comm_record);
	case PERF_RECORD_KSYMBOL:	return sizeof(struct ksymbol_record);
	case PERF_RECORD_LOST:		return sizeof(struct lost_record);
	}
	return 0;
}

int sideband_record(struct sideband *s, const void *record, size_t len, struct batch *b)
{
	const struct perf_event_header *h = record;
	const struct trailer *t =
		(const struct trailer *)((const char *)record + len - sizeof(*t));
	size_t fixed = fixed_bytes(h->type);

	if (!fixed)
		return 0;
	if (len < fixed + sizeof(*t))
		return -EBADMSG;
	switch (h->type) {
	case PERF_RECORD_MMAP2:		return mmap_event(record, len, t, b);
	case PERF_RECORD_COMM:		return comm_event(record, len, t, b);
	case PERF_RECORD_KSYMBOL:	return ksymbol_event(record, len, t, b);
	}
	s->lost += ((const struct lost_record *)record)->lost;
	return 0;
}

static uint64_t record_ns(const void *record, size_t len)
{
	return ((const struct trailer *)((const char *)record + len -
					 sizeof(struct trailer)))
		->time;
}

/*
 * The record at `pos`, contiguous: in place, or in `copy` when it wraps.  NULL: makes no
 * sense.
 */
static const void *record_at(const struct sideband *s, const uint8_t *data, uint64_t pos,
			     uint64_t avail,
			     uint64_t *copy, size_t *len)
{
	size_t at = pos & (s->size - 1), to_end = s->size - at;
	const struct perf_event_header *h = (const void *)(data + at);	/* 8 bytes: never wraps */

	*len = h->size;
	if (*len < sizeof(*h) || *len % 8 || *len > avail || *len > SIDEBAND_RECORD_MAX)
		return NULL;
	if (*len <= to_end)
		return h;
	memcpy(copy, data + at, to_end);
	memcpy((uint8_t *)copy + to_end, data, *len - to_end);
	return copy;
}

void sideband_look(struct sideband *s)
{
	struct perf_event_mmap_page *page = (void *)s->base;

	/*
	 * Pairs with the kernel's barrier before it moves data_head: records below it are
	 * whole.
	 */
	s->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

bool sideband_drain(struct sideband *s, struct batch *b)
{
	struct perf_event_mmap_page *page = (void *)s->base;
	const uint8_t *data = s->base + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t copy[SIDEBAND_RECORD_MAX / 8];
	uint64_t head = s->head, tail = page->data_tail;
	bool left = false;

	while (tail < head) {
		size_t len;
		const void *record = record_at(s, data, tail, head - tail, copy, &len);
		int err = record ? sideband_record(s, record, len, b) : -EBADMSG;

		if (err == -ENOSPC) {
			left = true;
			break;
		}
		s->malformed += err == -EBADMSG;
		if (!err)
			s->newest_ns = record_ns(record, len);
		tail = record ? tail + len : head;	/* no length to go on by: resync at the head */
	}
	/*
	 * Pairs with the kernel's load of data_tail: what we read was read before it is
	 * overwritten.
	 */
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return left;
}
