/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A door's answer as flat bytes.  Written by the door's threads, read by the table; in between it may
 * have lain in a journal that somebody edited, so reading it checks every length once.
 *
 *	struct answer_head
 *	struct answer_section, bytes, zeroes to a multiple of 8	} as often as there is something to say,
 *	...							} each tag at most once
 */
#ifndef RINGSIDE_PROCESS_ANSWER_H
#define RINGSIDE_PROCESS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tls_word;			/* sidecar/context/tls_plan.h */

#define ANSWER_MAGIC 0x31414452u		/* "RDA1" */

#define ANSWER_KTHREAD		0x1
#define ANSWER_MAPS_CUT		0x2		/* more lines or mappings than were read */
#define ANSWER_ENV_CUT		0x4
#define ANSWER_LEADER_GONE	0x8		/* read through another thread */
#define ANSWER_MAPS_DENIED	0x10
#define ANSWER_ENV_DENIED	0x20

struct answer_head {
	uint32_t	magic, size;		/* size: all of it */
	uint32_t	ask;			/* enum door_ask */
	int32_t		error;			/* 0; -ESRCH gone or another process by now; -EACCES; -ETIMEDOUT;
						 * -EAGAIN in the middle of an exec; else of a file */
	uint32_t	pid, file_id;
	uint64_t	start_ns, image_serial;
	uint64_t	begin_ns, end_ns;	/* boot time: after the first identity check, after the last */
	uint32_t	flags;			/* ANSWER_* */
	uint32_t	malformed;		/* lines that could not be parsed */
	uint32_t	ppid;
	uint32_t	pad0;
};

enum answer_tag {
	TAG_COMM	= 1,
	TAG_EXE		= 2,	/* true path of the executable */
	TAG_EXE_ID	= 3,	/* struct answer_file */
	TAG_CGROUP	= 4,	/* text of the file */
	TAG_ENV		= 5,	/* NAME=VALUE, each NUL-terminated */
	TAG_CMDLINE	= 6,	/* arguments joined by blanks */
	TAG_CWD		= 7,
	TAG_MAPS	= 8,	/* struct answer_map, sorted by start */
	TAG_STRINGS	= 9,	/* paths of TAG_MAPS */
	TAG_FILE_ID	= 10,	/* struct answer_file */
	TAG_PATH	= 11,	/* true path of an opened file */
	TAG_POD		= 12,	/* facts of its pod: name NUL value NUL, and so on */
	TAG_CONTEXT	= 13,	/* struct answer_context */
	TAG_CONTEXT_PAYLOAD = 14,	/* protobuf, when the verdict is CONTEXT_PAYLOAD */
	TAG_WORDS	= 15,	/* struct tls_word */
	TAG_MAX		= 16,
};

struct answer_section { uint32_t tag, len; };

/* How a file was come by.  Whatever is by PATH alone is only as good as the match of its identity. */
enum answer_how { BY_MAP_FILES = 1, BY_EXE = 2, BY_TARGET_PATH = 3, BY_OWN_PATH = 4, BY_MEMORY = 5 };

struct answer_file {
	uint64_t	inode, size;
	int64_t		mtime_ns;
	uint32_t	dev_major, dev_minor, uid, nlink;
	uint32_t	how, pad0;
};

struct answer_map {
	uint64_t	start, end, offset;
	uint64_t	inode;			/* dev, inode: as maps tells */
	uint64_t	size;			/* size, mtime: of the file itself; both 0 unknown */
	int64_t		mtime_ns;
	uint32_t	dev_major, dev_minor;
	uint32_t	path_off, path_len;	/* in TAG_STRINGS; without the kernel's deleted mark */
};

/* How the process context was found; see sidecar/context/read.h. */
struct answer_context {
	uint32_t	verdict;		/* enum context_verdict */
	uint32_t	name;			/* enum context_name */
	uint64_t	address, published_ns, payload_address;
	uint32_t	version, payload_size;
	uint32_t	attempts, places;
};

/* --- writing: a buffer of fixed capacity; what does not fit is left out whole --- */
struct answer_writer { uint8_t *buf; size_t cap, n; bool full; };
struct answer_head *answer_begin(struct answer_writer *w, void *buf, size_t cap);
void	answer_put(struct answer_writer *w, enum answer_tag tag, const void *data, size_t n);
void	answer_end(struct answer_writer *w);	/* sets size */

/* --- reading --- */
struct answer_bytes { const void *p; size_t n; };
struct answer {
	const struct answer_head *head;
	struct answer_bytes	 section[TAG_MAX];	/* p NULL: absent */
	/* Checked views. */
	const struct answer_file *exe_id, *file_id;
	const struct answer_context *context;
	const struct answer_map	*maps;
	size_t			 n_maps;
	const struct tls_word	*words;
	size_t			 n_words;
};
/* 0 or -EBADMSG.  buf is aligned to 8. */
int	answer_read(struct answer *out, const void *buf, size_t n);
/* A section as a C string, without bytes after a NUL; NULL when absent or out of memory; free() it. */
char	*answer_text(const struct answer *a, enum answer_tag tag);

#endif
