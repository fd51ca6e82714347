/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files of every make: what they are, what their addresses are called, and what
 * hostile ones do. */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/ringside.h"
#include "sidecar/symbols/inspect.h"
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

/* --- layouts --- */

static const char *const layouts[] = { "pie",	     "nopie",  "static", "separate",
				       "noseparate", "farhot", "lld",	 "gz" };
static const char *const functions[] = { "main",       "fix_static", "fix_exported",
					 "fix_unused", "fix_hot",    "fix_caller" };

START_TEST(every_layout_names_its_functions_at_both_ends)
{
	const char *layout = layouts[_i];

	if (!fixture_have(layout))
		return;
	named_open(&n, layout, NULL);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint64_t at = fixture_symbol(layout, functions[i]);

		ck_assert_str_eq(name_at(at), functions[i]);
		ck_assert_str_eq(name_at(at + 3), functions[i]);
		ck_assert_uint_eq(n.got.names[n.got.n_names - 1].offset, 3);
	}
	named_close(&n);
}
END_TEST

/* What the loader would do to reach the function, undone by the segment table. */
START_TEST(every_layout_maps_file_offsets_back_to_addresses)
{
	const char *layout = layouts[_i], *why;
	struct elf_file *e = malloc(sizeof(*e));
	struct source src;
	int fd;

	if (!fixture_have(layout))
		return;
	fd = fixture_open(layout);
	ck_assert_int_eq(source_from_fd(&src, NULL, fd), 0);
	ck_assert_int_eq(elf_file_read(e, &src, &why), 0);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint64_t at = fixture_symbol(layout, functions[i]), back = 0, offset = 0;
		uint32_t s = 0;

		while (s < e->n_segments &&
		       at - e->segments[s].vaddr >= e->segments[s].filesz)
			s++;
		ck_assert_uint_lt(s, e->n_segments);
		offset = at - e->segments[s].vaddr + e->segments[s].offset;
		ck_assert(
			symbols_file_to_vaddr(e->segments, e->n_segments, offset, &back));
		ck_assert_uint_eq(back, at);
	}
	close(fd);
	free(e);
}
END_TEST

#define X (PF_R | PF_X)
#define D (PF_R | PF_W)
static const struct {
	const char *what;
	struct sym_segment seg[4];
	uint32_t n;
	uint64_t offset;
	bool found;
	uint64_t vaddr;
} translations[] = {
	{ "PIE, text behind the headers",
	  { { 0, 0, 0x500, 0x500, PF_R, 0 }, { 0x1000, 0x1000, 0x200, 0x200, X, 0 } },
	  2,
	  0x1010,
	  true,
	  0x1010 },
	{ "non-PIE",
	  { { 0, 0x400000, 0x500, 0x500, PF_R, 0 },
	    { 0x1000, 0x401000, 0x200, 0x200, X, 0 } },
	  2,
	  0x1010,
	  true,
	  0x401010 },
	{ "lld: address runs ahead of the offset",
	  { { 0, 0, 0x630, 0x630, PF_R, 0 },
	    { 0x630, 0x1630, 0x1d0, 0x1d0, X, 0 },
	    { 0x800, 0x2800, 0x100, 0x300, D, 0 } },
	  3,
	  0x640,
	  true,
	  0x1640 },
	{ "lld: last byte before the data segment in the same page",
	  { { 0x630, 0x1630, 0x1d0, 0x1d0, X, 0 },
	    { 0x800, 0x2800, 0x100, 0x300, D, 0 } },
	  2,
	  0x7ff,
	  true,
	  0x17ff },
	{ "a byte of data in the text's page is data's",
	  { { 0x630, 0x1630, 0x1d0, 0x1d0, X, 0 },
	    { 0x800, 0x2800, 0x100, 0x300, D, 0 } },
	  2,
	  0x800,
	  true,
	  0x2800 },
	{ "second text segment far away",
	  { { 0, 0x400000, 0x1000, 0x1000, X, 0 },
	    { 0x3000, 0x900000, 0x80, 0x80, X, 0 } },
	  2,
	  0x3010,
	  true,
	  0x900010 },
	{ "same bytes mapped twice: the executable one",
	  { { 0x1000, 0x601000, 0x1000, 0x1000, PF_R, 0 },
	    { 0x1000, 0x201000, 0x1000, 0x1000, X, 0 } },
	  2,
	  0x1234,
	  true,
	  0x201234 },
	{ "prelinked base",
	  { { 0, 0x3000000000, 0x2000, 0x2000, X, 0 } },
	  1,
	  0x1800,
	  true,
	  0x3000001800 },
	{ "slack behind the text in its last page",
	  { { 0x1000, 0x401000, 0x200, 0x200, X, 0 } },
	  1,
	  0x1300,
	  true,
	  0x401300 },
	{ "slack before the text in its first page",
	  { { 0x1630, 0x2630, 0x200, 0x200, X, 0 } },
	  1,
	  0x1600,
	  true,
	  0x2600 },
	{ "outside", { { 0x1000, 0x401000, 0x200, 0x200, X, 0 } }, 1, 0x2000, false, 0 },
	{ "before everything",
	  { { 0x1000, 0x401000, 0x200, 0x200, X, 0 } },
	  1,
	  0xfff,
	  false,
	  0 },
	{ "bss has no place in the file",
	  { { 0x1000, 0x401000, 0, 0x200, D, 0 } },
	  1,
	  0x1000,
	  false,
	  0 },
	{ "end overflows",
	  { { UINT64_MAX - 8, 0x401000, 64, 64, X, 0 } },
	  1,
	  UINT64_MAX - 4,
	  false,
	  0 },
	{ "no segments", { { 0 } }, 0, 0x1000, false, 0 },
};

