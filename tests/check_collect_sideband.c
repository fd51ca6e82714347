/* SPDX-License-Identifier: Apache-2.0 */
/* The side-band parser on bytes that a 6.18 kernel wrote, and on damaged ones. */
#include <check.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "sidecar/collect/decode.h"
#include "sidecar/collect/sideband.h"
#include "tests/check_collect.h"

#define ARENA (64 * 1024)

static struct sideband side;
static struct batch batch;
static uint64_t bytes[64];

/*
 * `sh` becomes /usr/bin/dash: FORK, COMM of an exec, three MMAP2 (two by build id, the
 * vdso without).
 */
static const char rec_fork[] =
	"0700000000003800fa750000f8750000fa750000f87500008fe29fdb9d010000f8750000f87500007ae09fdb9d010000"
	"0100000000000000";
static const char rec_comm[] =
	"0300000000203000fa750000fa7500007368000000000000fa750000fa7500009174a2db9d0100000100000000000000";
static const char rec_dash[] =
	"0a00000002407000fa750000fa75000000e01f0e265600000030010000000000004000000000000014000000be6397dd"
	"ffc3e384c505d7deab3bed190c884df905000000020000002f7573722f62696e2f64617368000000fa750000fa750000"
	"ced4a2db9d0100000100000000000000";
static const char rec_vdso[] =
	"0a00000002006800fa750000fa7500000090c27c8c7f0000002000000000000000000000000000000000000000000000"
	"0000000000000000000000000000000005000000020000005b7664736f5d0000fa750000fa750000245ca3db9d010000"
	"0100000000000000";

