/* SPDX-License-Identifier: Apache-2.0 */
/* Makers of targets and requests for the tests of the door. */
#include "tests/root_door.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_MAX 64
#define READY_FD 100			/* where a child, exec'd or not, tells that it is ready */
#define ANSWER_NS 5000000000ull

struct door *door;
static char dir[64];
static int ready[2];
static pid_t children[CHILDREN_MAX];
static unsigned n_children;
static int fds_before, last_fd;

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

void door_open_fixture(void)
{
	fds_before = count_fds();
	last_fd = -1;
	n_children = 0;
	snprintf(dir, sizeof(dir), "/tmp/ringside-door.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	ck_assert_int_eq(door_create(&door), 0);
}

/* By rm(1): a path in it may be longer than any that a call takes. */
void remove_tree(void)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("rm", "rm", "-rf", dir, NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

void door_close_fixture(void)
{
	for (unsigned i = 0; i < n_children; i++) {
		if (children[i])
			end_child(children[i]);
	}
	if (last_fd >= 0)
		close(last_fd);
	door_destroy(door);
	close(ready[0]);
	close(ready[1]);
	remove_tree();
	/* The last thread out closes the door's own descriptor. */
	for (int i = 0; i < 100 && count_fds() != fds_before; i++)
		usleep(10000);
	ck_assert_int_eq(count_fds(), fds_before);
}

const char *folder(void)
{
	return dir;
}

const char *path_of(const char *name)
{
	static char path[3][512];
	static unsigned next;
	char *p = path[next++ % 3];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

void copy_file(const char *from, const char *to, char tail)
{
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0755);
	char buf[65536];
	ssize_t n;

	if (in < 0 || out < 0)
		abort();
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, n) != n)
			abort();
	}
	if (write(out, &tail, 1) != 1)
		abort();
	close(in);
	close(out);
}

const char *copy_of_self(const char *name, char tail)
{
	const char *path = path_of(name);

	copy_file("/proc/self/exe", path, tail);
	return path;
}

int last_byte(int fd)
{
	char c;
	off_t end = lseek(fd, 0, SEEK_END);

	return pread(fd, &c, 1, end - 1) == 1 ? c : -1;
}

/* --- children --- */

pid_t fork_child(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid) {
		ck_assert_uint_lt(n_children, CHILDREN_MAX);
		children[n_children++] = pid;
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(ready[1], READY_FD) < 0)
		_exit(1);
	return 0;
}

void tell_ready(void)
{
	if (write(READY_FD, "r", 1) != 1)
		_exit(1);
}

void ready_and_wait(void)
{
	tell_ready();
	for (;;)
		pause();
}

void wait_ready(void)
{
	struct pollfd p = { .fd = ready[0], .events = POLLIN };
	char c;

	ck_assert_msg(poll(&p, 1, 10000) == 1, "the child did not come up");
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
}

pid_t spawn(const char *path, const char *mode, char *const env[])
{
	pid_t pid = fork_child();

	if (!pid) {
		execle(path, path, mode, NULL, env);
		_exit(1);
	}
	wait_ready();
	return pid;
}

pid_t spawn_idle(const char *name)
{
	return spawn(copy_of_self(name, 'A'), "idle", (char *[]){ NULL });
}

void end_child(pid_t pid)
{
	for (unsigned i = 0; i < n_children; i++) {
		if (children[i] != pid)
			continue;
		children[i] = 0;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &child) != 1)
		child = 0;
	fclose(f);
	return child;
}

/* --- requests --- */

static uint64_t start_of(pid_t pid)
{
	char path[64], text[2048];
	struct proc_stat st;
	int n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	n = read_whole(AT_FDCWD, path, text, sizeof(text));
	if (n <= 0 || stat_parse(text, n, &st))
		return 1;
	return st.start_ticks * 10000000ull + 1234;
}

struct door_request request(enum door_ask ask, pid_t pid)
{
	return (struct door_request){ .ask = ask, .pid = pid, .start_ns = start_of(pid) };
}

struct door_request file_request(pid_t pid, const struct answer_map *m, const char *path)
{
	struct door_request r = request(DOOR_FILE, pid);

	r.map_start = m->start;
	r.map_end = m->end;
	r.dev_major = m->dev_major;
	r.dev_minor = m->dev_minor;
	r.inode = m->inode;
	snprintf(r.path, sizeof(r.path), "%s", path);
	return r;
}

const struct answer *next_answer(void)
{
	static _Alignas(8) uint8_t buf[1 << 20];
	static struct answer a;
	uint64_t begin = door_now();
	size_t n;
	int got;

	if (last_fd >= 0)
		close(last_fd);
	last_fd = -1;
	for (;;) {
		struct pollfd p = { .fd = door_fd(door), .events = POLLIN };

		got = door_take(door, buf, sizeof(buf), &n, &last_fd);
		if (got)
			break;
		ck_assert_msg(door_now() - begin < ANSWER_NS, "the door gave no answer");
		poll(&p, 1, 20);
		door_tick(door, door_now());
	}
	ck_assert_int_eq(got, 1);
	ck_assert_int_eq(answer_read(&a, buf, n), 0);
	return &a;
}

/* First resolutions have a budget of CPU time: asked again until it allows. */
const struct answer *ask_wait(const struct door_request *r)
{
	int err;

	while ((err = door_ask(door, r)) == -EAGAIN)
		usleep(1000);
	ck_assert_int_eq(err, 0);
	return next_answer();
}

const struct answer *read_process(pid_t pid)
{
	struct door_request r = request(DOOR_PROCESS, pid);

	return ask_wait(&r);
}

int take_fd(void)
{
	int fd = last_fd;

	last_fd = -1;
	return fd;
}

static const char *text_of(const struct answer *a, const struct answer_map *m)
{
	return (const char *)a->section[TAG_STRINGS].p + m->path_off;
}

int open_mapped(pid_t pid, const struct answer_map *m, char *tail)
{
	struct door_request r = file_request(pid, m, path_of("svc"));
	int err = ask_wait(&r)->head->error, fd = take_fd();

	ck_assert_int_eq(fd >= 0, !err);
	if (fd >= 0) {
		if (tail)
			*tail = last_byte(fd);
		close(fd);
	}
	return err;
}

const struct answer_map *find_map(const struct answer *a, const char *path)
{
	for (size_t i = 0; i < a->n_maps; i++) {
		if (a->maps[i].path_len == strlen(path) &&
		    !memcmp(text_of(a, &a->maps[i]), path, strlen(path)))
			return &a->maps[i];
	}
	return NULL;
}

const struct answer_map *find_exec_of(const struct answer *a, const char *base_name)
{
	size_t n = strlen(base_name);

	for (size_t i = 0; i < a->n_maps; i++) {
		const struct answer_map *m = &a->maps[i];

		if (m->path_len > n &&
		    !memcmp(text_of(a, m) + m->path_len - n, base_name, n) &&
		    text_of(a, m)[m->path_len - n - 1] == '/')
			return m;
	}
	return NULL;
}

void ck_assert_bytes(const struct answer *a, enum answer_tag tag, const char *want)
{
	const struct answer_bytes *b = &a->section[tag];

	ck_assert_msg(b->n == strlen(want) && !memcmp(b->p, want, b->n),
		      "expected \"%s\", got \"%.*s\"", want, (int)b->n,
		      b->p ? (const char *)b->p : "");
}
