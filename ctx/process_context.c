/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTEP 4719.  A page named OTEL_CTX holds the header, which points to the payload on
 * the heap.
 *
 * 	/memfd:OTEL_CTX  ["OTEL_CTX"|version|size|published_ns|payload] ---> protobuf
 *
 * A reader in another process copies header and payload between two looks at
 * published_ns: 0 or a change means that it came in the middle of an update.  So
 * whoever changes anything sets it to 0 first, and never gives it a former value.
 */
#include <errno.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "ctx/fork_lock.h"
#include "ctx/otel_ctx_abi.h"
#include "ctx/otelctx.h"
#include "ctx/process_context.h"
#include "ctx/protobuf_write.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		8u
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2, RESOURCE_ATTRIBUTES = 1 };

static const char mapping_name[] = OTEL_CTX_SIGNATURE;

struct payload {
	uint8_t	*bytes;		/* own = what the caller gave, then what the names add */
	size_t	 n, own;
};

static struct {
	struct fork_lock		 lock;
	uint64_t			 process;	/* whose, by process_token(); 0: there is none */
	struct otel_ctx_header		*header;
	size_t				 len;		/* of the mapping */
	struct payload			 payload;
	uint64_t			 stamp;		/* the last, never read back */
	const struct otelctx_names	*names;
} context;

/*
 * A context that came through a fork: the mapping did not, and its address may be
 * something else by now.
 */
static void forget_inherited(int torn)
{
	if (!context.process || context.process == process_token())
		return;
	if (!torn)
		free(context.payload.bytes);
	context.process = 0;
	context.header = NULL;
	context.payload = (struct payload){ .bytes = NULL };
	context.names = NULL;
}

/* 1 when there was a context of a process that this one was forked from. */
static int lock_context(void)
{
	int torn = fork_lock(&context.lock);
	int inherited = context.process && context.process != process_token();

	forget_inherited(torn);
	return inherited;
}

void process_context_lock(void)
{
	lock_context();
}

void process_context_unlock(void)
{
	fork_unlock(&context.lock);
}

/* --- The payload --- */

static int put_names(struct protobuf *pb, const struct otelctx_names *names)
{
	struct otelctx_attribute *a;
	size_t n;
	int err;

	if (!names)
		return 0;
	err = names_pending_attributes(names, &a, &n);
	if (err)
		return err;
	protobuf_attributes(pb, PROTOBUF_LEN(CONTEXT_ATTRIBUTES), a, n);
	otelctx_names_attributes_free(a);
	return 0;
}

static void put_process(struct protobuf *pb, const struct otelctx_process *p)
{
	size_t end;

	protobuf_attributes(pb, PROTOBUF_LEN(CONTEXT_ATTRIBUTES), p->attributes,
			    p->n_attributes);
	end = pb->at;
	protobuf_attributes(pb, PROTOBUF_LEN(RESOURCE_ATTRIBUTES), p->resource,
			    p->n_resource);
	protobuf_wrap(pb, PROTOBUF_LEN(CONTEXT_RESOURCE), end);
}

/*
 * What p says, or else what the bytes of `before` say that were the caller's; and the
 * names.
 */
static int make_payload(struct payload *out, const struct otelctx_process *p,
			const struct payload *before, const struct otelctx_names *names)
{
	uint8_t *buf = malloc(OTELCTX_PAYLOAD_MAX);
	struct protobuf pb;
	size_t added;
	int err;

	if (!buf)
		return -ENOMEM;
	protobuf_init(&pb, buf, OTELCTX_PAYLOAD_MAX);
	err = put_names(&pb, names);
	added = OTELCTX_PAYLOAD_MAX - pb.at;
	if (p)
		put_process(&pb, p);
	else
		protobuf_raw(&pb, before->bytes, before->own);
	if (!err)
		err = pb.err;
	if (!err) {
		out->n = OTELCTX_PAYLOAD_MAX - pb.at;
		out->own = out->n - added;
		out->bytes = malloc(out->n);
		if (out->bytes)
			memcpy(out->bytes, buf + pb.at, out->n);
		else
			err = -ENOMEM;
	}
	free(buf);
	return err;
}

static int check_keys(const struct otelctx_attribute *a, size_t n)
{
	static const char ours[] = "threadlocal.";

	for (size_t i = 0; i < n; i++)
		if (a[i].key && !strncmp(a[i].key, ours, strlen(ours)))
			return -EINVAL;
	return 0;
}

static int check_process(const struct otelctx_process *p)
{
	if (!p || p->size < sizeof(*p) || (p->n_resource && !p->resource) ||
	    (p->n_attributes && !p->attributes))
		return -EINVAL;
	if (!p->names)
		return 0;
	return check_keys(p->resource, p->n_resource) ?:
		check_keys(p->attributes, p->n_attributes);
}

/* --- The mapping --- */

