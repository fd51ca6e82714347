/* SPDX-License-Identifier: Apache-2.0 */
/*
 * w3_bigmaps SECONDS [MAPPINGS]: the workload W3.  Random calls among 20,000 functions,
 * and among MAPPINGS (5000) executable mappings of one generated file.
 * Prints `ready` when the mappings are there and `cpu SECONDS` at the end.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/*
 * w3_function_0 .. w3_function_19999 and the table of them, made by the assembler: a
 * compiler takes many minutes over so many functions.  Each counts its argument down,
 * with a frame of its own.
 */
#define W3_FUNCTIONS 20000
#if defined(__aarch64__)
#define W3_BODY "stp x29, x30, [sp, -16]!\n mov x29, sp\n 1: subs x0, x0, 1\n b.pl 1b\n" \
	"ldp x29, x30, [sp], 16\n ret\n"
#else
#define W3_BODY "push %rbp\n mov %rsp, %rbp\n 1: sub $1, %rdi\n jns 1b\n pop %rbp\n ret\n"
#endif
__asm__(".text\n"
	".altmacro\n"
	".macro w3_function n\n"
	".type w3_function_\\n, %function\n"
	"w3_function_\\n:\n" W3_BODY ".size w3_function_\\n, . - w3_function_\\n\n"
	".pushsection .data.rel.ro, \"aw\"\n .balign 8\n .quad w3_function_\\n\n .popsection\n"
	".endm\n"
	".pushsection .data.rel.ro, \"aw\"\n .balign 8\n w3_functions:\n .popsection\n"
	".set w3_i, 0\n"
	".rept 20000\n"
	"w3_function %w3_i\n"
	".set w3_i, w3_i + 1\n"
	".endr\n"
	".noaltmacro\n");
extern void (*const w3_functions[W3_FUNCTIONS])(uint64_t)
	__attribute__((visibility("hidden")));

static double cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* A file of one page of code: the return instruction, 4096 / its length times. */
static int code_file(const char *path, size_t page)
{
#if defined(__aarch64__)
	static const unsigned char ret[] = { 0xc0, 0x03, 0x5f, 0xd6 };
#else
	static const unsigned char ret[] = { 0xc3, 0xc3, 0xc3, 0xc3 };
#endif
	FILE *f = fopen(path, "w+");
	int fd = -1;

	if (!f)
		return -1;
	for (size_t i = 0; i < 2 * page; i += sizeof(ret))
		fwrite(ret, sizeof(ret), 1, f);
	if (!fflush(f))
		fd = dup(fileno(f));
	fclose(f);
	return fd;
}

/* Neighbours with the same offset are never merged into one mapping. */
static int map_many(void (**code)(void), long n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/w3_code.XXXXXX";
	int tmp = mkstemp(path), fd = tmp < 0 ? -1 : code_file(path, page);

	if (tmp >= 0) {
		close(tmp);
		unlink(path);
	}
	for (long i = 0; fd >= 0 && i < n; i++) {
		void *p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			break;
		memcpy(&code[i], &p, sizeof(p));
		if (i == n - 1)
			return 0;
	}
	return fd >= 0 && n == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 5000;
	static void (*code[60000])(void);
	uint64_t seed = 1;

	if (n < 0 || n > 60000 || map_many(code, n)) {
		fprintf(stderr, "w3_bigmaps: cannot make %ld mappings\n", n);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (cpu() < seconds) {
		for (int i = 0; i < 200; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			w3_functions[(seed >> 33) % W3_FUNCTIONS](seed >> 54);
			if (n)
				code[(seed >> 20) % (uint64_t)n]();
		}
	}
	printf("cpu %.6f\n", cpu());
	return 0;
}
