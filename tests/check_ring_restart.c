/* SPDX-License-Identifier: Apache-2.0 */
/* Writers come and go: exclusion, liveness, replace, what is kept and when it goes. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/ring_time.h"
#include "shm/writer_state.h"
#include "tests/ring_fixture.h"

#define PARANOID (_i & 1)
#define SECOND	1000000000ull

static void put_range(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		ck_assert_ok(numbered_put(fx.w, i));
	ring_writer_publish(fx.w);
}

/* A new file, whatever ended the old one: what was not closed cleanly would be resumed,
 * if it were not of another size. */
static void restart(bool clean)
{
	uint64_t dict = 2 * fx.w->dict.half_bytes;

	ring_writer_close(fx.w, clean);
	fixture_create(0, clean ? dict : dict ^ 384 << 10, 0);
	ck_assert(!ring_writer_resumed(fx.w));
}

static int create_error(const char *path)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .ring_bytes = 256 << 10,
					 .dict_bytes = 128 << 10,
					 .block_bytes = 4096 };
	struct ring_writer *w;
	int err = ring_writer_create(&w, &o);

	ck_assert(!err == !!w);
	ring_writer_close(w, false);
	return err;
}

static char *in_dir(const char *name)
{
	static char path[192];

	snprintf(path, sizeof(path), "%s/%s", fx.dir, name);
	return path;
}

/* --- exclusion ---------------------------------------------------------------------- */

START_TEST(second_writer_is_refused_and_told_the_pid)
{
	char pid[32];

	fixture_create(0, 0, 0);
	ck_assert_int_eq(create_error(fx.path), -EBUSY);
	snprintf(pid, sizeof(pid), "pid %ld", (long)getpid());
	ck_assert_msg(strstr(ring_writer_error(), pid) != NULL, "%s",
		      ring_writer_error());
	ck_assert_msg(strstr(ring_writer_error(), "ring.lock") != NULL, "%s",
		      ring_writer_error());
	put_range(0, 10);
}
END_TEST

START_TEST(second_writer_is_refused_even_without_the_lock_file)
{
	fixture_create(0, 0, 0);
	ck_assert_int_eq(unlink(in_dir("ring.lock")), 0);
	ck_assert_int_eq(create_error(fx.path), -EBUSY);
}
END_TEST

/* Any reader may lock what it can open: that keeps no writer out. */
START_TEST(locks_of_a_reader_keep_no_writer_out)
{
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct ringside_liveness live;
	struct ringside *r;
	int fd;

	fixture_create(0, 0, 0);
	r = fixture_open(false, false);
	ring_writer_close(fx.w, false);
	fd = open(fx.path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &fl), 0);
	ck_assert_ok(ringside_liveness(r, &live));
	ck_assert(!live.alive);			/* a squatter is no writer */
	ringside_close(r);
	fixture_create(0, 0, 0);
	close(fd);
}
END_TEST