static int open_memfd(void)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(mapping_name, flags | MFD_NOEXEC_SEAL);

	if (fd < 0)		/* Linux before 6.3 */
		fd = memfd_create(mapping_name, flags);
	return fd < 0 ? -errno : fd;
}

/* Private: the bytes are this process's alone, the file gives no more than its name. */
static void *map_memfd(size_t len)
{
	void *map = MAP_FAILED;
	int fd = open_memfd();
	int err = fd;

	if (fd < 0)
		goto out;
	if (ftruncate(fd, (off_t)len) == 0)
		map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	err = -errno;
	close(fd);
out:
	if (map == MAP_FAILED)
		errno = -err;
	return map;
}

/*
 * Tried every time and whatever comes of it: who watches this call learns of the
 * context even where the kernel has no names for memory.
 */
static int name_mapping(void)
{
	return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (unsigned long)context.header,
		     (unsigned long)context.len, (unsigned long)mapping_name);
}

static uint64_t next_stamp(void)
{
	struct timespec ts = { 0 };
	uint64_t now = 0;

	if (clock_gettime(CLOCK_BOOTTIME, &ts) == 0)
		now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return now > context.stamp ? now : context.stamp + 1;
}

static void unmap(void)
{
	munmap(context.header, context.len);
	context.header = NULL;
	context.process = 0;
}

static void stamp(uint64_t ns)
{
	/*
	 * Readers are other processes on other CPUs: a fence on either side of the
	 * stamp.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&context.header->published_ns, ns, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void point_to(const struct payload *p)
{
	struct otel_ctx_header *h = context.header;

	__atomic_store_n(&h->payload, (uint64_t)(uintptr_t)p->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&h->payload_size, (uint32_t)p->n, __ATOMIC_RELAXED);
}

static int map_header(int *memfd_error)
{
	int err;

	context.len = (size_t)sysconf(_SC_PAGESIZE);
	*memfd_error = 0;
	context.header = map_memfd(context.len);
	if (context.header == MAP_FAILED) {
		*memfd_error = -errno;
		context.header = mmap(NULL, context.len, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	if (context.header == MAP_FAILED) {
		err = -errno;
		context.header = NULL;
		return err;
	}
	/* A child must not seem to publish what its parent did. */
	if (madvise(context.header, context.len, MADV_DONTFORK)) {
		err = -errno;
		unmap();
		return err;
	}
	return 0;
}

static int publish(struct payload *p, const struct otelctx_names *names)
{
	int memfd_error, err = map_header(&memfd_error);

	if (err)
		return err;
	memcpy(context.header->signature, OTEL_CTX_SIGNATURE, OTEL_CTX_SIGNATURE_LEN);
	context.header->version = OTEL_CTX_VERSION;
	point_to(p);
	context.stamp = next_stamp();
	stamp(context.stamp);
	if (name_mapping() && memfd_error) {	/* without a name nobody can find it */
		unmap();
		return memfd_error;
	}
	context.payload = *p;
	context.names = names;
	context.process = process_token();
	return 0;
}

/* Nothing in here can fail once the stamp is 0. */
static void update(struct payload *p, const struct otelctx_names *names)
{
	uint8_t *old = context.payload.bytes;

	stamp(0);
	point_to(p);
	context.payload = *p;
	context.names = names;
	context.stamp = next_stamp();
	stamp(context.stamp);
	name_mapping();
	free(old);
}

/* --- What the header declares --- */

int otelctx_process_publish(const struct otelctx_process *p)
{
	struct payload payload = { .bytes = NULL };
	int err = check_process(p);

	if (err)
		return err;
	lock_context();
	err = context.process ? -EEXIST : make_payload(&payload, p, NULL, p->names);
	if (!err)
		err = publish(&payload, p->names);
	if (err)
		free(payload.bytes);
	process_context_unlock();
	return err;
}

int otelctx_process_update(const struct otelctx_process *p)
{
	struct payload payload = { .bytes = NULL };
	int err = check_process(p), inherited;

	if (err)
		return err;
	inherited = lock_context();
	err = -ENOENT;
	if (context.process || inherited)
		err = make_payload(&payload, p, NULL, p->names);
	if (!err && context.process)
		update(&payload, p->names);
	else if (!err)
		err = publish(&payload, p->names);
	if (err)
		free(payload.bytes);
	process_context_unlock();
	return err;
}

int otelctx_process_drop(void)
{
	int err = -ENOENT;

	lock_context();
	if (context.process) {
		stamp(0);
		unmap();
		free(context.payload.bytes);
		context.payload = (struct payload){ .bytes = NULL };
		context.names = NULL;
		err = 0;
	}
	process_context_unlock();
	return err;
}

int process_context_renew(const struct otelctx_names *names)
{
	struct payload payload;
	int err;

	if (!context.process || context.names != names)
		return 0;
	err = make_payload(&payload, NULL, &context.payload, names);
	if (!err)
		update(&payload, names);
	return err;
}

void process_context_forget(const struct otelctx_names *names)
{
	if (context.names == names)
		context.names = NULL;
}
