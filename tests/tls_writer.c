/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes a process context and a thread context of known ids, and computes, so that it is sampled.
 * Made to be compiled in many ways (tests/root_thread_context.sh), each another way to reach the variable:
 *
 *   program alone     tls_writer.c -DWRITER -DMAIN
 *   with a library    tls_writer.c -DWRITER -shared, and tls_writer.c -DMAIN linked with it, or
 *                     -DMAIN -DDLOPEN: the library's path is the second argument
 *
 * -DLARGE=N puts N bytes of other thread-local variables beside it, -DALIGN=N aligns them.
 * usage: tls_writer TRACE_ID_BYTE [LIBRARY [MODE]]
 * TRACE_ID_BYTE fills trace and span id.  Prints `ready` and runs until killed.  MODE:
 *   late   a thread that began before dlopen and never touches the variable computes as well; its name
 *          is `untouched`
 *   later  publishes the process context, computes for a second, and only then opens the library
 *   fork   a child, which publishes nothing, computes as well; its name is `child`
 *   grow   after a second a second key is published, in place and without telling the kernel, and
 *          the record's attribute has it; prints `grown BOOT_NS`
 *   exec   executes itself after a second, with another id (the first one's complement) and no mode
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#ifdef DLOPEN
#include <dlfcn.h>
#endif

#include "ctx/otel_ctx_abi.h"

void writer_attach(void *record);

#ifdef WRITER
#ifdef ALIGN
#define ALIGNED __attribute__((aligned(ALIGN)))
#else
#define ALIGNED
#endif
#ifdef LARGE
/* Before and behind, so that the variable is not the first. */
ALIGNED __thread char writer_before[LARGE] = { 1 };
__attribute__((used)) char *writer_touch(void) { return writer_before; }
#endif
__attribute__((visibility("default"))) ALIGNED __thread void *otel_thread_ctx_v1;

__attribute__((noinline, visibility("default"))) void writer_attach(void *record)
{
	otel_thread_ctx_v1 = record;
#ifdef LARGE
	*(volatile char *)writer_touch();
#endif
}
#endif

#ifdef MAIN
static void put_string(unsigned char **p, unsigned char field, const char *s)
{
	size_t n = strlen(s);

	*(*p)++ = (unsigned char)(field << 3 | 2);
	*(*p)++ = (unsigned char)n;
	memcpy(*p, s, n);
	*p += n;
}

/* Field 2 of ProcessContext: a key and a value that is encoded already, all below 128 bytes. */
static void put_attribute(unsigned char **p, const char *key, const unsigned char *value, size_t n)
{
	unsigned char *begin = *p + 2;

	*p = begin;
	put_string(p, 1, key);
	*(*p)++ = 2 << 3 | 2;
	*(*p)++ = (unsigned char)n;
	memcpy(*p, value, n);
	*p += n;
	begin[-2] = 2 << 3 | 2;
	begin[-1] = (unsigned char)(*p - begin);
}

/* AnyValue in ArrayValue.values */
static void put_item(unsigned char **v, const char *s)
{
	unsigned char item[32], *i = item;

	put_string(&i, 1, s);
	*(*v)++ = 1 << 3 | 2;
	*(*v)++ = (unsigned char)(i - item);
	memcpy(*v, item, (size_t)(i - item));
	*v += i - item;
}

static size_t make_payload(unsigned char *to, int keys)
{
	unsigned char value[64], *v = value, *p = to, *array;

	put_string(&v, 1, OTEL_CTX_SCHEMA_TLSDESC);
	put_attribute(&p, OTEL_CTX_KEY_SCHEMA, value, (size_t)(v - value));
	v = value + 2;
	array = v;
	put_item(&v, "which");
	if (keys > 1)
		put_item(&v, "added");
	value[0] = 5 << 3 | 2;
	value[1] = (unsigned char)(v - array);
	put_attribute(&p, OTEL_CTX_KEY_MAP, value, (size_t)(v - value));
	return (size_t)(p - to);
}

static unsigned char payload[2][256];
static struct otel_ctx_header *h;

static unsigned long long boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static void fill(int keys)
{
	__atomic_store_n(&h->published_ns, 0, __ATOMIC_SEQ_CST);
	h->payload_size = (__u32)make_payload(payload[keys - 1], keys);
	h->payload = (uintptr_t)payload[keys - 1];
	__atomic_store_n(&h->published_ns, boot_ns(), __ATOMIC_SEQ_CST);
}

static int publish(void)
{
	int fd = memfd_create(OTEL_CTX_SIGNATURE, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(*h)))
		return 1;
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (h == MAP_FAILED || madvise(h, sizeof(*h), MADV_DONTFORK))
		return 1;
	close(fd);
	memcpy(h->signature, OTEL_CTX_SIGNATURE, OTEL_CTX_SIGNATURE_LEN);
	h->version = OTEL_CTX_VERSION;
	fill(1);
	prctl(0x53564d41, 0, h, sizeof(*h), OTEL_CTX_SIGNATURE);
	return 0;
}

