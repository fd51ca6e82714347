/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes a process context in every way that is seen in the wild, and in some that
 * only an attacker would think of.  Written from the specification, and on purpose not
 * with libotelctx: a reader that is tested against its own writer learns nothing.
 *
 * 	ctx_publish [options] < commands
 *
 * Commands: `publish key=value..`, `update key=value..`, `drop`, `fork`, `exec`,
 * `quit`. @key=value stands in field 2, %key=value in the resource as an integer,
 * keys=a,b is the key map (in field 2), wrongkeys=a,b the same in the resource.  Each
 * prints `ok`, the child's pid or the mapping's address, and the boot time after it.
 * Meanwhile it uses a tenth of a CPU, so that it is sampled.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ctx/otel_ctx_abi.h"
#include "tests/context_bytes.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static struct {
	bool	 shared, read_only, inside, anonymous, executable, quiet, no_stamp, bad_first;
	bool	 hostile, unserved;
	unsigned pages, version, many;
	const char *name;
} opt = { .pages = 1, .version = OTEL_CTX_VERSION, .name = "OTEL_CTX" };

static struct otel_ctx_header *header;
static uint8_t *payload;
static size_t mapped;
static struct bytes message;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "ctx_publish: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- what --- */

static void put_key_map(struct bytes *o, uint32_t field, char *list)
{
	const char *names[300];
	size_t n = 0;

	for (char *s = strtok(list, ","); s && n < 300; s = strtok(NULL, ","))
		names[n++] = s;
	put_string(o, field, OTEL_CTX_KEY_SCHEMA, OTEL_CTX_SCHEMA_TLSDESC);
	put_strings(o, field, OTEL_CTX_KEY_MAP, names, n);
}

static void serialize(char *args)
{
	static struct bytes resource;
	char *save, *pair, *value;

	message.n = resource.n = 0;
	for (pair = strtok_r(args, " \n", &save); pair; pair = strtok_r(NULL, " \n", &save)) {
		value = strchr(pair, '=');
		if (!value)
			continue;
		*value++ = 0;
		if (!strcmp(pair, "keys"))
			put_key_map(&message, 2, value);
		else if (!strcmp(pair, "wrongkeys"))
			put_key_map(&resource, 1, value);
		else if (pair[0] == '@')
			put_string(&message, 2, pair + 1, value);
		else if (pair[0] == '%')
			put_int(&resource, 1, pair + 1, strtoll(value, NULL, 10));
		else
			put_string(&resource, 1, pair, value);
	}
	put_message(&message, 1, &resource);
}

/* --- where --- */

static void name_mapping(void *p, size_t n)
{
	if (!opt.quiet)
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, n, "OTEL_CTX");
}

static void *map_pages(size_t bytes)
{
	int prot = PROT_READ | PROT_WRITE | (opt.executable ? PROT_EXEC : 0);
	int flags = opt.shared ? MAP_SHARED : MAP_PRIVATE, fd = -1;
	void *p;

	if (opt.anonymous) {
		flags |= MAP_ANONYMOUS;
	} else {
		fd = memfd_create(opt.name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 || ftruncate(fd, (off_t)bytes))
			fail("memfd");
	}
	p = mmap(NULL, bytes, prot, flags, fd, 0);
	if (p == MAP_FAILED)
		fail("mmap");
	if (fd >= 0)
		close(fd);
	if (madvise(p, bytes, MADV_DONTFORK))
		fail("madvise");
	return p;
}

/* Named alike, and no context. */
static void map_decoys(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char *p = map_pages(4096);

		memcpy(p, "OTEL_CTy", 8);
	}
}

/* A page that nobody ever serves: whoever touches it waits for ever. */
static uint8_t *unserved_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	reg.range.start = (uintptr_t)p;
	reg.range.len = 4096;
	if (fd < 0 || p == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &reg))
		fail("userfaultfd");
	return p;
}

static void place_payload(void)
{
	uint8_t *old = payload;

	if (opt.unserved) {
		payload = unserved_page();
		return;
	}
	if (opt.inside) {			/* as Go does: the old one is overwritten */
		payload = (uint8_t *)header + sizeof(*header);
		if (message.n > mapped - sizeof(*header)) {
			errno = E2BIG;
			fail("payload");
		}
	} else {
		payload = malloc(message.n);
		if (!payload)
			fail("payload");
	}
	memcpy(payload, message.b, message.n);
	if (!opt.inside)
		free(old);
}

static void fill(uint64_t stamp)
{
	__atomic_store_n(&header->published_ns, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	place_payload();
	memcpy(header->signature, OTEL_CTX_SIGNATURE, OTEL_CTX_SIGNATURE_LEN);
	header->version = opt.version;
	header->payload_size = (__u32)message.n;
	header->payload = (uintptr_t)payload;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!opt.no_stamp)
		__atomic_store_n(&header->published_ns, stamp, __ATOMIC_SEQ_CST);
}

