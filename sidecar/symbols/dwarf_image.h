/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF image in memory that holds nothing but the DWARF sections of a file, unpacked, under headers
 * written here.  What libdw gets to see has sound headers however hostile the file's own are.
 */
#ifndef RINGSIDE_SYMBOLS_DWARF_IMAGE_H
#define RINGSIDE_SYMBOLS_DWARF_IMAGE_H

#include "sidecar/symbols/elf_file.h"

/* -ENOENT no .debug_info, -EFBIG more than max bytes unpacked; free(*out). */
int	dwarf_image_make(const struct elf_file *e, size_t max, char **out, size_t *out_n);

#endif
