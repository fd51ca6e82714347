/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol worker through its launcher: its answers and its rights. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sidecar/symbols/confine.h"
#include "tests/symbols_client.h"
#include "tests/symbols_fixtures.h"

/* --- answers --- */

static const struct { enum symbols_io io; const char *name;
} backends[] = {
	{ SYMBOLS_IO_AUTO, NULL },
	{ SYMBOLS_IO_PLAIN, "plain" },
	{ SYMBOLS_IO_URING, NULL },
};

START_TEST(files_are_told_and_addresses_named)
{
	static const char *const files[] = { "pie", "nopie", "static", "stripped",
					     "names" };
	const char *backend;

	begin(backends[_i].io);
	for (uint32_t i = 0; i < 5; i++)
		add(files[i], 20 + i);
	for (uint32_t i = 0; i < 5; i++) {
		next(SYM_FILE, 20 + i);
		ck_assert(c.got.is_elf);
		ck_assert_ptr_null(c.got.error);
		ck_assert_ptr_nonnull(c.got.htlhash);
	}
	ask(21, fixture_symbol("nopie", "fix_static"));
	next(SYM_NAMES, 21);
	is_named("fix_static");
	ask(23, fixture_symbol("stripped", "fix_static"));
	next(SYM_NAMES, 23);
	ck_assert_ptr_null(c.got.names[0].function);
	ck_assert_int_eq(symbols_add_debug(c.s, 23, fixture_open("stripped.debug")), 0);
	next(SYM_FILE, 23);
	ck_assert(c.got.has_debug && !c.got.want_debug && c.got.is_elf);
	ask(23, fixture_symbol("stripped", "fix_static"));
	next(SYM_NAMES, 23);
	is_named("fix_static");
	backend = symbols_io_backend(c.s);
	ck_assert_ptr_nonnull(backend);
	ck_assert(!strcmp(backend, "uring") || !strcmp(backend, "plain"));
	if (backends[_i].name)
		ck_assert_str_eq(backend, backends[_i].name);
	ck_assert_uint_gt(symbols_worker_bytes(c.s), 0);
	ck_assert_uint_eq(symbols_restarts(c.s), 0);
	end();
}
END_TEST

START_TEST(debug_file_that_does_not_fit_changes_nothing)
{
	begin(SYMBOLS_IO_AUTO);
	add("stripped", 20);
	next(SYM_FILE, 20);
	ck_assert(c.got.want_debug);
	ck_assert_int_eq(symbols_add_debug(c.s, 20, fixture_open("foreign.debug")), 0);
	next(SYM_FILE, 20);
	ck_assert(!c.got.has_debug && !c.got.want_debug && c.got.is_elf);
	ask(20, fixture_symbol("stripped", "fix_static"));
	next(SYM_NAMES, 20);
	ck_assert_ptr_null(c.got.names[0].function);
	end();
}
END_TEST

START_TEST(what_cannot_be_read_is_said)
{
	int fds[2];

	begin(SYMBOLS_IO_AUTO);
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(symbols_add_file(c.s, 20, fds[0]), 0);
	next(SYM_FILE, 20);
	ck_assert(!c.got.is_elf);
	ck_assert_str_eq(c.got.error, "not a regular file");
	close(fds[1]);
	add("text", 21);
	next(SYM_FILE, 21);
	ck_assert_str_eq(c.got.error, "not an ELF file");
	ask(21, 0x1000);
	next(SYM_GONE, 21);
	ask(99, 0x1000);
	next(SYM_GONE, 99);
	add("pie", 22);
	next(SYM_FILE, 22);
	symbols_forget(c.s, 22);
	ask(22, 0x1000);
	next(SYM_GONE, 22);
	end();
}
END_TEST

/* The vDSO of this very process, from its memory. */
START_TEST(vdso_image_has_names)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	uint64_t addr[SYMBOLS_MAX_ADDRESSES];
	bool found = false;

	if (!image)
		return;
	begin(SYMBOLS_IO_AUTO);
	ck_assert_int_eq(symbols_add_image(c.s, 20, image, 4096), 0);
	next(SYM_FILE, 20);
	ck_assert(c.got.is_elf);
	for (uint32_t i = 0; i < SYMBOLS_MAX_ADDRESSES; i++)
		addr[i] = i * 16;
	ck_assert_int_eq(symbols_query(c.s, 20, addr, SYMBOLS_MAX_ADDRESSES), 0);
	next(SYM_NAMES, 20);
	for (uint32_t i = 0; i < c.got.n_names; i++)
		found |= c.got.names[i].function &&
			 (strstr(c.got.names[i].function, "clock_gettime") ||
			  strstr(c.got.names[i].function, "gettimeofday"));
	ck_assert(found);
	ck_assert_int_eq(symbols_add_image(c.s, 21, image, 1 << 20), -EMSGSIZE);
	end();
}
END_TEST

