/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and images by hand-made events: who is who over exec, fork, exit and pid
 * reuse. */
#include "tests/check_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct reading shop = {
	.begin = 20,
	.end = 30,
	.comm = "worker",
	.exe = "/opt/worker",
	.exe_inode = 5,
	.ppid = 1,
	.cgroup = "0::/docker/" HEX64 "\n",
	.env = "OTEL_SERVICE_NAME=shop\nOTEL_RESOURCE_ATTRIBUTES=team=a",
	.maps = { { 0x1000, 0x3000, 0, 5, 1, 77, "/opt/worker" },
		  { 0x8000, 0x9000, 0x1000, 6, 1, 78, "/lib/libc.so" } },
	.n_maps = 2,
};

START_TEST(first_sight_waits_for_one_reading_and_shows_what_events_said)
{
	struct image *i = sample(10, 1, 1, 10, "thread", 0);

	ck_assert(i->pending);
	ck_assert_int_eq(i->state, IMAGE_EVENTS);
	ck_assert_str_eq(label(i, "service.name"), "thread");
	ck_assert_str_eq(label(i, "host.name"), "n1");
	ck_assert_int_eq(answer(i, &shop), 0);
	ck_assert(!i->pending);
	ck_assert_int_eq(i->state, IMAGE_READ);
	ck_assert_str_eq(i->exe_path, "/opt/worker");
	ck_assert_str_eq(i->exe_name, "worker");
	ck_assert_ptr_nonnull(i->exe);
	ck_assert_str_eq(i->exe->path, "/opt/worker");
	ck_assert_uint_eq(i->parent_pid, 1);
	ck_assert_str_eq(layout(i), "1000-3000:0 8000-9000:1000");
	ck_assert_str_eq(label(i, "service.name"), "shop");
	ck_assert_str_eq(label(i, "team"), "a");
	ck_assert_str_eq(label(i, "container.id"), HEX64);
	ck_assert_str_eq(label(i, "process.pid"), "10");
	ck_assert_ptr_eq(image_find(i, 0x2fff)->file, i->exe);
	ck_assert_ptr_null(image_find(i, 0x3000));
	ck_assert_ptr_null(image_find(i, 0xfff));
	image_put(table, i);
}
END_TEST

START_TEST(exec_makes_a_new_image_that_inherits_nothing)
{
	struct image *old = sample(10, 1, 1, 10, "worker", 0), *fresh, *late;

	answer(old, &shop);
	comm_exec(10, 100, "next");
	mapped(10, 101, 0x40000, 0x2000, 50, "/bin/next");
	mapped(10, 102, 0x80000, 0x1000, 51, "/lib/ld.so");
	fresh = execed(10, 1, 2, 110, "./next", 50);
	mapped(10, 120, 0x90000, 0x1000, 6, "/lib/libc.so");
	ck_assert_ptr_ne(old, fresh);
	ck_assert_ptr_eq(sample(10, 1, 2, 130, "next", 0), fresh);
	ck_assert_str_eq(fresh->exe_path, "/bin/next");
	ck_assert_str_eq(layout(fresh), "40000-42000:0 80000-81000:0 90000-91000:0");
	ck_assert_str_eq(label(fresh, "service.name"), "next");
	ck_assert_str_eq(label(fresh, "team"), "(none)");
	ck_assert_str_eq(label(fresh, "container.id"), "(none)");
	/* What an earlier sample says does not change. */
	ck_assert_str_eq(label(old, "service.name"), "shop");
	late = sample(10, 1, 1, 99, "worker", 0);
	ck_assert_ptr_eq(late, old);
	image_put(table, late);
	image_put(table, fresh);
	image_put(table, old);
}
END_TEST

START_TEST(a_sample_with_a_newer_exec_id_makes_an_image_though_the_exec_was_lost)
{
	struct image *old = sample(10, 1, 1, 10, "worker", 0), *fresh;

	answer(old, &shop);
	fresh = sample(10, 1, 2, 100, "other", 0);
	ck_assert_ptr_ne(old, fresh);
	ck_assert_uint_eq(fresh->n_maps, 0);
	ck_assert(fresh->pending);
	ck_assert_str_eq(label(fresh, "service.name"), "other");
	image_put(table, fresh);
	image_put(table, old);
}
END_TEST

