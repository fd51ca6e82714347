/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans from synthetic facts and words: every formula, on both architectures and for both libcs, so that
 * either is tested on either.  Offsets are those that real programs showed.
 */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/context/tls_plan.h"
#include "sidecar/context/tls_walk.h"

#define BIAS 0x7f0000000000ull
#define N(t) (sizeof(t) / sizeof((t)[0]))

static struct tls_facts facts[TLS_MAX_MODULES];
static struct tls_target target;
static struct tls_plan plan;
/* What the walk finds. */
static struct { uint64_t address, value; } memory[16];
static uint32_t n_memory;
static unsigned char record[64];

static void setup(void)
{
	memset(&target, 0, sizeof(target));
	memset(record, 0, sizeof(record));
	n_memory = 0;
	target.machine = EM_X86_64;
	for (uint32_t i = 0; i < TLS_MAX_MODULES; i++)
		facts[i] = (struct tls_facts){ .machine = EM_X86_64, .align = 8, .memsz = 8 };
}

static struct tls_facts *module(uint64_t bias)
{
	uint32_t i = target.n_modules++;

	facts[i].machine = target.machine;
	target.modules[i] = (struct tls_module){ .facts = &facts[i], .bias = bias };
	return &facts[i];
}

static void reloc(struct tls_facts *f, uint32_t access, uint64_t at)
{
	f->relocs[f->n_relocs++] = (struct tls_reloc){ .at = at, .access = access };
}

static void put(uint64_t address, uint64_t value)
{
	target.words[target.n_words++] =
		(struct tls_word){ .address = address, .value = value, .ok = 1 };
}

static void put_unreadable(uint64_t address)
{
	target.words[target.n_words++] = (struct tls_word){ .address = address };
}

static void way_is(uint32_t i, uint32_t kind, int64_t offset, uint64_t mod, int32_t dtv_at,
		   uint64_t generation)
{
	const struct ev_context_way *w = &plan.way[i];

	ck_assert_uint_gt(plan.n_ways, i);
	ck_assert_uint_eq(w->kind, kind);
	ck_assert_int_eq(w->offset, offset);
	ck_assert_uint_eq(w->module, mod);
	ck_assert_int_eq(w->dtv_at, dtv_at);
	ck_assert_uint_eq(w->generation, generation);
}

/* --- the program's own layout ---------------------------------------------------------- */

static const struct {
	const char *what;
	uint16_t machine;
	uint64_t st_value, vaddr, memsz, align;
	int64_t offset;
} layouts[] = {
	{ "x86-64, one word", EM_X86_64, 0, 0x3df0, 8, 8, -8 },
	{ "x86-64, second of three", EM_X86_64, 8, 0x3de8, 24, 8, -16 },
	{ "x86-64, no alignment", EM_X86_64, 0, 0x3df0, 8, 1, -8 },
	{ "x86-64, size rounded up", EM_X86_64, 0, 0x4000, 0x48, 64, -128 },
	{ "x86-64, aligned to 64 behind others", EM_X86_64, 64, 0x4000, 72, 64, -64 },
	{ "x86-64, segment not at a multiple", EM_X86_64, 0, 0x4010, 0x38, 64, -112 },
	{ "x86-64, 4 KiB of other variables", EM_X86_64, 4096, 0x5000, 4104, 8, -8 },
	{ "aarch64, one word", EM_AARCH64, 0, 0x1fde8, 8, 8, 16 },
	{ "aarch64, aligned to 16", EM_AARCH64, 8, 0x1fde0, 16, 16, 24 },
	{ "aarch64, aligned to 64", EM_AARCH64, 0, 0x20000, 8, 64, 64 },
	{ "aarch64, aligned to 64 behind others", EM_AARCH64, 64, 0x20000, 72, 64, 128 },
	{ "aarch64, segment not at a multiple", EM_AARCH64, 0, 0x20010, 8, 64, 16 },
};
START_TEST(r34_r41_layout_of_the_program)
{
	struct tls_facts *f;

	target.machine = layouts[_i].machine;
	f = module(BIAS);
	f->st_value = layouts[_i].st_value;
	f->vaddr = layouts[_i].vaddr;
	f->memsz = layouts[_i].memsz;
	f->align = layouts[_i].align;
	target.modules[0].is_main = true;
	ck_assert_uint_eq(tls_plan_needs(&target, (uint64_t[1]){ 0 }, 1), 0);
	tls_plan_make(&target, &plan);
	ck_assert_msg(plan.n_ways == 1 && plan.way[0].offset == layouts[_i].offset,
		      "%s: %lld", layouts[_i].what, (long long)plan.way[0].offset);
	way_is(0, EV_WAY_STATIC, layouts[_i].offset, 0, 0, 0);
}
END_TEST

