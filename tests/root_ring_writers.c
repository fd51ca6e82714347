/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of writers that nobody chose: the kernel takes the memory of a cgroup back, in
 * the middle of a batch and in the middle of creating; and somebody else gets the number
 * of a dead one.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/writer_state.h"
#include "tests/ring_fixture.h"
#include "tests/ring_readers.h"
#include "tests/root_ring.h"

#define LIMIT	"16777216"
#define ROUNDS	3

static char dir[64] = "/dev/shm/root-wring-XXXXXX", path[96];

/* --- a cgroup with little memory ---------------------------------------------------- */

static char cgroup[300];

static bool put_file(const char *name, const char *text)
{
	char at[400];
	int fd;
	bool done;

	snprintf(at, sizeof(at), "%s/%s", cgroup, name);
	fd = open(at, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

static bool try_cgroup(const char *mount, const char *limit)
{
	snprintf(cgroup, sizeof(cgroup), "%s/ringside-oom-%ld", mount, (long)getpid());
	if (!mkdir(cgroup, 0755) && put_file(limit, LIMIT))
		return true;
	rmdir(cgroup);
	cgroup[0] = 0;
	return false;
}

/* Either version of cgroups; swap, where it is limited at all, is none. */
static bool make_cgroup(void)
{
	FILE *f = setmntent("/proc/mounts", "r");
	struct mntent *m;
	bool found = false;

	while (f && !found && (m = getmntent(f)))
		if (!strcmp(m->mnt_type, "cgroup2"))
			found = try_cgroup(m->mnt_dir, "memory.max");
		else if (!strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "memory"))
			found = try_cgroup(m->mnt_dir, "memory.limit_in_bytes");
	if (f)
		endmntent(f);
	if (found && !put_file("memory.swap.max", "0"))
		put_file("memory.memsw.limit_in_bytes", LIMIT);
	return found;
}

static void enter_cgroup(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	if (!put_file("cgroup.procs", pid))
		_exit(98);
}

static void eat(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; p != MAP_FAILED && i < bytes; i += 4096)
		p[i] = 1;
}

static bool killed(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

/* Writes until its memory is over: a batch is open, and not published, when that comes. */
static void glutton(void)
{
	struct ring_writer *w;

	enter_cgroup();
	if (world_create(&w, path))
		_exit(97);
	for (;;) {
		world_put(w, 500);
		for (int i = 0; i < 7; i++)
			numbered_put_plain(w, ring_writer_next_seq(w));
		eat(1 << 20);
		ring_writer_publish(w);
	}
}

static uint64_t drain_account(struct ringside *r, uint64_t start, const char *what)
{
	struct ringside_counts c;

	world_drain(r);
	ringside_counts(r, &c);
	claim(!c.corrupt_events && c.received + c.lost[RINGSIDE_LOST_LAPPED] ==
					   ringside_position(r) - start,
	      "%s: received %llu, lost %llu, of %llu", what,
	      (unsigned long long)c.received,
	      (unsigned long long)c.lost[RINGSIDE_LOST_LAPPED],
	      (unsigned long long)(ringside_position(r) - start));
	return ringside_position(r);
}

static void out_of_memory(void)
{
	struct ringside_liveness l;
	struct ring_writer *w;
	struct ringside *r;
	uint64_t start, at;
	pid_t pid;

	if (world_create(&w, path))
		errx(1, "%s", ring_writer_error());
	world_put(w, 10);
	ring_writer_close(w, false);
	r = world_open(path);
	start = at = ringside_position(r);
	for (int i = 0; i < ROUNDS; i++) {
		pid = attacker(false);
		if (!pid)
			glutton();
		claim(killed(pid), "the kernel kills a writer whose cgroup is full");
		at = drain_account(r, start, "its reader");
		claim(!ringside_liveness(r, &l) && !l.alive, "and sees that it is dead");
		claim(!stranger_agrees(path),
		      "the reader in python holds what the library does");
	}
	claim(!world_create(&w, path) && ring_writer_resumed(w),
	      "the next writer goes on in the same file");
	claim(ring_writer_next_seq(w) == at + 1, "behind what was published");
	world_put(w, 100);
	drain_account(r, start, "and its reader with it");
	ringside_close(r);
	ring_writer_close(w, true);
}

/* The ring itself is more than the cgroup has: its pages are the writer's, not those of
 * whoever reads first. */
static void out_of_memory_at_birth(void)
{
	struct ring_writer_options o = { .path = path, .group = (gid_t)-1, .mode = 0644,
					 .ring_bytes = 64 << 20, .dict_bytes = 1 << 20 };
	struct ring_writer *w;
	struct ringside *r = world_open(path);
	uint64_t start = ringside_position(r), at;
	int status;
	pid_t pid = attacker(false);

	if (!pid) {
		enter_cgroup();
		_exit(ring_writer_create(&w, &o) ? 96 : 95);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	claim(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 96),
	      "a ring that is larger than the cgroup does not come to be (status %x)",
	      status);
	at = drain_account(r, start, "readers of the old one");
	claim(!world_create(&w, path) && ring_writer_next_seq(w) == at + 1,
	      "the next writer goes on");
	world_put(w, 100);
	drain_account(r, start, "and its reader with it");
	ringside_close(r);
	ring_writer_close(w, false);
}

/* --- somebody else with the number of the dead -------------------------------------- */

static pid_t fork_as(pid_t number)
{
	pid_t numbers[] = { number };
	struct clone_args a = { .exit_signal = SIGCHLD,
				.set_tid = (uintptr_t)numbers, .set_tid_size = 1 };
	long pid = syscall(SYS_clone3, &a, sizeof(a));

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return (pid_t)pid;
}

/* What "ringside status" says of it. */
static int told_by_status(void)
{
	const char *top = getenv("abs_top_builddir");
	char program[256], ring[128];
	pid_t pid;

	snprintf(program, sizeof(program), "%s/ringside", top ? top : ".");
	snprintf(ring, sizeof(ring), "--ring=%s", path);
	pid = attacker(false);
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(99);
		execl(program, "ringside", "status", ring, (char *)NULL);
		_exit(127);
	}
	return outcome(pid);
}