START_TEST(a_sample_inside_an_exec_finds_the_image_that_exec_completes)
{
	struct image *i;

	forked(10, 1, 1, 0, 0, 0, 5);
	comm_exec(10, 100, "next");
	mapped(10, 101, 0x40000, 0x2000, 50, "/bin/next");
	i = sample(10, 1, 2, 105, "next", 0);
	ck_assert_str_eq(layout(i), "40000-42000:0");
	ck_assert_ptr_eq(execed(10, 1, 2, 110, "/bin/next", 50), i);
	ck_assert_str_eq(i->exe_path, "/bin/next");
	image_put(table, i);
}
END_TEST

/* --- late readings: never a stranger's data --- */

static const struct {
	const char *what;
	uint64_t exec_at, exit_at, end;
	enum image_state want;
} late[] = {
	{ "nothing happened", 0, 0, 30, IMAGE_READ },
	{ "exec after the reading", 31, 0, 30, IMAGE_READ },
	{ "exec at the reading's end", 30, 0, 30, IMAGE_GONE },
	{ "exec between sample and reading", 15, 0, 30, IMAGE_GONE },
	{ "exec before the sample", 9, 0, 30, IMAGE_READ },
	{ "exit before the reading's end", 0, 25, 30, IMAGE_GONE },
	{ "exit after the reading", 0, 31, 30, IMAGE_READ },
};
START_TEST(a_reading_serves_an_image_only_when_no_exec_lies_before_its_end)
{
	struct reading r = shop;
	struct image *i = sample(10, 1, 1, 10, "worker", 0);

	if (late[_i].exec_at)
		peek_exec(10, 1, 2, late[_i].exec_at);
	if (late[_i].exit_at)
		peek_exit(10, 1, late[_i].exit_at);
	r.end = late[_i].end;
	answer(i, &r);
	ck_assert_msg(i->state == late[_i].want, "%s: state %d", late[_i].what, i->state);
	ck_assert_str_eq(label(i, "team"), late[_i].want == IMAGE_READ ? "a" : "(none)");
	ck_assert(!i->pending);
	image_put(table, i);
}
END_TEST

START_TEST(an_exec_that_was_drained_before_its_process_was_known_counts)
{
	struct image *i;

	peek_exec(10, 1, 2, 15);			/* same batch as the sample, which comes first in time */
	i = sample(10, 1, 1, 10, "worker", 0);
	answer(i, &shop);
	ck_assert_int_eq(i->state, IMAGE_GONE);
	ck_assert_str_eq(label(i, "service.name"), "worker");
	image_put(table, i);
}
END_TEST

START_TEST(an_exec_does_not_end_the_image_it_makes)
{
	struct image *i;
	struct reading r = shop;

	image_put(table, sample(10, 1, 1, 10, "worker", 0));
	peek_exec(10, 1, 2, 20);
	i = execed(10, 1, 2, 20, "/opt/worker", 5);
	ck_assert_ptr_eq(sample(10, 1, 2, 21, "worker", 0), i);
	r.begin = 25;
	answer(i, &r);
	ck_assert_int_eq(i->state, IMAGE_READ);
	image_put(table, i);
}
END_TEST

/* A whole exec with ticks inside it, drained at once: the image that it makes is worth
 * reading. */
START_TEST(a_tick_inside_an_exec_that_was_drained_with_it_does_not_end_the_new_image)
{
	struct image *i;
	struct reading r = shop;

	forked(10, 1, 1, 0, 0, 0, 5);
	peek_comm(10, 100);
	peek_exec(10, 1, 2, 110);
	comm_exec(10, 100, "worker");
	i = sample(10, 1, 2, 105, "worker", 0);
	ck_assert(i->pending);
	ck_assert_ptr_eq(execed(10, 1, 2, 110, "/opt/worker", 5), i);
	r.begin = 130;
	r.end = 140;
	answer(i, &r);
	ck_assert_int_eq(i->state, IMAGE_READ);
	image_put(table, i);
}
END_TEST

