/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that others may write, as an emptyDir is (0777, no sticky bit), and files
 * that change under their readers.  A file of ours that a planted name leads to must stay
 * as it is; nobody hangs; no reader believes what another user has put there.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ring_fixture.h"
#include "tests/ring_readers.h"
#include "tests/root_ring.h"

static char dir[64] = "/dev/shm/root-rdirs-XXXXXX", victim[96], sound[96];

static const char *const names[] = { "ring", "ring.lock", ".ring.new", "ring.prev" };
enum { NAMES = sizeof(names) / sizeof(*names) };

enum kind { SYMLINK, DANGLING, HARDLINK, FIFO, DIRECTORY, EMPTY, TRUNCATED, COPY, KINDS };
static const char *const kind_names[] = { "symbolic link", "dangling link", "hard link",
					  "FIFO", "directory", "empty file",
					  "truncated ring", "copy of a ring" };

/* --- files -------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to, size_t most)
{
	char *buf = malloc(1 << 20);
	int in = open(from, O_RDONLY), out = open(to, O_RDWR | O_CREAT | O_TRUNC, 0644);
	ssize_t n = buf && in >= 0 ? read(in, buf, most < 1 << 20 ? most : 1 << 20) : -1;

	if (n <= 0 || out < 0 || write(out, buf, (size_t)n) != n)
		err(1, "%s", to);
	close(in);
	close(out);
	free(buf);
}

static void make_victim(void)
{
	int fd = open(victim, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "precious", 8) != 8)
		err(1, "%s", victim);
	close(fd);
}

static bool victim_untouched(void)
{
	char buf[16] = "";
	struct stat st;
	int fd = open(victim, O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	return n == 8 && !memcmp(buf, "precious", 8) && !stat(victim, &st) &&
	       !st.st_uid && (st.st_mode & 07777) == 0600;
}

static void plant(enum kind k, const char *at)
{
	int failed = 0, fd;

	switch (k) {
	case SYMLINK:
		failed = symlink(victim, at);
		break;
	case DANGLING:
		failed = symlink("/dev/shm/no-such-file", at);
		break;
	case HARDLINK:
		failed = link(victim, at);
		break;
	case FIFO:
		failed = mkfifo(at, 0666);
		break;
	case DIRECTORY:
		failed = mkdir(at, 0777);
		break;
	case EMPTY:
		fd = open(at, O_RDWR | O_CREAT, 0644);
		failed = fd < 0;
		close(fd);
		break;
	default:
		copy_file(sound, at, k == TRUNCATED ? 8192 : SIZE_MAX);
	}
	if (failed || (k != HARDLINK && lchown(at, NOBODY, NOBODY)))
		err(1, "%s", at);
}

static void clear(const char *folder)
{
	char at[160];

	for (int i = 0; i < NAMES; i++) {
		snprintf(at, sizeof(at), "%s/%s", folder, names[i]);
		if (unlink(at) && errno == EISDIR)
			rmdir(at);
	}
	rmdir(folder);
}

/* --- planted ------------------------------------------------------------------------ */

/* A planted directory cannot be taken away, and a file of ours is not destroyed. */
static bool may_refuse(enum kind k, int name)
{
	return k == DIRECTORY || (k == HARDLINK && name == 0);
}

static void planted_for_the_writer(enum kind k, int name)
{
	char folder[96], path[128], at[160];
	struct ring_writer *w = NULL;
	struct ringside *r = NULL;
	int e;

	snprintf(folder, sizeof(folder), "%s/empty", dir);
	snprintf(path, sizeof(path), "%s/ring", folder);
	snprintf(at, sizeof(at), "%s/%s", folder, names[name]);
	if (mkdir(folder, 0777) || chmod(folder, 0777))
		err(1, "%s", folder);
	plant(k, at);
	e = world_create(&w, path);
	if (!e) {
		world_put(w, 20);
		r = world_open(path);
	}
	claim(victim_untouched() &&
		      (!e || (may_refuse(k, name) && *ring_writer_error())) &&
		      (e || (r && world_drain(r) == 20)),
	      "%s at %s: %s", kind_names[k], names[name],
	      e ? "refused" : "the writer takes its place");
	ringside_close(r);
	ring_writer_close(w, true);
	clear(folder);
}

