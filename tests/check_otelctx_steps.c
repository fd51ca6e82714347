/* SPDX-License-Identifier: Apache-2.0 */
/*
 * W30: whatever a thread does to its context, after each of its instructions a reader
 * finds a whole record, one that says it is not valid, or none.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check_otelctx.h"
#include "tests/ctx_reader.h"

extern __thread struct otel_thread_ctx *otel_thread_ctx_v1;

static void do_append(struct otelctx_thread *t, struct otelctx_thread *other)
{
	(void)other;
	for (unsigned int key = 0; key < 20; key++)	/* 80 bytes: moves twice */
		if (ctx_number_append(t, 7, key))
			_exit(3);
}

static void do_reset(struct otelctx_thread *t, struct otelctx_thread *other)
{
	uint8_t trace_id[16], span_id[8];

	(void)other;
	if (ctx_number_append(t, 7, 0))
		_exit(3);
	ctx_number_ids(trace_id, span_id, 9);
	if (otelctx_thread_reset(t, trace_id, span_id, 9) || ctx_number_append(t, 9, 0))
		_exit(4);
}

static void do_swap(struct otelctx_thread *t, struct otelctx_thread *other)
{
	if (otelctx_thread_attach(other) || otelctx_thread_attach(NULL) ||
	    otelctx_thread_attach(t))
		_exit(5);
}

static void do_destroy(struct otelctx_thread *t, struct otelctx_thread *other)
{
	otelctx_thread_destroy(t);
	if (otelctx_thread_attach(other))
		_exit(6);
	otelctx_thread_destroy(other);
}

static void do_create(struct otelctx_thread *t, struct otelctx_thread *other)
{
	static const struct otelctx_thread_attribute a = { .key = 0, .value = "\x0b\x0b",
							   .n = 2 };
	uint8_t trace_id[16], span_id[8];
	struct otelctx_thread *fresh;

	(void)t, (void)other;
	ctx_number_ids(trace_id, span_id, 11);
	if (otelctx_thread_create(&fresh, trace_id, span_id, 11, &a, 1) ||
	    otelctx_thread_attach(fresh))
		_exit(7);
}

static const struct {
	const char *what;
	void (*act)(struct otelctx_thread *t, struct otelctx_thread *other);
	unsigned int valid, invalid, none;	/* how many states of each, at least */
} acts[] = {
	{ "append", do_append, 21, 0, 0 },
	{ "reset", do_reset, 4, 1, 0 },
	{ "attach", do_swap, 2, 0, 1 },
	{ "destroy", do_destroy, 2, 0, 1 },
	{ "create", do_create, 2, 0, 0 },
};

static void stepped_child(int i, void **shared)
{
	struct otelctx_thread *t, *other;
	uint8_t trace_id[16], span_id[8];

	ctx_number_ids(trace_id, span_id, 7);
	if (otelctx_thread_create(&t, trace_id, span_id, 7, NULL, 0) ||
	    otelctx_thread_create(&other, trace_id, span_id, 7, NULL, 0) ||
	    otelctx_thread_attach(other) || otelctx_thread_attach(t) ||
	    ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(1);
	*shared = &otel_thread_ctx_v1;
	raise(SIGSTOP);
	acts[i].act(t, other);
	raise(SIGSTOP);
	_exit(0);
}

static size_t read_some(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)at, n };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n ? n : 0;
}

struct state {
	uint64_t at;
	union {
		struct otel_thread_ctx	record;
		unsigned char		bytes[640];
	} u;
};

/* What a reader would find. */
static struct state state_of(pid_t pid, uint64_t slot)
{
	struct state s;

	memset(&s, 0, sizeof(s));
	ck_assert(read_some(pid, slot, &s.at, sizeof(s.at)));
	if (!s.at)
		return s;
	ck_assert(read_some(pid, s.at, &s.u, OTEL_THREAD_CTX_HEADER_SIZE));
	ck_assert_uint_le(s.u.record.attrs_size, 612);
	ck_assert(read_some(pid, s.at, &s.u, OTEL_THREAD_CTX_HEADER_SIZE +
			    s.u.record.attrs_size));
	return s;
}

START_TEST(w30_whole_records_after_every_instruction)
{
	void **slot = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	unsigned int valid = 1, invalid = 0, none = 0, steps = 0;
	struct state last, now;
	int status;
	pid_t pid = fork();

	if (!pid)
		stepped_child(_i, slot);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	last = state_of(pid, (uintptr_t)*slot);
	ck_assert_uint_eq(last.u.record.valid, 1);
	do {
		ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSTOPPED(status));
		now = state_of(pid, (uintptr_t)*slot);
		if (now.at && now.u.record.valid == 1)
			ck_assert_msg(ctx_is_numbered(&now.u.record), "%s, step %u",
				      acts[_i].what, steps);
		if (memcmp(&now, &last, sizeof(now)) != 0) {
			none += !now.at;
			valid += now.at && now.u.record.valid == 1;
			invalid += now.at && now.u.record.valid == 0;
		}
		last = now;
		ck_assert_uint_lt(++steps, 1000000);
	} while (WSTOPSIG(status) == SIGTRAP);
	ck_assert_int_eq(WSTOPSIG(status), SIGSTOP);
	ck_assert_msg(valid >= acts[_i].valid && (invalid > 0) == (acts[_i].invalid > 0) &&
		      (none > 0) == (acts[_i].none > 0), "%s: %u valid, %u invalid, %u none",
		      acts[_i].what, valid, invalid, none);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}
END_TEST

TCase *otelctx_steps_case(void)
{
	TCase *tc = tcase_create("steps");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, w30_whole_records_after_every_instruction, 0,
			    sizeof(acts) / sizeof(acts[0]));
	return tc;
}
