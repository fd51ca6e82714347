/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar's side against launchers and workers that lie: played by the test over the
 * same sockets. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sidecar/symbols/symbols.h"
#include "sidecar/symbols/wire.h"

static struct symbols_launcher launcher;
static struct symbols *s;
static struct symbols_decoder *decoder;
static int control, worker;		/* our ends */
static pid_t worker_pid;		/* what the launcher says it is */
static uint64_t serial;
static char buf[SYMBOLS_MESSAGE_MAX];

static void tell(uint32_t what, int32_t status, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c = { .room = { 0 } };
	struct wire_launch_message m = { .what = what, .serial = serial, .status = status,
					 .pid = worker_pid };
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		h.msg_control = &c;
		h.msg_controllen = sizeof(c);
		CMSG_FIRSTHDR(&h)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&h)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&h)->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&h)), &fd, sizeof(fd));
	}
	ck_assert_int_eq(sendmsg(control, &h, 0), sizeof(m));
}

/* What the launcher is asked for; 0 nothing. */
static uint32_t asked(void)
{
	struct wire_launch_message m = { 0 };

	if (recv(control, &m, sizeof(m), MSG_DONTWAIT) != sizeof(m))
		return 0;
	serial = m.serial;
	return m.what;
}

static void spawn(void)
{
	int pair[2];

	ck_assert_uint_eq(asked(), LAUNCH_SPAWN);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	tell(LAUNCH_SPAWNED, 0, pair[0]);
	close(pair[0]);
	worker = pair[1];
	symbols_flush(s);
}

static void begin(void)
{
	struct symbols_options o = { .memory_limit = 1 << 20, .hang_ns = 500000000 };
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	launcher = (struct symbols_launcher){ .sock = pair[0], .pid = 0 };
	control = pair[1];
	ck_assert_int_eq(symbols_create(&s, &launcher, &o), 0);
	ck_assert_int_eq(symbols_decoder_create(&decoder), 0);
	spawn();
}

static void end(void)
{
	symbols_destroy(s);
	symbols_decoder_destroy(decoder);
	close(launcher.sock);
	close(control);
	close(worker);
}

/* The next request as the worker gets it. */
static struct wire_request request(uint32_t kind)
{
	struct wire_request r;

	symbols_flush(s);
	ck_assert_int_ge(recv(worker, buf, sizeof(buf), MSG_DONTWAIT),
			 (ssize_t)sizeof(r));
	memcpy(&r, buf, sizeof(r));
	ck_assert_uint_eq(r.kind, kind);
	return r;
}

static bool readable(void)
{
	struct pollfd p = { symbols_fd(s), POLLIN, 0 };

	return poll(&p, 1, 0) == 1;
}

static struct sym_answer take(void)
{
	struct sym_answer a = { 0 };
	int n;

	ck_assert(readable());
	n = symbols_take(s, buf, sizeof(buf));
	ck_assert_int_ge(n, 0);
	if (n)
		ck_assert_int_eq(symbols_decode(decoder, buf, (size_t)n, &a), 0);
	return a;
}

static void answer(uint32_t kind, uint32_t file_id, uint32_t seq, uint32_t flags,
		   uint64_t value)
{
	struct wire_answer h = { .kind = kind,
				 .file_id = file_id,
				 .seq = seq,
				 .flags = flags,
				 .value = value };

	ck_assert_int_eq(send(worker, &h, sizeof(h), 0), sizeof(h));
}

START_TEST(answers_may_come_in_any_order)
{
	uint64_t addr[2] = { 0x1000, 0x2000 };
	struct wire_request a, b;
	struct sym_answer got;

	begin();
	ck_assert_int_eq(symbols_query(s, 20, &addr[0], 1), 0);
	ck_assert_int_eq(symbols_query(s, 21, &addr[1], 1), 0);
	a = request(WIRE_QUERY);
	b = request(WIRE_QUERY);
	ck_assert_uint_eq(a.file_id, 20);
	answer(SYM_GONE, 21, b.seq, 0, 0);
	got = take();
	ck_assert_uint_eq(got.file_id, 21);
	answer(SYM_GONE, 20, a.seq, 0, 0);
	got = take();
	ck_assert_uint_eq(got.file_id, 20);
	ck_assert_uint_eq(asked(), 0);
	end();
}
END_TEST