START_TEST(the_second_of_two_execs_drained_at_once_ends_the_first_ones_image)
{
	struct image *first;

	forked(10, 1, 1, 0, 0, 0, 5);
	peek_comm(10, 100);
	peek_exec(10, 1, 2, 110);
	peek_comm(10, 120);
	peek_exec(10, 1, 3, 130);
	comm_exec(10, 100, "first");
	execed(10, 1, 2, 110, "/bin/first", 5);
	first = sample(10, 1, 2, 115, "first", 0);
	ck_assert_int_eq(first->state, IMAGE_GONE);
	comm_exec(10, 120, "second");
	image_put(table, first);
	first = sample(10, 1, 3, 125, "second", 0);
	ck_assert(first->pending);
	image_put(table, first);
}
END_TEST

START_TEST(errors_of_a_reading_are_told_apart)
{
	static const struct { int error; enum image_state want;
	} t[] = {
		{ -ESRCH, IMAGE_GONE },
		{ -EACCES, IMAGE_UNREADABLE },
		{ -ETIMEDOUT, IMAGE_TIMEOUT },
	};
	struct process_counts c;

	for (uint32_t k = 0; k < N(t); k++) {
		struct image *i = sample(10 + k, 1, 1, 10, "worker", 0);
		struct reading r = { .error = t[k].error, .end = 30 };

		answer(i, &r);
		ck_assert_int_eq(i->state, t[k].want);
		image_put(table, sample(10 + k, 1, 1, 40, "worker", 0));
		ck_assert(!i->pending);
		image_put(table, i);
	}
	process_counts(table, &c);
	ck_assert_uint_eq(c.gone, 1);
	ck_assert_uint_eq(c.unreadable, 1);
	ck_assert_uint_eq(c.timeouts, 1);
}
END_TEST

START_TEST(a_reading_inside_an_exec_is_asked_for_again)
{
	struct image *i = sample(10, 1, 1, 10, "worker", 0);
	struct reading r = { .error = -EAGAIN, .end = 30 };

	for (int k = 0; k < READ_TRIES; k++) {
		ck_assert(i->pending);
		answer(i, &r);
		ck_assert(!i->pending);
		image_put(table, sample(10, 1, 1, 40 + k, "worker", 0));
	}
	ck_assert_int_eq(i->state, IMAGE_GONE);
	image_put(table, i);
}
END_TEST

START_TEST(an_answer_for_another_identity_changes_nothing)
{
	struct image *i = sample(10, 1, 1, 10, "worker", 0);
	struct image other = *i;

	other.start_ns = 2;
	answer(&other, &shop);
	other.start_ns = 1;
	other.pid = 11;
	answer(&other, &shop);
	ck_assert_int_eq(i->state, IMAGE_EVENTS);
	ck_assert(i->pending);
	image_put(table, i);
}
END_TEST

/* --- pid reuse --- */

START_TEST(a_reused_pid_has_none_of_the_dead_process)
{
	struct image *a = sample(10, 1, 1, 10, "a", 0), *b, *late_a;

	answer(a, &shop);
	b = sample(10, 5 * SEC, 1, 6 * SEC, "b", 0);
	ck_assert_ptr_ne(a, b);
	ck_assert_str_eq(label(b, "service.name"), "b");
	ck_assert_str_eq(label(b, "container.id"), "(none)");
	ck_assert_uint_eq(b->n_maps, 0);
	late_a = sample(10, 1, 1, 4 * SEC, "a", 0);	/* arrives late: still a's */
	ck_assert_ptr_eq(late_a, a);
	ck_assert_ptr_eq(process_find(table, 10, 5 * SEC), b);
	/* Mappings have no start time: they go to whom the pid belonged to then. */
	mapped(10, 7 * SEC, 0x100000, 0x1000, 9, "/lib/new.so");
	ck_assert_ptr_nonnull(image_find(b, 0x100000));
	ck_assert_ptr_null(image_find(a, 0x100000));
	image_put(table, late_a);
	image_put(table, a);
	image_put(table, b);
}
END_TEST

