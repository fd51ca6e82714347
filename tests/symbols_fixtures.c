/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/symbols_fixtures.h"

static char folder[64];

void fixtures_make(void)
{
	const char *src = getenv("srcdir");
	char cmd[1024];

	snprintf(folder, sizeof(folder), "symbols-fixtures.XXXXXX");
	if (!mkdtemp(folder)) {
		folder[0] = '\0';
		return;
	}
	snprintf(cmd, sizeof(cmd), "sh '%s/tests/symbols-fixtures.sh' '%s'",
		 src ? src : ".", folder);
	if (system(cmd))
		fprintf(stderr,
			"symbols-fixtures.sh failed: compiler or binutils are missing\n");
}

void fixtures_remove(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf './%s'", folder);
	if (folder[0] && system(cmd))
		fprintf(stderr, "%s is left behind\n", folder);
}

const char *fixture_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

bool fixture_have(const char *name)
{
	if (!access(fixture_path(name), R_OK))
		return true;
	printf("SKIP: %s: the tools here cannot make it\n", name);
	return false;
}

int fixture_open(const char *name)
{
	int fd = open(fixture_path(name), O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s cannot be opened", name);
	return fd;
}

uint64_t fixture_symbol(const char *name, const char *symbol)
{
	char list[128], line[512], type, found[256];
	unsigned long long addr;
	uint64_t got = 0;
	FILE *f;

	snprintf(list, sizeof(list), "%s.nm", name);
	f = fopen(fixture_path(list), "r");
	ck_assert_ptr_nonnull(f);
	while (!got && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %255s", &addr, &type, found) == 3 &&
		    !strcmp(found, symbol))
			got = addr;
	fclose(f);
	ck_assert_msg(got, "%s has no symbol %s", name, symbol);
	return got;
}

static void keep_message(void *arg, const void *buf, size_t len)
{
	struct named *n = arg;

	ck_assert_uint_le(len, sizeof(n->buf));
	memcpy(n->buf, buf, len);
	n->n = len;
}

void named_open(struct named *n, const char *fixture, const char *debug)
{
	memset(n, 0, sizeof(*n));
	ck_assert_int_eq(budget_create(&n->names.budget, 32 << 20), 0);
	ck_assert_int_eq(answer_create(&n->answer, keep_message, n), 0);
	ck_assert_int_eq(symbols_decoder_create(&n->decoder), 0);
	n->names.dwarf_max = 16 << 20;
	n->file = budget_add(n->names.budget, 16);
	ck_assert_ptr_nonnull(n->file);
	n->file->fd = fixture_open(fixture);
	n->file->is_elf = true;
	if (debug)
		n->file->debug_fd = fixture_open(debug);
}

void named_close(struct named *n)
{
	budget_destroy(n->names.budget);
	answer_destroy(n->answer);
	symbols_decoder_destroy(n->decoder);
}

const struct sym_name *named_ask(struct named *n, uint64_t addr)
{
	answer_names_begin(n->answer, 16, 1);
	names_of_file(&n->names, n->file, &addr, 1, n->answer);
	answer_names_end(n->answer, 0);
	ck_assert_int_eq(symbols_decode(n->decoder, n->buf, n->n, &n->got), 0);
	ck_assert_uint_ge(n->got.n_names, 1);
	ck_assert_uint_eq(n->got.names[0].address, addr);
	return &n->got.names[0];
}