/* It runs, so it is slow: one more chance.  It sleeps, so its file does not answer: none.
 */
START_TEST(hanging_worker_is_killed)
{
	struct wire_request r;
	int ms = 0;
	bool busy = _i;

	worker_pid = fork();
	if (!worker_pid) {
		alarm(10);
		for (;;)
			if (!busy)
				pause();
	}
	begin();
	ck_assert_int_eq(symbols_add_file(s, 20, open("/dev/null", O_RDONLY)), 0);
	r = request(WIRE_ADD_FILE);
	ck_assert_uint_eq(r.file_id, 20);
	for (; ms < 5000 && asked() != LAUNCH_KILL; ms += 10) {
		symbols_flush(s);
		usleep(10000);
	}
	ck_assert_int_ge(ms, busy ? 250 : 100);
	ck_assert_int_lt(ms, 5000);
	tell(LAUNCH_DIED, SIGKILL, -1);
	ck_assert_int_eq(take().kind, busy ? SYM_GONE : SYM_FILE);
	kill(worker_pid, SIGKILL);
	waitpid(worker_pid, NULL, 0);
	end();
}
END_TEST

enum lie {
	L_UNKNOWN_SEQ,
	L_OTHER_FILE,
	L_WRONG_KIND,
	L_TWICE,
	L_SHORT,
	L_GARBAGE,
	L_HUGE_COUNT,
	L_BAD_STRING,
	L_LOOSE_INLINE,
	L_FOREIGN_KIND
};
static const char *const lies[] = {
	"unknown number",	 "another file",	"a file for a query",
	"answered twice",	 "too short",		"garbage",
	"more names than bytes", "string past the end", "inlined into nothing",
	"no such kind"
};

static void send_lie(enum lie lie, struct wire_request r)
{
	struct { struct wire_answer h; struct wire_name n; char text[4];
	} m = {
		.h = { .kind = SYM_NAMES,
		       .file_id = r.file_id,
		       .seq = r.seq,
		       .n = 1,
		       .strings = 4 },
		.n = { .address = 0x1000, .function = 1 },
		.text = "\0fn",
	};
	size_t n = sizeof(m.h) + sizeof(m.n) + 4;

	if (lie == L_UNKNOWN_SEQ)
		m.h.seq += 7;
	else if (lie == L_OTHER_FILE)
		m.h.file_id++;
	else if (lie == L_SHORT)
		n = 9;
	else if (lie == L_GARBAGE)
		memset(&m, 0x5a, sizeof(m));
	else if (lie == L_HUGE_COUNT)
		m.h.n = 1000000;
	else if (lie == L_BAD_STRING)
		m.n.function = 400;
	else if (lie == L_LOOSE_INLINE)
		m.n.inlined = 1;
	else if (lie == L_FOREIGN_KIND)
		m.h.kind = 9;
	if (lie == L_WRONG_KIND) {
		answer(SYM_INFO + 1, r.file_id, r.seq, 0, 0);
		return;
	}
	ck_assert_int_eq(send(worker, &m, n, 0), (ssize_t)n);
	if (lie == L_TWICE)
		ck_assert_int_eq(send(worker, &m, n, 0), (ssize_t)n);
}

START_TEST(lying_worker_is_killed_and_its_requests_are_gone)
{
	uint64_t addr = 0x1000;
	struct wire_request r;
	struct sym_answer got;

	begin();
	ck_assert_int_eq(symbols_query(s, 20, &addr, 1), 0);
	r = request(WIRE_QUERY);
	send_lie((enum lie)_i, r);
	if (_i == L_TWICE) {
		got = take();
		ck_assert_int_eq(got.kind, SYM_NAMES);
		ck_assert_str_eq(got.names[0].function, "fn");
	}
	got = take();
	ck_assert_int_eq(got.kind, 0);			/* nothing passes */
	ck_assert_msg(asked() == LAUNCH_KILL, "%s: not killed", lies[_i]);
	tell(LAUNCH_DIED, SIGKILL, -1);
	got = take();
	if (_i != L_TWICE) {
		ck_assert_int_eq(got.kind, SYM_GONE);
		ck_assert_uint_eq(got.file_id, 20);
	}
	ck_assert_uint_eq(symbols_restarts(s), 1);
	close(worker);
	spawn();					/* at once */
	end();
}
END_TEST