START_TEST(a_fork_that_was_lost_is_made_up_by_the_exec)
{
	struct image *i;

	comm_exec(10, 100, "x");
	mapped(10, 101, 0x40000, 0x1000, 50, "/bin/x");
	i = execed(10, 90, 2, 110, "/bin/x", 50);
	ck_assert_str_eq(i->exe_path, "/bin/x");
	ck_assert_str_eq(layout(i), "40000-41000:0");
	ck_assert_uint_eq(i->start_ns, 90);
}
END_TEST

/* --- fork --- */

START_TEST(a_fork_inherits_the_image_with_its_own_pid_until_it_execs)
{
	struct image *parent = sample(10, 1, 1, 10, "worker", 0), *child;

	answer(parent, &shop);
	forked(11, 50, 1, 10, 1, 1, 50);
	child = sample(11, 50, 1, 60, "worker", 0);
	ck_assert(!child->pending);
	ck_assert_int_eq(child->state, IMAGE_READ);
	ck_assert_str_eq(label(child, "service.name"), "shop");
	ck_assert_str_eq(label(child, "process.pid"), "11");
	ck_assert_str_eq(child->exe_path, "/opt/worker");
	ck_assert_uint_eq(child->parent_pid, 10);
	ck_assert_str_eq(layout(child), layout(parent));
	mapped(11, 70, 0x20000, 0x1000, 9, "/lib/plugin.so");	/* the child's alone */
	ck_assert_uint_eq(child->n_maps, 3);
	ck_assert_uint_eq(parent->n_maps, 2);
	image_put(table, child);
	child = execed(11, 50, 2, 80, "/bin/other", 70);
	ck_assert_ptr_eq(sample(11, 50, 2, 81, "other", 0), child);
	ck_assert_str_eq(label(child, "service.name"), "other");
	ck_assert_uint_eq(child->n_maps, 0);
	image_put(table, child);
	image_put(table, parent);
}
END_TEST

START_TEST(the_reading_of_a_parent_serves_children_forked_before_it)
{
	struct image *parent = sample(10, 1, 1, 10, "worker", 0), *child, *grandchild;

	forked(11, 12, 1, 10, 1, 1, 12);
	forked(12, 14, 1, 11, 12, 1, 14);
	answer(parent, &shop);
	child = sample(11, 12, 1, 40, "worker", 0);
	grandchild = sample(12, 14, 1, 41, "worker", 0);
	ck_assert_str_eq(label(child, "service.name"), "shop");
	ck_assert_str_eq(label(grandchild, "service.name"), "shop");
	ck_assert_str_eq(label(grandchild, "process.pid"), "12");
	ck_assert(!child->pending && !grandchild->pending);
	image_put(table, grandchild);
	image_put(table, child);
	image_put(table, parent);
}
END_TEST

