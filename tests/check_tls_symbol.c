/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variable of thread contexts in ELF files that the compiler and two linkers made a moment ago
 * (tests/tls-fixtures.sh), and in damaged copies of them.
 */
#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sidecar/symbols/answer.h"
#include "sidecar/symbols/inspect.h"
#include "sidecar/symbols/tls_symbol.h"

#define N(t) (sizeof(t) / sizeof((t)[0]))

static char folder[64];

static void make(void)
{
	const char *src = getenv("srcdir");
	char cmd[1024];

	snprintf(folder, sizeof(folder), "tls-fixtures.XXXXXX");
	if (!mkdtemp(folder)) {
		folder[0] = 0;
		return;
	}
	snprintf(cmd, sizeof(cmd), "sh '%s/tests/tls-fixtures.sh' '%s'", src ? src : ".",
		 folder);
	if (system(cmd))
		fprintf(stderr, "tls-fixtures.sh failed\n");
}

static void unmake(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf './%s'", folder);
	if (folder[0] && system(cmd))
		fprintf(stderr, "%s is left behind\n", folder);
}

static const char *path_of(const char *name, const char *suffix)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
	return path;
}

static bool have(const char *name)
{
	if (!access(path_of(name, ""), R_OK))
		return true;
	printf("SKIP: %s: the tools here cannot make it\n", name);
	return false;
}

/* What readelf said, in hex; false: nothing. */
static bool told(const char *name, const char *what, uint64_t *value)
{
	FILE *f = fopen(path_of(name, what), "r");
	unsigned long long v;
	bool ok;

	if (!f)
		return false;
	ok = fscanf(f, "%llx", &v) == 1;
	fclose(f);
	*value = ok ? v : 0;
	return ok;
}

static bool find(const char *name, struct tls_facts *f)
{
	struct elf_file *e = calloc(1, sizeof(*e));
	int fd = open(path_of(name, ""), O_RDONLY | O_CLOEXEC);
	struct source src;
	const char *why;
	bool found;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(source_from_fd(&src, NULL, fd), 0);
	ck_assert_int_eq(elf_file_read(e, &src, &why), 0);
	found = tls_symbol_find(e, f);
	if (found)
		ck_assert(tls_facts_ok(f));
	close(fd);
	free(e);
	return found;
}

static void value_is_what_readelf_says(const char *name, const struct tls_facts *f)
{
	uint64_t value;

	ck_assert_msg(told(name, ".value", &value), "%s: readelf shows no symbol", name);
	ck_assert_msg(f->st_value == value, "%s: value %llx", name,
		      (unsigned long long)f->st_value);
}

static const struct { const char *name; uint32_t access; } libraries[] = {
	{ "ld_desc.so", TLS_DESC },	    { "ld_gd.so", TLS_MODULE },
	{ "ld_ie.so", TLS_TPOFF },	    { "ld_before.so", TLS_DESC },
	{ "ld_symbolic_desc.so", TLS_DESC }, { "ld_symbolic_gd.so", TLS_MODULE },
	{ "ld_symbolic_ie.so", TLS_TPOFF }, { "ld_decoys.so", TLS_DESC },
	{ "ld_symbolic_decoys.so", TLS_DESC }, { "ld_merged.so", TLS_DESC },
	{ "ld_sysv.so", TLS_DESC },	    { "ld_gnu.so", TLS_DESC },
	{ "lld_desc.so", TLS_DESC },	    { "lld_gd.so", TLS_MODULE },
	{ "lld_ie.so", TLS_TPOFF },	    { "lld_before.so", TLS_DESC },
	{ "lld_symbolic_desc.so", TLS_DESC }, { "lld_symbolic_gd.so", TLS_MODULE },
	{ "lld_symbolic_ie.so", TLS_TPOFF }, { "lld_decoys.so", TLS_DESC },
	{ "lld_merged.so", TLS_DESC },	    { "lld_sysv.so", TLS_DESC },
	{ "lld_gnu.so", TLS_DESC },	    { "a64_desc.so", TLS_DESC },
	{ "a64_gd.so", TLS_MODULE },	    { "a64_ie.so", TLS_TPOFF },
};
START_TEST(r33_r35_r39_library)
{
	const char *name = libraries[_i].name;
	struct tls_facts f;
	uint64_t at;

	if (!have(name))
		return;
	ck_assert_msg(find(name, &f), "%s", name);
	value_is_what_readelf_says(name, &f);
	ck_assert_uint_eq(f.is_program, 0);
	ck_assert_uint_eq(f.from_symtab, 0);
	ck_assert_msg(f.n_relocs == 1, "%s: %u relocations", name, f.n_relocs);
	ck_assert_uint_eq(f.relocs[0].access, libraries[_i].access);
	ck_assert_uint_ge(f.n_text, 1);
	if (told(name, ".at", &at)) {
		ck_assert_uint_eq(f.relocs[0].at, at);
		ck_assert_uint_eq(f.relocs[0].by_addend, 0);
	} else {
		ck_assert_uint_eq(f.relocs[0].by_addend, 1);
	}
}
END_TEST