static void planted_for_the_reader(enum kind k)
{
	char folder[96], path[128];
	struct ringside *r;

	snprintf(folder, sizeof(folder), "%s/empty", dir);
	snprintf(path, sizeof(path), "%s/ring", folder);
	if (mkdir(folder, 0777))
		err(1, "%s", folder);
	plant(k, path);
	r = world_open(path);
	claim(!r, "%s: not read: %s", kind_names[k], ringside_open_error());
	ringside_close(r);
	clear(folder);
}

/* --- a folder of ours in one of everybody's ----------------------------------------- */

static int attack_sub(const char *sub, const char *moved)
{
	char path[160], other[192];
	int mask = 0;

	snprintf(path, sizeof(path), "%s/ring", sub);
	snprintf(other, sizeof(other), "%s/new", sub);
	mask |= !(unlink(path) && rename(path, other) &&
		  open(other, O_RDWR | O_CREAT, 0644) < 0) << 0;
	mask |= (rename(sub, moved) || mkdir(sub, 0755)) << 1;	/* this it may */
	copy_file(sound, path, SIZE_MAX);
	return mask;
}

static void sub_directory(void)
{
	char sub[96], moved[96], path[128];
	struct ring_writer *w, *next = NULL;
	struct ringside *r, *late;
	uint64_t n;
	pid_t pid;
	int mask;

	snprintf(sub, sizeof(sub), "%s/sub", dir);
	snprintf(moved, sizeof(moved), "%s/moved", dir);
	snprintf(path, sizeof(path), "%s/ring", sub);
	if (mkdir(sub, 0755) || world_create(&w, path))
		errx(1, "%s: %s", sub, ring_writer_error());
	world_put(w, 10);
	r = world_open(path);
	n = world_drain(r);
	pid = attacker(true);
	if (!pid)
		_exit(attack_sub(sub, moved));
	mask = outcome(pid);
	claim(mask >= 0 && !(mask & 1), "in a 0755 folder nobody plants or removes");
	claim(!(mask & 2), "but it moves the whole folder, and puts a ring of its own");
	late = world_open(path);
	claim(!late, "which a new reader refuses: %s", ringside_open_error());
	world_put(w, 10);
	ringside_wait(r, 300);
	n += world_drain(r);
	claim(n == 20, "an old reader stays with the writer that lives (%d records)",
	      (int)n);
	claim(!world_create(&next, path), "a new writer takes the planted ring's place");
	ringside_close(late);
	ringside_close(r);
	ring_writer_close(next, true);
	ring_writer_close(w, true);
	clear(sub);
	clear(moved);
}

/* --- races -------------------------------------------------------------------------- */

static void juggle(const char *folder)
{
	char at[NAMES][160], other[160];
	unsigned int dice = 7;

	for (int i = 0; i < NAMES; i++)
		snprintf(at[i], sizeof(at[i]), "%s/%s", folder, names[i]);
	snprintf(other, sizeof(other), "%s/other", folder);
	for (;;) {
		const char *a, *b;

		dice = dice * 1664525u + 1013904223u;
		a = at[dice >> 16 & 3];
		b = at[dice >> 20 & 3];
		switch (dice >> 24 & 7) {
		case 0:
			if (symlink(victim, a))
				unlink(a);
			break;
		case 1:
			if (!mkfifo(a, 0666))
				usleep(200);
			break;
		case 2:
			rename(a, other);
			break;
		case 3:
			rename(other, b);
			break;
		case 4:
			unlink(b);
			break;
		case 5:
			close(open(a, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644));
			break;
		default:
			rename(a, b);
		}
		usleep(50);
	}
}