START_TEST(a_child_gone_unread_is_served_by_the_reading_of_its_parent)
{
	struct image *parent, *child[2], *other;

	image_put(table, sample(10, 1, 1, 3, "worker", 0));
	parent = process_find(table, 10, 1);
	answer(parent, &(struct reading){ .error = -EAGAIN, .end = 4 });	/* nothing is known of it */
	forked(11, 12, 1, 10, 1, 1, 12);
	peek_exit(11, 12, 15);
	child[0] = sample(11, 12, 1, 14, "worker", 0);		/* it is gone already: the parent is asked */
	ck_assert(child[0]->pending && parent->pending);
	forked(12, 12, 1, 10, 1, 1, 12);
	child[1] = sample(12, 12, 1, 14, "worker", 0);
	answer(child[1], &(struct reading){ .error = -ESRCH, .end = 30 });
	ck_assert(child[1]->pending);
	answer(parent, &shop);
	for (int k = 0; k < 2; k++) {
		ck_assert(!child[k]->pending);
		ck_assert_int_eq(child[k]->state, IMAGE_READ);
		ck_assert_str_eq(label(child[k], "service.name"), "shop");
		ck_assert_str_eq(child[k]->exe_path, "/opt/worker");
		ck_assert_str_eq(layout(child[k]), layout(parent));
		image_put(table, child[k]);
	}
	/* No reading of the parent: no guess. */
	parent = sample(20, 1, 1, 3, "p", 0);
	forked(21, 12, 1, 20, 1, 1, 12);
	peek_exit(21, 12, 15);
	other = sample(21, 12, 1, 14, "c", 0);
	answer(parent, &(struct reading){ .error = -ETIMEDOUT, .end = 30 });
	ck_assert_int_eq(other->state, IMAGE_GONE);
	ck_assert(!other->pending);
	image_put(table, other);
	image_put(table, parent);
}
END_TEST

START_TEST(a_table_may_go_while_children_wait_for_their_parent)
{
	struct image *child;

	image_put(table, sample(10, 1, 1, 3, "worker", 0));
	forked(11, 12, 1, 10, 1, 1, 12);
	peek_exit(11, 12, 15);
	child = sample(11, 12, 1, 14, "worker", 0);
	ck_assert(child->pending);
	image_put(table, child);
}
END_TEST

/* --- labels that change in life --- */

START_TEST(the_main_threads_name_is_followed_and_no_other)
{
	struct image *i = sample(10, 1, 1, 10, "first", 0);
	struct {
		struct ev_sample s;
	} e = { .s.head = { .type = EV_SAMPLE,
			    .tgid = 10,
			    .tid = 12,
			    .start_ns = 1,
			    .exec_id = 1,
			    .boot_ns = 20 } };
	uint32_t version = i->label_version;

	strncpy(e.s.comm, "other", sizeof(e.s.comm));
	image_put(table, process_on_sample(table, &e.s));
	ck_assert_str_eq(label(i, "comm"), "first");
	ck_assert_uint_eq(i->label_version, version);
	image_put(table, sample(10, 1, 1, 30, "renamed", 0));
	ck_assert_str_eq(label(i, "comm"), "renamed");
	ck_assert_uint_gt(i->label_version, version);
	image_put(table, i);
}
END_TEST

START_TEST(a_move_to_another_cgroup_changes_the_container)
{
	struct image *i = sample(10, 1, 1, 10, "worker", 0);
	struct reading r = { .ask = DOOR_CGROUP,
			     .begin = 50,
			     .end = 60,
			     .cgroup = "0::/system.slice/a\n" };

	answer(i, &shop);
	answer(i, &r);
	ck_assert_str_eq(label(i, "container.id"), "(none)");
	ck_assert_str_eq(label(i, "service.name"), "shop");
	ck_assert_str_eq(i->cgroup, "/system.slice/a");
	ck_assert_str_eq(layout(i), "1000-3000:0 8000-9000:1000");
	image_put(table, i);
}
END_TEST

static struct image *sample_in(uint32_t pid, uint64_t at, uint64_t cgroup)
{
	struct {
		struct ev_sample s;
	} e = { .s = { .cgroup_id = cgroup,
		       .head = { .type = EV_SAMPLE,
				 .tgid = pid,
				 .tid = pid,
				 .start_ns = 1,
				 .exec_id = 1,
				 .boot_ns = at } } };

	return process_on_sample(table, &e.s);
}

START_TEST(a_process_gone_unread_has_the_container_of_its_cgroup_id)
{
	struct reading gone = { .error = -ESRCH, .end = 50 };
	struct image *i = sample_in(10, 10, 99), *dead;

	answer(i, &shop);
	dead = sample_in(11, 35, 99);
	ck_assert_str_eq(label(dead, "container.id"), "(none)");	/* not proven to be stable yet */
	image_put(table, sample_in(10, 40, 99));
	image_put(table, dead);
	dead = sample_in(12, 45, 99);
	answer(dead, &gone);
	ck_assert_str_eq(label(dead, "container.id"), HEX64);
	ck_assert_str_eq(label(dead, "team"), "(none)");
	image_put(table, dead);
	image_put(table, i);
}
END_TEST

