/* SPDX-License-Identifier: Apache-2.0 */
/* The door, the CPU masks, the order of events, the kernel's rings, read from memory. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "sidecar/collect/batch.h"
#include "sidecar/collect/bpf_load.h"
#include "sidecar/collect/bpf_ring.h"
#include "sidecar/collect/collect_source.h"
#include "sidecar/collect/cpus.h"
#include "sidecar/collect/decode.h"
#include "sidecar/collect/idle_time.h"
#include "sidecar/collect/sideband.h"
#include "tests/check_collect.h"

/* --- the door --- */

static uint64_t space[1024];

static struct ev_head *make(uint32_t type, size_t size)
{
	struct ev_head *h = (struct ev_head *)space;

	memset(space, 0, sizeof(space));
	h->type = type;
	h->size = (uint32_t)size;
	return h;
}

static struct ev_head *valid_event(uint32_t type)
{
	struct ev_head *h;

	switch (type) {
	case EV_SAMPLE:
		h = make(type, sizeof(struct ev_sample) + 5 * 8 + 40);
		((struct ev_sample *)h)->kernel_frames = 2;
		((struct ev_sample *)h)->user_frames = 3;
		((struct ev_sample *)h)->context_bytes = 33;
		((struct ev_sample *)h)->context = EV_CONTEXT_OK;
		((struct ev_sample *)h)->user_end = EV_END_FRAME_POINTER;
		return h;
	case EV_FORK:
		return make(type, sizeof(struct ev_fork));
	case EV_EXEC:
		h = make(type, sizeof(struct ev_exec) + 16);
		((struct ev_exec *)h)->filename_len = 8;
		memcpy(((struct ev_exec *)h)->filename, "/bin/ls8", 8);
		return h;
	case EV_EXIT:
		return make(type, sizeof(struct ev_exit));
	case EV_CONTEXT:
		h = make(type, sizeof(struct ev_context));
		h->tgid = 7;
		h->start_ns = 1;
		return h;
	case EV_MMAP:
		h = make(type, sizeof(struct ev_mmap) + 8);
		((struct ev_mmap *)h)->path_len = 4;
		memcpy(((struct ev_mmap *)h)->path, "/lib", 4);
		return h;
	case EV_KSYMBOL:
		h = make(type, sizeof(struct ev_ksymbol) + 8);
		((struct ev_ksymbol *)h)->name_len = 7;
		memcpy(((struct ev_ksymbol *)h)->name, "bpf_pro", 7);
		return h;
	case EV_COMM_EXEC:
		return make(type, sizeof(struct ev_comm_exec));
	}
	return NULL;
}

static const uint32_t types[] = {
	EV_SAMPLE, EV_FORK, EV_EXEC, EV_EXIT, EV_MMAP, EV_KSYMBOL, EV_COMM_EXEC,
	EV_CONTEXT,
};
#define N_TYPES ((int)(sizeof(types) / sizeof(types[0])))

START_TEST(whole_event_passes_the_door)
{
	struct ev_head *h = valid_event(types[_i]);
	const struct ev_head *out = NULL;

	ck_assert_int_eq(event_check(h, h->size, &out), 0);
	ck_assert_ptr_eq(out, h);
	/* A ring record is rounded up: more bytes than the event are fine. */
	ck_assert_int_eq(event_check(h, h->size + 40, &out), 0);
	ck_assert_str_ne(event_type_name(types[_i]), "unknown");
}
END_TEST

START_TEST(event_of_any_other_size_is_refused)
{
	struct ev_head *h = valid_event(types[_i]);
	uint32_t right = h->size;
	const struct ev_head *out;

	for (uint32_t size = 0; size < right + 64; size++) {
		h->size = size;
		ck_assert_msg((event_check(h, sizeof(space), &out) == 0) ==
				      (size == right),
			      "%s of %u bytes", event_type_name(types[_i]), size);
	}
	h->size = right;
	for (uint32_t n = 0; n < right; n++)
		ck_assert_int_eq(event_check(h, n, &out), -EBADMSG);
	h->size = UINT32_MAX - 7;
	ck_assert_int_eq(event_check(h, sizeof(space), &out), -EBADMSG);
	h->size = right;
	ck_assert_int_eq(event_check((char *)h + 4, right, &out), -EBADMSG);
}
END_TEST

