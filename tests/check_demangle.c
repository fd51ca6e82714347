/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling: right names, and names that were made to hurt. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sidecar/symbols/demangle.h"

static const struct { const char *raw, *want; enum demangled how;
} cases[] = {
	{ "main", NULL, DEMANGLED_NOT },
	{ "", NULL, DEMANGLED_NOT },
	{ "_", NULL, DEMANGLED_NOT },
	{ "_Z", NULL, DEMANGLED_NOT },
	{ "_Zeta_function", NULL, DEMANGLED_NOT },
	{ "_Reset", NULL, DEMANGLED_NOT },
	{ "__Z3foov", NULL, DEMANGLED_NOT },
	{ "_Z3foov", "foo()", DEMANGLED_CXX },
	{ "_ZN3foo3barEi", "foo::bar(int)", DEMANGLED_CXX },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)",
	  DEMANGLED_CXX },
	{ "_ZN4shop4CartC2Ev", "shop::Cart::Cart()", DEMANGLED_CXX },
	{ "_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]", DEMANGLED_CXX },
	{ "_ZN3foo3barEi.constprop.0", "foo::bar(int) [clone .constprop.0]",
	  DEMANGLED_CXX },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const",
	  DEMANGLED_CXX },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
	  DEMANGLED_RUST },
	{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
	  "<Test + 'static as foo::Bar<Test>>::bar", DEMANGLED_RUST },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo", DEMANGLED_RUST },
	{ "_RNvNtCs1234_7mycrate4util3foo", "mycrate::util::foo", DEMANGLED_RUST },
	{ "_ZN3fo\xc3\xb6"
	  "3barEi",
	  NULL, DEMANGLED_NOT },
	{ "_ZN3foo3barE\x01", NULL, DEMANGLED_NOT },
	{ "_ZN99999999999999999999foo", NULL, DEMANGLED_NOT },
	{ "_ZN3foo3ba", NULL, DEMANGLED_NOT },
};

START_TEST(names_become_readable_or_stay)
{
	char buf[4096];
	enum demangled how = demangle(cases[_i].raw, buf, sizeof(buf));

	ck_assert_msg(how == cases[_i].how, "%s: %d %s", cases[_i].raw, how,
		      how ? buf : "");
	if (how)
		ck_assert_str_eq(buf, cases[_i].want);
}
END_TEST

/* Every name cut at every place: an answer or none, nothing else. */
START_TEST(cut_names)
{
	char raw[512], buf[4096];

	for (size_t n = strlen(cases[_i].raw); n > 0; n--) {
		memcpy(raw, cases[_i].raw, n);
		raw[n] = '\0';
		if (demangle(raw, buf, sizeof(buf)))
			ck_assert_uint_lt(strlen(buf), sizeof(buf));
	}
}
END_TEST

START_TEST(result_that_does_not_fit_is_refused)
{
	char buf[16];

	ck_assert_int_eq(demangle("_Z3foov", buf, 6), DEMANGLED_CXX);
	ck_assert_str_eq(buf, "foo()");
	ck_assert_int_eq(demangle("_Z3foov", buf, 5), DEMANGLED_NOT);
	ck_assert_int_eq(demangle("_Z3foov", buf, 0), DEMANGLED_NOT);
	ck_assert_int_eq(demangle("_RNvCs1234_7mycrate3foo", buf, 6), DEMANGLED_NOT);
}
END_TEST

enum evil { POINTERS, NESTED, TEMPLATES, DOUBLING, RUST_NESTED, RUST_BACKREF, GARBAGE };

static void make_evil(char *raw, size_t n, enum evil what)
{
	static const char *const unit[] = {
		[POINTERS] = "P",    [NESTED] = "N1a",	    [TEMPLATES] = "1aI",
		[DOUBLING] = "S_S_", [RUST_NESTED] = "INv", [RUST_BACKREF] = "TB_B_",
		[GARBAGE] = "x9_$",
	};
	size_t at, len = strlen(unit[what]);

	at = (size_t)snprintf(raw, n, "%s",
			      what == RUST_NESTED || what == RUST_BACKREF ? "_R"
			      : what == DOUBLING			  ? "_Z1fI1aE"
			      : what == POINTERS			  ? "_Z1f"
									  : "_Z");
	while (at + len < n) {
		memcpy(raw + at, unit[what], len);
		at += len;
	}
	raw[at] = '\0';
}

/* On a small stack: the depth is bounded, not the stack large. */
static void *demangle_all(void *arg)
{
	static const size_t sizes[] = { 200, 1000, 2048, 4000, 4096, 60000 };
	char *raw = malloc(65536), *buf = malloc(4096);
	size_t at;

	(void)arg;
	for (enum evil what = POINTERS; what <= GARBAGE; what++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			make_evil(raw, sizes[i], what);
			if (demangle(raw, buf, 4096))
				ck_assert_uint_lt(strlen(buf), 4096);
			else
				ck_assert(sizes[i] > 0);
			if (sizes[i] > 4096)
				ck_assert_int_eq(demangle(raw, buf, 4096), DEMANGLED_NOT);
		}
	/* 25 substitutions, each holding the one before twice: 32 million times `int`. */
	at = (size_t)snprintf(raw, 65536, "_Z1f1aIiiE");
	for (int i = 0; i < 25; i++)
		at += (size_t)snprintf(raw + at, 65536 - at, "S_IS%c_S%c_E",
				       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
				       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	ck_assert_int_eq(demangle(raw, buf, 4096), DEMANGLED_NOT);
	free(raw);
	free(buf);
	return NULL;
}

START_TEST(evil_names_end_soon_on_a_small_stack)
{
	struct timespec a, b;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 << 10);
	clock_gettime(CLOCK_MONOTONIC, &a);
	ck_assert_int_eq(pthread_create(&thread, &attr, demangle_all, NULL), 0);
	pthread_join(thread, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	ck_assert_int_lt(b.tv_sec - a.tv_sec, 5);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("demangle");
	TCase *t = tcase_create("names");
	int rows = (int)(sizeof(cases) / sizeof(cases[0]));
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 20);
	tcase_add_loop_test(t, names_become_readable_or_stay, 0, rows);
	tcase_add_loop_test(t, cut_names, 0, rows);
	tcase_add_test(t, result_that_does_not_fit_is_refused);
	tcase_add_test(t, evil_names_end_soon_on_a_small_stack);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
