/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on stderr, and the exit codes that go with them. */
#ifndef CLIENT_COMPLAIN_H
#define CLIENT_COMPLAIN_H

#include <stdbool.h>

enum client_exit {
	CLIENT_OK = 0,
	CLIENT_FAILED = 1,
	CLIENT_USAGE = 2,
	CLIENT_INTERRUPTED = 130,
};

/* -q: complain_note() is silent.  -v: complain_detail() speaks. */
void complain_level(bool quiet, bool verbose);

/* "ringside: ..." and a newline, one write.  Control bytes are escaped. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
