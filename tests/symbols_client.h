/* SPDX-License-Identifier: Apache-2.0 */
/* A symbol worker with its launcher, and its answers one by one, for tests.  One at a time. */
#ifndef RINGSIDE_TESTS_SYMBOLS_CLIENT_H
#define RINGSIDE_TESTS_SYMBOLS_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "sidecar/symbols/symbols.h"

struct symbols_client {
	struct symbols_launcher launcher;
	struct symbols	       *s;
	struct symbols_decoder *decoder;
	struct sym_answer	got;		/* the last one */
	char			buf[SYMBOLS_MESSAGE_MAX];
};
extern struct symbols_client c;
extern uint64_t hang_ns;		/* option for begin(); 0 the default */

void	begin(enum symbols_io io);
void	end(void);
/* The next answer, in at most ms; false: none came. */
bool	next_within(int ms);
/* It comes within the hang limit and is this. */
void	next(enum sym_kind kind, uint32_t file_id);
void	add(const char *fixture, uint32_t file_id);
void	ask(uint32_t file_id, uint64_t addr);
/* The outermost level of the last answer. */
void	is_named(const char *name);
/* The launcher's only child. */
pid_t	worker_pid(void);
/* It ends within three seconds. */
bool	is_gone(pid_t pid);

#endif
