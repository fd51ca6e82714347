/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door against live processes that were made awkward on purpose.  Needs root: other
 * mount and pid namespaces, map_files, an unserved file system.  Run by "make
 * check-root".
 */
#include "tests/root_door.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CGROUP_V2 "/sys/fs/cgroup/unified"

START_TEST(a_plain_process_is_read_whole)
{
	char env[] = "OTEL_SERVICE_NAME=shop", secret[] = "PASSWORD=hunter2";
	pid_t pid =
		spawn(copy_of_self("svc", 'A'), "idle", (char *[]){ secret, env, NULL });
	const struct answer *a = read_process(pid);

	ck_assert_int_eq(a->head->error, 0);
	ck_assert_uint_eq(a->head->ppid, getpid());
	ck_assert_bytes(a, TAG_COMM, "svc");
	ck_assert_bytes(a, TAG_EXE, path_of("svc"));
	ck_assert_str_eq(environ_get(a->section[TAG_ENV].p, a->section[TAG_ENV].n,
				     "OTEL_SERVICE_NAME"),
			 "shop");
	ck_assert_ptr_null(memmem(a->head, a->head->size, "hunter2", 7));
	ck_assert_ptr_nonnull(find_map(a, path_of("svc")));
	ck_assert_ptr_nonnull(find_map(a, "[vdso]"));
	ck_assert_uint_eq(find_map(a, path_of("svc"))->inode, a->exe_id->inode);
	ck_assert_uint_gt(find_map(a, path_of("svc"))->size, 4096);
	ck_assert_uint_le(a->head->begin_ns, a->head->end_ns);
}
END_TEST

START_TEST(another_start_time_is_another_process)
{
	pid_t pid = spawn_idle("svc");
	struct door_request r = request(DOOR_PROCESS, pid);

	r.start_ns += 10000000;
	ck_assert_int_eq(ask_wait(&r)->head->error, -ESRCH);
	r.start_ns -= 20000000;
	ck_assert_int_eq(ask_wait(&r)->head->error, -ESRCH);
	r = request(DOOR_PROCESS, pid);
	end_child(pid);
	ck_assert_int_eq(ask_wait(&r)->head->error, -ESRCH);
}
END_TEST

START_TEST(a_kernel_thread_is_told_by_its_flag)
{
	const struct answer *a = read_process(2);

	ck_assert_int_eq(a->head->error, 0);
	ck_assert(a->head->flags & ANSWER_KTHREAD);
	ck_assert_bytes(a, TAG_COMM, "kthreadd");
	ck_assert_uint_eq(a->n_maps, 0);
}
END_TEST

static const char *const comms[] = { "a b", "x) R 1 (y", "two\nlines", "(", ")" };
START_TEST(hostile_names)
{
	pid_t pid = fork_child();

	if (!pid) {
		prctl(PR_SET_NAME, comms[_i]);
		ready_and_wait();
	}
	wait_ready();
	ck_assert_int_eq(read_process(pid)->head->error, 0);
	ck_assert_bytes(read_process(pid), TAG_COMM, comms[_i]);
}
END_TEST

static void *wait_for_ever(void *arg)
{
	usleep(50000);
	ready_and_wait();
	return arg;
}

