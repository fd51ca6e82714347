/* SPDX-License-Identifier: Apache-2.0 */
/* The door: what is refused, with which word, and sizes of what is made. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

static char *in_dir(const char *name)
{
	static char path[192];

	snprintf(path, sizeof(path), "%s/%s", fx.dir, name);
	return path;
}

/* A copy of a sound ring, at PATH/copy, to be damaged. */
static int make_copy(void)
{
	int fd = open(in_dir("copy"), O_RDWR | O_CREAT | O_TRUNC, 0640);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0640), 0);
	ck_assert_int_eq(write(fd, fx.w->map, fx.w->map_bytes), (ssize_t)fx.w->map_bytes);
	return fd;
}

static int open_error(const char *path, bool paranoid)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = path,
				      .paranoid = paranoid };
	struct ringside *r;
	int err = ringside_open(&r, &o);

	ck_assert(!err == !!r);
	if (err)
		ck_assert_msg(!strncmp(ringside_open_error(), "open: on ", 9) &&
				      strstr(ringside_open_error(), path),
			      "unclear: %s", ringside_open_error());
	ringside_close(r);
	return err;
}

static void setup(void)
{
	fixture_setup();
	fixture_create(0, 0, 0);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_ok(numbered_put(fx.w, i));
	ring_writer_publish(fx.w);
}

#define H(field)                                                                         \
	offsetof(struct ring_header, field), sizeof(((struct ring_header *)0)->field)
static const struct {
	const char *what;
	size_t off, len;
	uint64_t value;
	int want;
} patches[] = {
	{ "sound", 0, 0, 0, 0 },
	{ "magic", 0, 1, 'X', -EBADMSG },
	{ "zero magic", 0, 8, 0, -EBADMSG },
	{ "other byte order", H(endian), 0x04030201, -ENOTSUP },
	{ "next major", H(major), 2, -ENOTSUP },
	{ "major 0", H(major), 0, -ENOTSUP },
	{ "next minor", H(minor), 1, 0 },
	{ "far minor", H(minor), 65535, 0 },
	{ "short header", H(header_bytes), 4096, -EBADMSG },
	{ "shift too small", H(block_shift), 11, -EBADMSG },
	{ "shift too big", H(block_shift), 25, -EBADMSG },
	{ "shift huge", H(block_shift), 0xffffffff, -EBADMSG },
	{ "blocks not a power of two", H(nblocks), 63, -EBADMSG },
	{ "two blocks", H(nblocks), 2, -EBADMSG },
	{ "no blocks", H(nblocks), 0, -EBADMSG },
	{ "too many blocks", H(nblocks), 1u << 21, -EBADMSG },
	{ "max_payload", H(max_payload), 1u << 30, -EBADMSG },
	{ "data in the header", H(data_off), 4096, -EBADMSG },
	{ "data misaligned", H(data_off), 65544, -EBADMSG },
	{ "data beyond the end", H(data_off), 1ull << 40, -EBADMSG },
	{ "data offset wraps", H(data_off), UINT64_MAX - 4095, -EBADMSG },
	{ "data_bytes", H(data_bytes), 1ull << 19, -EBADMSG },
	{ "dictionary in the data", H(dict_off), 65536, -EBADMSG },
	{ "dictionary offset wraps", H(dict_off), UINT64_MAX - 4095, -EBADMSG },
	{ "dictionary beyond the end", H(dict_bytes), 1 << 20, -EBADMSG },
	{ "no dictionary", H(dict_bytes), 0, -EBADMSG },
	{ "file_bytes", H(file_bytes), 1 << 20, -EBADMSG },
};
#define PATCHES (sizeof(patches) / sizeof(*patches))

START_TEST(header_is_judged_field_by_field)
{
	int fd = make_copy(), got;

	if (patches[_i].len)
		ck_assert_int_eq(pwrite(fd, &patches[_i].value, patches[_i].len,
					(off_t)patches[_i].off),
				 (ssize_t)patches[_i].len);
	close(fd);
	for (int paranoid = 0; paranoid < 2; paranoid++) {
		got = open_error(in_dir("copy"), paranoid);
		ck_assert_msg(got == patches[_i].want, "%s: got %d, want %d (%s)",
			      patches[_i].what, got, patches[_i].want,
			      ringside_open_error());
	}
}
END_TEST