START_TEST(file_offsets_become_addresses)
{
	uint64_t got = 0;
	bool found = symbols_file_to_vaddr(translations[_i].seg, translations[_i].n,
					   translations[_i].offset, &got);

	ck_assert_msg(found == translations[_i].found &&
			      (!found || got == translations[_i].vaddr),
		      "%s: %s 0x%llx", translations[_i].what,
		      found ? "found" : "not found", (unsigned long long)got);
}
END_TEST

/* --- where symbols come from --- */

START_TEST(stripped_file_has_dynamic_names_until_its_debug_file_comes)
{
	uint64_t local = fixture_symbol("stripped", "fix_static"),
		 global = fixture_symbol("stripped", "fix_exported");

	named_open(&n, "stripped", NULL);
	ck_assert_str_eq(name_at(global), "fix_exported");
	ck_assert_str_eq(name_at(local), "-");
	named_close(&n);
	named_open(&n, "stripped", "stripped.debug");
	ck_assert_str_eq(name_at(local), "fix_static");
	ck_assert_str_eq(name_at(global), "fix_exported");
	named_close(&n);
}
END_TEST

START_TEST(mini_debuginfo_adds_static_functions)
{
	static const char *const broken[] = { "mini-broken", "mini-bomb" };

	if (!fixture_have("mini"))
		return;
	named_open(&n, "mini", NULL);
	ck_assert_str_eq(name_at(fixture_symbol("mini", "fix_static")), "fix_static");
	ck_assert_str_eq(name_at(fixture_symbol("mini", "fix_exported")), "fix_exported");
	named_close(&n);
	for (int i = 0; i < 2; i++) {
		named_open(&n, broken[i], NULL);
		ck_assert_str_eq(name_at(fixture_symbol("mini", "fix_static")), "-");
		ck_assert_str_eq(name_at(fixture_symbol("mini", "fix_exported")),
				 "fix_exported");
		named_close(&n);
	}
}
END_TEST

START_TEST(file_without_sections_has_its_dynamic_names)
{
	named_open(&n, "sectionless", NULL);
	ck_assert_str_eq(name_at(fixture_symbol("sectionless", "fix_exported")),
			 "fix_exported");
	ck_assert_str_eq(name_at(fixture_symbol("sectionless", "fix_hot") + 1),
			 "fix_hot");
	named_close(&n);
}
END_TEST