START_TEST(r34_a_program_by_its_own_flags)
{
	module(BIAS)->is_program = 1;	/* started as an argument of the dynamic linker */
	tls_plan_make(&target, &plan);
	way_is(0, EV_WAY_STATIC, -8, 0, 0, 0);
}
END_TEST

START_TEST(a_library_that_nobody_uses_is_not_guessed)
{
	module(BIAS);
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.n_ways, 0);
	ck_assert_int_eq(plan.why, TLS_WHY_NO_RELOC);
}
END_TEST

/* --- descriptors ------------------------------------------------------------------------ */

static const struct {
	const char *what;
	uint16_t machine;
	uint64_t arg;
	int64_t offset;
} static_args[] = {
	{ "x86-64, program or surplus", EM_X86_64, -8ull, -8 },
	{ "x86-64, far", EM_X86_64, -632ull, -632 },
	{ "aarch64, first", EM_AARCH64, 16, 16 },
	{ "aarch64, third", EM_AARCH64, 160, 160 },
	{ "aarch64, far", EM_AARCH64, 3128, 3128 },
};
START_TEST(r35_r41_descriptor_with_a_static_argument)
{
	uint64_t need[8];

	target.machine = static_args[_i].machine;
	reloc(module(BIAS), TLS_DESC, 0x3fd0);
	ck_assert_uint_eq(tls_plan_needs(&target, need, N(need)), 2);
	ck_assert_uint_eq(need[0], BIAS + 0x3fd0);
	ck_assert_uint_eq(need[1], BIAS + 0x3fd8);
	put(need[0], 0x7f1122334450);
	put(need[1], static_args[_i].arg);
	ck_assert_uint_eq(tls_plan_needs(&target, need, N(need)), 0);
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.access[0], TLS_DESC);
	way_is(0, EV_WAY_STATIC, static_args[_i].offset, 0, 0, 0);
}
END_TEST

static const struct {
	const char *what;
	uint16_t machine;
	enum tls_libc libc;
	uint64_t arg;
	uint32_t words;
	int32_t dtv_at;
} dynamic_args[] = {
	{ "x86-64 glibc, heap of a PIE", EM_X86_64, TLS_LIBC_GLIBC, 0x55aa00001230, 3, 8 },
	{ "x86-64 glibc, heap below 4 GiB", EM_X86_64, TLS_LIBC_GLIBC, 0x1c3f2a0, 3, 8 },
	{ "x86-64 musl", EM_X86_64, TLS_LIBC_MUSL, 0x7f00aa001230, 2, 8 },
	{ "aarch64 glibc", EM_AARCH64, TLS_LIBC_GLIBC, 0xaaaa00001230, 3, 0 },
	{ "aarch64 glibc, low heap", EM_AARCH64, TLS_LIBC_GLIBC, 0x1c3f2a0, 3, 0 },
	{ "aarch64 musl", EM_AARCH64, TLS_LIBC_MUSL, 0xffff00001230, 2, -8 },
};
START_TEST(r35_r36_r40_r41_descriptor_with_a_dynamic_argument)
{
	bool musl = dynamic_args[_i].libc == TLS_LIBC_MUSL;
	uint64_t need[8], arg = dynamic_args[_i].arg;

	target.machine = dynamic_args[_i].machine;
	target.libc = dynamic_args[_i].libc;
	reloc(module(BIAS), TLS_DESC, 0x3fd0);
	put(BIAS + 0x3fd0, 0x7f1122334450);
	put(BIAS + 0x3fd8, arg);
	ck_assert_uint_eq(tls_plan_needs(&target, need, N(need)), dynamic_args[_i].words);
	ck_assert_uint_eq(need[0], arg);
	put(arg, 3);
	put(arg + 8, 0x40);
	if (!musl)
		put(arg + 16, 5);
	ck_assert_uint_eq(tls_plan_needs(&target, need, N(need)), 0);
	tls_plan_make(&target, &plan);
	way_is(0, musl ? EV_WAY_MUSL : EV_WAY_GLIBC, 0x40, 3, dynamic_args[_i].dtv_at,
	       musl ? 0 : 5);
}
END_TEST

