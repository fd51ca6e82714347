/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping sets and the files behind them: never a neighbour's, never a namesake's. */
#include "tests/check_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- overlaps: a mapping at 0x1000-0x5000 (offset 0), then one more --- */

static const struct {
	const char *what;
	uint64_t start, len;
	const char *want;
} overlaps[] = {
	{ "before", 0x500, 0x100, "500-600:0 1000-5000:0" },
	{ "after", 0x6000, 0x1000, "1000-5000:0 6000-7000:0" },
	{ "over the beginning", 0x800, 0x1000, "800-1800:0 1800-5000:800" },
	{ "over the end", 0x4000, 0x2000, "1000-4000:0 4000-6000:0" },
	{ "in the middle", 0x2000, 0x1000, "1000-2000:0 2000-3000:0 3000-5000:2000" },
	{ "the same range", 0x1000, 0x4000, "1000-5000:0" },
	{ "all around", 0x800, 0x8000, "800-8800:0" },
	{ "same start, shorter", 0x1000, 0x1000, "1000-2000:0 2000-5000:1000" },
	{ "same end, shorter", 0x4000, 0x1000, "1000-4000:0 4000-5000:0" },
	{ "touching", 0x5000, 0x1000, "1000-5000:0 5000-6000:0" },
};
START_TEST(a_new_mapping_cuts_what_was_in_its_way)
{
	struct image *i;

	forked(10, 1, 1, 0, 0, 0, 5);
	mapped(10, 10, 0x1000, 0x4000, 5, "/bin/a");
	mapped(10, 11, overlaps[_i].start, overlaps[_i].len, 6, "/bin/b");
	i = sample(10, 1, 1, 20, "a", 0);
	ck_assert_msg(!strcmp(layout(i), overlaps[_i].want), "%s: %s", overlaps[_i].what,
		      layout(i));
	ck_assert_str_eq(image_find(i, overlaps[_i].start)->file->path, "/bin/b");
	image_put(table, i);
}
END_TEST

START_TEST(random_mappings_stay_sorted_and_the_last_one_wins)
{
	uint8_t owner[256] = { 0 };
	uint32_t seed = 12345;
	struct image *i;

	forked(10, 1, 1, 0, 0, 0, 5);
	for (int n = 0; n < 3000; n++) {
		uint32_t start, len, file;

		seed = seed * 1103515245 + 12345;
		start = (seed >> 8) % 250;
		len = 1 + (seed >> 16) % 6;
		file = 1 + (seed >> 24) % 5;
		mapped(10, 10 + n, 0x100000 + start * 0x1000, len * 0x1000, file, "/f");
		memset(owner + start, file, len);
		/* The bound may refuse one; then nothing of it may be there, so stop
		 * before it. */
		if (process_find(table, 10, 1)->n_maps + 2 > 64)
			break;
	}
	i = process_find(table, 10, 1);
	for (int page = 0; page < 256; page++) {
		const struct mapping *m = image_find(i, 0x100000 + page * 0x1000 + 0x10);

		ck_assert_uint_eq(m ? m->file->inode : 0, owner[page]);
	}
	for (uint32_t k = 1; k < i->n_maps; k++)
		ck_assert_uint_ge(i->maps[k].start, i->maps[k - 1].end);
}
END_TEST

START_TEST(the_number_of_mappings_is_bounded)
{
	struct process_counts c;

	forked(10, 1, 1, 0, 0, 0, 5);
	for (int n = 0; n < 1000; n++)
		mapped(10, 10 + n, 0x1000000ull + n * 0x10000ull, 0x1000, 5, "/bin/a");
	process_counts(table, &c);
	ck_assert_uint_le(process_find(table, 10, 1)->n_maps, 64);
	ck_assert_uint_ge(c.refused, 900);
}
END_TEST