#define AT(type, member, width) offsetof(struct type, member), width

static const struct {
	const char *what;
	uint32_t type;
	size_t at;
	int width;
	uint64_t value;
} damages[] = {
	{ "kernel frames beyond size", EV_SAMPLE, AT(ev_sample, kernel_frames, 2), 3 },
	{ "kernel frames beyond 127", EV_SAMPLE, AT(ev_sample, kernel_frames, 2),
	  0xffff },
	{ "user frames fewer than size", EV_SAMPLE, AT(ev_sample, user_frames, 2), 2 },
	{ "user frames beyond 127", EV_SAMPLE, AT(ev_sample, user_frames, 2), 128 },
	{ "context beyond size", EV_SAMPLE, AT(ev_sample, context_bytes, 2), 41 },
	{ "bytes of no context", EV_SAMPLE, AT(ev_sample, context, 1), EV_CONTEXT_NONE },
	{ "state of user space", EV_SAMPLE, AT(ev_sample, context, 1), 3 },
	{ "unknown state", EV_SAMPLE, AT(ev_sample, context, 1), EV_CONTEXT_LAST + 1 },
	{ "unknown verdict", EV_SAMPLE, AT(ev_sample, user_end, 1), 7 },
	{ "filename beyond size", EV_EXEC, AT(ev_exec, filename_len, 4), 16 },
	{ "filename of 4 GiB", EV_EXEC, AT(ev_exec, filename_len, 4), 0xffffffff },
	{ "filename shorter than size", EV_EXEC, AT(ev_exec, filename_len, 4), 7 },
	{ "filename longer than said", EV_EXEC, AT(ev_exec, filename[8], 1), 'x' },
	{ "NUL in filename", EV_EXEC, AT(ev_exec, filename[3], 1), 0 },
	{ "exit code", EV_EXIT, AT(ev_exit, exit_code, 4), 256 },
	{ "exit signal", EV_EXIT, AT(ev_exit, exit_signal, 4), 128 },
	{ "context of nobody", EV_CONTEXT, AT(ev_head, tgid, 4), 0 },
	{ "context of no start", EV_CONTEXT, AT(ev_head, start_ns, 8), 0 },
	{ "build id of 21 bytes", EV_MMAP, AT(ev_mmap, build_id_len, 4), 21 },
	{ "path beyond size", EV_MMAP, AT(ev_mmap, path_len, 4), 8 },
	{ "path not terminated", EV_MMAP, AT(ev_mmap, path[4], 1), 'x' },
	{ "mapping that wraps", EV_MMAP, AT(ev_mmap, len, 8), UINT64_MAX },
	{ "symbol name beyond size", EV_KSYMBOL, AT(ev_ksymbol, name_len, 4), 8 },
	{ "type 0", EV_FORK, AT(ev_head, type, 4), 0 },
	{ "type 19", EV_FORK, AT(ev_head, type, 4), 19 },
};

START_TEST(damaged_event_is_refused)
{
	struct ev_head *h = valid_event(damages[_i].type);
	const struct ev_head *out;

	if (damages[_i].type == EV_MMAP)
		((struct ev_mmap *)h)->addr = 4096;
	ck_assert_int_eq(event_check(h, h->size, &out), 0);
	memcpy((char *)h + damages[_i].at, &damages[_i].value, (size_t)damages[_i].width);
	ck_assert_msg(event_check(h, sizeof(space), &out) == -EBADMSG, "%s",
		      damages[_i].what);
}
END_TEST

