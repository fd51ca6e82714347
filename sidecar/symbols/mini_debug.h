/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking: mini debuginfo (xz) and compressed sections (zlib), with a cap on what comes out. */
#ifndef RINGSIDE_SYMBOLS_MINI_DEBUG_H
#define RINGSIDE_SYMBOLS_MINI_DEBUG_H

#include "sidecar/symbols/symbol_table.h"

#define MINI_DEBUG_MAX (64ull << 20)	/* unpacked */

/* The .symtab of the ELF inside .gnu_debugdata; broken or too big: nothing is added and -errno told. */
int	mini_debug_add(struct symbol_builder *b, const struct elf_file *e);
/* xz bytes to fresh memory of at most max bytes; -EBADMSG broken, -EFBIG more than max. */
int	unpack_xz(const uint8_t *in, size_t n, size_t max, uint8_t **out, size_t *out_n);
/* A section with SHF_COMPRESSED (its header included) to fresh memory. */
int	unpack_section(const uint8_t *in, size_t n, bool is64, size_t max, uint8_t **out, size_t *out_n);

#endif