START_TEST(pieces_of_one_mapping_become_one)
{
	struct image *i;

	forked(10, 1, 1, 0, 0, 0, 5);
	mapped(10, 10, 0x1000, 0x1000, 0, "//anon");
	mapped(10, 11, 0x2000, 0x1000, 0, "//anon");
	mapped(10, 12, 0x3000, 0x1000, 5, "/bin/a");	/* offset 0 again: not a continuation */
	mapped(10, 13, 0x4000, 0x1000, 5, "/bin/a");
	i = process_find(table, 10, 1);
	ck_assert_str_eq(layout(i), "1000-3000:0 3000-4000:0 4000-5000:0");
	ck_assert_int_eq(i->maps[0].kind, MAPPING_ANON);
	ck_assert_ptr_null(i->maps[0].file);
}
END_TEST

static const struct {
	const char *path;
	bool has_file;
	enum mapping_kind want;
} kinds[] = {
	{ "/usr/bin/x", true, MAPPING_FILE },
	{ "[vdso]", false, MAPPING_VDSO },
	{ "[vsyscall]", false, MAPPING_VDSO },
	{ "[heap]", false, MAPPING_ANON },
	{ "[anon:v8]", false, MAPPING_ANON },
	{ "", false, MAPPING_ANON },
	{ "//anon", false, MAPPING_ANON },
	{ "/memfd:jit (deleted)", true, MAPPING_ANON },
	{ "/dev/zero (deleted)", true, MAPPING_ANON },
	{ "/SYSV00000000 (deleted)", true, MAPPING_ANON },
	{ "anon_inode:[perf_event]", true, MAPPING_ANON },
	{ "/devices/x", true, MAPPING_FILE },
};
START_TEST(kinds_of_mappings)
{
	ck_assert_msg(mapping_kind_of(kinds[_i].path, strlen(kinds[_i].path),
				      kinds[_i].has_file) == kinds[_i].want,
		      "%s", kinds[_i].path);
}
END_TEST

START_TEST(what_was_mapped_during_a_reading_stays_and_what_was_before_goes)
{
	struct image *i = sample(10, 1, 1, 10, "a", 0);
	struct reading r = { .begin = 20, .end = 30, .comm = "a", .n_maps = 1,
			     .maps = { { 0x1000, 0x2000, 0, 5, 1, 77, "/bin/a" } } };
	uint32_t serial;

	mapped(10, 15, 0x1000, 0x1000, 5, "/bin/a");
	mapped(10, 16, 0x7000, 0x1000, 7, "/lib/closed.so");
	mapped(10, 25, 0x9000, 0x1000, 9, "/lib/opened.so");
	serial = image_find(i, 0x1000)->serial;
	answer(i, &r);
	ck_assert_str_eq(layout(i), "1000-2000:0 9000-a000:0");
	ck_assert_uint_eq(image_find(i, 0x1000)->serial, serial);	/* caches stay warm */
	mapped(10, 18, 0x7000, 0x1000, 7, "/lib/closed.so");	/* delivered late: older than the reading */
	ck_assert_ptr_null(image_find(i, 0x7000));
	mapped(10, 40, 0x7000, 0x1000, 7, "/lib/closed.so");
	ck_assert_ptr_nonnull(image_find(i, 0x7000));
	image_put(table, i);
}
END_TEST

/* --- files --- */

START_TEST(one_file_serves_all_processes_and_an_inode_alone_none)
{
	struct reading r = { .begin = 20, .end = 30, .comm = "a", .n_maps = 1,
			     .maps = { { 0x1000, 0x2000, 0, 2, 1, 77, "/svc" } } };
	struct image *i[4];
	const struct file *f[4];

	for (uint32_t k = 0; k < 4; k++) {
		i[k] = sample(10 + k, 1, 1, 10, "a", 0);
		r.maps[0].minor = k == 2 ? 2 : 1;	/* same inode on another device */
		r.maps[0].mtime = k == 3 ? 99 : 77;	/* same inode, given to another file */
		answer(i[k], &r);
		f[k] = image_find(i[k], 0x1000)->file;
	}
	ck_assert_ptr_eq(f[0], f[1]);
	ck_assert_ptr_ne(f[0], f[2]);
	ck_assert_ptr_ne(f[0], f[3]);
	ck_assert_uint_ne(f[0]->id, f[2]->id);
	for (int k = 0; k < 4; k++)
		image_put(table, i[k]);
}
END_TEST