START_TEST(lock_file_is_private)
{
	struct stat st;

	fixture_create(0, 0, 0);
	ck_assert_int_eq(stat(in_dir("ring.lock"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(stat(fx.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512,
			  (uint64_t)st.st_size); /* every page is there */
}
END_TEST

START_TEST(planted_lock_file_is_replaced)
{
	int fd = open(in_dir("ring.lock"), O_RDWR | O_CREAT, 0666);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0666), 0);		/* others could lock it */
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	fixture_create(0, 0, 0);
	close(fd);
	ck_assert_int_eq(create_error(fx.path), -EBUSY);
}
END_TEST

/* --- what stands at the path -------------------------------------------------------- */

START_TEST(foreign_files_are_not_destroyed)
{
	static const char *const what[] = { "regular", "empty", "fifo", "link",
					    "directory" };
	struct stat before, after;
	int fd;

	switch (_i) {
	case 0:
	case 1:
		fd = open(fx.path, O_RDWR | O_CREAT, 0600);
		ck_assert_int_eq(write(fd, "precious", _i ? 0 : 8), _i ? 0 : 8);
		close(fd);
		break;
	case 2:
		ck_assert_int_eq(mkfifo(fx.path, 0600), 0);
		break;
	case 3:
		ck_assert_int_eq(symlink("/etc/passwd", fx.path), 0);
		break;
	default:
		ck_assert_int_eq(mkdir(fx.path, 0700), 0);
	}
	ck_assert_int_eq(lstat(fx.path, &before), 0);
	ck_assert_msg(create_error(fx.path) == -EEXIST, "%s", what[_i]);
	ck_assert_int_eq(lstat(fx.path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	if (_i == 4)
		rmdir(fx.path);
}
END_TEST

START_TEST(what_others_planted_is_replaced_and_not_believed)
{
	struct ringside *r;

	if (geteuid()) {
		fprintf(stderr, "skipped: what_others_planted: needs root for chown\n");
		return;
	}
	fixture_create(0, 0, 0);
	put_range(0, 100);
	ring_writer_close(fx.w, true);
	ck_assert_int_eq(chown(fx.path, 65534, 65534), 0);
	fixture_create(0, 0, 0);
	ck_assert_uint_eq(ring_writer_next_seq(fx.w),
			  1); /* its numbers are nobody's word */
	ck_assert_int_ne(access(in_dir("ring.prev"), F_OK), 0);
	r = fixture_open(false, false);
	ringside_close(r);
}
END_TEST

/* --- replace and follow ------------------------------------------------------------- */

/* Half read, then replaced: the rest of the old file, the incarnation record, the new
 * file. */
START_TEST(reader_drains_the_old_file_and_follows)
{
	bool clean = _i & 2;
	struct ringside_record rec;
	struct ringside_counts c;
	struct ringside *r;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 100);
	for (uint64_t i = 0; i < 40; i++)
		ck_assert_int_eq(ringside_next(r, &rec), 1);
	restart(clean);
	put_range(100, 150);
	for (uint64_t i = 40; i < 100; i++) {
		ck_assert_int_eq(ringside_next(r, &rec), 1);
		ck_assert_uint_eq(numbered_of(&rec), i);
		ck_assert_uint_eq(rec.seq, i + 1);
		ck_assert(!rec.incarnation_changed);
	}
	ck_assert_int_eq(ringside_next(r, &rec), 1);
	ck_assert_uint_eq(rec.kind, RINGSIDE_INCARNATION);
	ck_assert_uint_eq(rec.seq, 101);
	ck_assert_uint_eq(rec.incarnation.incarnation, 2);
	ck_assert_uint_eq(rec.incarnation.writer_pid, (uint32_t)getpid());
	ck_assert(rec.incarnation_changed);
	for (uint64_t i = 100; i < 150; i++) {
		ck_assert_int_eq(ringside_next(r, &rec), 1);
		ck_assert_uint_eq(numbered_of(&rec), i);
		ck_assert_uint_eq(rec.seq, i + 2);
		ck_assert(!rec.incarnation_changed);
		ck_assert_ptr_null(numbered_check(&rec));
	}
	ck_assert_int_eq(ringside_next(r, &rec), 0);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.files, 2);
	ck_assert_uint_eq(c.received, 151);
	ck_assert_uint_eq(c.lost[RINGSIDE_LOST_LAPPED] + c.corrupt_events, 0);
	ringside_close(r);
}
END_TEST

/* Restarts that the reader slept through are one gap of the exact size. */
START_TEST(missed_restarts_are_counted_exactly)
{
	struct ringside *r;
	struct ringside_counts c;
	struct drained d;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	for (uint64_t k = 0; k < 5; k++) {
		put_range(k * 3000, k * 3000 + 3000);
		restart(k & 1);
	}
	d = drain(r);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.received + c.lost[RINGSIDE_LOST_LAPPED], 5 * 3000 + 5);
	ck_assert_uint_gt(d.lost, 0);
	ck_assert_uint_eq(c.corrupt_events, 0);
	ck_assert_uint_eq(ringside_position(r), ring_writer_next_seq(fx.w));
	ringside_close(r);
}
END_TEST

START_TEST(no_follow_stays)
{
	struct ringside_options o = {
		.size = sizeof(o), .path = fx.path, .no_follow = true, .from_oldest = true
	};
	struct ringside_liveness live;
	struct ringside *r;
	struct drained d;

	fixture_create(0, 0, 0);
	put_range(0, 10);
	ck_assert_ok(ringside_open(&r, &o));
	restart(true);
	put_range(10, 20);
	d = drain(r);
	ck_assert_uint_eq(d.samples, 10);
	ck_assert_ok(ringside_liveness(r, &live));
	ck_assert(live.superseded);
	ck_assert(!live.alive);
	ringside_close(r);
}
END_TEST

/* A file that was swapped without a word (its writer could not say so) is noticed all the
 * same. */
START_TEST(silent_replacement_is_followed)
{
	struct ringside *r;
	struct drained d;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, false);
	put_range(0, 10);
	ring_writer_close(fx.w, false);
	ck_assert_int_eq(rename(fx.path, in_dir("other")), 0);
	fixture_create(0, 0, 0);
	put_range(10, 30);
	ck_assert_int_eq(ringside_wait(r, 1000), 1);
	d = drain(r);
	if (d.samples == 10) {			/* looked at the path just before */
		ck_assert_int_eq(ringside_wait(r, 1000), 1);
		d = drain(r);
		d.samples += 10;
	}
	ck_assert_uint_eq(d.samples, 30);
	ck_assert_uint_eq(d.lost, 0);
	ringside_close(r);
}
END_TEST