static const struct { uint32_t type; size_t at; } comms[] = {
	{ EV_SAMPLE, offsetof(struct ev_sample, comm) },
	{ EV_FORK, offsetof(struct ev_fork, comm) },
	{ EV_EXEC, offsetof(struct ev_exec, comm) },
	{ EV_COMM_EXEC, offsetof(struct ev_comm_exec, comm) },
};

START_TEST(comm_without_nul_is_refused)
{
	struct ev_head *h = valid_event(comms[_i].type);
	const struct ev_head *out;

	memset((char *)h + comms[_i].at, 'c', EV_COMM_LEN - 1);
	ck_assert_int_eq(event_check(h, h->size, &out), 0);
	((char *)h)[comms[_i].at + EV_COMM_LEN - 1] = 'c';
	ck_assert_int_eq(event_check(h, h->size, &out), -EBADMSG);
}
END_TEST

/* --- CPU masks --- */

static const struct {
	const char *text;
	int want;
	unsigned count, end;
	uint64_t first;
} masks[] = {
	{ "0", 0, 1, 1, 1 },
	{ "0-1\n", 0, 2, 2, 3 },
	{ "0,3-7", 0, 6, 8, 0xf9 },
	{ "0,3-7\n", 0, 6, 8, 0xf9 },
	{ "2,4,63-64", 0, 4, 65, 1ULL << 63 | 0x14 },
	{ "", 0, 0, 0, 0 },
	{ "\n", 0, 0, 0, 0 },
	{ "8191", 0, 1, 8192, 0 },
	{ "8192", -ERANGE, 0, 0, 0 },
	{ "0-99999999999999", -ERANGE, 0, 0, 0 },
	{ "3-1", -EINVAL, 0, 0, 0 },
	{ "3,1", -EINVAL, 0, 0, 0 },
	{ "1,1", -EINVAL, 0, 0, 0 },
	{ "0,", -EINVAL, 0, 0, 0 },
	{ ",0", -EINVAL, 0, 0, 0 },
	{ "0-", -EINVAL, 0, 0, 0 },
	{ "-3", -EINVAL, 0, 0, 0 },
	{ "0 1", -EINVAL, 0, 0, 0 },
	{ "0x1", -EINVAL, 0, 0, 0 },
	{ "0-1\n\n", -EINVAL, 0, 0, 0 },
};

START_TEST(cpu_mask_is_read_as_the_kernel_writes_it)
{
	static struct cpu_set set;
	int got = cpus_parse(&set, masks[_i].text, strlen(masks[_i].text));

	ck_assert_msg(got == masks[_i].want, "'%s': %d", masks[_i].text, got);
	if (got)
		return;
	ck_assert_uint_eq(set.count, masks[_i].count);
	ck_assert_uint_eq(set.end, masks[_i].end);
	ck_assert_uint_eq(set.bits[0], masks[_i].first);
	ck_assert(set.end == 0 || cpus_has(&set, set.end - 1));
	ck_assert(!cpus_has(&set, set.end));
	ck_assert(!cpus_has(&set, CPUS_MAX + 5));
}
END_TEST

START_TEST(idle_time_of_each_cpu_is_read)
{
	static const char text[] =
		"cpu  242055 0 49274 289002 1521 0 594 427 0 0\n"
		"cpu0 121000 0 24000 100 20 0 300 200 0 0\n"
		"cpu2 121055 0 25274 18446744073709551615 1501 0 294 227 0 0\n"
		"cpu3 1 2 3\n"
		"cpu9 1 0 0 77 0 0 0 0 0 0\n"
		"intr 12345 0 0\n"
		"cpu1 1 0 0 500 0 0 0 0 0 0\n"
		"cpu4 1 0 0 600 0 0 0";		/* cut */
	uint64_t ns[6] = { 1, 1, 1, 1, 1, 1 };

	idle_time_parse(text, sizeof(text) - 1, 100, ns, 6);
	ck_assert_uint_eq(ns[0], 1200000000);	/* idle and iowait */
	ck_assert_uint_eq(ns[1], 5000000000);
	ck_assert_uint_eq(ns[2], 1);		/* no such number of ticks */
	ck_assert_uint_eq(ns[3], 1);
	ck_assert_uint_eq(ns[4], 1);
	ck_assert_uint_eq(ns[5], 1);
}
END_TEST

