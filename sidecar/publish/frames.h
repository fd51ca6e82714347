/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From addresses to frames.  A site is where an address lies: which file, which ELF address; frames.c
 * interns what is known of it.  Takes images and names, gives dictionary references (or, when the
 * dictionary is full, plain frames for a self-contained record).  Used by publish.c; one thread.
 */
#ifndef RINGSIDE_PUBLISH_FRAMES_H
#define RINGSIDE_PUBLISH_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/ring_writer.h"
#include "shm/ringside.h"

struct file;
struct image;
struct names;
struct named;

#define FRAMES_MAX 512u			/* of one stack part, inlined ones included; the rest is cut at the root */

struct site {
	uint32_t	 file_id;	/* symbols file_id; 0: nobody can name it */
	uint64_t	 address;	/* ELF address; run-time address for kernel, JIT and unmapped code */
	struct file	*file;		/* NULL: kernel, JIT, anonymous, unmapped */
	uint8_t		 type;		/* enum ringside_frame_type */
	bool		 anonymous;	/* executable memory without a file */
	bool		 unmapped;	/* in no mapping that is known */
	bool		 unopened;	/* nobody has opened the file (the worker forgot it) */
	bool		 pending;	/* the file is on its way to the worker: worth waiting for */
};

/* leaf: the address is where the thread stood; else it is a return address, and the call before it counts. */
void	site_of_user(const struct image *image, uint64_t addr, bool leaf, struct site *out);
void	site_of_kernel(uint64_t addr, bool leaf, struct site *out);

struct frames;
int	frames_create(struct frames **out, struct ring_writer *w, struct names *names);
void	frames_destroy(struct frames *f);
/* Drops what it remembers of a file (process_set_file_free_fn). */
void	frames_file_free(void *arg, struct file *file);

/* One stack being put together. */
struct frame_list { uint32_t n; ringside_ref refs[FRAMES_MAX]; bool cut; };
/* Appends the frames of one site (inlined ones first).  0, -ENOSPC: the dictionary is full. */
int	frames_intern(struct frames *f, const struct site *site, struct frame_list *list);

/* The same without the dictionary; strings stay valid until names_evict(). */
struct plain_list {
	uint32_t n;
	struct ringside_frame frames[FRAMES_MAX];
	struct ringside_mapping mappings[FRAMES_MAX];
	const struct ringside_frame *pointers[FRAMES_MAX];
};
void	frames_plain(struct frames *f, const struct site *site, struct plain_list *list);

#endif