START_TEST(both_versions_are_named)
{
	uint16_t version[2] = { 7, 3 };
	int fd = make_copy();

	ck_assert_int_eq(pwrite(fd, version, 4, 0xc), 4);
	close(fd);
	ck_assert_int_eq(open_error(in_dir("copy"), false), -ENOTSUP);
	ck_assert_msg(strstr(ringside_open_error(), "7.3") &&
			      strstr(ringside_open_error(), "1."),
		      "%s", ringside_open_error());
}
END_TEST

static const off_t lengths[] = { 0, 1, 8, 4095, 4096, 36864, 65536, 400000, -1, 1 };

START_TEST(wrong_size_is_refused)
{
	off_t len = lengths[_i];
	int fd = make_copy();

	if (len < 0)
		len = (off_t)fx.w->map_bytes - 1;
	else if (_i == sizeof(lengths) / sizeof(*lengths) - 1)
		len = (off_t)fx.w->map_bytes + 1;
	ck_assert_int_eq(ftruncate(fd, len), 0);
	close(fd);
	ck_assert_int_eq(open_error(in_dir("copy"), _i & 1), -EBADMSG);
}
END_TEST

START_TEST(modes_that_let_others_write_are_refused)
{
	static const mode_t modes[] = { 0660, 0646, 0666, 0777, 0640, 0644, 0444 };

	close(make_copy());
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		ck_assert_int_eq(chmod(in_dir("copy"), modes[i]), 0);
		ck_assert_int_eq(open_error(in_dir("copy"), false), i < 4 ? -EPERM : 0);
	}
}
END_TEST

START_TEST(only_regular_files_are_opened)
{
	ck_assert_int_eq(mkfifo(in_dir("fifo"), 0600), 0);
	ck_assert_int_eq(open_error(in_dir("fifo"), false),
			 -EBADMSG); /* and does not hang */
	ck_assert_int_eq(symlink(fx.path, in_dir("link")), 0);
	ck_assert_int_eq(open_error(in_dir("link"), false), -EPERM);
	ck_assert_int_eq(open_error(fx.dir, false), -EBADMSG);
	ck_assert_int_eq(open_error(in_dir("none"), false), -ENOENT);
	ck_assert_int_eq(open_error("/dev/null", false), -EBADMSG);
}
END_TEST

START_TEST(owner_must_be_root_us_or_the_named_one)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = in_dir("copy"),
				      .owner = 4242,
				      .has_owner = true };
	struct ringside *r;

	if (geteuid()) {
		fprintf(stderr, "skipped: owner_must_be_root: needs root for chown\n");
		return;
	}
	close(make_copy());
	ck_assert_int_eq(chown(in_dir("copy"), 4242, 0), 0);
	ck_assert_int_eq(open_error(in_dir("copy"), false), -EPERM);
	ck_assert_msg(strstr(ringside_open_error(), "4242") != NULL, "%s",
		      ringside_open_error());
	ck_assert_ok(ringside_open(&r, &o));
	ringside_close(r);
	o.owner = 4243;
	ck_assert_int_eq(ringside_open(&r, &o), -EPERM);
}
END_TEST