static void races(void)
{
	char folder[96], path[128], other[160];
	int created = 0, refused = 0, opened = 0;
	struct ring_writer *w;
	struct ringside *r;
	pid_t pid;

	snprintf(folder, sizeof(folder), "%s/empty", dir);
	snprintf(path, sizeof(path), "%s/ring", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	if (mkdir(folder, 0777) || chmod(folder, 0777))
		err(1, "%s", folder);
	pid = attacker(true);
	if (!pid)
		juggle(folder);
	for (int i = 0; i < 300; i++) {
		if (world_create(&w, path)) {
			refused++;
			continue;
		}
		created++;
		world_put(w, 30);
		r = world_open(path);
		if (r) {
			world_drain(r);
			opened++;
		}
		ringside_close(r);
		ring_writer_close(w, i & 1);
	}
	end(pid);
	claim(created > 10 && opened > 5,
	      "names that change all the time: %d created, %d refused, %d read", created,
	      refused, opened);
	claim(victim_untouched(), "and what they lead to stays as it was");
	unlink(path);
	claim(!world_create(&w, path), "then one writes in peace");
	world_put(w, 30);
	claim(!stranger_agrees(path), "and the reader in python holds what the library does");
	ring_writer_close(w, false);
	unlink(other);
	clear(folder);
}

/* --- truncated under a mapped reader ------------------------------------------------ */

static void truncated(const char *mode)
{
	char path[96], program[256], ring[128];
	const char *top = getenv("abs_top_builddir");
	int p[2], status;
	char buf[4096];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/shrinks", dir);
	snprintf(program, sizeof(program), "%s/ringside", top ? top : ".");
	snprintf(ring, sizeof(ring), "--ring=%s", path);
	if (access(program, X_OK)) {
		printf("skipped: %s is not built\n", program);
		return;
	}
	copy_file(sound, path, SIZE_MAX);
	if (pipe(p))
		err(1, "pipe");
	pid = attacker(false);
	if (!pid) {
		dup2(p[1], 1);
		execl(program, "ringside", "tail", ring, "-N", "100000", "-o", "json",
		      mode, (char *)NULL);
		_exit(127);
	}
	close(p[1]);
	if (read(p[0], buf, sizeof(buf)) <= 0)	/* the pipe is full: it stands in the middle */
		warnx("ringside tail gives nothing");
	usleep(300000);
	if (truncate(path, 65536))
		err(1, "%s", path);
	while (read(p[0], buf, sizeof(buf)) > 0)
		;
	close(p[0]);
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	claim(WIFEXITED(status) && WEXITSTATUS(status) == 1,
	      "truncated under \"ringside tail%s%s\": it ends with 1 (status %x)",
	      mode ? " " : "", mode ? mode : "", (unsigned int)status);
	unlink(path);
}

/* --- all ---------------------------------------------------------------------------- */

static void make_sound(void)
{
	struct ring_writer *w;
	char name[128];

	if (world_create(&w, sound))
		errx(1, "%s", ring_writer_error());
	world_put(w, 2000);
	ring_writer_close(w, false);
	snprintf(name, sizeof(name), "%s.lock", sound);
	unlink(name);
}

int main(void)
{
	if (geteuid()) {
		printf("needs root, to be attacked by nobody\n");
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	umask(0);
	alarm(120);
	if (!mkdtemp(dir) || chmod(dir, 0777))
		err(1, "%s", dir);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	snprintf(sound, sizeof(sound), "%s/sound", dir);
	make_victim();
	make_sound();
	for (int k = 0; k < KINDS; k++)
		for (int name = 0; name < NAMES; name++)
			planted_for_the_writer((enum kind)k, name);
	for (int k = 0; k < KINDS; k++)
		planted_for_the_reader((enum kind)k);
	sub_directory();
	races();
	truncated(NULL);
	truncated("--paranoid");
	unlink(victim);
	unlink(sound);
	claim(!rmdir(dir), "nothing is left over");
	printf("%d claims, %d broken\n", claims, broken);
	return broken != 0;
}
