/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main() of a fuzz target in an ordinary build: runs every file named on the command line
 * through the target once.  So a seed, or an input that once crashed, is a test without
 * libFuzzer.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_file(const char *path)
{
	uint8_t *buf = malloc(SEED_MAX), *exact;
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!buf || !f)
		err(1, "%s", path);
	n = fread(buf, 1, SEED_MAX, f);
	fclose(f);
	/* An allocation of the exact size, so that a sanitizer sees a read past the end.
	 */
	exact = realloc(buf, n ? n : 1);
	if (!exact)
		err(1, "%s", path);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
}

int main(int argc, char **argv)
{
	static const uint8_t nothing[1];

	LLVMFuzzerTestOneInput(nothing, 0);
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	printf("%d seeds\n", argc - 1);
	return 0;
}
