/* SPDX-License-Identifier: Apache-2.0 */
/* Many strings by number, deflated in blocks: a third of their size, some microseconds for each. */
#ifndef RINGSIDE_SYMBOLS_NAME_PACK_H
#define RINGSIDE_SYMBOLS_NAME_PACK_H

#include <stddef.h>
#include <stdint.h>

struct name_pack;
/* The strings text + at[0..n). */
int	name_pack_create(struct name_pack **out, const char *text, const uint32_t *at, uint32_t n);
void	name_pack_destroy(struct name_pack *p);
/* Valid until the next get; NULL: no such string. */
const char *name_pack_get(struct name_pack *p, uint32_t i);
size_t	name_pack_bytes(const struct name_pack *p);

#endif
