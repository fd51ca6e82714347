/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread-local variable OTEL_THREAD_CTX_SYMBOL in an ELF file: its definition, and the relocations by
 * which the file's own code gets at it.  Needs no section headers; everything is bounded, since the file
 * may be hostile.  Worker only.
 */
#ifndef RINGSIDE_SYMBOLS_TLS_SYMBOL_H
#define RINGSIDE_SYMBOLS_TLS_SYMBOL_H

#include "sidecar/context/tls_facts.h"
#include "sidecar/symbols/elf_file.h"

/* False: this file does not define it. */
bool	tls_symbol_find(const struct elf_file *e, struct tls_facts *out);

#endif