START_TEST(unprivileged_reader_reads_and_can_do_nothing_else)
{
	struct ringside_liveness live;
	struct ringside *r;
	int status, fd;
	pid_t pid;

	if (geteuid()) {
		fprintf(stderr, "skipped: unprivileged_reader: needs root for setuid\n");
		return;
	}
	ck_assert_int_eq(chmod(fx.path, 0644), 0);
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		r = fixture_open(false, true);
		if (drain(r).samples != 100 || ringside_liveness(r, &live) || !live.alive)
			_exit(3);
		if (ringside_wait(r, 10) != 0)
			_exit(4);
		fd = open(fx.path, O_RDWR);
		if (fd >= 0 || !truncate(fx.path, 0) || !unlink(fx.path) ||
		    chmod(fx.path, 0666) == 0)
			_exit(5);
		ringside_close(r);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(chmod(fx.path, 0640), 0);
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		_exit(open_error(fx.path, false) != -EACCES);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(options_of_a_later_library_are_refused_only_when_set)
{
	struct {
		struct ringside_options o;
		char more[16];
	} late = { .o = { .size = sizeof(late), .path = fx.path } };
	struct ringside *r;

	ck_assert_ok(ringside_open(&r, &late.o));
	ringside_close(r);
	late.more[3] = 1;
	ck_assert_int_eq(ringside_open(&r, &late.o), -EINVAL);
	late.o.size = 0;
	ck_assert_int_eq(ringside_open(&r, &late.o), -EINVAL);
}
END_TEST

START_TEST(path_comes_from_the_environment)
{
	struct ringside_geometry g;
	struct ringside *r;

	setenv("RINGSIDE_RING", fx.path, 1);
	ck_assert_ok(ringside_open(&r, NULL));
	ck_assert_ok(ringside_geometry(r, &g));
	ck_assert_str_eq(g.path, fx.path);
	ringside_close(r);
}
END_TEST

/* Cut down under a reader: an error, never a signal for who reads by pread, nor at the
 * next wait. */
START_TEST(truncated_under_a_reader)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = in_dir("copy"),
				      .from_oldest = true,
				      .paranoid = _i & 1 };
	struct ringside_record rec;
	struct ringside *r;
	int fd = make_copy(), n;

	ck_assert_ok(ringside_open(&r, &o));
	if (o.paranoid)
		ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_int_eq(ftruncate(fd, o.paranoid ? 0 : (off_t)fx.w->map_bytes - 4096),
			 0);
	close(fd);
	if (o.paranoid) {
		while ((n = ringside_next(r, &rec)) == 1)
			;
		ck_assert_int_eq(n, -EBADMSG);
		ck_assert_int_eq(ringside_wait(r, 50), -EBADMSG);
	} else {
		ck_assert_int_eq(ringside_next(r, &rec), -EBADMSG);
	}
	ringside_close(r);
}
END_TEST

/* --- sizes -------------------------------------------------------------------------- */

static const struct {
	uint64_t ring, dict;
	uint32_t block;
	uint64_t data_bytes, dict_bytes;
} sizes[] = {
	{ 16 << 20, 4 << 20, 0, 16 << 20, 4 << 20 },
	{ 1, 1, 0, 256 << 10, 128 << 10 }, /* 4 blocks, 2 halves of 64 KiB */
	{ 0, 0, 4096, 64 << 10, 128 << 10 },
	{ 1000000, 300000, 65536, 1 << 20, 384 << 10 },
	{ 16777217, 0, 5000, 32 << 20, 128 << 10 }, /* block goes up to 8 KiB */
};

START_TEST(sizes_are_rounded_up)
{
	struct ring_writer_options o = { .path = in_dir("other"),
					 .group = (gid_t)-1,
					 .ring_bytes = sizes[_i].ring,
					 .dict_bytes = sizes[_i].dict,
					 .block_bytes = sizes[_i].block };
	struct ringside_options ro = { .size = sizeof(ro), .path = o.path };
	struct ringside_geometry g;
	struct ring_writer *w;
	struct ringside *r;

	ck_assert_ok(ring_writer_create(&w, &o));
	ck_assert(ring_writer_on_tmpfs(w));
	ck_assert_ok(ringside_open(&r, &ro));
	ck_assert_ok(ringside_geometry(r, &g));
	ck_assert_uint_eq(g.data_bytes, sizes[_i].data_bytes);
	ck_assert_uint_eq(g.dict_bytes, sizes[_i].dict_bytes);
	ck_assert_uint_eq(g.file_bytes, 65536 + g.data_bytes + g.dict_bytes);
	ck_assert_uint_eq(g.max_payload, g.block_bytes / 4);
	ck_assert_uint_eq((uint64_t)g.nblocks * g.block_bytes, g.data_bytes);
	ck_assert_uint_eq(g.major, 1);
	ringside_close(r);
	ring_writer_close(w, true);
}
END_TEST

START_TEST(illegal_options_are_refused)
{
	struct ring_writer_options o = { .path = in_dir("x"), .group = (gid_t)-1 };
	struct ring_writer_options bad[] = { o, o, o, o, o, o };
	struct ring_writer *w;

	bad[0].mode = 0660;
	bad[1].block_bytes = 32 << 20;
	bad[2].dict_bytes = 1ull << 40;
	bad[3].ring_bytes = 1ull << 50;
	bad[4].path = NULL;
	bad[5].path = "/dev/shm/";
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_int_eq(ring_writer_create(&w, &bad[i]), -EINVAL);
		ck_assert_ptr_null(w);
		ck_assert_msg(!strncmp(ring_writer_error(), "create: ", 8), "%s",
			      ring_writer_error());
	}
}
END_TEST