static const struct {
	const char *symbol;
	int plus;
	const char *want;
	uint8_t type;
} by_hand[] = {
	{ "foo", 0, "foo",
	  RINGSIDE_FRAME_NATIVE }, /* of foo, __foo, foo_weak, local.foo, yoo, zoo */
	{ "weak_one", 4, "weak_one", RINGSIDE_FRAME_NATIVE }, /* not a_local */
	{ "weak_one", 16, "-", RINGSIDE_FRAME_NATIVE }, /* a gap */
	{ "outer", 0, "outer", RINGSIDE_FRAME_NATIVE },
	{ "outer", 16, "inner", RINGSIDE_FRAME_NATIVE },
	{ "outer", 33, "outer",
	  RINGSIDE_FRAME_NATIVE }, /* behind inner; the label is no function */
	{ "outer", 63, "outer", RINGSIDE_FRAME_NATIVE },
	{ "unsized", 31, "unsized", RINGSIDE_FRAME_NATIVE },
	{ "unsized", 32, "bare_label", RINGSIDE_FRAME_NATIVE },
	{ "_ZN4shop4CartIiE3addERKiS3_", 0,
	  "shop::Cart<int>::add(int const&, int const&)", RINGSIDE_FRAME_NATIVE },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", 1,
	  "core::fmt::Formatter::pad", RINGSIDE_FRAME_RUST },
	{ "_RNvCs1234_7mycrate3foo", 1, "mycrate::foo", RINGSIDE_FRAME_RUST },
	{ "_Zbogus", 15, "_Zbogus", RINGSIDE_FRAME_NATIVE },
	{ "_Zbogus", 16, "-", RINGSIDE_FRAME_NATIVE }, /* behind the end */
};

START_TEST(symbols_made_by_hand)
{
	static const char *const files[] = { "names", "names32" };

	for (int i = 0; i < 2; i++) {
		if (!fixture_have(files[i]))
			continue;
		named_open(&n, files[i], NULL);
		ck_assert_str_eq(name_at(fixture_symbol(files[i], by_hand[_i].symbol) +
					 (uint64_t)by_hand[_i].plus),
				 by_hand[_i].want);
		ck_assert_uint_eq(n.got.names[0].type, by_hand[_i].type);
		/* The raw name stands beside the readable one, and only where they
		 * differ. */
		if (by_hand[_i].symbol[0] == '_' &&
		    strcmp(by_hand[_i].symbol, by_hand[_i].want) &&
		    by_hand[_i].want[0] != '-')
			ck_assert_str_eq(n.got.names[0].system_name, by_hand[_i].symbol);
		else
			ck_assert_ptr_null(n.got.names[0].system_name);
		named_close(&n);
	}
}
END_TEST

/* Not around a symbol inside, and not behind it. */
START_TEST(how_far_a_name_reaches)
{
	static const struct { uint32_t plus, same; } outer[] = {
		{ 0, 16 }, { 4, 12 }, { 16, 16 }, { 31, 1 }, { 33, 0 }, { 63, 0 },
	};
	uint64_t at = fixture_symbol("names", "outer");

	named_open(&n, "names", NULL);
	for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++) {
		name_at(at + outer[i].plus);
		ck_assert_msg(n.got.names[0].same == outer[i].same, "outer + %u: %u, not %u",
			      outer[i].plus, n.got.names[0].same, outer[i].same);
	}
	named_close(&n);
}
END_TEST

START_TEST(arm64_mapping_symbols_name_nothing)
{
	if (!fixture_have("arm64"))
		return;
	named_open(&n, "arm64", NULL);
	ck_assert_str_eq(name_at(fixture_symbol("arm64", "fix_hot")), "fix_hot");
	ck_assert_str_eq(name_at(fixture_symbol("arm64", "fix_static") + 4),
			 "fix_static");
	named_close(&n);
}
END_TEST

static const char *const stubs[] = { "plt-lazy", "plt-sec",   "plt-now",
				     "plt-lld",	 "plt-arm64", "plt-bti" };

START_TEST(stubs_are_called_after_their_targets)
{
	char list[64], want[128], name[100];
	unsigned long long addr;
	int seen = 0;
	FILE *f;

	snprintf(list, sizeof(list), "%s.plt", stubs[_i]);
	if (!fixture_have(list))
		return;
	f = fopen(fixture_path(list), "r");
	ck_assert_ptr_nonnull(f);
	named_open(&n, stubs[_i], NULL);
	while (fscanf(f, "%llx %99s", &addr, name) == 2) {
		if (!strncmp(name, "*ABS*", 5))
			continue;
		snprintf(want, sizeof(want), "%s@plt", name);
		ck_assert_str_eq(name_at(addr), want);
		ck_assert_str_eq(name_at(addr + 4), want);
		ck_assert_uint_eq(n.got.names[0].offset, 4);
		ck_assert_str_eq(n.got.names[0].system_name, name);
		seen++;
	}
	fclose(f);
	ck_assert_int_ge(seen, 4);
	named_close(&n);
}
END_TEST