START_TEST(this_machine_has_cpus_online)
{
	static struct cpu_set online, possible;

	ck_assert_int_eq(cpus_read(&online, "online"), 0);
	ck_assert_int_eq(cpus_read(&possible, "possible"), 0);
	ck_assert_uint_ge(online.count, 1);
	ck_assert_uint_ge(possible.count, online.count);
	ck_assert_int_eq(cpus_read(&online, "no-such-mask"), -ENOENT);
}
END_TEST

/* --- BPF ring --- */

#define RING 4096

static struct bpf_ring ring;
static unsigned long positions[2];

/* As the kernel maps it: the data twice in a row. */
static void ring_up(void)
{
	int fd = memfd_create("ring", 0);
	uint8_t *p;

	ck_assert_int_eq(ftruncate(fd, RING), 0);
	p = mmap(NULL, 2 * RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++)
		ck_assert_ptr_ne(mmap(p + i * RING, RING, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, fd, 0),
				 MAP_FAILED);
	close(fd);
	positions[0] = positions[1] = 0;
	ring = (struct bpf_ring){ .consumer = &positions[0],
				  .producer = &positions[1],
				  .data = p,
				  .size = RING };
}

static void ring_put(uint32_t head, uint8_t fill)
{
	uint32_t len = head & 0x3fffffff;
	uint8_t *p = ring.data + (positions[1] & (RING - 1));

	memcpy(p, &head, 4);
	memset(p + 8, fill, len);
	positions[1] += (8 + len + 7) & ~7u;
}

START_TEST(ring_gives_what_was_committed_and_skips_what_was_discarded)
{
	const void *data;
	size_t len;

	ck_assert(!bpf_ring_peek(&ring, &data, &len));
	ring_put(12 | 1u << 30, 'd');
	ring_put(20, 'a');
	ring_put(16 | 1u << 31, 'b');
	ring_put(8, 'c');
	ck_assert(bpf_ring_peek(&ring, &data, &len));
	ck_assert_uint_eq(len, 20);
	ck_assert_int_eq(*(const char *)data, 'a');
	bpf_ring_pop(&ring, len);
	ck_assert_uint_eq(positions[0], 24 + 32);
	ck_assert(!bpf_ring_peek(&ring, &data, &len));	/* busy: nothing behind it either */
	ring.data[24 + 32 + 3] &= 0x7f;
	ck_assert(bpf_ring_peek(&ring, &data, &len));
	ck_assert_uint_eq(len, 16);
}
END_TEST

START_TEST(ring_record_is_contiguous_where_it_wraps)
{
	for (int i = 0; i < 1000; i++) {
		uint32_t n = 100 + (uint32_t)(i * 37) % 900;
		const uint8_t *data;
		size_t len;

		ring_put(n, (uint8_t)i);
		ck_assert(bpf_ring_peek(&ring, (const void **)&data, &len));
		ck_assert_uint_eq(len, n);
		ck_assert_uint_eq(data[0], (uint8_t)i);
		ck_assert_uint_eq(data[n - 1], (uint8_t)i);
		bpf_ring_pop(&ring, len);
	}
	ck_assert_uint_eq(positions[0], positions[1]);
}
END_TEST

static const struct {
	unsigned frequency, ncpu;
	bool low_latency;
	size_t asked, want;
} sizes[] = {
	{ 19, 2, false, 0, 256 << 10 },	    { 999, 2, false, 0, 512 << 10 },
	{ 4000, 2, false, 0, 2 << 20 },	    { 10000, 2, false, 0, 8 << 20 },
	{ 4000, 2, true, 0, 256 << 10 },    { 999, 64, false, 0, 16 << 20 },
	{ 10000, 512, false, 0, 64 << 20 }, /* the cap */
	{ 99, 2, false, 4096, 4096 },	    { 99, 2, false, 5000, 8192 },
};