START_TEST(a_cgroup_id_that_changed_round_a_reading_teaches_nothing)
{
	struct image *i = sample_in(10, 10, 98), *dead;		/* the runtime's, before it moved */

	answer(i, &shop);
	image_put(table, sample_in(10, 40, 99));
	dead = sample_in(11, 45, 98);
	ck_assert_str_eq(label(dead, "container.id"), "(none)");
	image_put(table, dead);
	image_put(table, i);
}
END_TEST

START_TEST(a_kernel_thread_is_never_read)
{
	struct {
		struct ev_sample s;
	} e = { .s.head = { .type = EV_SAMPLE,
			    .tgid = 2,
			    .tid = 2,
			    .start_ns = 1,
			    .boot_ns = 20,
			    .flags = EV_F_KTHREAD } };
	struct image *i;

	strncpy(e.s.comm, "kthreadd", sizeof(e.s.comm));
	i = process_on_sample(table, &e.s);
	ck_assert(i->kthread && !i->pending);
	ck_assert_str_eq(label(i, "service.name"), "kthreadd");
	ck_assert_str_eq(label(i, "process.executable.name"), "(none)");
	image_put(table, i);
}
END_TEST

Suite *table_suite(void)
{
	Suite *s = suite_create("process table");
	TCase *tc = tcase_create("table");

	tcase_add_checked_fixture(tc, table_open, table_close);
	tcase_add_test(tc, first_sight_waits_for_one_reading_and_shows_what_events_said);
	tcase_add_test(tc, exec_makes_a_new_image_that_inherits_nothing);
	tcase_add_test(
		tc,
		a_sample_with_a_newer_exec_id_makes_an_image_though_the_exec_was_lost);
	tcase_add_test(tc, a_sample_inside_an_exec_finds_the_image_that_exec_completes);
	tcase_add_loop_test(
		tc, a_reading_serves_an_image_only_when_no_exec_lies_before_its_end, 0,
		N(late));
	tcase_add_test(tc, an_exec_that_was_drained_before_its_process_was_known_counts);
	tcase_add_test(tc, an_exec_does_not_end_the_image_it_makes);
	tcase_add_test(
		tc,
		a_tick_inside_an_exec_that_was_drained_with_it_does_not_end_the_new_image);
	tcase_add_test(tc,
		       the_second_of_two_execs_drained_at_once_ends_the_first_ones_image);
	tcase_add_test(tc, errors_of_a_reading_are_told_apart);
	tcase_add_test(tc, a_reading_inside_an_exec_is_asked_for_again);
	tcase_add_test(tc, an_answer_for_another_identity_changes_nothing);
	tcase_add_test(tc, a_reused_pid_has_none_of_the_dead_process);
	tcase_add_test(tc, a_fork_that_was_lost_is_made_up_by_the_exec);
	tcase_add_test(tc, a_fork_inherits_the_image_with_its_own_pid_until_it_execs);
	tcase_add_test(tc, the_reading_of_a_parent_serves_children_forked_before_it);
	tcase_add_test(tc, a_child_gone_unread_is_served_by_the_reading_of_its_parent);
	tcase_add_test(tc, a_table_may_go_while_children_wait_for_their_parent);
	tcase_add_test(tc, the_main_threads_name_is_followed_and_no_other);
	tcase_add_test(tc, a_move_to_another_cgroup_changes_the_container);
	tcase_add_test(tc, a_process_gone_unread_has_the_container_of_its_cgroup_id);
	tcase_add_test(tc, a_cgroup_id_that_changed_round_a_reading_teaches_nothing);
	tcase_add_test(tc, a_kernel_thread_is_never_read);
	suite_add_tcase(s, tc);
	return s;
}
