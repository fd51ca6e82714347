/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First look at files: what SYM_FILE says.  Only the first and last 4 KiB are read, for all files of a
 * batch at once, and what lies elsewhere of headers and notes.
 */
#ifndef RINGSIDE_SYMBOLS_INSPECT_H
#define RINGSIDE_SYMBOLS_INSPECT_H

#include "sidecar/symbols/compiler.h"
#include "sidecar/symbols/elf_file.h"

#define INSPECT_BATCH 16u

struct inspection {
	struct source	  src;		/* in */
	struct sym_answer answer;	/* out; strings point into elf and here */
	struct elf_file	  elf;
	char		  htlhash[33], compiler[COMPILER_MAX];
	uint8_t		  head[4096], tail[4096];
};
/* src of each is a descriptor. */
void	inspect_files(struct inspection *const *f, unsigned int n, struct file_io *io);
/* src is memory. */
void	inspect_image(struct inspection *f);
/* May debug serve for e: same build id, or the CRC that e's debug link names. */
bool	inspect_debug_matches(const struct elf_file *e, const struct elf_file *debug);

#endif