START_TEST(r38_lld_names_the_value_when_it_binds_to_the_library)
{
	static const char *const names[] = { "lld_symbolic_desc.so", "lld_symbolic_ie.so" };
	struct tls_facts f;

	for (size_t i = 0; i < N(names); i++) {
		if (!have(names[i]))
			continue;
		ck_assert(find(names[i], &f));
		ck_assert_uint_eq(f.n_relocs, 1);
		ck_assert_uint_eq(f.relocs[0].by_addend, 1);
		ck_assert_uint_gt(f.st_value, 0);
	}
	if (!have("lld_symbolic_gd.so"))
		return;
	ck_assert(find("lld_symbolic_gd.so", &f));
	ck_assert_uint_eq(f.relocs[0].access, TLS_MODULE);
	ck_assert_uint_eq(f.relocs[0].by_addend, 0);
}
END_TEST

START_TEST(relocations_of_other_variables_are_not_taken)
{
	struct tls_facts f;

	if (!have("lld_symbolic_decoys.so"))
		return;
	ck_assert(find("lld_symbolic_decoys.so", &f));
	value_is_what_readelf_says("lld_symbolic_decoys.so", &f);
	ck_assert_uint_eq(f.n_relocs, 1);	/* of four, all without a symbol */
}
END_TEST

START_TEST(value_zero_is_a_place)
{
	struct tls_facts f;

	if (!have("ld_desc.so"))
		return;
	ck_assert(find("ld_desc.so", &f));
	ck_assert_uint_eq(f.st_value, 0);
	ck_assert(find("ld_before.so", &f));
	ck_assert_uint_gt(f.st_value, 0);
}
END_TEST

static const struct { const char *name; bool from_symtab; } programs[] = {
	{ "pie", false }, { "nopie", false }, { "aligned", false }, { "static", true },
	{ "a64_pie", false },
};
START_TEST(r34_program)
{
	const char *name = programs[_i].name;
	struct tls_facts f;

	if (!have(name))
		return;
	ck_assert_msg(find(name, &f), "%s", name);
	value_is_what_readelf_says(name, &f);
	ck_assert_uint_eq(f.is_program, 1);
	ck_assert_uint_eq(f.from_symtab, programs[_i].from_symtab);
	ck_assert_uint_eq(f.n_relocs, 0);
	ck_assert_uint_ge(f.memsz, f.st_value + 8);
}
END_TEST

START_TEST(r34_static_pie)
{
	struct tls_facts f;

	if (!have("static_pie"))
		return;
	ck_assert(find("static_pie", &f));	/* by either table */
	value_is_what_readelf_says("static_pie", &f);
	ck_assert_uint_eq(f.is_program, 1);
	ck_assert_uint_eq(f.n_relocs, 0);
}
END_TEST

static const char *const strangers[] = { "import", "other.so", "ld_hidden.so",
					 "lld_hidden.so" };
START_TEST(r39_file_that_does_not_define_it)
{
	struct tls_facts f;

	if (have(strangers[_i]))
		ck_assert_msg(!find(strangers[_i], &f), "%s", strangers[_i]);
}
END_TEST

/* --- through the worker's wire ---------------------------------------------------------- */

struct message { size_t n; char bytes[SYMBOLS_MESSAGE_MAX]; };

static void keep(void *arg, const void *bytes, size_t n)
{
	struct message *m = arg;

	ck_assert_uint_le(n, sizeof(m->bytes));
	memcpy(m->bytes, bytes, n);
	m->n = n;
}