/* --- lines and inlined functions --- */

/* Some address of fix_caller lies in the code of fix_inlined. */
static void find_inlined(const char *fixture, const char *debug)
{
	uint64_t at = fixture_symbol(fixture, "fix_caller");
	bool inlined = false, plain = false;

	named_open(&n, fixture, debug);
	for (uint64_t i = 0; i < 24; i++) {
		const struct sym_name *s = named_ask(&n, at + i),
				      *caller = &n.got.names[n.got.n_names - 1];

		if (!caller->function || strcmp(caller->function, "fix_caller"))
			continue;
		ck_assert_ptr_nonnull(s->file);
		ck_assert_uint_eq(caller->same, 0);	/* the next one may be of another line */
		ck_assert_str_eq(strrchr(s->file, '/'), "/code.c");
		if (n.got.n_names == 1) {
			plain = true;
			continue;
		}
		inlined = true;
		ck_assert_uint_eq(n.got.n_names, 2);
		ck_assert_str_eq(s->function, "fix_inlined");
		ck_assert(s->inlined && !caller->inlined);
		ck_assert(s->line == 11 || s->line == 12);
		ck_assert_uint_eq(caller->line, 16);
		ck_assert_uint_eq(caller->offset, i);
		ck_assert_str_eq(strrchr(caller->file, '/'), "/code.c");
	}
	ck_assert_msg(inlined && plain, "%s: inlined %d, plain %d", fixture, inlined,
		      plain);
	named_close(&n);
}

START_TEST(dwarf_gives_lines_and_inlined_functions)
{
	find_inlined("pie", NULL);
	find_inlined("stripped", "stripped.debug");
	find_inlined("gz", NULL);
	if (fixture_have("lld"))
		find_inlined("lld", NULL);
}
END_TEST

START_TEST(dwarf_over_its_cap_costs_lines_not_names)
{
	uint64_t at = fixture_symbol("static", "fix_exported");

	named_open(&n, "static", NULL);
	n.names.dwarf_max = 256;
	ck_assert_str_eq(name_at(at), "fix_exported");
	ck_assert_ptr_null(n.got.names[0].file);
	named_close(&n);
}
END_TEST

/* --- what a file is --- */

static struct inspection look;

static void inspect(const char *fixture)
{
	struct inspection *one = &look;
	int fd = fixture_open(fixture);

	memset(&look, 0, sizeof(look));
	ck_assert_int_eq(source_from_fd(&look.src, NULL, fd), 0);
	inspect_files(&one, 1, NULL);
	close(fd);
}

static const struct { const char *fixture; int hex; const char *want;
} ids[] = {
	{ "id-md5", 32, NULL },
	{ "id-uuid", 32, NULL },
	{ "id-sha1", 40, NULL },
	{ "id-0xdeadbeef", 8, "deadbeef" },
	{ "id-0x0123456789abcdef", 16, "0123456789abcdef" },
	{ "id-long", 64,
	  "abababababababababababababababababababababababababababababababab" },
	{ "id-none", 0, NULL },
	{ "id-huge", 0, NULL },
};

START_TEST(build_ids_of_any_length)
{
	inspect(ids[_i].fixture);
	ck_assert(look.answer.is_elf);
	if (!ids[_i].hex) {
		ck_assert_ptr_null(look.answer.gnu_build_id);
	} else {
		ck_assert_ptr_nonnull(look.answer.gnu_build_id);
		ck_assert_uint_eq(strlen(look.answer.gnu_build_id), (size_t)ids[_i].hex);
	}
	if (ids[_i].want)
		ck_assert_str_eq(look.answer.gnu_build_id, ids[_i].want);
	named_open(&n, ids[_i].fixture, NULL);
	ck_assert_str_eq(name_at(fixture_symbol(ids[_i].fixture, "fix_exported")),
			 "fix_exported");
	named_close(&n);
}
END_TEST

START_TEST(inspection_tells_what_is_missing)
{
	inspect("pie");
	ck_assert(look.answer.is_elf && !look.answer.want_debug && !look.answer.stripped);
	ck_assert_uint_ge(look.answer.n_segments, 3);
	inspect("stripped");
	ck_assert(look.answer.want_debug && look.answer.stripped);
	ck_assert_ptr_null(look.answer.debug_link);
	inspect("linked");
	ck_assert(look.answer.want_debug);
	ck_assert_ptr_null(look.answer.gnu_build_id);
	ck_assert_str_eq(look.answer.debug_link, "linked.debug");
	inspect("static");
	ck_assert(!look.answer.want_debug);
	inspect("cut");		/* its section headers are gone */
	ck_assert(look.answer.is_elf);
	ck_assert_ptr_nonnull(look.answer.gnu_build_id);
}
END_TEST

