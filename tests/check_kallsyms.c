/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel symbols: modules, hidden addresses, aliases, ends, and when the file is read
 * again. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/symbols/kallsyms.h"

static struct kallsyms *k;

static const char text[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000040 T startup_64\n"
	"ffffffff81000100 t __pfx_do_one\n"
	"ffffffff81000110 T do_one\n"
	"ffffffff81000200 T __x64_sys_read\n"
	"ffffffff81000200 T __se_sys_read\n"
	"ffffffff81000300 W weak_fn\n"
	"ffffffff81000400 D some_data\n"
	"ffffffff81000800 T _etext\n"
	"ffffffffc0400000 t mod_local\t[nf_tables]\n"
	"ffffffffc0300000 t first_in_module\t[ext4]\n"
	"ffffffffc0300100 t second_in_module\t[ext4]\n"
	"ffffffffc0500000 t bpf_prog_0123456789abcdef_sample\t[bpf]\n"
	"broken line\n"
	"zzzz T no_address\n"
	"ffffffffc0600000 T cut";

static const struct {
	uint64_t addr;
	const char *name, *module;
	uint64_t offset;
} cases[] = {
	{ 0xffffffff81000000, "_text", NULL, 0 },
	{ 0xffffffff8100003f, "_text", NULL, 0x3f },
	{ 0xffffffff81000040, "startup_64", NULL, 0 },
	{ 0xffffffff81000115, "do_one", NULL, 5 },
	{ 0xffffffff81000210, "__se_sys_read", NULL, 0x10 },
	{ 0xffffffff81000300, "weak_fn", NULL, 0 },
	{ 0xffffffff81000410, "weak_fn", NULL, 0x110 }, /* data symbols end nothing */
	{ 0xffffffff81000800, NULL, NULL, 0 }, /* behind the kernel's text */
	{ 0xffffffff80ffffff, NULL, NULL, 0 },
	{ 0x1000, NULL, NULL, 0 },
	{ 0xffffffffc0300080, "first_in_module", "[ext4]", 0x80 },
	{ 0xffffffffc0300101, "second_in_module", "[ext4]", 1 },
	{ 0xffffffffc0390000, NULL, NULL, 0 }, /* too far behind the module's last */
	{ 0xffffffffc0400010, "mod_local", "[nf_tables]", 0x10 },
	{ 0xffffffffc0500010, "bpf_prog_0123456789abcdef_sample", "[bpf]", 0x10 },
	{ 0xffffffffc0600000, NULL, NULL, 0 }, /* its line is cut */
	{ UINT64_MAX, NULL, NULL, 0 },
};

START_TEST(addresses_have_names)
{
	const char *module = NULL;
	struct symbol s;
	bool found;

	ck_assert_int_eq(kallsyms_create(&k, -1), 0);
	ck_assert_int_eq(kallsyms_parse(k, text, sizeof(text) - 1), 0);
	found = kallsyms_find(k, cases[_i].addr, &s, &module);
	ck_assert_msg(found == !!cases[_i].name, "%llx: found %d %s",
		      (unsigned long long)cases[_i].addr, found, found ? s.name : "");
	if (found) {
		ck_assert_str_eq(s.name, cases[_i].name);
		ck_assert_uint_eq(cases[_i].addr - s.start, cases[_i].offset);
		ck_assert_uint_eq(s.until, s.end);
		ck_assert_pstr_eq(module, cases[_i].module);
	}
	ck_assert(!kallsyms_hidden(k));
	kallsyms_destroy(k);
}
END_TEST

/* Many of them, some of modules; read anew, the old ones are forgotten. */
START_TEST(every_name_of_a_large_table)
{
	size_t n = 0;
	char *big = malloc(200000), want[32];
	const char *module;
	struct symbol s;

	for (unsigned int i = 0; i < 3000; i++)
		n += (size_t)snprintf(
			big + n, 200000 - n, "%016llx t function_number_%u%s\n",
			0xffffffff81000000 + i * 64ull, i, i % 5 ? "" : "\t[mod]");
	ck_assert_int_eq(kallsyms_create(&k, -1), 0);
	ck_assert_int_eq(kallsyms_parse(k, big, n), 0);
	for (unsigned int i = 0; i < 3000; i++) {
		unsigned int at = i * 1237 % 3000;

		snprintf(want, sizeof(want), "function_number_%u", at);
		ck_assert(kallsyms_find(k, 0xffffffff81000007 + at * 64ull, &s, &module));
		ck_assert_str_eq(s.name, want);
		ck_assert_pstr_eq(module, at % 5 ? NULL : "[mod]");
	}
	ck_assert_int_eq(kallsyms_parse(k, text, sizeof(text) - 1), 0);
	ck_assert(kallsyms_find(k, 0xffffffff81000040, &s, &module));
	ck_assert_str_eq(s.name, "startup_64");
	kallsyms_destroy(k);
	free(big);
}
END_TEST

START_TEST(hidden_addresses_are_noticed)
{
	static const char hidden[] =
		"0000000000000000 T _text\n0000000000000000 T do_one\n0000000000000000 D data\n";
	const char *module;
	struct symbol s;

	ck_assert_int_eq(kallsyms_create(&k, -1), 0);
	ck_assert(!kallsyms_hidden(k));
	ck_assert_int_eq(kallsyms_parse(k, hidden, sizeof(hidden) - 1), 0);
	ck_assert(kallsyms_hidden(k));
	ck_assert_uint_eq(kallsyms_count(k), 0);
	ck_assert(!kallsyms_find(k, 0, &s, &module));
	ck_assert(!kallsyms_find(k, 0xffffffff81000000, &s, &module));
	kallsyms_destroy(k);
}
END_TEST

/* Addresses more than 4 GiB apart need the wide table. */
START_TEST(code_far_apart)
{
	static const char far[] = "ffff800000001000 T low\nffffffff81000000 T high\n";
	const char *module;
	struct symbol s;

	ck_assert_int_eq(kallsyms_create(&k, -1), 0);
	ck_assert_int_eq(kallsyms_parse(k, far, sizeof(far) - 1), 0);
	ck_assert(kallsyms_find(k, 0xffff800000001004, &s, &module));
	ck_assert_str_eq(s.name, "low");
	ck_assert(kallsyms_find(k, 0xffffffff81000004, &s, &module));
	ck_assert_str_eq(s.name, "high");
	ck_assert_uint_eq(s.start, 0xffffffff81000000);
	kallsyms_destroy(k);
}
END_TEST

/* As the worker does it. */
static bool find_reading(uint64_t addr, uint64_t now, struct symbol *s,
			 const char **module)
{
	if (kallsyms_due(k, &addr, 1, now)) {
		kallsyms_read_begin(k, now);
		while (kallsyms_read_some(k) > 0)
			;
	}
	return kallsyms_find(k, addr, s, module);
}

START_TEST(unknown_address_reads_again_after_ten_seconds)
{
	const uint64_t S = 1000000000;
	char path[] = "kallsyms.XXXXXX";
	int fd = mkstemp(path);
	const char *module;
	struct symbol s;

	unlink(path);
	ck_assert_int_eq(dprintf(fd, "ffffffff81000000 T one\n"), 23);
	ck_assert_int_eq(kallsyms_create(&k, fd), 0);
	ck_assert(find_reading(0xffffffff81000000, 100 * S, &s, &module));
	ck_assert_int_eq(dprintf(fd, "ffffffffc0000000 T two\t[new]\n"), 29);
	ck_assert(!find_reading(0xffffffffc0000000, 101 * S, &s, &module));
	ck_assert(!find_reading(0xffffffffc0000000, 109 * S, &s, &module));
	ck_assert(find_reading(0xffffffffc0000000, 110 * S, &s, &module));
	ck_assert_str_eq(s.name, "two");
	ck_assert_str_eq(module, "[new]");
	/* All known: nothing to read for. */
	ck_assert(!kallsyms_due(k, &(uint64_t){ 0xffffffff81000004 }, 1, 500 * S));
	ck_assert(kallsyms_due(k, &(uint64_t){ 0x1000 }, 1, 500 * S));
	kallsyms_destroy(k);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kallsyms");
	TCase *t = tcase_create("table");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, addresses_have_names, 0,
			    (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_test(t, every_name_of_a_large_table);
	tcase_add_test(t, hidden_addresses_are_noticed);
	tcase_add_test(t, code_far_apart);
	tcase_add_test(t, unknown_address_reads_again_after_ten_seconds);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