START_TEST(the_leader_has_gone_and_threads_run_on)
{
	const struct answer *a;
	pid_t pid = fork_child();

	if (!pid) {
		pthread_t t;

		prctl(PR_SET_NAME, "leader");
		if (pthread_create(&t, NULL, wait_for_ever, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	wait_ready();
	a = read_process(pid);
	ck_assert_int_eq(a->head->error, 0);
	ck_assert(a->head->flags & ANSWER_LEADER_GONE);
	ck_assert_bytes(a, TAG_COMM, "leader");
	ck_assert_uint_gt(a->n_maps, 3);
	ck_assert_uint_gt(a->section[TAG_EXE].n, 0);
	/* map_files of a zombie leader is empty: the file comes another way. */
	ck_assert_int_eq(open_mapped(pid, find_exec_of(a, "root_door"), NULL), 0);
}
END_TEST

/* --- files --- */

START_TEST(a_deleted_binary_has_its_true_path_and_can_be_opened)
{
	pid_t pid = spawn_idle("gone");
	const struct answer *a;
	struct answer_map m;
	char tail;

	unlink(path_of("gone"));
	a = read_process(pid);
	ck_assert_bytes(a, TAG_EXE, path_of("gone"));
	ck_assert_uint_eq(a->exe_id->nlink, 0);
	m = *find_map(a, path_of("gone"));
	ck_assert_int_eq(open_mapped(pid, &m, &tail), 0);
	ck_assert_int_eq(tail, 'A');
}
END_TEST

START_TEST(a_name_that_ends_like_the_kernels_mark)
{
	pid_t pid = spawn_idle("app (deleted)");

	ck_assert_bytes(read_process(pid), TAG_EXE, path_of("app (deleted)"));
	ck_assert_ptr_nonnull(find_map(read_process(pid), path_of("app (deleted)")));
	unlink(path_of("app (deleted)"));
	ck_assert_bytes(read_process(pid), TAG_EXE, path_of("app (deleted)"));
	ck_assert_ptr_nonnull(find_map(read_process(pid), path_of("app (deleted)")));
}
END_TEST

static const struct { const char *what; mode_t mode;
} replaced[] = {
	{ "FIFO", S_IFIFO },
	{ "directory", S_IFDIR },
	{ "symlink loop", S_IFLNK },
	{ "device", S_IFCHR },
};
START_TEST(a_path_replaced_by_something_else_neither_blocks_nor_misleads)
{
	pid_t pid = spawn_idle("swap");
	const char *path = path_of("swap");
	struct door_request r;
	struct answer_map m;
	char tail;

	m = *find_map(read_process(pid), path);
	unlink(path);
	if (replaced[_i].mode == S_IFDIR)
		ck_assert_int_eq(mkdir(path, 0700), 0);
	else if (replaced[_i].mode == S_IFLNK)
		ck_assert_int_eq(symlink(path, path), 0);
	else
		ck_assert_int_eq(mknod(path, replaced[_i].mode | 0600, 0x103), 0);
	ck_assert_int_eq(open_mapped(pid, &m, &tail), 0);
	ck_assert_int_eq(tail, 'A');
	/* Once it is gone only the name is left, and that is another file. */
	r = file_request(pid, &m, path);
	end_child(pid);
	ck_assert_int_lt(ask_wait(&r)->head->error, 0);
}
END_TEST

/* A child in a mount namespace of its own, where a tmpfs with another svc lies over the
 * folder. */
static pid_t spawn_over(char tail)
{
	pid_t pid = fork_child();

	if (!pid) {
		if (unshare(CLONE_NEWNS) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("tmpfs", folder(), "tmpfs", 0, NULL))
			_exit(1);
		copy_of_self("svc", tail);
		execle(path_of("svc"), "svc", "idle", NULL, (char *[]){ NULL });
		_exit(1);
	}
	wait_ready();
	return pid;
}

START_TEST(one_path_in_three_mount_namespaces_is_three_files)
{
	pid_t host = spawn_idle("svc"), a = spawn_over('B'), b = spawn_over('C');
	struct answer_map m[3];
	char tail[3];

	m[0] = *find_map(read_process(host), path_of("svc"));
	m[1] = *find_map(read_process(a), path_of("svc"));
	m[2] = *find_map(read_process(b), path_of("svc"));
	/* Two fresh tmpfs give the same inode number. */
	ck_assert_uint_eq(m[1].inode, m[2].inode);
	ck_assert(m[1].dev_minor != m[2].dev_minor);
	ck_assert_int_eq(open_mapped(host, &m[0], &tail[0]), 0);
	ck_assert_int_eq(open_mapped(a, &m[1], &tail[1]), 0);
	ck_assert_int_eq(open_mapped(b, &m[2], &tail[2]), 0);
	ck_assert_mem_eq(tail, "ABC", 3);
	/* By name alone it is found in the target's root, and never in ours. */
	m[1].start++;
	ck_assert_int_eq(open_mapped(a, &m[1], &tail[1]), 0);
	ck_assert_int_eq(tail[1], 'B');
	end_child(a);
	ck_assert_int_lt(open_mapped(a, &m[1], NULL), 0);
}
END_TEST

START_TEST(a_path_of_five_kilobytes)
{
	char name[251], cwd[4096];
	pid_t pid;
	const struct answer *a;
	const struct answer_map *m;

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	ck_assert_int_eq(chdir(folder()), 0);
	memset(name, 'd', 250);
	name[250] = 0;
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(mkdir(name, 0700), 0);
		ck_assert_int_eq(chdir(name), 0);
	}
	copy_file("/proc/self/exe", "deep", 'A');
	pid = spawn("./deep", "idle", (char *[]){ NULL });
	a = read_process(pid);
	ck_assert_int_eq(a->head->error, 0);
	ck_assert_ptr_null(a->section[TAG_EXE].p);
	m = find_exec_of(a, "deep");
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_gt(m->path_len, 5000);
	ck_assert_uint_eq(m->inode, a->exe_id->inode);
	ck_assert_uint_eq(a->head->malformed, 0);
	ck_assert_int_eq(open_mapped(pid, m, NULL), 0);
	ck_assert_int_eq(chdir(cwd), 0);
}
END_TEST

START_TEST(a_newline_in_a_path)
{
	pid_t pid = spawn_idle("two\nlines");

	ck_assert_bytes(read_process(pid), TAG_EXE, path_of("two\nlines"));
	ck_assert_ptr_nonnull(find_map(read_process(pid), path_of("two\nlines")));
	end_child(pid);
	pid = spawn_idle("back\\012slash");
	ck_assert_ptr_nonnull(find_map(read_process(pid), path_of("back\\012slash")));
}
END_TEST

START_TEST(sixty_thousand_mappings_do_not_hide_the_executable)
{
	const struct answer *a;
	uint64_t begin;
	pid_t pid = fork_child();

	if (!pid) {
		int fd = open("/proc/self/exe", O_RDONLY);

		for (int i = 0; i < 60000; i++)
			mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (i % 2) * 4096);
		ready_and_wait();
	}
	wait_ready();
	begin = door_now();
	a = read_process(pid);
	ck_assert_uint_lt(door_now() - begin, DOOR_TIMEOUT_NS);
	ck_assert_int_eq(a->head->error, 0);
	ck_assert_ptr_nonnull(find_exec_of(a, "root_door"));
	ck_assert_uint_lt(a->n_maps, 64);
}
END_TEST

/* --- cgroup --- */

START_TEST(a_process_in_a_containers_cgroup)
{
	struct cgroup_identity id;
	const struct answer *a;
	char procs[512];
	pid_t pid;
	int fd;

	if (access(CGROUP_V2 "/cgroup.procs", W_OK)) {
		printf("not tried: a container's cgroup: no " CGROUP_V2 " here\n");
		return;
	}
	mkdir(CGROUP_V2 "/docker", 0755);
	mkdir(CGROUP_V2 "/docker/" HEX64, 0755);
	pid = spawn_idle("svc");
	fd = open(CGROUP_V2 "/docker/" HEX64 "/cgroup.procs", O_WRONLY);
	snprintf(procs, sizeof(procs), "%d\n", pid);
	ck_assert_int_gt(write(fd, procs, strlen(procs)), 0);
	close(fd);
	a = read_process(pid);
	cgroup_identify(a->section[TAG_CGROUP].p, a->section[TAG_CGROUP].n, &id);
	end_child(pid);
	rmdir(CGROUP_V2 "/docker/" HEX64);
	rmdir(CGROUP_V2 "/docker");
	ck_assert_str_eq(id.container_id, HEX64);
}
END_TEST

/* --- exec under a reading --- */

START_TEST(no_reading_mixes_two_images)
{
	char env[] = "OTEL_SERVICE_NAME=none";
	unsigned good = 0, refused = 0, a_seen = 0;
	pid_t pid;

	copy_of_self("flipB", 'B');
	pid = spawn(copy_of_self("flipA", 'A'), "flip", (char *[]){ env, NULL });
	for (int i = 0; i < 1500; i++) {
		const struct answer *a = read_process(pid);
		const char *service;
		char exe[8] = "";

		if (a->head->error) {
			ck_assert_int_eq(a->head->error, -EAGAIN);
			refused++;
			continue;
		}
		good++;
		ck_assert_uint_ge(a->section[TAG_EXE].n, 5);
		memcpy(exe,
		       (const char *)a->section[TAG_EXE].p + a->section[TAG_EXE].n - 5,
		       5);
		service = environ_get(a->section[TAG_ENV].p, a->section[TAG_ENV].n,
				      "OTEL_SERVICE_NAME");
		ck_assert_ptr_nonnull(service);
		if (strcmp(service, "none"))	/* the very first image has another environment */
			ck_assert_str_eq(service, exe);
		ck_assert_ptr_nonnull(find_map(a, path_of(exe)));
		a_seen += !strcmp(exe, "flipA");
	}
	printf("exec under readings: %u whole, %u refused\n", good, refused);
	ck_assert_uint_gt(good, 50);
	ck_assert_uint_gt(a_seen, 0);
	ck_assert_uint_lt(a_seen, good);
}
END_TEST

/* --- targets that block --- */

/* Its file system is served by nobody: whoever looks into it waits for ever. */
static pid_t spawn_blocking(void)
{
	pid_t pid = fork_child();

	if (!pid) {
		char options[128];
		int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

		snprintf(options, sizeof(options),
			 "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
		if (fd < 0 || unshare(CLONE_NEWNS) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", folder(), "fuse", 0, options))
			_exit(1);
		ready_and_wait();
	}
	wait_ready();
	return pid;
}

static struct door_request blocking_request(pid_t pid)
{
	struct answer_map none = { .start = 0x1000, .end = 0x2000, .inode = 1 };
	char path[512];

	snprintf(path, sizeof(path), "%s/x", folder());
	return file_request(pid, &none, path);
}

START_TEST(a_target_that_blocks_costs_a_thread_and_nobody_elses_answers)
{
	pid_t bad[DOOR_THREADS], good = spawn_idle("svc");
	struct door_request r;
	uint64_t begin;

	if (access("/dev/fuse", R_OK | W_OK)) {
		printf("not tried: a target that blocks: no /dev/fuse here\n");
		return;
	}
	for (int i = 0; i < DOOR_THREADS; i++) {
		bad[i] = spawn_blocking();
		r = blocking_request(bad[i]);
		ck_assert_int_eq(door_ask(door, &r), 0);
		if (i == DOOR_THREADS - 1)
			break;
		begin = door_now();
		ck_assert_int_eq(read_process(good)->head->error, 0);
		ck_assert_uint_lt(door_now() - begin, DOOR_TIMEOUT_NS / 4);
	}
	for (int i = 0; i < DOOR_THREADS; i++)
		ck_assert_int_eq(next_answer()->head->error, -ETIMEDOUT);
	ck_assert_uint_eq(door_lost_threads(door), DOOR_THREADS);
	r = request(DOOR_PROCESS, good);
	ck_assert_int_eq(door_ask(door, &r), -EBUSY);
	/* One dies, its file system with it: that thread serves again; what blocks is not
	 * read again. */
	end_child(bad[0]);
	for (int i = 0; i < 200 && door_ask(door, &r); i++)
		usleep(10000);
	ck_assert_int_eq(next_answer()->head->error, 0);
	begin = door_now();
	r = request(DOOR_PROCESS, bad[1]);
	ck_assert_int_eq(ask_wait(&r)->head->error, -ETIMEDOUT);
	ck_assert_uint_lt(door_now() - begin, DOOR_TIMEOUT_NS / 4);
	for (int i = 1; i < DOOR_THREADS; i++)
		end_child(bad[i]);
}
END_TEST

START_TEST(a_storm_of_requests_is_bounded_and_all_are_answered)
{
	pid_t pid = spawn_idle("svc");
	struct door_request r = request(DOOR_MAPS, pid);
	unsigned asked = 0, refused = 0;

	for (int i = 0; i < 5000; i++) {
		int err = door_ask(door, &r);

		ck_assert(err == 0 || err == -EAGAIN);
		asked += !err;
		refused += err != 0;
	}
	for (unsigned i = 0; i < asked; i++)
		ck_assert_int_eq(next_answer()->head->error, 0);
	ck_assert_uint_ge(asked, 1000);
	printf("storm: %u answered, %u refused\n", asked, refused);
}
END_TEST

/* Never returns: executes the other program, named after it, again and again. */
static void flip(const char *self)
{
	char other[512], env[64];
	size_t n = strlen(self);

	snprintf(other, sizeof(other), "%s", self);
	other[n - 1] = self[n - 1] == 'A' ? 'B' : 'A';
	snprintf(env, sizeof(env), "OTEL_SERVICE_NAME=%s", other + n - 5);
	/* Not too fast: a reading takes a fraction of a millisecond. */
	usleep((unsigned)(time(NULL) * 7919 + getpid() + clock()) % 3000);
	execle(other, other, "flip", NULL, (char *[]){ env, NULL });
	_exit(1);
}

static Suite *door_suite(void)
{
	Suite *s = suite_create("door");
	TCase *tc = tcase_create("door");

	tcase_add_checked_fixture(tc, door_open_fixture, door_close_fixture);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, a_plain_process_is_read_whole);
	tcase_add_test(tc, another_start_time_is_another_process);
	tcase_add_test(tc, a_kernel_thread_is_told_by_its_flag);
	tcase_add_loop_test(tc, hostile_names, 0, N(comms));
	tcase_add_test(tc, the_leader_has_gone_and_threads_run_on);
	tcase_add_test(tc, a_deleted_binary_has_its_true_path_and_can_be_opened);
	tcase_add_test(tc, a_name_that_ends_like_the_kernels_mark);
	tcase_add_loop_test(tc,
			    a_path_replaced_by_something_else_neither_blocks_nor_misleads,
			    0, N(replaced));
	tcase_add_test(tc, one_path_in_three_mount_namespaces_is_three_files);
	tcase_add_test(tc, a_path_of_five_kilobytes);
	tcase_add_test(tc, a_newline_in_a_path);
	tcase_add_test(tc, sixty_thousand_mappings_do_not_hide_the_executable);
	add_extra_tests(tc);
	tcase_add_test(tc, a_process_in_a_containers_cgroup);
	tcase_add_test(tc, no_reading_mixes_two_images);
	tcase_add_test(tc, a_target_that_blocks_costs_a_thread_and_nobody_elses_answers);
	tcase_add_test(tc, a_storm_of_requests_is_bounded_and_all_are_answered);
	suite_add_tcase(s, tc);
	return s;
}

int main(int argc, char **argv)
{
	SRunner *r;
	int failed;

	if (argc > 1 && !strcmp(argv[1], "idle"))
		ready_and_wait();
	if (argc > 1 && !strcmp(argv[1], "flip")) {
		if (getenv("OTEL_SERVICE_NAME") &&
		    !strcmp(getenv("OTEL_SERVICE_NAME"), "none"))
			tell_ready();
		flip(argv[0]);
	}
	if (geteuid()) {
		printf("skipped: needs root\n");
		return 77;
	}
	r = srunner_create(door_suite());
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