START_TEST(one_path_may_be_two_files)
{
	struct image *i = sample(10, 1, 1, 10, "a", 0);
	struct reading r = { .begin = 20,
			     .end = 30,
			     .comm = "a",
			     .n_maps = 2,
			     .maps = {
				     { 0x1000, 0x2000, 0, 5, 1, 77, "/lib/libx.so" },
				     { 0x8000, 0x9000, 0, 6, 1, 78, "/lib/libx.so" } } };

	answer(i, &r);
	ck_assert_ptr_ne(image_find(i, 0x1000)->file, image_find(i, 0x8000)->file);
	image_put(table, i);
}
END_TEST

START_TEST(a_build_id_from_an_event_is_joined_with_the_identity_that_a_reading_tells)
{
	struct image *i;
	struct file *f;
	struct reading r = { .begin = 200, .end = 210, .comm = "a", .n_maps = 1,
			     .maps = { { 0x1000, 0x2000, 0, 5, 1, 77, "/bin/a" } } };

	forked(10, 1, 1, 0, 0, 0, 5);
	mapped_id(10, 10, 0x1000, 0x1000, 0xab, "/bin/a");
	i = sample(10, 1, 1, 20, "a", 0);
	f = image_find(i, 0x1000)->file;
	ck_assert_uint_eq(f->inode, 0);
	ck_assert_str_eq(f->expect_build_id, "abababababababababababababababababababab");
	answer(i, &r);
	ck_assert_ptr_eq(image_find(i, 0x1000)->file, f);
	ck_assert_uint_eq(f->inode, 5);
	image_put(table, i);
}
END_TEST

START_TEST(an_exec_gives_its_first_mapping_a_device_and_an_inode)
{
	struct image *a, *b;

	forked(10, 1, 1, 0, 0, 0, 5);
	comm_exec(10, 10, "x");
	mapped_id(10, 11, 0x1000, 0x1000, 1, "/bin/x");
	mapped_id(10, 12, 0x8000, 0x1000, 2, "/lib/ld.so");
	a = execed(10, 1, 2, 20, "./x", 50);
	ck_assert_ptr_eq(a->exe, image_find(a, 0x1000)->file);
	ck_assert_uint_eq(a->exe->inode, 50);
	ck_assert_uint_eq(image_find(a, 0x8000)->file->inode, 0);
	/* The next one finds the same file, by that identity. */
	forked(11, 30, 1, 0, 0, 0, 30);
	comm_exec(11, 31, "x");
	mapped_id(11, 32, 0x5000, 0x1000, 1, "/other/name/of/x");
	b = execed(11, 30, 2, 40, "./x", 50);
	ck_assert_ptr_eq(b->exe, a->exe);
	ck_assert_ptr_eq(image_find(b, 0x5000)->file, a->exe);
	/* Another build under the same inode is another file. */
	forked(12, 50, 1, 0, 0, 0, 50);
	comm_exec(12, 51, "x");
	mapped_id(12, 52, 0x5000, 0x1000, 3, "/bin/x");
	ck_assert_ptr_ne(execed(12, 50, 2, 60, "./x", 50)->exe, a->exe);
}
END_TEST

