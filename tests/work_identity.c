/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_identity MODE MS...: processes that are hard to tell who they are.
 *	forks COUNT MS	children, one after the other, that burn MS in burn_forked() and never exec; the
 *			parent itself only waits
 *	leader MS	the first thread exits, another one burns in burn_orphan()
 *	thread MS PROG	a thread that is not the first one executes PROG burn MS
 *	burn MS		burn_plain()
 *	jit MS FILE	code made at run time, named jitted_loop in the perf map FILE, which is written first
 */
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Each counts to another number, or the compiler makes one function of them. */
#define BURNER(name, count)					\
	__attribute__((noinline)) static void name(double ms)	\
	{							\
		double end = cpu_ms() + ms;			\
								\
		do						\
			for (volatile int i = 0; i < (count); i++)	\
				;				\
		while (cpu_ms() < end);				\
	}
BURNER(burn_forked, 5000)
BURNER(burn_orphan, 5001)
BURNER(burn_plain, 5002)

static double ms;
static char **arguments;

static int forks(long count)
{
	for (; count > 0; count--) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			burn_forked(ms);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

static void *burn_and_exit(void *arg)
{
	(void)arg;
	usleep(100000);				/* the leader is gone by then */
	burn_orphan(ms);
	exit(0);
}

static void *exec_other(void *arg)
{
	(void)arg;
	burn_plain(300);
	execl(arguments[3], arguments[3], "burn", arguments[2], NULL);
	err(1, "%s", arguments[3]);
}

/* A loop of its own in fresh memory: counts down its argument. */
static int jit(const char *map)
{
#if defined(__x86_64__)
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5,	/* push %rbp; mov %rsp,%rbp */
					0x48, 0xff, 0xcf, 0x75, 0xfb,	/* 1: dec %rdi; jnz 1b */
					0x5d, 0xc3 };			/* pop %rbp; ret */
#elif defined(__aarch64__)
	static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xf1000400,
					 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0 };
#endif
	double end = cpu_ms() + ms;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	FILE *f = fopen(map, "w");

	if (p == MAP_FAILED || !f)
		err(1, "%s", map);
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache((char *)p, (char *)p + sizeof(code));
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC))
		err(1, "mprotect");
	fprintf(f, "%lx %zx jitted_loop\n", (unsigned long)p, sizeof(code));
	fclose(f);
	while (cpu_ms() < end)
		((void (*)(uint64_t))p)(2000000);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 3)
		errx(2, "usage: work_identity MODE MS...");
	arguments = argv;
	ms = strtod(argv[argc > 3 && !strcmp(argv[1], "forks") ? 3 : 2], NULL);
	if (!strcmp(argv[1], "forks") && argc > 3)
		return forks(strtol(argv[2], NULL, 10));
	if (!strcmp(argv[1], "jit") && argc > 3)
		return jit(argv[3]);
	if (!strcmp(argv[1], "leader")) {
		pthread_create(&t, NULL, burn_and_exit, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(argv[1], "thread") && argc > 3) {
		pthread_create(&t, NULL, exec_other, NULL);
		pause();
	}
	burn_plain(ms);
	return 0;
}