/* No protocol at all: size, bytes and stamp change whenever they like. */
static void *fight(void *arg)
{
	uint32_t x = 12345;

	(void)arg;
	for (;;) {
		x = x * 1664525u + 1013904223u;
		header->payload_size = x >> 15;
		payload[(x >> 8) % message.n] = (uint8_t)x;
		if (x % 64 == 0)
			header->published_ns += 1;
		if (x % 1024 == 0) {
			name_mapping(header, mapped);
			usleep(100);
		}
	}
	return NULL;
}

static void publish(char *args)
{
	pthread_t thread;

	serialize(args);
	mapped = opt.pages * 4096;
	header = map_pages(mapped);
	/* Maps grow downwards: what is mapped later stands before it. */
	map_decoys(opt.bad_first ? 1 : opt.many);
	fill(now(CLOCK_BOOTTIME));
	if (opt.read_only)
		mprotect(header, mapped, PROT_READ);
	name_mapping(header, opt.pages == 1 ? sizeof(*header) : mapped);
	if (opt.hostile && pthread_create(&thread, NULL, fight, NULL))
		fail("thread");
}

static void update(char *args)
{
	uint64_t stamp = now(CLOCK_BOOTTIME);

	serialize(args);
	if (stamp <= header->published_ns)
		stamp = header->published_ns + 1;
	if (opt.read_only)
		mprotect(header, mapped, PROT_READ | PROT_WRITE);
	fill(stamp);
	if (opt.read_only)
		mprotect(header, mapped, PROT_READ);
	name_mapping(header, opt.pages == 1 ? sizeof(*header) : mapped);
}

static void drop(void)
{
	__atomic_store_n(&header->published_ns, 0, __ATOMIC_SEQ_CST);
	munmap(header, mapped);
	if (!opt.inside)
		free(payload);
	header = NULL;
	payload = NULL;
}

/* --- how long --- */

static void burn(void)
{
	uint64_t until = now(CLOCK_MONOTONIC) + 1000000;

	while (now(CLOCK_MONOTONIC) < until)
		;
	usleep(9000);
}

static pid_t burning_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		burn();
	_exit(0);
}

/* False: it is over. */
static bool run(char *line, char **argv)
{
	char *args = line + strcspn(line, " \n");
	long result = 0;

	if (*args)
		*args++ = 0;
	if (!strcmp(line, "publish"))
		publish(args);
	else if (!strcmp(line, "update"))
		update(args);
	else if (!strcmp(line, "drop"))
		drop();
	else if (!strcmp(line, "fork"))
		result = burning_child();
	else if (!strcmp(line, "exec"))
		execv("/proc/self/exe", argv);
	else if (!strcmp(line, "quit"))
		return false;
	else
		fail(line);
	if (header && !result)
		result = (long)(uintptr_t)header;
	printf("ok %ld %llu\n", result, (unsigned long long)now(CLOCK_BOOTTIME));
	fflush(stdout);
	return true;
}

static void serve(char **argv)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	char buffer[65536];
	size_t n = 0;

	for (;;) {
		char *nl;

		burn();
		if (poll(&p, 1, 0) <= 0)
			continue;
		ssize_t got = read(0, buffer + n, sizeof(buffer) - 1 - n);

		if (got <= 0)
			return;
		n += (size_t)got;
		buffer[n] = 0;
		while ((nl = strchr(buffer, '\n'))) {
			size_t len = (size_t)(nl + 1 - buffer);

			*nl = 0;
			if (!run(buffer, argv))
				return;
			memmove(buffer, buffer + len, n - len + 1);
			n -= len;
		}
	}
}

static const struct option options[] = {
	{ "shared", no_argument, NULL, 's' },	  { "read-only", no_argument, NULL, 'r' },
	{ "inside", no_argument, NULL, 'i' },	  { "anonymous", no_argument, NULL, 'a' },
	{ "executable", no_argument, NULL, 'x' }, { "quiet", no_argument, NULL, 'q' },
	{ "no-stamp", no_argument, NULL, '0' },	  { "bad-first", no_argument, NULL, 'b' },
	{ "hostile", no_argument, NULL, 'h' },	  { "unserved", no_argument, NULL, 'u' },
	{ "pages", required_argument, NULL, 'p' }, { "version", required_argument, NULL, 'v' },
	{ "many", required_argument, NULL, 'm' }, { "name", required_argument, NULL, 'n' },
	{ NULL, 0, NULL, 0 },
};

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's': opt.shared = true; break;
		case 'r': opt.read_only = true; break;
		case 'i': opt.inside = true; break;
		case 'a': opt.anonymous = true; break;
		case 'x': opt.executable = true; break;
		case 'q': opt.quiet = true; break;
		case '0': opt.no_stamp = true; break;
		case 'b': opt.bad_first = true; break;
		case 'h': opt.hostile = true; break;
		case 'u': opt.unserved = true; break;
		case 'p': opt.pages = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'v': opt.version = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'm': opt.many = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'n': opt.name = optarg; break;
		default: return 2;
		}
	}
	serve(argv);
	return 0;
}