START_TEST(a_build_id_alone_is_shared_only_among_files_that_root_owns)
{
	struct reading r = { .begin = 20, .end = 30, .comm = "a", .n_maps = 1,
			     .maps = { { 0x1000, 0x2000, 0, 5, 1, 77, "/bin/a" } } };

	for (uint32_t uid = 0; uid < 2; uid++) {
		uint32_t pid = 10 + 10 * uid;
		struct image *i = sample(pid, 1, 1, 10, "a", 0), *dead;
		struct file *f;

		r.maps[0].inode = 5 + uid;
		r.maps[0].path = uid ? "/tmp/a" : "/bin/a";
		answer(i, &r);
		f = image_find(i, 0x1000)->file;
		process_want_file(table, i, image_find(i, 0x1000));
		ck_assert_int_eq(f->state, FILE_OPENING);
		file_answer(DOOR_FILE, i, f, 0, 4096, 77, uid, -1);
		ck_assert_int_eq(f->state, FILE_SENT);
		f->build_id = strdup("0101010101010101010101010101010101010101");
		f->build_id_kind = 1;
		forked(pid + 1, 100, 1, 0, 0, 0, 100);
		mapped_id(pid + 1, 110, 0x9000, 0x1000, 1, r.maps[0].path);
		dead = process_find(table, pid + 1, 100);
		if (uid == 0)
			ck_assert_ptr_eq(image_find(dead, 0x9000)->file, f);
		else
			ck_assert_ptr_ne(image_find(dead, 0x9000)->file, f);
		image_put(table, i);
	}
}
END_TEST

START_TEST(a_namesake_with_another_build_id_is_not_taken_for_the_file)
{
	static const char right[] = "abababababababababababababababababababab";
	struct image *i;
	struct file *f;

	forked(10, 1, 1, 0, 0, 0, 5);
	mapped_id(10, 10, 0x1000, 0x1000, 0xab, "/bin/sh");
	i = sample(10, 1, 1, 20, "sh", 0x1010);
	f = image_find(i, 0x1000)->file;
	ck_assert_str_eq(f->build_id, right);	/* known though the file may never be seen */
	ck_assert_int_eq(f->state, FILE_OPENING);
	file_answer(DOOR_FILE, i, f, 0, 4096, 77, 0, -1);
	ck_assert_int_eq(f->state, FILE_SENT);
	ck_assert(process_file_confirm(table, f, right));
	ck_assert_int_eq(f->state, FILE_SENT);
	ck_assert(!process_file_confirm(table, f,
					"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"));
	ck_assert_int_eq(f->state, FILE_FAILED);
	ck_assert(!process_file_confirm(table, f, NULL));
	ck_assert_str_eq(f->build_id, right);
	image_put(table, i);
}
END_TEST

static struct {
	unsigned calls;
	struct file *file;
	enum mapping_kind kind;
	bool debug;
} given;

static void on_file(void *arg, struct file *f, int fd, enum mapping_kind kind, bool debug)
{
	(void)arg;
	given.calls++;
	given.file = f;
	given.kind = kind;
	given.debug = debug;
	close(fd);
}

static int some_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

START_TEST(a_sampled_file_is_opened_once_and_handed_over_once)
{
	struct image *i = sample(10, 1, 1, 10, "a", 0x1500), *j;
	struct reading r = { .begin = 20, .end = 30, .comm = "a", .n_maps = 2,
			     .maps = { { 0x1000, 0x2000, 0, 5, 1, 77, "/bin/a" },
				       { 0x8000, 0x9000, 0, 6, 1, 78, "/lib/b" } } };
	struct file *f;

	memset(&given, 0, sizeof(given));
	process_set_file_fn(table, on_file, NULL);
	answer(i, &r);
	f = image_find(i, 0x1500)->file;
	ck_assert_int_eq(f->state, FILE_OPENING);	/* its frame came before the maps did */
	ck_assert_int_eq(image_find(i, 0x8000)->file->state, FILE_UNKNOWN);
	file_answer(DOOR_FILE, i, f, 0, 4096, 77, 0, some_fd());
	ck_assert_uint_eq(given.calls, 1);
	ck_assert_ptr_eq(given.file, f);
	ck_assert_int_eq(given.kind, MAPPING_FILE);
	file_answer(DOOR_FILE, i, f, 0, 4096, 77, 0, some_fd());
	ck_assert_uint_eq(given.calls, 1);
	j = sample(11, 1, 1, 40, "a", 0x1500);
	answer(j, &r);
	ck_assert_int_eq(f->state, FILE_SENT);
	process_reopen_file(table, f);
	image_put(table, sample(11, 1, 1, 50, "a", 0x1500));
	ck_assert_int_eq(f->state, FILE_OPENING);
	image_put(table, j);
	image_put(table, i);
}
END_TEST

