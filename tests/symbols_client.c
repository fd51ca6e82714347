/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/symbols_client.h"
#include "tests/symbols_fixtures.h"

struct symbols_client c;
uint64_t hang_ns;

void begin(enum symbols_io io)
{
	struct symbols_options o = { .io = io,
				     .memory_limit = 32 << 20,
				     .hang_ns = hang_ns };

	ck_assert_int_eq(symbols_launcher_start(&c.launcher), 0);
	ck_assert_int_eq(symbols_create(&c.s, &c.launcher, &o), 0);
	ck_assert_int_eq(symbols_decoder_create(&c.decoder), 0);
}

void end(void)
{
	symbols_destroy(c.s);
	symbols_decoder_destroy(c.decoder);
	symbols_launcher_stop(&c.launcher);
}

bool next_within(int ms)
{
	struct timespec t;
	int64_t until;

	clock_gettime(CLOCK_MONOTONIC, &t);
	until = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
	do {
		struct pollfd p = { symbols_fd(c.s), POLLIN, 0 };
		int n;

		symbols_flush(c.s);
		n = symbols_take(c.s, c.buf, sizeof(c.buf));
		ck_assert_int_ge(n, 0);
		if (n > 0) {
			ck_assert_int_eq(
				symbols_decode(c.decoder, c.buf, (size_t)n, &c.got), 0);
			return true;
		}
		poll(&p, 1, 20);
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < until);
	return false;
}

void next(enum sym_kind kind, uint32_t file_id)
{
	ck_assert_msg(next_within(8000), "no answer");
	ck_assert_int_eq(c.got.kind, kind);
	ck_assert_uint_eq(c.got.file_id, file_id);
}

void add(const char *fixture, uint32_t file_id)
{
	ck_assert_int_eq(symbols_add_file(c.s, file_id, fixture_open(fixture)), 0);
}

void ask(uint32_t file_id, uint64_t addr)
{
	ck_assert_int_eq(symbols_query(c.s, file_id, &addr, 1), 0);
}

void is_named(const char *name)
{
	ck_assert_uint_ge(c.got.n_names, 1);
	ck_assert_ptr_nonnull(c.got.names[c.got.n_names - 1].function);
	ck_assert_str_eq(c.got.names[c.got.n_names - 1].function, name);
}

pid_t worker_pid(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	for (int i = 0; i < 200 && pid <= 0; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", c.launcher.pid,
			 c.launcher.pid);
		f = fopen(path, "r");
		ck_assert_ptr_nonnull(f);
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
		symbols_flush(c.s);
		usleep(10000);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

bool is_gone(pid_t pid)
{
	for (int i = 0; i < 1200; i++) {
		if (kill(pid, 0) && errno == ESRCH)
			return true;
		usleep(10000);
	}
	return false;
}
