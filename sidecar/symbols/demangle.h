/* SPDX-License-Identifier: Apache-2.0 */
/* Readable names of C++ and Rust symbols.  Worker only: mangled names are hostile. */
#ifndef RINGSIDE_SYMBOLS_DEMANGLE_H
#define RINGSIDE_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum demangled { DEMANGLED_NOT, DEMANGLED_CXX, DEMANGLED_RUST };
/*
 * Not mangled, refused (too long, too deep, malformed) or too long when written out: DEMANGLED_NOT, and
 * the raw name is the name.  Bounded in time and stack.
 */
enum demangled demangle(const char *raw, char *buf, size_t n);

#endif