START_TEST(a_file_opened_by_name_must_have_the_size_and_time_that_were_mapped)
{
	struct image *i = sample(10, 1, 1, 10, "a", 0x1500), *other;
	struct reading r = { .begin = 20, .end = 30, .comm = "a", .n_maps = 1,
			     .maps = { { 0x1000, 0x2000, 0, 5, 1, 77, "/bin/a" } } };
	struct file *f;

	memset(&given, 0, sizeof(given));
	process_set_file_fn(table, on_file, NULL);
	answer(i, &r);
	f = image_find(i, 0x1500)->file;
	file_answer(DOOR_FILE, i, f, 0, 4096, 78, 0, some_fd());
	ck_assert_uint_eq(given.calls, 0);
	ck_assert_int_eq(f->state, FILE_FAILED);
	/* Another process that maps it may be able to show it, a while later. */
	other = sample(11, 1, 1, 40, "a", 0x1500);
	answer(other, &r);
	ck_assert_int_eq(f->state, FILE_FAILED);
	image_put(table, sample(11, 1, 1, 10 * SEC, "a", 0x1500));
	ck_assert_int_eq(f->state, FILE_OPENING);
	image_put(table, other);
	image_put(table, i);
}
END_TEST

START_TEST(generated_code_gets_the_perf_map_of_its_process)
{
	struct image *i = sample(10, 1, 1, SEC, "node", 0);
	struct reading r = { .begin = SEC, .end = SEC + 1, .comm = "node", .n_maps = 1,
			     .maps = { { 0x1000, 0x2000, 0, 0, 0, 0, "" } } };
	struct file *f;

	memset(&given, 0, sizeof(given));
	process_set_file_fn(table, on_file, NULL);
	answer(i, &r);
	ck_assert(!i->pending);
	image_put(table, sample(10, 1, 1, 2 * SEC, "node", 0x1800));
	ck_assert(i->pending);
	f = process_file(table, FIRST_FILE_ID);
	ck_assert_ptr_nonnull(f);
	file_answer(DOOR_PERF_MAP, i, f, 0, 10, 10, 0, some_fd());
	ck_assert(!i->pending);
	ck_assert_uint_eq(given.calls, 1);
	ck_assert_int_eq(given.kind, MAPPING_JIT);
	ck_assert_uint_eq(i->perf_map_id, f->id);
	ck_assert_int_eq(image_find(i, 0x1800)->kind, MAPPING_JIT);
	ck_assert_ptr_eq(image_find(i, 0x1800)->file, f);
	mapped(10, 3 * SEC, 0x5000, 0x1000, 0, "//anon");
	ck_assert_int_eq(image_find(i, 0x5000)->kind, MAPPING_JIT);
	image_put(table, i);
}
END_TEST

START_TEST(no_perf_map_leaves_the_code_anonymous)
{
	struct image *i = sample(10, 1, 1, SEC, "node", 0);
	struct reading r = { .begin = SEC, .end = SEC + 1, .comm = "node", .n_maps = 1,
			     .maps = { { 0x1000, 0x2000, 0, 0, 0, 0, "" } } };

	answer(i, &r);
	image_put(table, sample(10, 1, 1, 2 * SEC, "node", 0x1800));
	file_answer(DOOR_PERF_MAP, i, process_file(table, FIRST_FILE_ID), -ENOENT, 0, 0,
		    0, -1);
	ck_assert(!i->pending);
	ck_assert_int_eq(image_find(i, 0x1800)->kind, MAPPING_ANON);
	ck_assert_uint_eq(i->perf_map_id, 0);
	process_miss(table, i, 0x1800);		/* asked again later, but nobody waits for that */
	ck_assert(!i->pending);
	image_put(table, i);
}
END_TEST

