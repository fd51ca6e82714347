/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files with headers that lie, and what tables may cost. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/symbols/mini_debug.h"
#include "tests/symbols_fixtures.h"

static struct named n;

/* A function name as text, "-" for none. */
static const char *name_at(uint64_t addr)
{
	named_ask(&n, addr);
	return n.got.names[n.got.n_names - 1].function
		       ? n.got.names[n.got.n_names - 1].function
		       : "-";
}

/* --- hostile headers --- */

static uint8_t *bytes;
static size_t n_bytes;

static void load_bytes(const char *fixture)
{
	int fd = fixture_open(fixture);
	struct source src;

	ck_assert_int_eq(source_from_fd(&src, NULL, fd), 0);
	n_bytes = (size_t)src.size;
	ck_assert_int_eq(source_load(&src, 0, n_bytes, 1 << 24, (void **)&bytes), 0);
	close(fd);
}

/* Names and DWARF of the bytes as they are now; only that it comes back matters. */
static bool survives(uint64_t addr, const char **name)
{
	static char copy[256];
	struct source src;
	struct elf_file *e = malloc(sizeof(*e));
	struct symbol_builder *b;
	struct symbol_table *t = NULL;
	struct symbol s = { 0 };
	const char *why;
	bool found = false;

	source_from_memory(&src, bytes, n_bytes);
	if (!elf_file_read(e, &src, &why)) {
		ck_assert_int_eq(symbol_builder_create(&b), 0);
		symbol_builder_add(b, e, &e->symtab, &e->strtab, e);
		symbol_builder_add(b, e, &e->dynsym, &e->dynstr, e);
		symbol_builder_finish(b, &t);
		found = symbol_table_find(t, addr, &s);
	}
	snprintf(copy, sizeof(copy), "%s", found ? s.name : "");
	*name = copy;
	symbol_table_destroy(t);
	free(e);
	return found;
}

START_TEST(sections_of_absurd_size_are_refused_without_allocating)
{
	uint64_t at = fixture_symbol("pie", "fix_exported");
	const char *name;
	Elf64_Ehdr *h;

	load_bytes("pie");
	h = (Elf64_Ehdr *)bytes;
	ck_assert(survives(at, &name));
	ck_assert_str_eq(name, "fix_exported");
	for (unsigned int i = 0; i < h->e_shnum; i++) {
		Elf64_Shdr *s = (Elf64_Shdr *)(bytes + h->e_shoff) + i;

		if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_NOTE)
			s->sh_size = 1ull << 40;
	}
	/* The dynamic symbols are still sound. */
	ck_assert(survives(at, &name));
	ck_assert_str_eq(name, "fix_exported");
	free(bytes);
}
END_TEST

/* Each header field in turn takes values that parsers trip over. */
START_TEST(every_header_word_may_lie)
{
	static const uint64_t lies[] = {
		0, 1, 0x7fffffff, 0xffffffff, 1ull << 40, UINT64_MAX, UINT64_MAX - 63
	};
	const char *name;
	Elf64_Ehdr h;

	load_bytes("pie");
	memcpy(&h, bytes, sizeof(h));
	for (size_t at = 16; at + 8 <= n_bytes; at += 4) {
		uint8_t was[8];

		if (at >= 1024 && at < h.e_shoff)
			at = h.e_shoff;
		memcpy(was, bytes + at, 8);
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			memcpy(bytes + at, &lies[i], 8);
			survives(0x1139, &name);
		}
		memcpy(bytes + at, was, 8);
	}
	ck_assert(survives(fixture_symbol("pie", "fix_exported"), &name));
	free(bytes);
}
END_TEST

START_TEST(files_cut_anywhere)
{
	size_t whole;
	const char *name;

	load_bytes("pie");
	whole = n_bytes;
	for (n_bytes = 0; n_bytes < whole; n_bytes += 97)
		survives(0x1139, &name);
	n_bytes = whole;
	ck_assert(survives(fixture_symbol("pie", "fix_exported"), &name));
	free(bytes);
}
END_TEST