START_TEST(descriptor_that_is_not_bound_yet)
{
	struct tls_facts *f = module(BIAS);

	f->lazy = 0x1020;
	reloc(f, TLS_DESC, 0x3fd0);
	put(BIAS + 0x3fd0, BIAS + 0x1020);
	put(BIAS + 0x3fd8, BIAS + 0x500);	/* the relocation itself */
	ck_assert_uint_eq(tls_plan_needs(&target, (uint64_t[4]){ 0 }, 4), 0);
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.n_ways, 0);
	ck_assert_int_eq(plan.why, TLS_WHY_UNBOUND);
}
END_TEST

START_TEST(descriptor_of_zeroes_is_not_bound)
{
	reloc(module(BIAS), TLS_DESC, 0x3fd0);
	put(BIAS + 0x3fd0, 0);
	put(BIAS + 0x3fd8, 0);
	tls_plan_make(&target, &plan);
	ck_assert_int_eq(plan.why, TLS_WHY_UNBOUND);
}
END_TEST

START_TEST(words_that_cannot_be_read)
{
	reloc(module(BIAS), TLS_DESC, 0x3fd0);
	put(BIAS + 0x3fd0, 0x7f1122334450);
	put_unreadable(BIAS + 0x3fd8);
	ck_assert_uint_eq(tls_plan_needs(&target, (uint64_t[4]){ 0 }, 4), 0);
	tls_plan_make(&target, &plan);
	ck_assert_int_eq(plan.why, TLS_WHY_UNREADABLE);
	ck_assert_uint_eq(plan.n_ways, 0);
}
END_TEST

/* --- general dynamic and initial exec ----------------------------------------------------- */

static const struct { uint16_t machine; enum tls_libc libc; uint32_t kind; int32_t dtv_at; } gd[] = {
	{ EM_X86_64, TLS_LIBC_GLIBC, EV_WAY_GLIBC, 8 },
	{ EM_X86_64, TLS_LIBC_MUSL, EV_WAY_MUSL, 8 },
	{ EM_AARCH64, TLS_LIBC_GLIBC, EV_WAY_GLIBC, 0 },
	{ EM_AARCH64, TLS_LIBC_MUSL, EV_WAY_MUSL, -8 },
};
START_TEST(r35_r36_r41_module_and_offset)
{
	uint64_t need[4];

	target.machine = gd[_i].machine;
	target.libc = gd[_i].libc;
	reloc(module(BIAS), TLS_MODULE, 0x3fc0);
	ck_assert_uint_eq(tls_plan_needs(&target, need, N(need)), 2);
	put(need[0], 4);
	put(need[1], 0x18);		/* the value of the symbol is in it already */
	facts[0].st_value = 0x18;
	tls_plan_make(&target, &plan);
	way_is(0, gd[_i].kind, 0x18, 4, gd[_i].dtv_at, 0);
}
END_TEST

START_TEST(module_zero_is_not_loaded_yet)
{
	reloc(module(BIAS), TLS_MODULE, 0x3fc0);
	put(BIAS + 0x3fc0, 0);
	put(BIAS + 0x3fc8, 0x18);
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.n_ways, 0);
	ck_assert_int_eq(plan.why, TLS_WHY_UNBOUND);
}
END_TEST

static const struct { uint16_t machine; uint64_t word; int64_t offset; } ie[] = {
	{ EM_X86_64, -24ull, -24 },
	{ EM_X86_64, -152ull, -152 },
	{ EM_AARCH64, 232, 232 },
};
START_TEST(r35_r41_offset_from_the_thread_pointer)
{
	uint64_t need[4];

	target.machine = ie[_i].machine;
	reloc(module(BIAS), TLS_TPOFF, 0x3fe8);
	ck_assert_uint_eq(tls_plan_needs(&target, need, N(need)), 1);
	put(need[0], ie[_i].word);
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.access[0], TLS_TPOFF);
	way_is(0, EV_WAY_STATIC, ie[_i].offset, 0, 0, 0);
}
END_TEST

