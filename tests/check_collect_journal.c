/* SPDX-License-Identifier: Apache-2.0 */
/* The journal, whole and damaged, and what a replay makes of it. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sidecar/collect/collect.h"
#include "sidecar/collect/event_file.h"
#include "tests/check_collect.h"

#define HEADER_BYTES	40
#define TEXT_BYTES	16	/* "host" NUL "node-7" NUL, padded */

static char path[] = "check_collect_journal.XXXXXX";
static char why[COLLECT_WHY_MAX];

static const struct journal_facts facts = {
	.frequency = 999,
	.ncpu = 2,
	.stack_depth = 127,
	.scope = EV_SCOPE_PIDNS,
	.scope_text = "host",
	.node = "node-7",
};

static void up(void)
{
	int fd;

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void down(void)
{
	unlink(path);
}

static struct journal *create(void)
{
	struct journal *j;

	ck_assert_int_eq(journal_create(&j, path, &facts), 0);
	return j;
}

static struct journal *reopen(void)
{
	struct journal *j;
	int err = journal_open(&j, path, why, sizeof(why));

	ck_assert_msg(err == 0, "%s", why);
	return j;
}

static void poke(off_t at, uint32_t value)
{
	int fd = open(path, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, &value, 4, at), 4);
	close(fd);
}

