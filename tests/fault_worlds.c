/* SPDX-License-Identifier: Apache-2.0 */
/* Writers at the same time, another boot, no room: with the same points. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/ring_layout.h"
#include "tests/fault_ring.h"
#include "tests/ring_fixture.h"
#include "tests/ring_readers.h"

#define RIVALS	6
#define ROUNDS	10

static struct ringside *open_reader(const char *path, uint64_t *start)
{
	struct ringside_options o = { .size = sizeof(o), .path = path };
	struct ringside *r;

	if (ringside_open(&r, &o))
		errx(1, "%s", ringside_open_error());
	*start = ringside_position(r);
	return r;
}

static void write_and_leave(const char *path)
{
	struct ring_writer *w;

	if (fault_create(&w, path))
		errx(1, "%s", ring_writer_error());
	fault_put(w, 50);
	ring_writer_close(w, false);
}

/* --- started together --------------------------------------------------------------- */

/* Exits with 0 when it is the writer, 1 when it was kept out, 2 otherwise. */
static void rival(const char *path, int go, int done)
{
	struct ring_writer *w;
	char c;
	int e;

	if (read(go, &c, 1) != 0)
		_exit(2);
	e = fault_create(&w, path);
	if (e)
		_exit(e == -EBUSY ? 1 : 2);
	fault_put(w, 50);
	if (read(done, &c, 1) != 0)	/* the others have had their try */
		_exit(2);
	fault_put(w, 50);
	ring_writer_close(w, false);
	_exit(0);
}

static int one_race(const char *path)
{
	int go[2], done[2], out = 0, writers = 0, status;
	pid_t pids[RIVALS];

	if (pipe(go) || pipe(done))
		err(1, "pipe");
	for (int i = 0; i < RIVALS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			close(go[1]);
			close(done[1]);
			rival(path, go[0], done[0]);
		}
	}
	close(go[1]);
	for (; out < RIVALS - 1 && wait(&status) > 0; out++)
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
			errx(1, "together: a rival ended with %x", status);
	close(done[1]);
	while (wait(&status) > 0)
		writers += WIFEXITED(status) && !WEXITSTATUS(status);
	close(go[0]);
	close(done[0]);
	return writers;
}

int fault_started_together(const char *path)
{
	uint64_t start, last = 0;
	struct ringside *r;
	int n;

	write_and_leave(path);
	r = open_reader(path, &start);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2)
			fault_turn();	/* replaced, else resumed */
		n = one_race(path);
		if (n != 1)
			errx(1, "together: %d writers at once", n);
		fault_catch_up(r, &last, "started together");
	}
	fault_account(r, start, "started together");
	ringside_close(r);
	printf("%d writers started together, %d times: one of them writes\n", RIVALS,
	       ROUNDS);
	return 0;
}

/* --- another boot ------------------------------------------------------------------- */

/* The ring outlived the machine (a file system that is not in memory): its numbers go on,
 * and the new file carries the id of this boot. */
int fault_boot_id(const char *path)
{
	uint64_t start, last = 0;
	uint8_t id[16], now[16];
	struct ringside *r;
	int fd;

	write_and_leave(path);
	r = open_reader(path, &start);
	fd = open(path, O_RDWR);
	if (fd < 0 || pread(fd, now, sizeof(now),
			    offsetof(struct ring_header, boot_id)) != sizeof(now))
		err(1, "%s", path);
	memset(id, 0xb0, sizeof(id));
	if (pwrite(fd, id, sizeof(id), offsetof(struct ring_header, boot_id)) !=
	    sizeof(id))
		err(1, "%s", path);
	close(fd);
	write_and_leave(path);
	fault_catch_up(r, &last, "another boot");
	fault_account(r, start, "another boot");
	if (ringside_position(r) != start + 51)
		errx(1, "another boot: the numbers do not go on");
	ringside_close(r);
	fd = open(path, O_RDONLY);
	if (fd < 0 || pread(fd, id, sizeof(id), offsetof(struct ring_header, boot_id)) !=
			      sizeof(id) || memcmp(id, now, sizeof(id)))
		errx(1, "another boot: the id is not of this boot");
	close(fd);
	printf("another boot: numbers go on\n");
	return 0;
}

/* --- no room ------------------------------------------------------------------------ */

/* Numbers go on by what was published, and by nothing else: fifty records and the one of
 * the incarnation, and one more when the killed writer had its file in place. */
static void expect_numbers(uint64_t before, uint64_t after, const char *what)
{
	if (after - before != 51 && after - before != 52)
		errx(1, "no room: %s: numbers go from %llu to %llu", what,
		     (unsigned long long)before, (unsigned long long)after);
}

/* Room for one ring and a half: each creation must take PATH.prev and the predecessor's
 * memory, and is killed on the way, at each point: also right after the predecessor's
 * memory went, when nobody can count its records any more. */
static void tight(const char *dir)
{
	char path[96];
	uint64_t start, before, last = 0;
	struct ringside *r;
	int status, killed = 0;
	pid_t pid;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tight", dir, "tmpfs", 0, "size=512k"))
		err(1, "mount");
	snprintf(path, sizeof(path), "%s/ring", dir);
	write_and_leave(path);
	r = open_reader(path, &start);
	for (int p = 0; p < fault_npoints(); p++) {
		before = ringside_position(r);
		fault_turn();
		pid = fault_life(path, fault_points[p], FAULT_KILL, 1, 0);
		if (waitpid(pid, &status, 0) != pid)
			err(1, "waitpid");
		if (WIFSIGNALED(status))
			killed++;
		else if (!WIFEXITED(status) || WEXITSTATUS(status) != FAULT_NOT_REACHED)
			errx(1, "no room: %s: status %x", fault_points[p], status);
		if (p % 2)
			fault_turn();
		write_and_leave(path);
		fault_catch_up(r, &last, fault_points[p]);
		fault_account(r, start, fault_points[p]);
		expect_numbers(before, ringside_position(r), fault_points[p]);
	}
	ringside_close(r);
	printf("no room: killed at %d points of creation, the next writer goes on\n",
	       killed);
	exit(killed < 20);
}

int fault_full_tmpfs(const char *dir)
{
	int status;
	pid_t pid;

	if (geteuid()) {
		printf("skipped: full tmpfs: needs root for mount\n");
		return 0;
	}
	pid = fork();
	if (!pid)
		tight(dir);
	return waitpid(pid, &status, 0) != pid || status;
}
