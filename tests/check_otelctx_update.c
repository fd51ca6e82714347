/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of a process context, under the eyes of another process. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check_otelctx.h"
#include "tests/ctx_reader.h"

#define UPDATES		100000u
#define LONGEST		3000u		/* both, so that old payloads are soon written over */
#define LETTERS		23u

/* Update i is a value of so many letters, all the same: a mixture of two shows. */
static int do_update(int (*how)(const struct otelctx_process *), unsigned int i)
{
	char value[LONGEST + 1];

	memset(value, 'a' + (int)(i % LETTERS), sizeof(value));
	return ctx_publish(how, value, 1 + i % LONGEST);
}

static unsigned int varint_size(size_t n)
{
	return n < 128 ? 1 : 2;
}

/* Is the payload one that do_update makes, for some i? */
static bool is_whole(const uint8_t *payload, uint32_t size)
{
	for (size_t n = 1; n <= LONGEST; n++) {
		size_t any = 1 + varint_size(n) + n;
		size_t kv = 3 + 1 + varint_size(any) + any;
		size_t resource = 1 + varint_size(kv) + kv;

		if (1 + varint_size(resource) + resource != size)
			continue;
		for (size_t i = 1; i < n; i++)
			if (payload[size - n + i] != payload[size - n])
				return false;
		return payload[0] == 0x0a && payload[size - n] >= 'a' &&
			payload[size - n] < 'a' + LETTERS && payload[size - n - 1] == (n < 128 ? n : n >> 7);
	}
	return false;
}

/* Publishes, waits for a byte, updates; each stamp has to be greater than the last. */
static void updater(int go)
{
	struct otel_ctx_header *h;
	uint64_t last;
	char byte;

	if (do_update(otelctx_process_publish, 0) || read(go, &byte, 1) != 1)
		_exit(1);
	h = ctx_own();
	if (!h)
		_exit(2);
	last = h->published_ns;
	for (unsigned int i = 1; i <= UPDATES; i++) {
		if (do_update(otelctx_process_update, i))
			_exit(3);
		if (h->published_ns <= last)
			_exit(4);
		last = h->published_ns;
	}
	_exit(ctx_own() == h ? 0 : 5);
}

static uint64_t wait_for_context(pid_t pid)
{
	struct ctx_mapping m;

	for (int i = 0; i < 20000; i++) {
		if (ctx_find(pid, &m) == 1)
			return m.start;
		usleep(1000);
	}
	ck_abort_msg("the child publishes nothing");
	return 0;
}

START_TEST(w16_a_hundred_thousand_updates_and_no_torn_payload)
{
	static uint8_t payload[OTELCTX_PAYLOAD_MAX];
	struct otel_ctx_header h;
	unsigned int whole = 0;
	uint64_t at, last = 0;
	char path[64];
	int go[2], mem, status, got;
	pid_t pid;

	ck_assert_int_eq(pipe(go), 0);
	pid = fork();
	if (!pid)
		updater(go[0]);
	at = wait_for_context(pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(mem, 0);
	ck_assert_int_eq(ctx_read(mem, at, &h, payload), 1);
	ck_assert_int_eq(write(go[1], "g", 1), 1);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		got = ctx_read(mem, at, &h, payload);
		if (got <= 0)		/* being changed; or the process ends */
			continue;
		ck_assert_uint_ge(h.published_ns, last);
		last = h.published_ns;
		ck_assert_msg(is_whole(payload, h.payload_size), "torn: %u bytes",
			      h.payload_size);
		whole++;
	}
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "updater: %x", status);
	ck_assert_uint_gt(whole, 0);
	close(mem);
}
END_TEST

static void stepped_child(void)
{
	if (do_update(otelctx_process_publish, 0) || ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(1);
	raise(SIGSTOP);
	if (do_update(otelctx_process_update, 700))
		_exit(2);
	raise(SIGSTOP);
	_exit(0);
}

static struct otel_ctx_header header_of(pid_t pid, uint64_t at)
{
	struct otel_ctx_header h;
	struct iovec local = { &h, sizeof(h) };
	struct iovec remote = { (void *)(uintptr_t)at, sizeof(h) };

	ck_assert_int_eq(process_vm_readv(pid, &local, 1, &remote, 1, 0), sizeof(h));
	return h;
}

/* The old payload as it was, from the first instruction until the new stamp stands. */
static void old_payload_stands(pid_t pid, uint64_t old, uint8_t letter)
{
	uint8_t bytes[12];
	struct iovec local = { bytes, sizeof(bytes) };
	struct iovec remote = { (void *)(uintptr_t)old, sizeof(bytes) };

	ck_assert_int_ge(process_vm_readv(pid, &local, 1, &remote, 1, 0), 0);
	ck_assert_uint_eq(bytes[0], 0x0a);
	ck_assert_uint_eq(bytes[11], letter);
}

/* Every instruction of an update: 0, then the fields, then a greater stamp. */
START_TEST(w16_stamp_0_then_fields_then_the_new_stamp_by_single_steps)
{
	struct otel_ctx_header first, h, last;
	unsigned int zeroed = 0, fields = 0, steps = 0;
	uint64_t at;
	int status;
	pid_t pid = fork();

	if (!pid)
		stepped_child();
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	at = wait_for_context(pid);
	first = last = header_of(pid, at);
	ck_assert_uint_ne(first.published_ns, 0);
	do {
		ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSTOPPED(status));
		h = header_of(pid, at);
		if (h.published_ns != last.published_ns) {
			zeroed += h.published_ns == 0 && last.published_ns == first.published_ns;
			ck_assert(h.published_ns == 0 || last.published_ns == 0);
		}
		if (h.payload != last.payload || h.payload_size != last.payload_size) {
			ck_assert_uint_eq(h.published_ns, 0);
			ck_assert_uint_eq(last.published_ns, 0);
			fields++;
		}
		if (last.published_ns <= first.published_ns)
			old_payload_stands(pid, first.payload, 'a');
		last = h;
		ck_assert_uint_lt(++steps, 3000000);
	} while (WSTOPSIG(status) == SIGTRAP);
	ck_assert_int_eq(WSTOPSIG(status), SIGSTOP);
	ck_assert_uint_eq(zeroed, 1);
	ck_assert_uint_ge(fields, 1);
	ck_assert_uint_gt(last.published_ns, first.published_ns);
	ck_assert_uint_gt(last.payload_size, first.payload_size);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}
END_TEST

TCase *otelctx_update_case(void)
{
	TCase *tc = tcase_create("update");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, w16_a_hundred_thousand_updates_and_no_torn_payload);
	tcase_add_test(tc, w16_stamp_0_then_fields_then_the_new_stamp_by_single_steps);
	return tc;
}