static void number_reused(void)
{
	struct ringside_liveness l;
	struct ring_writer *w;
	struct ringside *r;
	pid_t pid = attacker(false), other;
	int status;

	if (!pid) {
		if (world_create(&w, path))
			_exit(1);
		world_put(w, 10);
		raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		errx(1, "the writer did not stop");
	r = world_open(path);
	claim(!ringside_liveness(r, &l) && l.alive && l.writer_pid == (uint32_t)pid,
	      "a stopped writer lives");
	end(pid);
	other = fork_as(pid);
	if (other != pid) {
		printf("skipped: number reused: clone3 with set_tid: %s\n",
		       strerror(errno));
		ringside_close(r);
		return;
	}
	claim(!ringside_liveness(r, &l) && !l.alive && l.writer_pid == (uint32_t)pid,
	      "a dead writer whose number another process has is dead");
	claim(told_by_status() != 0, "and \"ringside status\" says so");
	claim(!world_create(&w, path) && ring_writer_resumed(w),
	      "its ring is resumed under the eyes of that process");
	claim(!ringside_liveness(r, &l) && l.alive && l.writer_pid == (uint32_t)getpid(),
	      "and the number of the new one is told");
	end(other);
	ringside_close(r);
	ring_writer_close(w, true);
}

int main(void)
{
	static const char *const names[] = { "", ".lock", ".prev" };
	char name[128];

	if (geteuid()) {
		printf("needs root, for cgroups and numbers of processes\n");
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(120);
	if (!mkdtemp(dir) || chmod(dir, 0755))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	number_reused();
	if (make_cgroup()) {
		out_of_memory();
		out_of_memory_at_birth();
	} else {
		printf("skipped: out of memory: no cgroup whose memory can be limited\n");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s%s", path, names[i]);
		unlink(name);
	}
	/* Left by whoever was killed while creating; the next creation would take it. */
	snprintf(name, sizeof(name), "%s/.ring.new", dir);
	unlink(name);
	if (cgroup[0])
		rmdir(cgroup);
	claim(!rmdir(dir), "nothing is left over");
	printf("%d claims, %d broken\n", claims, broken);
	return broken != 0;
}