START_TEST(vanished_file_stays_readable)
{
	struct ringside *r;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 10);
	ck_assert_int_eq(unlink(fx.path), 0);
	ck_assert_uint_eq(drain(r).samples, 10);
	put_range(10, 15);
	ck_assert_uint_eq(drain(r).samples, 5);
	ringside_close(r);
}
END_TEST

/* What somebody planted at the path does not take readers away from a writer that
 * lives. */
START_TEST(unacceptable_newcomers_are_not_followed)
{
	uint16_t major = 9;
	struct ringside_record rec;
	struct ringside *r;
	int fd;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 10);
	ck_assert_int_eq(rename(fx.path, in_dir("other")), 0);
	fd = open(fx.path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(drain(r).samples, 10);
	ck_assert_int_ge(ringside_wait(r, 150), 0);
	put_range(10, 15);
	ck_assert_uint_eq(drain(r).samples, 5);
	/* a newer format, on the other hand, is the end of the road, and says so */
	ck_assert_int_eq(write(fd, fx.w->map, fx.w->map_bytes), (ssize_t)fx.w->map_bytes);
	ck_assert_int_eq(pwrite(fd, &major, 2, 0xc), 2);
	close(fd);
	ck_assert_int_eq(ringside_wait(r, 500), 1);
	ck_assert_int_eq(ringside_next(r, &rec), -ENOTSUP);
	ringside_close(r);
}
END_TEST

START_TEST(live_writer_of_another_user_is_respected)
{
	fixture_create(0, 0, 0);
	if (geteuid()) {
		fprintf(stderr,
			"skipped: live_writer_of_another_user: needs root for chown\n");
		return;
	}
	ck_assert_int_eq(chown(fx.path, 4242, 4242), 0);
	ck_assert_int_eq(unlink(in_dir("ring.lock")), 0);
	ck_assert_int_eq(create_error(fx.path), -EBUSY);
	ck_assert_msg(strstr(ring_writer_error(), "4242") != NULL, "%s",
		      ring_writer_error());
}
END_TEST

/* --- post mortem and memory --------------------------------------------------------- */