static size_t unhex(const char *hex)
{
	size_t n = strlen(hex) / 2;

	memset(bytes, 0xee, sizeof(bytes));
	for (size_t i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		((uint8_t *)bytes)[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return n;
}

static void up(void)
{
	memset(&side, 0, sizeof(side));
	ck_assert_int_eq(batch_init(&batch, ARENA), 0);
	batch_begin(&batch, 0);
}

static void down(void)
{
	batch_fini(&batch);
}

static const struct ev_head *parse(const char *hex)
{
	const struct ev_head *e;
	size_t len = unhex(hex);

	ck_assert_int_eq(sideband_record(&side, bytes, len, &batch), 0);
	if (!batch.n)
		return NULL;
	/* What the parser makes passes the same door as everything else. */
	ck_assert_int_eq(event_check(batch.slots[batch.n - 1].event,
				     batch.slots[batch.n - 1].event->size, &e), 0);
	return e;
}

START_TEST(mapping_with_build_id_is_understood)
{
	const struct ev_mmap *e = (const struct ev_mmap *)parse(rec_dash);

	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->head.type, EV_MMAP);
	ck_assert_uint_eq(e->head.tgid, 30202);
	ck_assert_uint_eq(e->head.tid, 30202);
	ck_assert_uint_eq(e->head.cpu, 1);
	ck_assert_uint_eq(e->head.boot_ns, 0x19ddba2d4ceULL);
	ck_assert_uint_eq(e->head.flags, EV_F_MMAP_BUILD_ID);
	ck_assert_uint_eq(e->addr, 0x56260e1fe000);
	ck_assert_uint_eq(e->len, 0x13000);
	ck_assert_uint_eq(e->pgoff, 0x4000);
	ck_assert_uint_eq(e->build_id_len, 20);
	ck_assert_mem_eq(e->build_id, "\xbe\x63\x97\xdd\xff\xc3\xe3\x84", 8);
	ck_assert_str_eq(e->path, "/usr/bin/dash");
	ck_assert_uint_eq(e->path_len, 13);
}
END_TEST

START_TEST(mapping_without_build_id_has_device_and_inode)
{
	const struct ev_mmap *e = (const struct ev_mmap *)parse(rec_vdso);

	ck_assert_uint_eq(e->head.flags, 0);
	ck_assert_uint_eq(e->build_id_len, 0);
	ck_assert_str_eq(e->path, "[vdso]");
	unhex(rec_vdso);
	bytes[5] = 254 | 3ULL << 32;		/* maj, min */
	bytes[6] = 123456;			/* inode */
	bytes[7] = 9;				/* generation */
	ck_assert_int_eq(sideband_record(&side, bytes, 104, &batch), 0);
	e = (const struct ev_mmap *)batch.slots[1].event;
	ck_assert_uint_eq(e->dev_major, 254);
	ck_assert_uint_eq(e->dev_minor, 3);
	ck_assert_uint_eq(e->inode, 123456);
	ck_assert_uint_eq(e->inode_generation, 9);
}
END_TEST

START_TEST(comm_of_an_exec_begins_an_image)
{
	const struct ev_comm_exec *e = (const struct ev_comm_exec *)parse(rec_comm);

	ck_assert_uint_eq(e->head.type, EV_COMM_EXEC);
	ck_assert_uint_eq(e->head.tgid, 30202);
	ck_assert_str_eq(e->comm, "sh");
	/* The same record without the exec bit is a thread that renamed itself. */
	unhex(rec_comm);
	memset((char *)bytes + offsetof(struct perf_event_header, misc), 0, 2);
	ck_assert_int_eq(sideband_record(&side, bytes, 48, &batch), 0);
	ck_assert_uint_eq(batch.n, 1);
}
END_TEST

START_TEST(what_nobody_asked_for_is_left_out)
{
	ck_assert_ptr_null(parse(rec_fork));
	/* Not executable, not visible in our namespace, already dead. */
	unhex(rec_dash);
	memcpy((char *)bytes + 64, &(uint32_t){ PROT_READ }, 4);
	ck_assert_int_eq(sideband_record(&side, bytes, 112, &batch), 0);
	unhex(rec_dash);
	memcpy((char *)bytes + 8, &(uint32_t){ 0 }, 4);
	ck_assert_int_eq(sideband_record(&side, bytes, 112, &batch), 0);
	unhex(rec_dash);
	memcpy((char *)bytes + 8, &(uint32_t){ UINT32_MAX }, 4);
	ck_assert_int_eq(sideband_record(&side, bytes, 112, &batch), 0);
	ck_assert_uint_eq(batch.n, 0);
}
END_TEST

START_TEST(kernel_symbol_comes_and_goes)
{
	struct {
		uint64_t head, addr;
		uint32_t len;
		uint16_t type, flags;
		char name[16];
		uint64_t trailer[3];
	} r = {
		.head = PERF_RECORD_KSYMBOL | (uint64_t)64 << 48,
		.addr = 0xffffffffc0001000,
		.len = 0x70,
		.flags = 1,
		.name = "bpf_prog_abc",
		.trailer = { 0, 77, 1 },
	};
	const struct ev_ksymbol *e;
	const struct ev_head *out;

	ck_assert_uint_eq(sizeof(r), 64);
	ck_assert_int_eq(sideband_record(&side, &r, sizeof(r), &batch), 0);
	e = (const struct ev_ksymbol *)batch.slots[0].event;
	ck_assert_int_eq(event_check(e, e->head.size, &out), 0);
	ck_assert_uint_eq(e->head.type, EV_KSYMBOL);
	ck_assert_uint_eq(e->head.boot_ns, 77);
	ck_assert_uint_eq(e->head.flags, EV_F_KSYM_UNREGISTER);
	ck_assert_uint_eq(e->addr, 0xffffffffc0001000);
	ck_assert_uint_eq(e->len, 0x70);
	ck_assert_str_eq(e->name, "bpf_prog_abc");
}
END_TEST

START_TEST(kernel_losses_are_summed)
{
	uint64_t r[] = { PERF_RECORD_LOST | (uint64_t)48 << 48, 5, 17, 0, 99, 1 };

	ck_assert_int_eq(sideband_record(&side, r, sizeof(r), &batch), 0);
	ck_assert_int_eq(sideband_record(&side, r, sizeof(r), &batch), 0);
	ck_assert_uint_eq(side.lost, 34);
	ck_assert_uint_eq(batch.n, 0);
}
END_TEST

START_TEST(short_or_unterminated_record_is_malformed)
{
	size_t len = unhex(rec_dash);

	for (size_t n = 8; n < len; n += 8) {
		unhex(rec_dash);
		int got = sideband_record(&side, bytes, n, &batch);

		/* Cut inside fixed part or text: refused. */
		ck_assert_msg(got == -EBADMSG, "%zu bytes: %d", n, got);
	}
	unhex(rec_dash);
	memset((char *)bytes + 72, 'x', 16);
	ck_assert_int_eq(sideband_record(&side, bytes, len, &batch), -EBADMSG);
	unhex(rec_dash);
	bytes[3] = UINT64_MAX;	/* a mapping that wraps */
	ck_assert_int_eq(sideband_record(&side, bytes, len, &batch), -EBADMSG);
	ck_assert_uint_eq(batch.n, 0);
}
END_TEST

START_TEST(full_batch_consumes_nothing)
{
	size_t len = unhex(rec_dash);
	int got;

	do
		got = sideband_record(&side, bytes, len, &batch);
	while (!got);
	ck_assert_int_eq(got, -ENOSPC);
}
END_TEST

/* --- the ring in memory --- */

#define DATA 4096

static struct perf_event_mmap_page *page;

static void ring_up(void)
{
	up();
	side.base = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + DATA,
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	side.size = DATA;
	page = (struct perf_event_mmap_page *)side.base;
}

static void ring_put(const void *p, size_t n)
{
	uint8_t *data = side.base + sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < n; i++)
		data[(page->data_head + i) % DATA] = ((const uint8_t *)p)[i];
	page->data_head += n;
}