START_TEST(kernel_addresses_have_names)
{
	unsigned long long addr = 0;
	char type, name[256] = "";
	FILE *f = fopen("/proc/kallsyms", "r");
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (!f || fd < 0) {
		printf("SKIP: kernel_addresses_have_names: no /proc/kallsyms\n");
		return;
	}
	while (fscanf(f, "%llx %c %255s%*[^\n]", &addr, &type, name) == 3 &&
	       strcmp(name, "tcp_sendmsg") && strcmp(name, "vfs_read"))
		;
	fclose(f);
	begin(SYMBOLS_IO_AUTO);
	ck_assert_int_eq(symbols_add_kallsyms(c.s, fd), 0);
	ask(SYMBOLS_KERNEL_FILE, addr ? addr + 4 : 0xffffffff81000004);
	next(SYM_NAMES, SYMBOLS_KERNEL_FILE);
	if (addr) {
		is_named(name);
		ck_assert_uint_eq(c.got.names[0].offset, 4);
		/* A new worker gets the descriptor again. */
		kill(worker_pid(), SIGKILL);
		ck_assert(!next_within(300));
		ask(SYMBOLS_KERNEL_FILE, addr + 4);
		next(SYM_NAMES, SYMBOLS_KERNEL_FILE);
		is_named(name);
	} else {
		ck_assert(c.got.kptr_restricted);
		ck_assert_ptr_null(c.got.names[0].function);
	}
	end();
}
END_TEST

/* A first pass over kallsyms takes a while: what is short does not wait for it. */
START_TEST(short_requests_overtake_long_ones)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	if (fd < 0) {
		printf("SKIP: short_requests_overtake_long_ones: no /proc/kallsyms\n");
		return;
	}
	begin(SYMBOLS_IO_AUTO);
	pid = worker_pid();
	ck_assert_int_eq(symbols_add_kallsyms(c.s, fd), 0);
	ck_assert(!next_within(50));
	kill(pid, SIGSTOP);
	ask(SYMBOLS_KERNEL_FILE, 0xffffffff81000004);
	add("pie", 20);
	ask(20, fixture_symbol("pie", "fix_exported"));
	symbols_flush(c.s);
	kill(pid, SIGCONT);
	next(SYM_FILE, 20);
	next(SYM_NAMES, 20);
	is_named("fix_exported");
	next(SYM_NAMES, SYMBOLS_KERNEL_FILE);
	end();
}
END_TEST

#define LONG_NAME 1000

/* 256 names of 1000 bytes do not fit one message; growth is seen. */
START_TEST(perf_map_in_many_parts_and_growing)
{
	uint64_t addr[SYMBOLS_MAX_ADDRESSES];
	const char *path = fixture_path("perf-1.map");
	FILE *f = fopen(path, "w");
	uint32_t seen = 0, parts = 0;

	ck_assert_ptr_nonnull(f);
	for (uint64_t i = 0; i < SYMBOLS_MAX_ADDRESSES; i++) {
		addr[i] = 0x7f0000000000 + i * 16;
		fprintf(f, "%llx 10 f%0*u\n", (unsigned long long)addr[i], LONG_NAME,
			(unsigned int)i);
	}
	fflush(f);
	begin(SYMBOLS_IO_AUTO);
	ck_assert_int_eq(symbols_add_perf_map(c.s, 20, fixture_open("perf-1.map")), 0);
	next(SYM_FILE, 20);
	ck_assert(!c.got.is_elf && !c.got.error);
	ck_assert_int_eq(symbols_query(c.s, 20, addr, SYMBOLS_MAX_ADDRESSES), 0);
	for (; seen < SYMBOLS_MAX_ADDRESSES; parts++) {
		next(SYM_NAMES, 20);
		for (uint32_t i = 0; i < c.got.n_names; i++, seen++) {
			ck_assert_uint_eq(c.got.names[i].address, addr[seen]);
			ck_assert_uint_eq(strtoul(c.got.names[i].function + 1, NULL, 10),
					  seen);
		}
	}
	ck_assert_uint_gt(parts, 3);
	fprintf(f, "1000 20 later\n");
	fclose(f);
	ck_assert_int_eq(symbols_add_perf_map(c.s, 20, fixture_open("perf-1.map")), 0);
	next(SYM_FILE, 20);
	ask(20, 0x101f);
	next(SYM_NAMES, 20);
	is_named("later");
	ck_assert_uint_eq(c.got.names[0].offset, 0x1f);
	end();
}
END_TEST

/* --- rights --- */

static bool status_has(pid_t pid, const char *line)
{
	char path[64], read[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(read, sizeof(read), f))
		found |= !strncmp(read, line, strlen(line));
	fclose(f);
	return found;
}

