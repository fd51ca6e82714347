/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiler made an ELF file, by what compilers leave in it. */
#ifndef RINGSIDE_SYMBOLS_COMPILER_H
#define RINGSIDE_SYMBOLS_COMPILER_H

#include "sidecar/symbols/elf_file.h"

#define COMPILER_MAX 64
/* `Go 1.22.1`, `GCC 12.2.0`, `Clang 15.0.7`, `Rust 1.70.0`, `Rust (GCC 8.1.0)`, `GHC 8.6.2`, `OCaml`, `FPC 3.0.2`,
 * `DMD`, `TCC`; "" unknown, or a library.  Reads at most a few hundred KiB. */
void	compiler_detect(const struct elf_file *e, char out[COMPILER_MAX]);

#endif