/* --- several ------------------------------------------------------------------------------ */

START_TEST(descriptor_goes_before_the_others)
{
	struct tls_facts *f = module(BIAS);

	reloc(f, TLS_MODULE, 0x3fc0);
	reloc(f, TLS_DESC, 0x3fd0);
	put(BIAS + 0x3fc0, 2);
	put(BIAS + 0x3fc8, 0);
	put(BIAS + 0x3fd0, 0x7f1122334450);
	put(BIAS + 0x3fd8, -40ull);
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.n_ways, 1);
	way_is(0, EV_WAY_STATIC, -40, 0, 0, 0);
}
END_TEST

START_TEST(another_relocation_serves_when_one_is_not_bound)
{
	struct tls_facts *f = module(BIAS);

	reloc(f, TLS_DESC, 0x3fd0);
	reloc(f, TLS_TPOFF, 0x3fe8);
	put(BIAS + 0x3fd0, 0);
	put(BIAS + 0x3fd8, 0);
	put(BIAS + 0x3fe8, -16ull);
	tls_plan_make(&target, &plan);
	way_is(0, EV_WAY_STATIC, -16, 0, 0, 0);
	ck_assert_int_eq(plan.why, TLS_WHY_NONE);
}
END_TEST

START_TEST(two_definers_are_tried_in_order_and_equal_ones_once)
{
	struct tls_facts *main_one = module(0x555500000000), *second, *third;

	main_one->is_program = 1;
	target.modules[0].is_main = true;
	second = module(BIAS);
	third = module(BIAS + 0x100000);
	reloc(second, TLS_TPOFF, 0x3fe8);	/* interposed by the program's */
	reloc(third, TLS_DESC, 0x3fd0);
	put(BIAS + 0x3fe8, -8ull);
	put(BIAS + 0x103fd0, 0x7f1122334450);
	put(BIAS + 0x103fd8, -72ull);
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.n_ways, 2);
	way_is(0, EV_WAY_STATIC, -8, 0, 0, 0);
	way_is(1, EV_WAY_STATIC, -72, 0, 0, 0);
	ck_assert_uint_eq(plan.module[1], 2);
}
END_TEST

START_TEST(a_file_of_another_architecture_defines_nothing)
{
	module(BIAS)->machine = EM_AARCH64;
	reloc(&facts[0], TLS_DESC, 0x3fd0);
	ck_assert_uint_eq(tls_plan_needs(&target, (uint64_t[4]){ 0 }, 4), 0);
	tls_plan_make(&target, &plan);
	ck_assert_int_eq(plan.why, TLS_WHY_MACHINE);
}
END_TEST

START_TEST(nobody_defines_it)
{
	tls_plan_make(&target, &plan);
	ck_assert_uint_eq(plan.n_ways, 0);
	ck_assert_int_eq(plan.why, TLS_WHY_NO_SYMBOL);
}
END_TEST

/* --- walking a way, as BPF does ----------------------------------------------------------- */

#define TP 0x7f5500001000ull
#define DTV 0x555500002000ull
#define BLOCK 0x555500003000ull
#define RECORD 0x555500004002ull	/* aligned to two, and no more */

static struct tls_slot slot;

static int read_synthetic(void *arg, uint64_t address, void *to, size_t n)
{
	(void)arg;
	if (address >= RECORD && address + n <= RECORD + sizeof(record)) {
		memcpy(to, record + (address - RECORD), n);
		return 0;
	}
	for (size_t at = 0; at < n; at += 8) {
		uint32_t i = 0;

		while (i < n_memory && memory[i].address != address + at)
			i++;
		if (i == n_memory)
			return -1;
		memcpy((char *)to + at, &memory[i].value, 8);
	}
	return 0;
}

static void store(uint64_t address, uint64_t value)
{
	memory[n_memory].address = address;
	memory[n_memory++].value = value;
}

