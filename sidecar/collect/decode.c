/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/decode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"

/* `len` bytes of name, a NUL, padding to 8: fill exactly what follows `fixed` bytes. */
static bool name_fits(const struct ev_head *h, size_t fixed, uint32_t len, uint32_t max,
		      const char *name)
{
	if (len > max || h->size != fixed + ((len + 8) & ~(size_t)7))
		return false;
	return memchr(name, 0, len) == NULL && name[len] == 0;
}

static bool comm_ends(const char *comm)
{
	return memchr(comm, 0, EV_COMM_LEN) != NULL;
}

/* A record, header at least, where there is one; else nothing. */
static bool check_record(const struct ev_sample *s)
{
	switch (s->context) {
	case EV_CONTEXT_OK:
		return s->context_bytes >= OTEL_THREAD_CTX_HEADER_SIZE &&
		       s->context_bytes <=
			       OTEL_THREAD_CTX_HEADER_SIZE + OTEL_THREAD_CTX_ATTRS_MAX;
	case EV_CONTEXT_ABSENT:
	case EV_CONTEXT_NONE:
	case EV_CONTEXT_UNALLOCATED:
	case EV_CONTEXT_FAULT:
	case EV_CONTEXT_INVALID:
		return s->context_bytes == 0;
	}
	return false;
}

static bool check_sample(const struct ev_head *h)
{
	const struct ev_sample *s = (const struct ev_sample *)h;

	if (h->size < sizeof(*s))
		return false;
	if (s->kernel_frames > EV_MAX_FRAMES || s->user_frames > EV_MAX_FRAMES)
		return false;
	if (s->user_end > EV_END_TOO_DEEP || !comm_ends(s->comm) || !check_record(s))
		return false;
	return h->size ==
	       sizeof(*s) +
		       (size_t)(s->kernel_frames + s->user_frames) * sizeof(uint64_t) +
		       ((s->context_bytes + 7u) & ~7u);
}

static bool check_fork(const struct ev_head *h)
{
	const struct ev_fork *e = (const struct ev_fork *)h;

	return h->size == sizeof(*e) && comm_ends(e->comm);
}

static bool check_exec(const struct ev_head *h)
{
	const struct ev_exec *e = (const struct ev_exec *)h;

	return h->size >= sizeof(*e) && comm_ends(e->comm) &&
	       name_fits(h, sizeof(*e), e->filename_len, EV_PATH_MAX, e->filename);
}

static bool check_exit(const struct ev_head *h)
{
	const struct ev_exit *e = (const struct ev_exit *)h;

	return h->size == sizeof(*e) && e->exit_code <= 255 && e->exit_signal <= 127;
}

static bool check_context(const struct ev_head *h)
{
	return h->size == sizeof(struct ev_context) && h->tgid && h->start_ns;
}

static bool check_mmap(const struct ev_head *h)
{
	const struct ev_mmap *e = (const struct ev_mmap *)h;

	return h->size >= sizeof(*e) && e->build_id_len <= EV_BUILD_ID_MAX &&
	       e->addr + e->len >= e->addr &&
	       name_fits(h, sizeof(*e), e->path_len, EV_PATH_MAX, e->path);
}

static bool check_ksymbol(const struct ev_head *h)
{
	const struct ev_ksymbol *e = (const struct ev_ksymbol *)h;

	return h->size >= sizeof(*e) &&
	       name_fits(h, sizeof(*e), e->name_len, EV_PATH_MAX, e->name);
}

static bool check_comm_exec(const struct ev_head *h)
{
	const struct ev_comm_exec *e = (const struct ev_comm_exec *)h;

	return h->size == sizeof(*e) && comm_ends(e->comm);
}

static bool check_body(const struct ev_head *h)
{
	switch (h->type) {
	case EV_SAMPLE:		return check_sample(h);
	case EV_FORK:		return check_fork(h);
	case EV_EXEC:		return check_exec(h);
	case EV_EXIT:		return check_exit(h);
	case EV_CONTEXT:	return check_context(h);
	case EV_MMAP:		return check_mmap(h);
	case EV_KSYMBOL:	return check_ksymbol(h);
	case EV_COMM_EXEC:	return check_comm_exec(h);
	}
	return false;
}

int event_check(const void *p, size_t n, const struct ev_head **out)
{
	const struct ev_head *h = p;

	if ((uintptr_t)p % 8 || n < sizeof(*h) || h->size < sizeof(*h) || h->size > n ||
	    h->size % 8)
		return -EBADMSG;
	if (!check_body(h))
		return -EBADMSG;
	*out = h;
	return 0;
}

const char *event_type_name(unsigned type)
{
	switch (type) {
	case EV_SAMPLE:		return "sample";
	case EV_FORK:		return "fork";
	case EV_EXEC:		return "exec";
	case EV_EXIT:		return "exit";
	case EV_CONTEXT:	return "context";
	case EV_MMAP:		return "mmap";
	case EV_KSYMBOL:	return "ksymbol";
	case EV_COMM_EXEC:	return "comm_exec";
	}
	return "unknown";
}