static void compute_until(unsigned long long end)
{
	while (boot_ns() < end)
		for (volatile unsigned long n = 0; n < 1000000; n++)
			;
}

static void compute(void)
{
	compute_until(~0ull);
}

static void *untouched(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "untouched");
	compute();
	return NULL;
}

static void (*attach_of(int argc, char **argv))(void *)
{
#ifdef DLOPEN
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
	void (*attach)(void *) = library ? (void (*)(void *))dlsym(library, "writer_attach")
					 : NULL;

	if (!attach)
		fprintf(stderr, "%s\n", dlerror());
	return attach;
#else
	(void)argc;
	(void)argv;
	return writer_attach;
#endif
}

static union {
	unsigned char bytes[64];
	struct otel_thread_ctx record;
} r;

static void make_record(unsigned char id)
{
	memset(r.bytes, id, 24);
	r.record.trace_flags = 1;
	r.record.attrs_size = 6;
	memcpy(r.bytes + OTEL_THREAD_CTX_HEADER_SIZE, "\0\4case", 6);
	r.record.valid = 1;
}

/* A writer that tells nobody: only the unknown key can. */
static void grow(void)
{
	fill(2);
	memcpy(r.bytes + OTEL_THREAD_CTX_HEADER_SIZE + 6, "\1\3new", 5);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r.record.attrs_size = 11;
	printf("grown %llu\n", boot_ns());
	fflush(stdout);
}

static void compute_in_child(void)
{
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, 9);
	prctl(PR_SET_NAME, "child");
	compute();
}

static void execute_again(char **argv, unsigned char id)
{
	char other[8];

	snprintf(other, sizeof(other), "%02x", (unsigned char)~id);
	execl("/proc/self/exe", argv[0], other, (char *)0);
}

int main(int argc, char **argv)
{
	unsigned char id = argc > 1 ? (unsigned char)strtoul(argv[1], NULL, 16) : 0x5a;
	const char *mode = argc > 3 ? argv[3] : "";
	void (*attach)(void *);
	pthread_t t;

	if (!strcmp(mode, "late") && pthread_create(&t, NULL, untouched, NULL))
		return 1;
	make_record(id);
	if (!strcmp(mode, "later")) {
		if (publish())
			return 1;
		compute_until(boot_ns() + 1000000000);
	}
	attach = attach_of(argc, argv);
	if (!attach || (!h && publish()))
		return 1;
	attach(&r.record);
	puts("ready");
	fflush(stdout);
	if (!strcmp(mode, "fork"))
		compute_in_child();
	if (!strcmp(mode, "grow") || !strcmp(mode, "exec"))
		compute_until(boot_ns() + 1000000000);
	if (!strcmp(mode, "grow"))
		grow();
	if (!strcmp(mode, "exec"))
		execute_again(argv, id);
	compute();
	return 0;
}
#endif