static enum ev_context_state walk(const struct ev_context_way *way, uint32_t n)
{
	static const struct tls_memory m = { .read = read_synthetic };

	return tls_walk(way, n, TP, &m, &slot);
}

static void make_record(void)
{
	memset(record, 0x5a, 24);
	record[24] = 1;
	record[26] = 2;
	record[28] = 0;
	record[29] = 0;
}

static const struct { uint32_t kind; int32_t dtv_at; } vectors[] = {
	{ EV_WAY_GLIBC, 8 }, { EV_WAY_GLIBC, 0 }, { EV_WAY_MUSL, 8 }, { EV_WAY_MUSL, -8 },
};
START_TEST(r37_r41_block_by_the_vector)
{
	bool glibc = vectors[_i].kind == EV_WAY_GLIBC;
	struct ev_context_way way = { .kind = vectors[_i].kind, .dtv_at = vectors[_i].dtv_at,
				      .module = 3, .offset = 0x40, .generation = glibc ? 5 : 0 };
	uint64_t entry = DTV + 3 * (glibc ? 16 : 8);

	make_record();
	store(TP + (uint64_t)(int64_t)vectors[_i].dtv_at, DTV);
	if (glibc) {
		store(DTV - 16, 15);
		store(DTV - 8, 0);
	}
	store(DTV, 5);			/* generation; count of musl */
	store(entry, BLOCK);
	store(BLOCK + 0x40, RECORD);
	ck_assert_uint_eq(walk(&way, 1), EV_CONTEXT_OK);
	ck_assert_uint_eq(slot.record, RECORD);
	ck_assert_uint_eq(slot.n, 30);
	ck_assert_mem_eq(slot.bytes, record, 30);
	memory[n_memory - 2].value = 0;		/* never touched by this thread */
	ck_assert_uint_eq(walk(&way, 1), EV_CONTEXT_UNALLOCATED);
	memory[n_memory - 2].value = glibc ? UINT64_MAX : 0;
	ck_assert_uint_eq(walk(&way, 1), EV_CONTEXT_UNALLOCATED);
	memory[n_memory - 2].value = BLOCK;
	memory[n_memory - 3].value = glibc ? 4 : 2;	/* an older vector; a shorter one */
	ck_assert_uint_eq(walk(&way, 1), EV_CONTEXT_UNALLOCATED);
	memory[n_memory - 3].value = 5;
	way.module = 16;
	ck_assert_uint_eq(walk(&way, 1), EV_CONTEXT_UNALLOCATED);
	way.module = 3;
	memory[0].value = 0;			/* no vector at all */
	ck_assert_uint_eq(walk(&way, 1), EV_CONTEXT_UNALLOCATED);
	memory[0].value = 0x1000;		/* nothing is mapped there */
	ck_assert_uint_eq(walk(&way, 1), EV_CONTEXT_FAULT);
}
END_TEST

START_TEST(r22_what_the_slot_and_the_record_say)
{
	struct ev_context_way way[2] = { { .kind = EV_WAY_STATIC, .offset = -8 },
					 { .kind = EV_WAY_STATIC, .offset = -72 } };

	make_record();
	ck_assert_uint_eq(walk(way, 1), EV_CONTEXT_FAULT);
	store(TP - 8, 0);
	ck_assert_uint_eq(walk(way, 1), EV_CONTEXT_NONE);
	store(TP - 72, RECORD);
	ck_assert_uint_eq(walk(way, 2), EV_CONTEXT_OK);	/* the first that holds something */
	for (int valid = 0; valid < 256; valid++) {
		record[24] = (unsigned char)valid;
		ck_assert_uint_eq(walk(way, 2), valid == 1 ? EV_CONTEXT_OK : EV_CONTEXT_INVALID);
	}
	record[24] = 1;
	record[27] = 0xff;			/* attributes beyond what is mapped */
	ck_assert_uint_eq(walk(way, 2), EV_CONTEXT_FAULT);
	memory[1].value = 0x10;			/* a record that was freed */
	ck_assert_uint_eq(walk(way, 2), EV_CONTEXT_FAULT);
}
END_TEST

/* --- bounds --------------------------------------------------------------------------------- */