START_TEST(previous_ring_is_kept_readable_and_then_removed)
{
	bool clean = _i & 2;
	uint64_t keep = clean ? 60 : 900, born;
	struct ringside_options o = { .size = sizeof(o),
				      .path = in_dir("ring.prev"),
				      .from_oldest = true,
				      .paranoid = PARANOID };
	struct ringside *r;
	struct stat st;

	fixture_create(0, 0, 0);
	put_range(0, 10);
	restart(clean);
	born = fx.w->hdr->heartbeat;
	ck_assert_ok(ringside_open(&r, &o));
	ck_assert_uint_eq(drain(r).samples, 10);
	ring_writer_heartbeat(fx.w, born + keep * SECOND - 1);
	ck_assert_int_eq(stat(in_dir("ring.prev"), &st), 0);
	ring_writer_heartbeat(fx.w, born + keep * SECOND);
	ck_assert_int_ne(stat(in_dir("ring.prev"), &st), 0);
	ck_assert_int_eq(fstat(fx.w->fd, &st), 0);
	ringside_close(r);
}
END_TEST

/* A reader that never lets go keeps an inode, not its memory; and learns what it
 * missed. */
START_TEST(pinned_file_gives_its_memory_back)
{
	struct ringside_counts c;
	struct ringside *r;
	struct stat st;
	int fd;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 1000);
	fd = open(fx.path, O_RDONLY);
	restart(false);
	put_range(1000, 1010);
	ring_writer_heartbeat(fx.w, UINT64_MAX);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 0);
	ck_assert_uint_le((uint64_t)st.st_blocks * 512, 65536);
	close(fd);
	drain(r);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.received, 11);
	ck_assert_uint_eq(c.lost[RINGSIDE_LOST_LAPPED], 1000);
	ck_assert_uint_eq(c.corrupt_events, 0);
	ringside_close(r);
}
END_TEST

/* Left by a writer that died before its rename: what readers have not read is kept. */
START_TEST(second_name_of_the_ring_is_no_ring_of_before)
{
	struct ringside_counts c;
	struct ringside *r;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	put_range(0, 100);
	ck_assert_int_eq(link(fx.path, in_dir("ring.prev")), 0);
	restart(_i & 2);
	ck_assert_uint_eq(drain(r).samples, 100);
	ringside_counts(r, &c);
	ck_assert_uint_eq(c.lost[RINGSIDE_LOST_LAPPED] + c.corrupt_events, 0);
	ringside_close(r);
}
END_TEST

START_TEST(only_one_previous_ring_is_kept)
{
	struct stat st;
	uint64_t ino;

	fixture_create(0, 0, 0);
	restart(false);
	ck_assert_int_eq(stat(in_dir("ring.prev"), &st), 0);
	ino = st.st_ino;
	restart(false);
	ck_assert_int_eq(stat(in_dir("ring.prev"), &st), 0);
	ck_assert_uint_ne(st.st_ino, ino);
	ck_assert_uint_eq(st.st_nlink, 1);
}
END_TEST

/* --- liveness ----------------------------------------------------------------------- */