/* Two deaths; the worker had named the newer request as the one it was busy with. */
START_TEST(the_named_request_is_the_suspect)
{
	uint64_t addr = 0x1000;
	struct sym_answer got;

	begin();
	for (int i = 0; i < 2; i++) {
		struct wire_request b;

		ck_assert_int_eq(symbols_query(s, 20, &addr, 1), 0);
		ck_assert_int_eq(symbols_add_file(s, 21, open("/dev/null", O_RDONLY)), 0);
		request(WIRE_QUERY);
		b = request(WIRE_ADD_FILE);
		ck_assert_uint_eq(b.flags, i ? WIRE_NO_DWARF | WIRE_ALONE : 0);
		answer(SYM_INFO, 0, 0, WIRE_BUSY, b.seq);
		take();
		close(worker);
		take();
		tell(LAUNCH_DIED, SIGSEGV, -1);
		got = take();
		ck_assert_uint_eq(got.file_id, i ? 21 : 20);
		ck_assert_int_eq(got.kind, i ? SYM_FILE : SYM_GONE);
		got = take();
		ck_assert_int_eq(got.kind, SYM_GONE);
		usleep(120000);				/* the second restart is held back */
		symbols_flush(s);
		spawn();
	}
	ck_assert_int_eq(symbols_add_file(s, 21, open("/dev/null", O_RDONLY)), 0);
	got = take();
	ck_assert_str_eq(got.error, "symbol workers died of this file");
	ck_assert_int_eq(symbols_query(s, 20, &addr, 1), 0);
	request(WIRE_QUERY);				/* the other one is innocent */
	end();
}
END_TEST

START_TEST(launcher_that_ends_or_lies_means_no_worker_any_more)
{
	uint64_t addr[3] = { 1, 2, 3 };
	struct sym_answer got;

	begin();
	ck_assert_int_eq(symbols_query(s, 20, addr, 3), 0);
	request(WIRE_QUERY);
	ck_assert_int_eq(symbols_query(s, SYMBOLS_KERNEL_FILE, addr, 1), 0);	/* not yet sent */
	ck_assert(!symbols_given_up(s));
	if (_i)
		ck_assert_int_eq(send(control, "lie", 3, 0), 3);
	else
		shutdown(control, SHUT_RDWR);
	got = take();
	ck_assert_int_eq(got.kind, SYM_NAMES);
	ck_assert_uint_eq(got.n_names, 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(got.names[i].address, addr[i]);
		ck_assert_ptr_null(got.names[i].function);
	}
	got = take();
	ck_assert_uint_eq(got.file_id, SYMBOLS_KERNEL_FILE);
	ck_assert_int_eq(got.kind, SYM_NAMES);
	ck_assert(!readable());
	ck_assert(symbols_given_up(s));
	end();
}
END_TEST

START_TEST(worker_that_never_starts_is_asked_for_ever_more_slowly)
{
	int spawned = 0;

	begin();
	close(worker);
	tell(LAUNCH_DIED, 2 << 8, -1);
	for (int ms = 0; ms < 1000; ms += 10) {
		symbols_take(s, buf, sizeof(buf));
		symbols_flush(s);
		if (asked() == LAUNCH_SPAWN) {
			spawned++;
			tell(LAUNCH_DIED, -ENOMEM, -1);
		}
		usleep(10000);
	}
	/* At once, after 0.1, 0.2, 0.4 s (and 0.8 s if the machine was slow). */
	ck_assert_int_ge(spawned, 3);
	ck_assert_int_le(spawned, 5);
	worker = dup(0);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("symbols_parent");
	TCase *t = tcase_create("lies");
	SRunner *r;
	int failed;

	signal(SIGPIPE, SIG_IGN);
	tcase_add_test(t, answers_may_come_in_any_order);
	tcase_add_loop_test(t, hanging_worker_is_killed, 0, 2);
	tcase_add_loop_test(t, lying_worker_is_killed_and_its_requests_are_gone, 0,
			    (int)(sizeof(lies) / sizeof(lies[0])));
	tcase_add_test(t, the_named_request_is_the_suspect);
	tcase_add_loop_test(t, launcher_that_ends_or_lies_means_no_worker_any_more, 0, 2);
	tcase_add_test(t, worker_that_never_starts_is_asked_for_ever_more_slowly);
	suite_add_tcase(suite, t);
	r = srunner_create(suite);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