START_TEST(ring_holds_two_intervals_of_the_largest_sample)
{
	struct collect_options opt = { .frequency = sizes[_i].frequency,
				       .low_latency = sizes[_i].low_latency,
				       .ring_bytes = sizes[_i].asked };

	ck_assert_uint_eq(bpf_ring_bytes(&opt, sizes[_i].ncpu), sizes[_i].want);
}
END_TEST

/* --- options --- */

START_TEST(wrong_options_are_refused_with_the_remedy)
{
	static const uint32_t pid = 1;
	struct collect_options opt = { .frequency = 99 };
	char why[COLLECT_WHY_MAX];

	ck_assert_int_eq(collect_check_options(&opt, why, sizeof(why)), 0);
	opt.frequency = 0;
	ck_assert_int_eq(collect_check_options(&opt, why, sizeof(why)), -EINVAL);
	opt.frequency = 10001;
	ck_assert_int_eq(collect_check_options(&opt, why, sizeof(why)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "between 1 and 10000 Hz"));
	opt.frequency = 99;
	opt.stack_depth = EV_MAX_FRAMES + 1;
	ck_assert_int_eq(collect_check_options(&opt, why, sizeof(why)), -EINVAL);
	opt.stack_depth = 5;
	opt.scope = EV_SCOPE_PIDS;
	ck_assert_int_eq(collect_check_options(&opt, why, sizeof(why)), -EINVAL);
	opt.pids = &pid;
	opt.npids = 1;
	ck_assert_int_eq(collect_check_options(&opt, why, sizeof(why)), 0);
	opt.scope = EV_SCOPE_CGROUP;
	ck_assert_int_eq(collect_check_options(&opt, why, sizeof(why)), -EINVAL);
}
END_TEST

static TCase *tcase_door(void)
{
	TCase *tc = tcase_create("door");

	tcase_add_loop_test(tc, whole_event_passes_the_door, 0, N_TYPES);
	tcase_add_loop_test(tc, event_of_any_other_size_is_refused, 0, N_TYPES);
	tcase_add_loop_test(tc, damaged_event_is_refused, 0,
			    sizeof(damages) / sizeof(damages[0]));
	tcase_add_loop_test(tc, comm_without_nul_is_refused, 0,
			    sizeof(comms) / sizeof(comms[0]));
	return tc;
}

static TCase *tcase_rings(void)
{
	TCase *tc = tcase_create("rings");

	tcase_add_checked_fixture(tc, ring_up, NULL);
	tcase_add_test(tc, ring_gives_what_was_committed_and_skips_what_was_discarded);
	tcase_add_test(tc, ring_record_is_contiguous_where_it_wraps);
	tcase_add_loop_test(tc, ring_holds_two_intervals_of_the_largest_sample, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	return tc;
}

static TCase *tcase_cpus(void)
{
	TCase *tc = tcase_create("cpus");

	tcase_add_loop_test(tc, cpu_mask_is_read_as_the_kernel_writes_it, 0,
			    sizeof(masks) / sizeof(masks[0]));
	tcase_add_test(tc, this_machine_has_cpus_online);
	tcase_add_test(tc, idle_time_of_each_cpu_is_read);
	tcase_add_test(tc, wrong_options_are_refused_with_the_remedy);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("collect");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, tcase_door());
	suite_add_tcase(s, tcase_cpus());
	suite_add_tcase(s, tcase_order());
	suite_add_tcase(s, tcase_rings());
	suite_add_tcase(s, tcase_sideband());
	suite_add_tcase(s, tcase_journal());
	suite_add_tcase(s, tcase_replay());
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