START_TEST(journal_gives_back_what_was_appended)
{
	static uint8_t big[200000];	/* more than the buffer */
	struct journal *j = create();
	const void *data;
	struct stat st;
	uint32_t type;
	size_t len;

	memset(big, 'b', sizeof(big));
	ck_assert_int_eq(journal_append(j, JOURNAL_ANCHOR, "anchor", 6), 0);
	ck_assert_int_eq(journal_append(j, JOURNAL_STEP, NULL, 0), 0);
	ck_assert_int_eq(journal_append2(j, JOURNAL_NAMES, "ab", 2, big, sizeof(big)), 0);
	ck_assert_int_eq(journal_append(j, 4711, "later", 5), 0);
	ck_assert_int_eq(journal_close(j), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(st.st_size % 8, 0);

	j = reopen();
	ck_assert_uint_eq(journal_facts(j)->frequency, 999);
	ck_assert_uint_eq(journal_facts(j)->ncpu, 2);
	ck_assert_str_eq(journal_facts(j)->scope_text, "host");
	ck_assert_str_eq(journal_facts(j)->node, "node-7");
	ck_assert_int_eq(journal_next(j, &type, &data, &len), 1);
	ck_assert_uint_eq(type, JOURNAL_ANCHOR);
	ck_assert_uint_eq(len, 6);
	ck_assert_mem_eq(data, "anchor", 6);
	ck_assert_int_eq(journal_next(j, &type, &data, &len), 1);
	ck_assert_uint_eq(type, JOURNAL_STEP);
	ck_assert_uint_eq(len, 0);
	ck_assert_int_eq(journal_next(j, &type, &data, &len), 1);
	ck_assert_uint_eq(len, 2 + sizeof(big));
	ck_assert_mem_eq(data, "abbb", 4);
	ck_assert_int_eq(journal_next(j, &type, &data, &len), 1);
	ck_assert_uint_eq(type, 4711);
	ck_assert_int_eq(journal_next(j, &type, &data, &len), 0);
	ck_assert_uint_eq(journal_truncated(j), 0);
	ck_assert_int_eq(journal_next(j, &type, &data, &len), 0);
	ck_assert_int_eq(journal_close(j), 0);
}
END_TEST

START_TEST(truncated_tail_is_reported_and_not_fatal)
{
	struct journal *j = create();
	off_t one = HEADER_BYTES + TEXT_BYTES + 16, whole;
	const void *data;
	struct stat st;
	uint32_t type;
	size_t len;

	journal_append(j, JOURNAL_ANCHOR, "12345678", 8);
	journal_append(j, JOURNAL_READING, "1234567890abc", 13);
	ck_assert_int_eq(journal_close(j), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	whole = st.st_size;
	ck_assert_int_eq(whole, one + 24);
	for (off_t size = whole - 1; size >= one; size--) {
		ck_assert_int_eq(truncate(path, size), 0);
		j = reopen();
		ck_assert_int_eq(journal_next(j, &type, &data, &len), 1);
		ck_assert_int_eq(journal_next(j, &type, &data, &len), 0);
		ck_assert_uint_eq(journal_truncated(j), size - one);
		ck_assert_int_eq(journal_next(j, &type, &data, &len), 0);
		journal_close(j);
	}
}
END_TEST

START_TEST(file_cut_inside_its_header_is_refused)
{
	struct journal *j = create();

	ck_assert_int_eq(journal_close(j), 0);
	for (off_t size = HEADER_BYTES + TEXT_BYTES - 1; size >= 0; size--) {
		ck_assert_int_eq(truncate(path, size), 0);
		ck_assert_int_eq(journal_open(&j, path, why, sizeof(why)), -EBADMSG);
	}
}
END_TEST

static const struct {
	const char *what;
	off_t at;
	uint32_t value;
	int want;
	const char *why;
} headers[] = {
	{ "magic", 0, 0x41414141, -EBADMSG, "not a ringsided" },
	{ "newer version", 8, 2, -EPROTONOSUPPORT, "version 2" },
	{ "other byte order", 12, 0x04030201, -EBADMSG, "byte order" },
	{ "no text", 32, 0, -EBADMSG, "damaged" },
	{ "text too long", 32, 9000, -EBADMSG, "damaged" },
	{ "one string only", 32, 5, -EBADMSG, "damaged" },
	{ "text not ended", 32, 11, -EBADMSG, "damaged" },
};

START_TEST(damaged_header_is_refused_by_name)
{
	struct journal *j = create();
	int got;

	journal_append(j, JOURNAL_ANCHOR, "12345678", 8);
	journal_close(j);
	poke(headers[_i].at, headers[_i].value);
	got = journal_open(&j, path, why, sizeof(why));
	ck_assert_msg(got == headers[_i].want, "%s: %d", headers[_i].what, got);
	ck_assert_msg(strstr(why, headers[_i].why) != NULL, "%s: %s", headers[_i].what,
		      why);
}
END_TEST

START_TEST(entry_that_contradicts_the_format_ends_the_replay)
{
	struct journal *j = create();
	const void *data;
	uint32_t type;
	size_t len;

	journal_append(j, JOURNAL_ANCHOR, "12345678", 8);
	journal_close(j);
	poke(HEADER_BYTES + TEXT_BYTES, 0);			/* type 0 */
	j = reopen();
	ck_assert_int_eq(journal_next(j, &type, &data, &len), -EBADMSG);
	journal_close(j);
	poke(HEADER_BYTES + TEXT_BYTES, JOURNAL_ANCHOR);
	poke(HEADER_BYTES + TEXT_BYTES + 4, JOURNAL_ENTRY_MAX + 1);
	j = reopen();
	ck_assert_int_eq(journal_next(j, &type, &data, &len), -EBADMSG);
	journal_close(j);
	poke(HEADER_BYTES + TEXT_BYTES + 4, 4096);		/* allowed, but beyond the file */
	j = reopen();
	ck_assert_int_eq(journal_next(j, &type, &data, &len), 0);
	ck_assert_uint_eq(journal_truncated(j), 16);
	journal_close(j);
}
END_TEST

START_TEST(only_regular_files_are_read_and_links_not_written)
{
	char link[64];
	struct journal *j;

	ck_assert_int_eq(journal_open(&j, "/dev/null", why, sizeof(why)), -EINVAL);
	ck_assert_int_eq(journal_open(&j, "no-such-file", why, sizeof(why)), -ENOENT);
	snprintf(link, sizeof(link), "%s.link", path);
	ck_assert_int_eq(symlink(path, link), 0);
	ck_assert_int_eq(journal_create(&j, link, &facts), -ELOOP);
	unlink(link);
}
END_TEST

START_TEST(full_disk_ends_the_recording_and_sticks)
{
	static uint8_t big[300000];
	struct rlimit lim = { 100000, 100000 };
	struct journal *j;

	signal(SIGXFSZ, SIG_IGN);
	/* This test is a process of its own. */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	j = create();
	ck_assert_int_eq(journal_append(j, JOURNAL_NAMES, big, 1000), 0);
	ck_assert_int_eq(journal_append(j, JOURNAL_NAMES, big, sizeof(big)), -EFBIG);
	ck_assert_int_eq(journal_append(j, JOURNAL_NAMES, big, 1), -EFBIG);
	ck_assert_int_eq(journal_close(j), -EFBIG);
}
END_TEST

START_TEST(entry_beyond_the_limit_is_not_written)
{
	struct journal *j = create();

	ck_assert_int_eq(
		journal_append2(j, JOURNAL_NAMES, "a", JOURNAL_ENTRY_MAX, "b", 1),
		-EMSGSIZE);
	ck_assert_int_eq(journal_append(j, JOURNAL_NAMES, "a", 1), 0);
	ck_assert_int_eq(journal_close(j), 0);
	ck_assert_int_eq(journal_close(NULL), 0);
}
END_TEST

/* --- replay --- */

static char story[256];

static void entry(void *arg, uint32_t type, const void *data, size_t len)
{
	(void)data;
	ck_assert_ptr_eq(arg, story);
	snprintf(story + strlen(story), sizeof(story) - strlen(story), "%u:%zu ", type,
		 len);
}

static void put_exit(struct journal *j, uint64_t boot_ns)
{
	struct ev_exit e = {
		.head = { .type = EV_EXIT, .size = sizeof(e), .boot_ns = boot_ns }
	};

	ck_assert_int_eq(journal_append(j, JOURNAL_EVENT, &e, sizeof(e)), 0);
}

static void put_drain(struct journal *j, uint32_t count)
{
	struct journal_drain d = { .count = count };

	ck_assert_int_eq(journal_append(j, JOURNAL_DRAIN, &d, sizeof(d)), 0);
}

static void write_story(void)
{
	struct collect_stats st = { .samples = 41,
				    .kernel_ring_full = 1,
				    .malformed = 2 };
	struct journal *j = create();

	journal_append(j, JOURNAL_ANCHOR, "first", 5);
	put_exit(j, 10);
	put_exit(j, 20);
	put_drain(j, 2);
	journal_append(j, JOURNAL_READING, "r", 1);
	journal_append(j, JOURNAL_STATS, &st, sizeof(st));
	put_drain(j, 0);
	journal_append(j, JOURNAL_EVENT, "not an event at all.....", 24);
	put_exit(j, 30);
	put_drain(j, 1);
	journal_append(j, JOURNAL_NAMES, "nn", 2);
	ck_assert_int_eq(journal_close(j), 0);
}

START_TEST(replay_gives_the_recorded_batches_and_entries_in_place)
{
	struct collect_options opt = { .entry = entry, .entry_arg = story };
	struct collect_batch b;
	struct collect_stats st;
	struct collect *c;

	story[0] = 0;
	write_story();
	ck_assert_int_eq(collect_open_replay(&c, path, &opt, why, sizeof(why)), 0);
	ck_assert_int_eq(collect_arm(c, why, sizeof(why)), 0);
	ck_assert_int_eq(collect_fd(c), -1);
	ck_assert_str_eq(collect_replay_facts(c)->node, "node-7");
	ck_assert_int_eq(collect_drain(c, 0, &b), 0);
	ck_assert_uint_eq(b.count, 2);
	ck_assert_uint_eq(b.events[1]->boot_ns, 20);
	ck_assert_uint_eq(b.newest_ns, 20);
	ck_assert(!b.end && !b.more);
	ck_assert_str_eq(story, "16:5 ");
	ck_assert_int_eq(collect_drain(c, 0, &b), 0);
	ck_assert_uint_eq(b.count, 0);
	ck_assert_str_eq(story, "16:5 18:1 3:112 ");
	ck_assert_int_eq(collect_drain(c, 0, &b), 0);
	ck_assert_uint_eq(b.count, 1);
	ck_assert_int_eq(collect_drain(c, 0, &b), 0);
	ck_assert(b.end);
	ck_assert_str_eq(story, "16:5 18:1 3:112 19:2 ");
	ck_assert_int_eq(collect_stats(c, &st), 0);
	ck_assert_uint_eq(st.samples, 41);
	ck_assert_uint_eq(st.kernel_ring_full, 1);
	ck_assert_uint_eq(st.malformed, 3);	/* two recorded, one in the journal itself */
	collect_close(c);
}
END_TEST

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

START_TEST(replay_leaves_no_descriptor_behind)
{
	struct collect_options opt = { 0 };
	struct collect *c = NULL;
	int before = open_fds();

	write_story();
	ck_assert_int_eq(collect_open_replay(&c, path, &opt, why, sizeof(why)), 0);
	collect_close(c);
	ck_assert_int_lt(collect_open_replay(&c, "/nonexistent", &opt, why, sizeof(why)),
			 0);
	ck_assert_ptr_nonnull(strstr(why, "/nonexistent"));
	collect_close(NULL);
	ck_assert_int_eq(open_fds(), before);
}
END_TEST

TCase *tcase_journal(void)
{
	TCase *tc = tcase_create("journal");

	tcase_add_checked_fixture(tc, up, down);
	tcase_add_test(tc, journal_gives_back_what_was_appended);
	tcase_add_test(tc, truncated_tail_is_reported_and_not_fatal);
	tcase_add_test(tc, file_cut_inside_its_header_is_refused);
	tcase_add_loop_test(tc, damaged_header_is_refused_by_name, 0,
			    sizeof(headers) / sizeof(headers[0]));
	tcase_add_test(tc, entry_that_contradicts_the_format_ends_the_replay);
	tcase_add_test(tc, only_regular_files_are_read_and_links_not_written);
	tcase_add_test(tc, full_disk_ends_the_recording_and_sticks);
	tcase_add_test(tc, entry_beyond_the_limit_is_not_written);
	return tc;
}

TCase *tcase_replay(void)
{
	TCase *tc = tcase_create("replay");

	tcase_add_checked_fixture(tc, up, down);
	tcase_add_test(tc, replay_gives_the_recorded_batches_and_entries_in_place);
	tcase_add_test(tc, replay_leaves_no_descriptor_behind);
	return tc;
}
