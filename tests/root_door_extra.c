/* SPDX-License-Identifier: Apache-2.0 */
/* What the door brings beside mapped files: the vDSO, perf maps, separate debug files. */
#include "tests/root_door.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(the_vdso_is_given_as_sealed_bytes)
{
	pid_t pid = spawn_idle("svc");
	const struct answer_map *m = find_map(read_process(pid), "[vdso]");
	struct door_request r = request(DOOR_VDSO, pid);
	uint8_t own[16], got[16];
	int fd;

	r.map_start = m->start;
	r.map_end = m->end;
	for (int k = 0; k < 2; k++) {
		r.flags = k ? DOOR_F_OWN_VDSO : 0;
		ck_assert_int_eq(ask_wait(&r)->head->error, 0);
		fd = take_fd();
		ck_assert_int_eq(pread(fd, got, 16, 0), 16);
		memcpy(own, (void *)getauxval(AT_SYSINFO_EHDR), 16);
		ck_assert_mem_eq(own, got, 16);
		ck_assert_int_eq(fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE, F_SEAL_WRITE);
		close(fd);
	}
	r.map_end = r.map_start + (1 << 20);
	ck_assert_int_eq(ask_wait(&r)->head->error, -EINVAL);
}
END_TEST

enum map_trick { MAP_GOOD, MAP_LINK_OUT, MAP_STRANGERS, MAP_STALE, MAP_FIFO, MAP_ABSENT };
static const struct { enum map_trick trick; int want;
} perf_maps[] = {
	{ MAP_GOOD, 0 },       { MAP_LINK_OUT, -EINVAL }, { MAP_STRANGERS, -EPERM },
	{ MAP_STALE, -EPERM }, { MAP_FIFO, -EINVAL },	  { MAP_ABSENT, -ENOENT },
};

static void make_perf_map(enum map_trick trick)
{
	const char *path = "/tmp/perf-1.map";
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	int fd;

	if (trick == MAP_LINK_OUT && symlink("/etc/passwd", path))
		_exit(1);
	if (trick == MAP_FIFO && mkfifo(path, 0644))
		_exit(1);
	if (trick == MAP_LINK_OUT || trick == MAP_FIFO || trick == MAP_ABSENT)
		return;
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	if (fd < 0 || write(fd, "inner", 5) != 5 ||
	    (trick == MAP_STRANGERS && fchown(fd, 4242, 4242)) ||
	    (trick == MAP_STALE && futimens(fd, old)))
		_exit(1);
}

/* Pid 1 of a pid namespace below another one, with a /tmp of its own. */
static pid_t nested(enum map_trick trick)
{
	pid_t outer = fork_child(), pid;

	if (!outer) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) || fork())
			pause();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID) || fork())
			pause();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getpid() != 1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("tmpfs", "/tmp", "tmpfs", 0, NULL))
			_exit(1);
		make_perf_map(trick);
		ready_and_wait();
	}
	wait_ready();
	pid = child_of(child_of(outer));
	ck_assert_int_gt(pid, 0);
	return pid;
}

START_TEST(the_perf_map_is_that_of_the_innermost_pid_and_of_nobody_else)
{
	struct door_request r = request(DOOR_PERF_MAP, nested(perf_maps[_i].trick));
	const struct answer *a = ask_wait(&r);
	char text[8] = "";
	int fd = take_fd();

	ck_assert_msg(a->head->error == perf_maps[_i].want, "trick %d: %d",
		      perf_maps[_i].trick, a->head->error);
	ck_assert_int_eq(fd >= 0, !perf_maps[_i].want);
	if (fd < 0)
		return;
	ck_assert_int_eq(read(fd, text, sizeof(text)), 5);
	ck_assert_str_eq(text, "inner");
	close(fd);
}
END_TEST

START_TEST(a_debug_file_is_found_by_link_and_never_the_file_itself)
{
	pid_t pid = spawn_idle("svc");
	struct answer_map m = *find_map(read_process(pid), path_of("svc"));
	struct door_request r = file_request(pid, &m, path_of("svc"));
	char dir[512];
	int fd;

	r.ask = DOOR_DEBUG;
	snprintf(r.link, sizeof(r.link), "svc");
	ck_assert_int_eq(ask_wait(&r)->head->error, -ENOENT);
	snprintf(r.link, sizeof(r.link), "svc.debug");
	ck_assert_int_eq(ask_wait(&r)->head->error, -ENOENT);
	snprintf(dir, sizeof(dir), "%s/.debug", folder());
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	copy_of_self(".debug/svc.debug", 'D');
	ck_assert_int_eq(ask_wait(&r)->head->error, 0);
	fd = take_fd();
	ck_assert_int_eq(last_byte(fd), 'D');
	close(fd);
	snprintf(r.link, sizeof(r.link), "../.debug/svc.debug");	/* a base name, not a path */
	ck_assert_int_eq(ask_wait(&r)->head->error, -ENOENT);
}
END_TEST

void add_extra_tests(TCase *tc)
{
	tcase_add_test(tc, the_vdso_is_given_as_sealed_bytes);
	tcase_add_loop_test(tc,
			    the_perf_map_is_that_of_the_innermost_pid_and_of_nobody_else,
			    0, N(perf_maps));
	tcase_add_test(tc, a_debug_file_is_found_by_link_and_never_the_file_itself);
}
