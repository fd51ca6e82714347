/* SPDX-License-Identifier: Apache-2.0 */
/* Records made by hand for the tests of client/.  All of it is static: copy a record, change it. */
#ifndef TESTS_CLIENT_RECORDS_H
#define TESTS_CLIENT_RECORDS_H

#include <check.h>

#include "shm/ringside.h"

/* 2026-11-30T17:05:00.123456789Z */
#define RECORD_TIME INT64_C(1796058300123456789)

/* A bit of everything that a terminal, JSON or a separator must not see as it is. */
#define HOSTILE "a\033[31m\n\t\r\x7f\xff\xc2\x9b;\xe2\x80\xae\"\\b\xc3\xa9"

extern const struct ringside_record record_sample;	/* kernel + user stack, inlined, link, attributes */
extern const struct ringside_record record_plain;	/* user stack burn < main, nothing else known */
extern const struct ringside_record record_hostile;
extern const struct ringside_record record_process, record_lost, record_lapped, record_clock,
	record_incarnation;

Suite	*suite_text(void);
Suite	*suite_format(void);
Suite	*suite_options(void);
Suite	*suite_profile(void);

#endif