/* --- a full file system ------------------------------------------------------------- */

static int create_in(const char *dir, uint64_t bytes, struct ring_writer **w)
{
	char path[224];
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .ring_bytes = bytes,
					 .dict_bytes = 128 << 10,
					 .block_bytes = 4096 };

	snprintf(path, sizeof(path), "%s/tiny", dir);
	return ring_writer_create(w, &o);
}

/* Exits with the line that failed. */
#define CHILD(cond)                                                                      \
	do {                                                                             \
		if (!(cond)) {                                                           \
			fprintf(stderr, "%s: %s\n", #cond, ring_writer_error());         \
			_exit(__LINE__ % 250 + 1);                                       \
		}                                                                        \
	} while (0)

static void tiny_file_system(const char *dir)
{
	char prev[256], left[256];
	struct ring_writer *w;
	struct stat st;

	CHILD(!unshare(CLONE_NEWNS) &&
	      !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHILD(!mount("tiny", dir, "tmpfs", 0, "size=1m"));
	snprintf(prev, sizeof(prev), "%s/tiny.prev", dir);
	snprintf(left, sizeof(left), "%s/.tiny.new", dir);
	/* too big: an error that names the sizes, and nothing left behind */
	CHILD(create_in(dir, 2 << 20, &w) == -ENOSPC);
	CHILD(strstr(ring_writer_error(), "2293760") &&
	      strstr(ring_writer_error(), "2097152"));
	CHILD(stat(left, &st) && errno == ENOENT);
	/* twice 320 KiB fits: the previous ring is kept */
	CHILD(!create_in(dir, 128 << 10, &w));
	ring_writer_close(w, true);
	CHILD(!create_in(dir, 128 << 10, &w));
	CHILD(!stat(prev, &st));
	ring_writer_close(w, true);
	/* a third needs the room of PATH.prev */
	CHILD(!create_in(dir, 256 << 10, &w));
	CHILD(!stat(prev, &st));
	ring_writer_close(w, true);
	/* and this one that of the ring it replaces, too */
	CHILD(!create_in(dir, 512 << 10, &w));
	for (uint64_t i = 0; i < 10000; i++)
		CHILD(!numbered_put(w, i)); /* every page is there: no SIGBUS */
	ring_writer_close(w, true);
	_exit(0);
}

START_TEST(full_tmpfs_is_a_clear_error)
{
	int status;
	pid_t pid;

	if (geteuid()) {
		fprintf(stderr, "skipped: full_tmpfs: needs root for mount\n");
		return;
	}
	ck_assert_int_eq(mkdir(in_dir("tiny"), 0755), 0);
	pid = fork();
	if (!pid)
		tiny_file_system(in_dir("tiny"));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
	ck_assert_int_eq(rmdir(in_dir("tiny")), 0);
}
END_TEST

Suite *files_suite(void)
{
	Suite *s = suite_create("ring files");
	TCase *tc = tcase_create("files");

	tcase_add_checked_fixture(tc, setup, fixture_teardown);
	tcase_add_loop_test(tc, header_is_judged_field_by_field, 0, (int)PATCHES);
	tcase_add_test(tc, both_versions_are_named);
	tcase_add_loop_test(tc, wrong_size_is_refused, 0,
			    (int)(sizeof(lengths) / sizeof(*lengths)));
	tcase_add_test(tc, modes_that_let_others_write_are_refused);
	tcase_add_test(tc, only_regular_files_are_opened);
	tcase_add_test(tc, owner_must_be_root_us_or_the_named_one);
	tcase_add_test(tc, unprivileged_reader_reads_and_can_do_nothing_else);
	tcase_add_test(tc, options_of_a_later_library_are_refused_only_when_set);
	tcase_add_test(tc, path_comes_from_the_environment);
	tcase_add_loop_test(tc, truncated_under_a_reader, 0, 2);
	tcase_add_loop_test(tc, sizes_are_rounded_up, 0,
			    (int)(sizeof(sizes) / sizeof(*sizes)));
	tcase_add_test(tc, illegal_options_are_refused);
	tcase_add_test(tc, full_tmpfs_is_a_clear_error);
	suite_add_tcase(s, tc);
	return s;
}