START_TEST(needs_are_bounded_and_each_is_asked_once)
{
	uint64_t need[TLS_MAX_WORDS];
	struct tls_facts *f = module(BIAS);

	for (uint32_t i = 0; i < TLS_MAX_RELOCS; i++)
		reloc(f, TLS_DESC, 0x1000);	/* all the same */
	ck_assert_uint_eq(tls_plan_needs(&target, need, 1), 1);
	ck_assert_uint_le(tls_plan_needs(&target, need, N(need)), 2 * TLS_MAX_RELOCS);
	target.n_words = TLS_MAX_WORDS;
	ck_assert_uint_eq(tls_plan_needs(&target, need, N(need)), 0);
}
END_TEST

START_TEST(facts_of_a_worker_are_checked)
{
	struct tls_facts f = { .align = 8, .n_relocs = 1, .machine = EM_X86_64 };

	f.relocs[0].access = TLS_DESC;
	ck_assert(tls_facts_ok(&f));
	f.relocs[0].access = 4;
	ck_assert(!tls_facts_ok(&f));
	f.relocs[0].access = 0;
	ck_assert(!tls_facts_ok(&f));
	f.relocs[0].access = TLS_MODULE;
	f.align = 24;
	ck_assert(!tls_facts_ok(&f));
	f.align = 0;
	ck_assert(!tls_facts_ok(&f));
	f.align = 64;
	f.n_relocs = TLS_MAX_RELOCS + 1;
	ck_assert(!tls_facts_ok(&f));
	f.n_relocs = 0;
	f.n_text = TLS_MAX_TEXT + 1;
	ck_assert(!tls_facts_ok(&f));
}
END_TEST

START_TEST(address_of_a_mapping_by_the_executable_segments)
{
	/* lld: each segment has its own distance between offset and address */
	struct tls_facts f = { .n_text = 2, .text = { { 0x1620, 0x2620, 0x800 },
						      { 0x9000, 0x19000, 0x1000 } } };
	uint64_t vaddr = 0;

	ck_assert(tls_facts_vaddr(&f, 0x1000, &vaddr));
	ck_assert_uint_eq(vaddr, 0x2000);
	ck_assert(tls_facts_vaddr(&f, 0x9000, &vaddr));
	ck_assert_uint_eq(vaddr, 0x19000);
	ck_assert(!tls_facts_vaddr(&f, 0, &vaddr));
	ck_assert(!tls_facts_vaddr(&f, 0x20000, &vaddr));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tls_plan");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, r34_r41_layout_of_the_program, 0, N(layouts));
	tcase_add_test(t, r34_a_program_by_its_own_flags);
	tcase_add_test(t, a_library_that_nobody_uses_is_not_guessed);
	tcase_add_loop_test(t, r35_r41_descriptor_with_a_static_argument, 0, N(static_args));
	tcase_add_loop_test(t, r35_r36_r40_r41_descriptor_with_a_dynamic_argument, 0,
			    N(dynamic_args));
	tcase_add_test(t, descriptor_that_is_not_bound_yet);
	tcase_add_test(t, descriptor_of_zeroes_is_not_bound);
	tcase_add_test(t, words_that_cannot_be_read);
	tcase_add_loop_test(t, r35_r36_r41_module_and_offset, 0, N(gd));
	tcase_add_test(t, module_zero_is_not_loaded_yet);
	tcase_add_loop_test(t, r35_r41_offset_from_the_thread_pointer, 0, N(ie));
	tcase_add_test(t, descriptor_goes_before_the_others);
	tcase_add_test(t, another_relocation_serves_when_one_is_not_bound);
	tcase_add_test(t, two_definers_are_tried_in_order_and_equal_ones_once);
	tcase_add_test(t, a_file_of_another_architecture_defines_nothing);
	tcase_add_test(t, nobody_defines_it);
	tcase_add_loop_test(t, r37_r41_block_by_the_vector, 0, N(vectors));
	tcase_add_test(t, r22_what_the_slot_and_the_record_say);
	tcase_add_test(t, needs_are_bounded_and_each_is_asked_once);
	tcase_add_test(t, facts_of_a_worker_are_checked);
	tcase_add_test(t, address_of_a_mapping_by_the_executable_segments);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
