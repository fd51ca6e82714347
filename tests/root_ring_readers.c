/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers as uid nobody that do what they can: write, lock, steal wake-ups, crowd the
 * futex, pin old files, scan without end.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/ring_time.h"
#include "shm/writer_state.h"
#include "tests/ring_fixture.h"
#include "tests/ring_readers.h"
#include "tests/root_ring.h"

#define MS		1000000ull
#define CROWD		8000
#define CROWD_PROCESSES	4
#define RESTARTS	100

static char dir[64] = "/dev/shm/root-ring-XXXXXX", path[96];

/* --- write paths -------------------------------------------------------------------- */

/* Each returns true when the kernel refused. */
static bool no_open(const char *name, int flags)
{
	return open(name, flags | O_CLOEXEC, 0666) < 0;
}

static bool no_reopen(int fd)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return no_open(name, O_RDWR) && no_open(name, O_WRONLY | O_TRUNC);
}

static bool no_writable_map(int fd, void *map, size_t len)
{
	return mprotect(map, len, PROT_READ | PROT_WRITE) &&
	       mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED &&
	       madvise(map, len, MADV_REMOVE);
}

static bool no_name(const char *suffix)
{
	char name[128], other[128];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	snprintf(other, sizeof(other), "%s/taken", dir);
	return unlink(name) && rename(name, other) && link(name, other) &&
	       symlink("/etc/passwd", other) && no_open(other, O_RDWR | O_CREAT);
}

/* Bit i set: claim i does not hold. */
static int try_to_write(size_t len, pid_t writer)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), mask = 0;
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char lock[128], mem[64];
	void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	if (fd < 0 || map == MAP_FAILED)
		return 255;
	snprintf(lock, sizeof(lock), "%s.lock", path);
	snprintf(mem, sizeof(mem), "/proc/%d/mem", (int)writer);
	mask |= !(no_open(path, O_RDWR) && no_open(path, O_WRONLY | O_TRUNC) &&
		  no_open(path, O_WRONLY | O_APPEND)) << 0;
	mask |= !(truncate(path, 0) && ftruncate(fd, 0)) << 1;
	mask |= !(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) &&
		  pwrite(fd, "x", 1, 0) < 0) << 2;
	mask |= !no_writable_map(fd, map, len) << 3;
	mask |= !no_reopen(fd) << 4;
	mask |= !(chmod(path, 0666) && fchmod(fd, 0666) && chown(path, NOBODY, NOBODY) &&
		  fcntl(fd, F_SETLEASE, F_RDLCK)) << 5;
	mask |= !(no_name("") && no_name(".lock") && no_open(lock, O_RDONLY) &&
		  fcntl(fd, F_OFD_SETLK, &fl)) << 6;
	mask |= !no_open(mem, O_RDWR) << 7;
	return mask;
}

static void write_paths(void)
{
	static const char *const what[] = {
		"open for writing", "truncate", "punch and pwrite",
		"mprotect, writable mmap, MADV_REMOVE", "reopen by /proc/self/fd",
		"chmod, chown, lease", "unlink, rename, link, lock file, write lock",
		"the writer's own memory",
	};
	struct ring_writer *w;
	uint8_t *copy;
	int mask;
	pid_t pid;

	if (world_create(&w, path))
		errx(1, "%s", ring_writer_error());
	world_put(w, 1000);
	copy = malloc(w->map_bytes);
	if (!copy)
		err(1, "malloc");
	memcpy(copy, w->map, w->map_bytes);
	pid = attacker(true);
	if (!pid)
		_exit(try_to_write(w->map_bytes, getppid()));
	mask = outcome(pid);
	for (int i = 0; i < 8; i++)
		claim(!(mask & 1 << i), "refused to nobody: %s", what[i]);
	claim(!memcmp(copy, w->map, w->map_bytes), "no byte of the ring has changed");
	free(copy);
	ring_writer_close(w, false);
}

/* --- locks -------------------------------------------------------------------------- */