START_TEST(liveness_follows_the_lock_even_after_kill_9)
{
	struct ringside_liveness live;
	struct ringside *r;
	uint64_t seq;
	pid_t pid;
	char c;
	int p[2];

	ck_assert_int_eq(pipe(p), 0);
	pid = fork();
	if (!pid) {
		fixture_create(0, 0, 0);
		put_range(0, 300);
		ck_assert_int_eq(write(p[1], "x", 1), 1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(p[0], &c, 1), 1);
	r = fixture_open(PARANOID, true);
	ck_assert_ok(ringside_liveness(r, &live));
	ck_assert(live.alive);
	ck_assert(!live.closed && !live.superseded);
	ck_assert_uint_eq(live.writer_pid, (uint32_t)pid);
	ck_assert_uint_eq(live.incarnation, 1);
	ck_assert_uint_lt(live.heartbeat_age_ns, 60 * SECOND);
	ck_assert_int_gt(live.started_ns, 1600000000000000000);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_ok(ringside_liveness(r, &live));
	ck_assert(!live.alive);
	ck_assert(!live.closed);
	ck_assert_uint_eq(drain(r).samples, 300);
	fixture_create(0, 0, 0);
	seq = ring_writer_next_seq(fx.w);
	ck_assert_uint_eq(seq, 302);
	ck_assert_uint_eq(drain(r).lost, 0);
	close(p[0]);
	close(p[1]);
	ringside_close(r);
}
END_TEST

START_TEST(clean_close_is_told_from_a_crash)
{
	struct ringside_liveness live;
	struct ringside *r;

	fixture_create(0, 0, 0);
	r = fixture_open(PARANOID, true);
	ring_writer_close(fx.w, true);
	fx.w = NULL;
	ck_assert_ok(ringside_liveness(r, &live));
	ck_assert(!live.alive);
	ck_assert(live.closed);
	ringside_close(r);
}
END_TEST

/* In a time namespace whose boot clock is a day ahead.  Exits 0 when the ring knows
 * better. */
static void in_time_namespace(void)
{
	static const char offsets[] = "boottime 86400 0\n";
	struct ringside_liveness live;
	struct ringside *r;
	int fd = open("/proc/self/timens_offsets", O_WRONLY), status;

	if (fd < 0 ||
	    write(fd, offsets, sizeof(offsets) - 1) != (ssize_t)sizeof(offsets) - 1)
		_exit(77);
	close(fd);
	if (!fork()) {			/* only children are in the new namespace */
		r = fixture_open(false, false);
		if (ringside_liveness(r, &live) || live.heartbeat_age_ns > 600 * SECOND)
			_exit(1);
		ringside_close(r);
		fx.w = fixture_writer(in_dir("other"), 0, 0, 0);
		_exit(ring_host_boot_ns(0) - fx.w->hdr->heartbeat < 86000 * SECOND);
	}
	wait(&status);
	_exit(status != 0);
}

START_TEST(stamps_are_the_hosts_in_a_time_namespace)
{
	int status;
	pid_t pid;

	fixture_create(0, 0, 0);
	pid = fork();
	if (!pid) {
		if (unshare(0x80))	/* CLONE_NEWTIME */
			_exit(77);
		in_time_namespace();
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		fprintf(stderr,
			"skipped: time namespace: needs root and CONFIG_TIME_NS\n");
	else
		ck_assert_int_eq(status, 0);
}
END_TEST

Suite *restart_suite(void)
{
	Suite *s = suite_create("ring restart");
	TCase *tc = tcase_create("restart");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, second_writer_is_refused_and_told_the_pid);
	tcase_add_test(tc, second_writer_is_refused_even_without_the_lock_file);
	tcase_add_test(tc, locks_of_a_reader_keep_no_writer_out);
	tcase_add_test(tc, lock_file_is_private);
	tcase_add_test(tc, planted_lock_file_is_replaced);
	tcase_add_loop_test(tc, foreign_files_are_not_destroyed, 0, 5);
	tcase_add_test(tc, what_others_planted_is_replaced_and_not_believed);
	tcase_add_loop_test(tc, reader_drains_the_old_file_and_follows, 0, 4);
	tcase_add_loop_test(tc, missed_restarts_are_counted_exactly, 0, 2);
	tcase_add_test(tc, no_follow_stays);
	tcase_add_loop_test(tc, silent_replacement_is_followed, 0, 2);
	tcase_add_loop_test(tc, unacceptable_newcomers_are_not_followed, 0, 2);
	tcase_add_test(tc, live_writer_of_another_user_is_respected);
	tcase_add_loop_test(tc, vanished_file_stays_readable, 0, 2);
	tcase_add_loop_test(tc, previous_ring_is_kept_readable_and_then_removed, 0, 4);
	tcase_add_loop_test(tc, pinned_file_gives_its_memory_back, 0, 2);
	tcase_add_loop_test(tc, second_name_of_the_ring_is_no_ring_of_before, 0, 4);
	tcase_add_test(tc, only_one_previous_ring_is_kept);
	tcase_add_loop_test(tc, liveness_follows_the_lock_even_after_kill_9, 0, 2);
	tcase_add_loop_test(tc, clean_close_is_told_from_a_crash, 0, 2);
	tcase_add_test(tc, stamps_are_the_hosts_in_a_time_namespace);
	suite_add_tcase(s, tc);
	return s;
}