START_TEST(a_name_that_looks_deleted_is_kept_when_it_was_executed_so)
{
	struct image *i;

	forked(10, 1, 1, 0, 0, 0, 5);
	comm_exec(10, 10, "app");
	mapped(10, 11, 0x1000, 0x1000, 50, "/opt/app (deleted)");
	i = execed(10, 1, 2, 20, "/opt/app (deleted)", 50);
	ck_assert_str_eq(i->exe_path, "/opt/app (deleted)");
	ck_assert_str_eq(i->exe->path, "/opt/app (deleted)");
	forked(11, 30, 1, 0, 0, 0, 30);
	comm_exec(11, 31, "app");
	mapped(11, 32, 0x1000, 0x1000, 51, "/opt/app2 (deleted)");
	ck_assert_str_eq(execed(11, 30, 2, 40, "/opt/app2", 51)->exe_path, "/opt/app2");
}
END_TEST

START_TEST(files_that_nobody_maps_are_forgotten_in_the_end)
{
	struct process_counts c;
	char path[64];

	for (uint32_t n = 0; n < 5000; n++) {
		uint64_t at = SEC + n * SEC;

		snprintf(path, sizeof(path), "/tmp/build%u", n);
		forked(10, at, 1, 0, 0, 0, at);
		mapped(10, at + 1, 0x1000, 0x1000, 100 + n, path);
		exited(10, at, at + 2);
		process_tick(table, at + 3);
	}
	process_counts(table, &c);
	ck_assert_uint_le(c.files, IDLE_FILES_MAX + 16);
}
END_TEST

Suite *files_suite(void)
{
	Suite *s = suite_create("process maps and files");
	TCase *tc = tcase_create("maps");

	tcase_add_checked_fixture(tc, table_open, table_close);
	tcase_add_loop_test(tc, a_new_mapping_cuts_what_was_in_its_way, 0, N(overlaps));
	tcase_add_test(tc, random_mappings_stay_sorted_and_the_last_one_wins);
	tcase_add_test(tc, the_number_of_mappings_is_bounded);
	tcase_add_test(tc, pieces_of_one_mapping_become_one);
	tcase_add_loop_test(tc, kinds_of_mappings, 0, N(kinds));
	tcase_add_test(tc,
		       what_was_mapped_during_a_reading_stays_and_what_was_before_goes);
	suite_add_tcase(s, tc);
	tc = tcase_create("files");
	tcase_add_checked_fixture(tc, table_open, table_close);
	tcase_add_test(tc, one_file_serves_all_processes_and_an_inode_alone_none);
	tcase_add_test(tc, one_path_may_be_two_files);
	tcase_add_test(
		tc,
		a_build_id_from_an_event_is_joined_with_the_identity_that_a_reading_tells);
	tcase_add_test(tc, an_exec_gives_its_first_mapping_a_device_and_an_inode);
	tcase_add_test(tc, a_build_id_alone_is_shared_only_among_files_that_root_owns);
	tcase_add_test(tc, a_namesake_with_another_build_id_is_not_taken_for_the_file);
	tcase_add_test(tc, a_sampled_file_is_opened_once_and_handed_over_once);
	tcase_add_test(
		tc, a_file_opened_by_name_must_have_the_size_and_time_that_were_mapped);
	tcase_add_test(tc, generated_code_gets_the_perf_map_of_its_process);
	tcase_add_test(tc, no_perf_map_leaves_the_code_anonymous);
	tcase_add_test(tc, a_name_that_looks_deleted_is_kept_when_it_was_executed_so);
	tcase_add_test(tc, files_that_nobody_maps_are_forgotten_in_the_end);
	suite_add_tcase(s, tc);
	return s;
}