START_TEST(facts_come_through_the_door)
{
	static struct message m;
	struct inspection *f = calloc(1, sizeof(*f));
	struct symbols_decoder *d;
	struct sym_answer got;
	struct answer *a;

	if (!have("ld_gd.so"))
		return;
	ck_assert_int_eq(answer_create(&a, keep, &m), 0);
	ck_assert_int_eq(symbols_decoder_create(&d), 0);
	ck_assert_int_eq(source_from_fd(&f->src, NULL,
					open(path_of("ld_gd.so", ""), O_RDONLY)), 0);
	inspect_files(&f, 1, NULL);
	f->answer.file_id = 16;
	answer_file(a, &f->answer, 1);
	ck_assert_int_eq(symbols_decode(d, m.bytes, m.n, &got), 0);
	ck_assert(got.has_tls);
	ck_assert_mem_eq(&got.tls, &f->answer.tls, sizeof(got.tls));
	ck_assert_uint_eq(got.n_segments, f->answer.n_segments);
	ck_assert_str_eq(got.htlhash, f->htlhash);
	/* A count that is not what it may be. */
	for (size_t i = 0; i + 2 <= m.n; i++) {
		if (memcmp(m.bytes + i, &f->answer.tls, sizeof(f->answer.tls)))
			continue;
		m.bytes[i + offsetof(struct tls_facts, n_relocs)] = TLS_MAX_RELOCS + 1;
		break;
	}
	ck_assert_int_lt(symbols_decode(d, m.bytes, m.n, &got), 0);
	answer_destroy(a);
	symbols_decoder_destroy(d);
	close(f->src.fd);
	free(f);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------- */

static size_t load(const char *name, unsigned char **out)
{
	int fd = open(path_of(name, ""), O_RDONLY | O_CLOEXEC);
	struct stat st;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	*out = malloc((size_t)st.st_size);
	ck_assert_int_eq(read(fd, *out, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static bool find_in(const unsigned char *bytes, size_t n)
{
	struct elf_file *e = calloc(1, sizeof(*e));
	struct tls_facts f;
	struct source src;
	const char *why;
	bool found;

	source_from_memory(&src, bytes, n);
	found = !elf_file_read(e, &src, &why) && tls_symbol_find(e, &f);
	if (found)
		ck_assert(tls_facts_ok(&f));
	free(e);
	return found;
}

START_TEST(r42_cut_anywhere)
{
	unsigned char *bytes;
	size_t n;

	if (!have("ld_desc.so"))
		return;
	n = load("ld_desc.so", &bytes);
	ck_assert(find_in(bytes, n));
	for (size_t cut = 0; cut < n; cut += 7) {
		unsigned char *part = malloc(cut ? cut : 1);

		memcpy(part, bytes, cut);
		find_in(part, cut);
		free(part);
	}
	free(bytes);
}
END_TEST

START_TEST(r42_any_byte_wrong)
{
	static const unsigned char values[] = { 0, 0x7f, 0xff };
	unsigned char *bytes;
	size_t n;

	if (!have("ld_gnu.so"))
		return;
	n = load("ld_gnu.so", &bytes);
	ck_assert(find_in(bytes, n));
	for (size_t i = 0; i < n && i < 4096; i++) {
		unsigned char was = bytes[i];

		for (size_t k = 0; k < sizeof(values); k++) {
			bytes[i] = values[k];
			find_in(bytes, n);
		}
		bytes[i] = was;
	}
	free(bytes);
}
END_TEST

START_TEST(another_machine_is_not_looked_into)
{
	unsigned char *bytes;
	size_t n;

	if (!have("ld_desc.so"))
		return;
	n = load("ld_desc.so", &bytes);
	((Elf64_Ehdr *)(void *)bytes)->e_machine = EM_PPC64;
	ck_assert(!find_in(bytes, n));
	free(bytes);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tls_symbol");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	make();
	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, r33_r35_r39_library, 0, N(libraries));
	tcase_add_test(t, r38_lld_names_the_value_when_it_binds_to_the_library);
	tcase_add_test(t, relocations_of_other_variables_are_not_taken);
	tcase_add_test(t, value_zero_is_a_place);
	tcase_add_loop_test(t, r34_program, 0, N(programs));
	tcase_add_test(t, r34_static_pie);
	tcase_add_loop_test(t, r39_file_that_does_not_define_it, 0, N(strangers));
	tcase_add_test(t, facts_come_through_the_door);
	tcase_add_test(t, r42_cut_anywhere);
	tcase_add_test(t, r42_any_byte_wrong);
	tcase_add_test(t, another_machine_is_not_looked_into);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	unmake();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