START_TEST(unpacking_is_capped)
{
	uint8_t *out;
	size_t out_n;

	if (!fixture_have("bomb.xz"))
		return;
	load_bytes("bomb.xz");
	ck_assert_int_eq(unpack_xz(bytes, n_bytes, 1 << 20, &out, &out_n), -EFBIG);
	ck_assert_ptr_null(out);
	ck_assert_int_eq(unpack_xz(bytes, n_bytes - 1, 1ull << 30, &out, &out_n),
			 -EBADMSG);
	ck_assert_int_eq(unpack_xz(bytes, 3, 1 << 20, &out, &out_n), -EBADMSG);
	free(bytes);
}
END_TEST

/* --- the budget --- */

START_TEST(tables_of_files_not_used_go_first_and_come_back)
{
	static const char *const files[] = { "pie", "nopie", "farhot" };
	struct sym_file *f[3];
	size_t one;

	named_open(&n, "pie", NULL);
	n.file->no_dwarf = true;
	name_at(0);
	one = budget_bytes(n.names.budget);
	ck_assert_uint_gt(one, 0);
	budget_destroy(n.names.budget);
	ck_assert_int_eq(budget_create(&n.names.budget, 2 * one + one / 2), 0);
	for (int i = 0; i < 3; i++) {
		f[i] = budget_add(n.names.budget, 20 + (uint32_t)i);
		f[i]->fd = fixture_open(files[i]);
		f[i]->is_elf = f[i]->no_dwarf = true;
		n.file = f[i];
		ck_assert_str_eq(name_at(fixture_symbol(files[i], "fix_static")),
				 "fix_static");
	}
	ck_assert_uint_le(budget_bytes(n.names.budget), 2 * one + one / 2);
	ck_assert_ptr_null(f[0]->table);
	ck_assert_ptr_nonnull(f[2]->table);
	n.file = budget_find(n.names.budget, 20);
	ck_assert_ptr_eq(n.file, f[0]);
	ck_assert_str_eq(name_at(fixture_symbol("pie", "fix_static")), "fix_static");
	budget_forget(n.names.budget, 20);
	ck_assert_ptr_null(budget_find(n.names.budget, 20));
	named_close(&n);
}
END_TEST

START_TEST(dwarf_that_is_not_asked_for_goes_and_comes_back)
{
	uint64_t at = fixture_symbol("pie", "fix_caller"), then;

	named_open(&n, "pie", NULL);
	ck_assert_ptr_nonnull(named_ask(&n, at)->file);
	then = n.file->lines_used_ns;
	n.file->lines_cost_ns = 10000000;	/* 10 ms: kept for 3 s */
	ck_assert(budget_expire_lines(n.names.budget, then + 2900000000));
	ck_assert_ptr_nonnull(n.file->lines);
	ck_assert(!budget_expire_lines(n.names.budget, then + 3100000000));
	ck_assert_ptr_null(n.file->lines);
	ck_assert_ptr_nonnull(n.file->table);
	ck_assert_ptr_nonnull(named_ask(&n, at)->file);
	named_close(&n);
}
END_TEST

START_TEST(too_many_files_push_out_the_oldest)
{
	struct budget *b;

	ck_assert_int_eq(budget_create(&b, 1 << 20), 0);
	for (uint32_t i = 0; i < BUDGET_MAX_FILES; i++)
		ck_assert_ptr_nonnull(budget_add(b, 16 + i));
	ck_assert_ptr_nonnull(budget_find(b, 16));	/* used: not the oldest any more */
	ck_assert_ptr_nonnull(budget_add(b, 16 + BUDGET_MAX_FILES));
	ck_assert_ptr_nonnull(budget_find(b, 16));
	ck_assert_ptr_null(budget_find(b, 17));
	budget_destroy(b);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("symbols_hostile");
	TCase *t = tcase_create("files");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, sections_of_absurd_size_are_refused_without_allocating);
	tcase_add_test(t, every_header_word_may_lie);
	tcase_add_test(t, files_cut_anywhere);
	tcase_add_test(t, unpacking_is_capped);
	tcase_add_test(t, tables_of_files_not_used_go_first_and_come_back);
	tcase_add_test(t, dwarf_that_is_not_asked_for_goes_and_comes_back);
	tcase_add_test(t, too_many_files_push_out_the_oldest);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *r;
	int failed;

	fixtures_make();
	r = srunner_create(suite());
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	fixtures_remove();
	return failed ? 1 : 0;
}