static const struct { const char *fixture; const char *why;
} refused[] = {
	{ "empty", "not an ELF file" },
	{ "text", "not an ELF file" },
	{ "bigendian", "big-endian ELF" },
	{ "cut-header", "ELF header is cut or of unknown class" },
};

START_TEST(what_is_no_elf_is_said_to_be_none)
{
	inspect(refused[_i].fixture);
	ck_assert(!look.answer.is_elf);
	ck_assert_str_eq(look.answer.error, refused[_i].why);
	ck_assert_ptr_nonnull(look.answer.htlhash);
}
END_TEST

START_TEST(htlhash_is_the_hash_of_head_tail_and_length)
{
	static const char *const files[] = { "pie", "text" };	/* the second is shorter than 4 KiB */
	char want[33], list[32];
	FILE *f;

	for (int i = 0; i < 2; i++) {
		snprintf(list, sizeof(list), "%s.htlhash", files[i]);
		if (!fixture_have(list))
			continue;
		f = fopen(fixture_path(list), "r");
		ck_assert_int_eq(fscanf(f, "%32s", want), 1);
		fclose(f);
		inspect(files[i]);
		ck_assert_str_eq(look.answer.htlhash, want);
	}
}
END_TEST

static const struct { const char *file, *debug; bool match; } pairs[] = {
	{ "stripped", "stripped.debug", true },
	{ "linked", "linked.debug", true },
	{ "stripped", "foreign.debug", false },		/* another build id */
	{ "linked", "stripped.debug", false },		/* another CRC */
	{ "nopie", "foreign.debug", true },
};

START_TEST(debug_files_must_fit)
{
	struct elf_file *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));
	int fa = fixture_open(pairs[_i].file), fb = fixture_open(pairs[_i].debug);
	struct source sa, sb;
	const char *why;

	ck_assert_int_eq(source_from_fd(&sa, NULL, fa), 0);
	ck_assert_int_eq(source_from_fd(&sb, NULL, fb), 0);
	ck_assert_int_eq(elf_file_read(a, &sa, &why), 0);
	ck_assert_int_eq(elf_file_read(b, &sb, &why), 0);
	ck_assert(inspect_debug_matches(a, b) == pairs[_i].match);
	close(fa);
	close(fb);
	free(a);
	free(b);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

static Suite *suite(void)
{
	Suite *s = suite_create("symbols");
	TCase *t = tcase_create("files");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, every_layout_names_its_functions_at_both_ends, 0,
			    ROWS(layouts));
	tcase_add_loop_test(t, every_layout_maps_file_offsets_back_to_addresses, 0,
			    ROWS(layouts));
	tcase_add_loop_test(t, file_offsets_become_addresses, 0, ROWS(translations));
	tcase_add_test(t, stripped_file_has_dynamic_names_until_its_debug_file_comes);
	tcase_add_test(t, mini_debuginfo_adds_static_functions);
	tcase_add_test(t, file_without_sections_has_its_dynamic_names);
	tcase_add_loop_test(t, symbols_made_by_hand, 0, ROWS(by_hand));
	tcase_add_test(t, how_far_a_name_reaches);
	tcase_add_test(t, arm64_mapping_symbols_name_nothing);
	tcase_add_loop_test(t, stubs_are_called_after_their_targets, 0, ROWS(stubs));
	tcase_add_test(t, dwarf_gives_lines_and_inlined_functions);
	tcase_add_test(t, dwarf_over_its_cap_costs_lines_not_names);
	tcase_add_loop_test(t, build_ids_of_any_length, 0, ROWS(ids));
	tcase_add_test(t, inspection_tells_what_is_missing);
	tcase_add_loop_test(t, what_is_no_elf_is_said_to_be_none, 0, ROWS(refused));
	tcase_add_test(t, htlhash_is_the_hash_of_head_tail_and_length);
	tcase_add_loop_test(t, debug_files_must_fit, 0, ROWS(pairs));
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