static void locks(void)
{
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct ring_writer *w = NULL;
	int p[2], fd;
	char c = 0;
	pid_t pid;

	if (pipe(p))
		err(1, "pipe");
	pid = attacker(true);
	if (!pid) {
		fd = open(path, O_RDONLY);
		c = !flock(fd, LOCK_EX) && !fcntl(fd, F_OFD_SETLK, &fl);
		if (write(p[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	claim(read(p[0], &c, 1) == 1 && c == 1,
	      "a reader may lock the ring of a dead writer");
	claim(!world_create(&w, path), "and keeps no new writer out");
	ring_writer_close(w, false);
	end(pid);
	close(p[0]);
	close(p[1]);
}

/* --- futex -------------------------------------------------------------------------- */

/* The futex: the low half of tail. */
static const volatile uint32_t *tail_word(const void *page0)
{
	return (const volatile uint32_t *)page0 + offsetof(struct ring_header, tail) / 4;
}

/* Requeues whoever waits on tail to a word of its own; counts them in *moved. */
static void thief(uint32_t *moved)
{
	int fd = open(path, O_RDONLY);
	void *h = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	uint32_t *own;
	long n;

	own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h == MAP_FAILED || own == MAP_FAILED)
		_exit(1);
	for (;;) {
		n = syscall(SYS_futex, tail_word(h), FUTEX_CMP_REQUEUE, 0, 1000L, own,
			    *tail_word(h));
		if (n > 0)
			__atomic_add_fetch(moved, (uint32_t)n, __ATOMIC_SEQ_CST);
		usleep(500);
	}
}

static void theft(void)
{
	uint32_t *moved = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ring_writer *w;
	struct ringside *r;
	pid_t robber, victim;
	uint64_t start, took;
	int ok;

	if (moved == MAP_FAILED || world_create(&w, path))
		err(1, "theft");
	robber = attacker(true);
	if (!robber)
		thief(moved);
	victim = attacker(true);
	if (!victim) {
		r = world_open(path);
		world_drain(r);
		_exit(ringside_wait(r, 20000) == 1 ? 0 : 1);
	}
	for (int i = 0; i < 5000 && !__atomic_load_n(moved, __ATOMIC_SEQ_CST); i++)
		usleep(1000);
	start = ring_clock_ns(CLOCK_MONOTONIC);
	world_put(w, 1);
	ok = outcome(victim);
	took = ring_clock_ns(CLOCK_MONOTONIC) - start;
	end(robber);
	claim(*moved, "a reader can steal another's wait (%u stolen)", *moved);
	claim(!ok && took < 3000 * MS,
	      "which costs it a slice of 100 ms at most: %llu ms",
	      (unsigned long long)(took / MS));
	munmap(moved, 4096);
	ring_writer_close(w, false);
}

static void *crowd_page0;

static void *crowd_wait(void *unused)
{
	const volatile uint32_t *word = tail_word(crowd_page0);

	for (;;)
		syscall(SYS_futex, word, FUTEX_WAIT, *word, NULL, NULL, 0);
	return unused;
}

/* n threads that wait on tail. */
static void crowd(int n, uint32_t *ready)
{
	int fd = open(path, O_RDONLY);
	pthread_attr_t attr;
	pthread_t t;

	crowd_page0 = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	while (n-- && !pthread_create(&t, &attr, crowd_wait, NULL))
		__atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Median of what a publish that wakes takes, in CPU time of the writer: others are at
 * work on this machine. */
static uint64_t publish_ns(struct ring_writer *w)
{
	uint64_t ns[21], start;

	for (int i = 0; i < 21; i++) {
		usleep(3000);		/* wakes are rationed */
		numbered_put_plain(w, ring_writer_next_seq(w));
		start = ring_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		ring_writer_publish(w);
		ns[i] = ring_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	qsort(ns, 21, sizeof(*ns), by_size);
	return ns[10];
}

static void waiters(void)
{
	uint32_t *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[CROWD_PROCESSES], one;
	struct ring_writer *w;
	uint64_t alone, many;

	if (ready == MAP_FAILED || world_create(&w, path))
		err(1, "waiters");
	one = attacker(true);
	if (!one)
		crowd(1, ready);
	usleep(100000);
	alone = publish_ns(w);
	end(one);
	*ready = 0;
	for (int i = 0; i < CROWD_PROCESSES; i++) {
		pids[i] = attacker(true);
		if (!pids[i])
			crowd(CROWD / CROWD_PROCESSES, ready);
	}
	for (int i = 0; i < 10000 && __atomic_load_n(ready, __ATOMIC_SEQ_CST) < CROWD;
	     i++)
		usleep(1000);
	usleep(300000);
	many = publish_ns(w);
	claim(*ready == CROWD, "%u threads of nobody wait on the ring", *ready);
	claim(many < 5 * alone + 200000,
	      "a publish takes %llu us with them, %llu us with one (of the writer's CPU)",
	      (unsigned long long)(many / 1000), (unsigned long long)(alone / 1000));
	for (int i = 0; i < CROWD_PROCESSES; i++)
		end(pids[i]);
	munmap(ready, 4096);
	ring_writer_close(w, false);
}

/* --- memory and time ---------------------------------------------------------------- */

/* Files and their memory, of RESTARTS writers that end so. */
static uint64_t pin(bool clean, uint64_t *one, int *files)
{
	int fds[RESTARTS];
	uint64_t bytes = 0, last = 0;
	struct ring_writer *w;
	struct stat st;

	for (int i = 0; i < RESTARTS; i++) {
		if (world_create(&w, path))
			errx(1, "%s", ring_writer_error());
		world_put(w, 50);
		fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		ring_writer_close(w, clean);
	}
	*files = 0;
	for (int i = 0; i < RESTARTS; i++) {
		if (fstat(fds[i], &st))
			err(1, "fstat");
		*one = (uint64_t)st.st_blocks * 512;
		if (st.st_ino != last) {
			bytes += *one;
			(*files)++;
		}
		last = st.st_ino;
		close(fds[i]);
	}
	return bytes;
}

static void pinned(void)
{
	uint64_t one, bytes = pin(true, &one, &(int){ 0 });
	int files;

	claim(bytes <= 3 * one + RESTARTS * 4096,
	      "%d files that a reader pins hold %llu KiB, one ring %llu KiB", RESTARTS,
	      (unsigned long long)(bytes / 1024), (unsigned long long)(one / 1024));
	bytes = pin(false, &one, &files);
	claim(files == 1 && bytes == one, "%d crashes need one file, %llu KiB", RESTARTS,
	      (unsigned long long)(bytes / 1024));
	claim(!stranger_agrees(path), "the reader in python holds what the library does");
}

static uint64_t put_cpu_ns(struct ring_writer *w, uint64_t n)
{
	uint64_t start = ring_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	world_put(w, n);
	return (ring_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / n;
}

static void scanning(void)
{
	uint64_t quiet, scanned, start;
	struct ringside_counts c;
	struct ring_writer *w;
	struct ringside *r;
	pid_t pid;

	if (world_create(&w, path))
		errx(1, "%s", ring_writer_error());
	quiet = put_cpu_ns(w, 50000);
	pid = attacker(true);
	if (!pid)
		for (;;) {
			r = world_open(path);
			world_drain(r);
			ringside_close(r);
		}
	r = world_open(path);
	start = ringside_position(r);
	scanned = put_cpu_ns(w, 100000);
	claim(waitpid(pid, NULL, WNOHANG) == 0,
	      "a reader scans all of the ring all the time");
	end(pid);
	world_drain(r);
	ringside_counts(r, &c);
	claim(c.received + c.lost[RINGSIDE_LOST_LAPPED] == ringside_position(r) - start &&
	      !c.corrupt_events && ringside_position(r) == ring_writer_next_seq(w),
	      "another one's account stays exact");
	claim(scanned < 20 * quiet, "the writer takes %llu ns a record, %llu ns without",
	      (unsigned long long)scanned, (unsigned long long)quiet);
	claim(!stranger_agrees(path), "the reader in python holds what the library does");
	ringside_close(r);
	ring_writer_close(w, false);
}

int main(void)
{
	static const char *const names[] = { "", ".lock", ".prev" };
	char name[128];

	if (geteuid()) {
		printf("needs root, to become nobody\n");
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(180);
	if (!mkdtemp(dir) || chmod(dir, 0755))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	write_paths();
	locks();
	theft();
	waiters();
	pinned();
	scanning();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s%s", path, names[i]);
		unlink(name);
	}
	claim(!rmdir(dir), "nothing is left over");
	printf("%d claims, %d broken\n", claims, broken);
	return broken != 0;
}
