/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procedure linkage stubs: a few instructions that jump through the global offset table, without symbols
 * of their own.  Programs that call libraries a lot are seen in them, so they get the name of what they
 * call, `name@plt`.
 */
#ifndef RINGSIDE_SYMBOLS_PLT_H
#define RINGSIDE_SYMBOLS_PLT_H

#include "sidecar/symbols/elf_file.h"

/* name: offset in e's .dynstr.  Non-zero ends the walk and is returned. */
typedef int (*plt_stub_fn)(void *arg, uint64_t addr, uint32_t size, uint32_t name);
/* Calls fn for each stub whose target is known: x86-64 and arm64, any linker. */
int	plt_walk(const struct elf_file *e, plt_stub_fn fn, void *arg);

#endif
