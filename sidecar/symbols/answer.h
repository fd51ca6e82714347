/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes the worker's answers: one message at a time in a fixed buffer, strings shared within it.
 * What does not fit starts another message of the same answer.
 */
#ifndef RINGSIDE_SYMBOLS_ANSWER_H
#define RINGSIDE_SYMBOLS_ANSWER_H

#include "sidecar/symbols/symbols.h"
#include "sidecar/symbols/wire.h"

#define ANSWER_MAX_LEVELS 32u		/* source levels of one address */

struct answer;
/* send gets each finished message; its result is not looked at: a lost parent ends the worker elsewhere. */
typedef void (*answer_send_fn)(void *arg, const void *buf, size_t n);
int	answer_create(struct answer **out, answer_send_fn send, void *arg);
void	answer_destroy(struct answer *a);

/* Names of one query. begin, then all levels of one address at a time, then end. */
void	answer_names_begin(struct answer *a, uint32_t file_id, uint32_t seq);
void	answer_names_add(struct answer *a, const struct sym_name *levels, uint32_t n);
void	answer_names_end(struct answer *a, uint32_t flags);
/* SYM_FILE: takes the same struct that the decoder gives. */
void	answer_file(struct answer *a, const struct sym_answer *f, uint32_t seq);
/* SYM_GONE, SYM_INFO. */
void	answer_plain(struct answer *a, enum sym_kind kind, uint32_t file_id, uint32_t seq, uint32_t flags,
		     uint64_t value);

#endif
