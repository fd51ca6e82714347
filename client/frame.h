/* SPDX-License-Identifier: Apache-2.0 */
/* How frames and values are named, the same in every output. */
#ifndef CLIENT_FRAME_H
#define CLIENT_FRAME_H

#include "client/text.h"
#include "shm/ringside.h"

/* The whole stack of a sample as one: kernel frames, then user frames, leaf first. */
uint32_t stack_depth(const struct ringside_sample *s);
const struct ringside_frame *stack_frame(const struct ringside_sample *s, uint32_t i);

/*
 * The function, or "[libc.so.6]+0x2a3b4" (module and address in it) when it has no name.  Raw bytes:
 * escape them for where they go.
 */
void	 frame_name(struct text *raw, const struct ringside_frame *f);
/* The same for a terminal, every byte of `also` escaped too. */
void	 frame_name_escaped(struct text *t, const struct ringside_frame *f, const char *also);

/* Stands for frames that were left out of a stack. */
#define FRAME_CUT_NAME "[frames cut]"

const char *base_name(const char *path);

/* name, or "unknown_7" (in buf) for a value that this version does not know. */
#define NAME_BUF 24
const char *name_or_number(const char *name, uint32_t value, char buf[NAME_BUF]);

/* KEY=VALUE, escaped for a terminal. */
void	 attribute_print(struct text *t, const struct ringside_attribute *a);

#endif