static bool look_and_drain(void)
{
	sideband_look(&side);
	return sideband_drain(&side, &batch);
}

START_TEST(records_are_read_across_the_end_of_the_ring)
{
	size_t len = unhex(rec_dash);
	size_t events = 0;

	for (int i = 0; i < 500; i++) {
		ring_put(bytes, len);
		if (i % 3)
			continue;
		batch_begin(&batch, 0);
		ck_assert(!look_and_drain());
		events += batch.n;
		for (size_t k = 0; k < batch.n; k++)
			ck_assert_str_eq(((struct ev_mmap *)batch.slots[k].event)->path,
					 "/usr/bin/dash");
		batch.given = batch.n;
		ck_assert_uint_eq(page->data_tail, page->data_head);
	}
	ck_assert_uint_eq(events, 499);
	ck_assert_uint_eq(side.malformed, 0);
	ck_assert_uint_eq(side.newest_ns, 0x19ddba2d4ceULL);
}
END_TEST

START_TEST(what_came_after_the_look_waits)
{
	size_t len = unhex(rec_dash);

	ring_put(bytes, len);
	sideband_look(&side);
	ring_put(bytes, len);
	ck_assert(!sideband_drain(&side, &batch));
	ck_assert_uint_eq(batch.n, 1);
	ck_assert(!look_and_drain());
	ck_assert_uint_eq(batch.n, 2);
}
END_TEST

START_TEST(ring_without_sense_is_skipped_and_counted)
{
	uint64_t zero = 0, odd = (uint64_t)13 << 48 | PERF_RECORD_COMM,
		 huge = (uint64_t)65528 << 48;

	ring_put(&zero, 8);
	ck_assert(!look_and_drain());
	ring_put(&odd, 8);
	ck_assert(!look_and_drain());
	ring_put(&huge, 8);
	ck_assert(!look_and_drain());
	ck_assert_uint_eq(side.malformed, 3);
	ck_assert_uint_eq(page->data_tail, page->data_head);
	ring_put(bytes, unhex(rec_dash));
	ck_assert(!look_and_drain());
	ck_assert_uint_eq(batch.n, 1);
}
END_TEST

START_TEST(what_a_batch_cannot_take_stays_in_the_ring)
{
	size_t len = unhex(rec_dash);

	while (batch_reserve(&batch, 1024)) {	/* nearly fill it */
		ck_assert_int_eq(sideband_record(&side, bytes, len, &batch), 0);
	}
	for (int i = 0; i < 30; i++)
		ring_put(bytes, len);
	ck_assert(look_and_drain());
	ck_assert_uint_lt(page->data_tail, page->data_head);
	batch.given = batch.n;
	batch_begin(&batch, 0);
	ck_assert(!look_and_drain());
	ck_assert_uint_eq(page->data_tail, page->data_head);
}
END_TEST

TCase *tcase_sideband(void)
{
	TCase *tc = tcase_create("sideband");

	tcase_add_checked_fixture(tc, ring_up, down);
	tcase_add_test(tc, mapping_with_build_id_is_understood);
	tcase_add_test(tc, mapping_without_build_id_has_device_and_inode);
	tcase_add_test(tc, comm_of_an_exec_begins_an_image);
	tcase_add_test(tc, what_nobody_asked_for_is_left_out);
	tcase_add_test(tc, kernel_symbol_comes_and_goes);
	tcase_add_test(tc, kernel_losses_are_summed);
	tcase_add_test(tc, short_or_unterminated_record_is_malformed);
	tcase_add_test(tc, full_batch_consumes_nothing);
	tcase_add_test(tc, records_are_read_across_the_end_of_the_ring);
	tcase_add_test(tc, what_came_after_the_look_waits);
	tcase_add_test(tc, ring_without_sense_is_skipped_and_counted);
	tcase_add_test(tc, what_a_batch_cannot_take_stays_in_the_ring);
	return tc;
}