START_TEST(worker_and_launcher_have_no_rights)
{
	pid_t pid;

	begin(SYMBOLS_IO_AUTO);
	add("pie", 20);
	next(SYM_FILE, 20);
	pid = worker_pid();
	ck_assert(status_has(pid, "CapPrm:\t0000000000000000"));
	ck_assert(status_has(pid, "CapEff:\t0000000000000000"));
	ck_assert(status_has(pid, "CapInh:\t0000000000000000"));
	ck_assert(status_has(pid, "NoNewPrivs:\t1"));
	ck_assert(status_has(pid, "Seccomp:\t2"));
	if (symbols_own_uid(c.s))
		ck_assert(status_has(pid, "Uid:\t65529\t65529\t65529\t65529"));
	else
		ck_assert_int_ne(geteuid(), 0);
	ck_assert(status_has(c.launcher.pid, "NoNewPrivs:\t1"));
	ck_assert(status_has(c.launcher.pid, "CapEff:\t00000000000000c0") ||
		  status_has(c.launcher.pid, "CapEff:\t0000000000000000") ||
		  status_has(c.launcher.pid, "CapEff:\t0000000000000040") ||
		  status_has(c.launcher.pid, "CapEff:\t0000000000000080"));
	end();
}
END_TEST

enum trial {
	TRY_OPEN,
	TRY_FORK,
	TRY_EXEC_MEMORY,
	TRY_MAP_FILE,
	TRY_URING_SETUP,
	TRY_SOCKET,
	TRY_EXECVE,
	TRY_KILL,
	TRY_READ
};

static long attempt(enum trial what, int fd)
{
	char c;

	switch (what) {
	case TRY_OPEN:
		return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
	case TRY_FORK:
		return fork();
	case TRY_EXEC_MEMORY:
		return mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
			       ? -1
			       : 0;
	case TRY_MAP_FILE:
		return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1
										     : 0;
	case TRY_URING_SETUP:
		return syscall(SYS_io_uring_setup, 4, &(struct io_uring_params){ 0 });
	case TRY_SOCKET:
		return socket(AF_INET, SOCK_STREAM, 0);
	case TRY_EXECVE:
		return execl("/bin/true", "true", NULL);
	case TRY_KILL:
		return kill(getppid(), 0);
	case TRY_READ:
		return pread(fd, &c, 1, 0) == 1 ? 0 : -1;
	}
	return 0;
}

/* want: errno the attempt gets, -SIGSYS the process is killed, 0 allowed. */
static const struct { const char *what; enum trial trial; int want; } trials[] = {
	{ "open a path", TRY_OPEN, EPERM },
	{ "fork", TRY_FORK, EPERM },
	{ "executable memory", TRY_EXEC_MEMORY, EPERM },
	{ "map a file", TRY_MAP_FILE, EPERM },
	{ "a new io_uring", TRY_URING_SETUP, EPERM },
	{ "a network socket", TRY_SOCKET, -SIGSYS },
	{ "execve", TRY_EXECVE, -SIGSYS },
	{ "signal others", TRY_KILL, EPERM },
	{ "read what it was given", TRY_READ, 0 },
};

START_TEST(worker_filter_lets_nothing_else_through)
{
	int fd = fixture_open("pie"), status;
	pid_t pid = fork();
	bool own;

	if (!pid) {
		if (confine_worker_rights(64 << 20, &own) || confine_worker_filter(true))
			_exit(200);
		_exit(attempt(trials[_i].trial, fd) < 0 ? errno : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (trials[_i].want < 0)
		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == -trials[_i].want,
			      "%s: status %x", trials[_i].what, status);
	else
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == trials[_i].want,
			      "%s: status %x", trials[_i].what, status);
	close(fd);
}
END_TEST

/* A container's filter that forbids io_uring: plain reads, said so. */
START_TEST(forbidden_io_uring_is_done_without)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(
		seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(io_uring_setup), 0),
		0);
	ck_assert_int_eq(seccomp_load(f), 0);
	seccomp_release(f);
	begin(SYMBOLS_IO_AUTO);
	add("pie", 20);
	add("nopie", 21);
	next(SYM_FILE, 20);
	next(SYM_FILE, 21);
	ask(20, fixture_symbol("pie", "fix_exported"));
	next(SYM_NAMES, 20);
	is_named("fix_exported");
	ck_assert_str_eq(symbols_io_backend(c.s), "plain");
	end();
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

static Suite *suite(void)
{
	Suite *suite = suite_create("worker");
	TCase *t = tcase_create("launcher");

	tcase_set_timeout(t, 15);
	tcase_add_loop_test(t, files_are_told_and_addresses_named, 0, ROWS(backends));
	tcase_add_test(t, debug_file_that_does_not_fit_changes_nothing);
	tcase_add_test(t, what_cannot_be_read_is_said);
	tcase_add_test(t, vdso_image_has_names);
	tcase_add_test(t, kernel_addresses_have_names);
	tcase_add_test(t, short_requests_overtake_long_ones);
	tcase_add_test(t, perf_map_in_many_parts_and_growing);
	tcase_add_test(t, worker_and_launcher_have_no_rights);
	tcase_add_loop_test(t, worker_filter_lets_nothing_else_through, 0, ROWS(trials));
	tcase_add_test(t, forbidden_io_uring_is_done_without);
	suite_add_tcase(suite, t);
	return suite;
}

int main(void)
{
	SRunner *r;
	int failed;

	fixtures_make();
	r = srunner_create(suite());
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	fixtures_remove();
	return failed ? 1 : 0;
}
