/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses.  Takes file descriptors and ELF addresses, gives names, build ids and segment
 * tables.  This is the parent's face of the symbol worker: a process without any right that does all the
 * parsing.  Nothing here parses a target's bytes, and nothing here blocks: requests
 * are queued, answers are taken when symbols_fd() becomes readable.  The worker is not trusted either:
 * an answer passes symbols_decode(), the door, before anybody looks at it.
 *
 * Used by sidecar/pipeline.c.  One thread.  When the worker dies it is restarted through the launcher,
 * all files are handed over again on use, and pending queries are answered with SYM_GONE: names are
 * lost, samples are not.
 */
#ifndef RINGSIDE_SYMBOLS_H
#define RINGSIDE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/context/tls_facts.h"

/* --- launcher: first thing in main(), before ring, BPF, configuration, threads --- */
struct symbols_launcher { int sock; int pid; };
int	symbols_launcher_start(struct symbols_launcher *out);
void	symbols_launcher_stop(struct symbols_launcher *l);

enum symbols_io { SYMBOLS_IO_AUTO, SYMBOLS_IO_URING, SYMBOLS_IO_PLAIN };
struct symbols_options {
	enum symbols_io	 io;
	uint64_t	 memory_limit;	/* bytes of heap for the worker's tables; least recently used go first */
	uint64_t	 hang_ns;	/* one request may keep the worker that long (two fifths of it when it
					   does not even run, since reads block); 0: five seconds */
};
struct symbols;
int	symbols_create(struct symbols **out, struct symbols_launcher *l, const struct symbols_options *o);
void	symbols_destroy(struct symbols *s);
int	symbols_fd(const struct symbols *s);	/* an epoll fd that stays the same over restarts */
/* Sends what is queued, restarts a dead worker; call on each loop turn and from the tick. */
void	symbols_flush(struct symbols *s);
/* `uring` or `plain`, what the worker chose; NULL before it told. */
const char *symbols_io_backend(const struct symbols *s);
/* The worker has a uid of its own (needs CAP_SETUID at start); false before it told. */
bool	symbols_own_uid(const struct symbols *s);
/* The launcher has ended: there will be no worker any more, and no new names. */
bool	symbols_given_up(const struct symbols *s);
uint64_t symbols_restarts(const struct symbols *s);
uint64_t symbols_worker_bytes(const struct symbols *s);	/* heap, as it last said */

/*
 * Every add of a file, debug file, image or perf map is answered, in order: by SYM_FILE, or by SYM_GONE
 * when the worker died meanwhile (add it again).  Every query is answered by one or more SYM_NAMES, all
 * levels of an address together, or by one SYM_GONE.  A file that two workers died of, or whose reads
 * block, is refused from then on (SYM_FILE.error; names without names) until it is forgotten.
 *
 * Files.  file_id is chosen by the caller (process/files.c), non-zero, never reused while in use.
 * add: fd is consumed always; answered by one SYM_FILE.  After a restart the worker has forgotten every
 * file: a query then is answered SYM_GONE for that file, and the caller adds it again (it re-opens it).
 */
int	symbols_add_file(struct symbols *s, uint32_t file_id, int fd);
/* A separate debug file for file_id (asked for by SYM_FILE.want_debug); checked against its build id
 * or debug-link CRC by the worker.  Answered by the SYM_FILE of file_id again, now with want_debug false
 * and has_debug true when it fits. */
int	symbols_add_debug(struct symbols *s, uint32_t file_id, int fd);
/* Bytes of a vDSO image: data is copied. */
int	symbols_add_image(struct symbols *s, uint32_t file_id, const void *data, size_t n);
/* perf-PID.map; growth is looked for by itself on an unknown address, at most once a second; may be added
 * again to have it read at once.  SYM_FILE with is_elf false and error NULL says that it was taken. */
int	symbols_add_perf_map(struct symbols *s, uint32_t file_id, int fd);
/* kallsyms, opened while CAP_SYSLOG was there; read on the first kernel query, again on an unknown
 * address at most every 10 s. */
int	symbols_add_kallsyms(struct symbols *s, int fd);
void	symbols_forget(struct symbols *s, uint32_t file_id);

#define SYMBOLS_KERNEL_FILE 1u		/* file_id of the kernel; callers start at 16 */
#define SYMBOLS_MAX_ADDRESSES 256
/* ELF virtual addresses (kernel and perf map: run-time addresses).  Callers pass return addresses
 * already lowered by one where that applies.  -EAGAIN: queue full, ask later. */
int	symbols_query(struct symbols *s, uint32_t file_id, const uint64_t *addr, uint32_t n);

/* --- answers --- */
enum sym_kind { SYM_FILE = 1, SYM_NAMES = 2, SYM_GONE = 3, SYM_INFO = 4 };

struct sym_segment { uint64_t offset, vaddr, filesz, memsz; uint32_t flags; uint32_t pad0; };
#define SYM_MAX_SEGMENTS 32

struct sym_name {			/* one source level of one address; inlined ones first (innermost) */
	uint64_t	 address;	/* as asked */
	const char	*function;	/* demangled; NULL unnamed */
	const char	*system_name;	/* NULL when equal */
	const char	*file;		/* NULL unknown */
	uint32_t	 line;
	uint64_t	 offset;	/* address - function start */
	uint32_t	 same;		/* so many bytes from the address on have this name and no line; 0: not told */
	bool		 inlined;	/* inlined into the next entry of the same address */
	uint8_t		 type;		/* enum ringside_frame_type */
};

struct sym_answer {			/* points into the caller's buffer */
	enum sym_kind	 kind;
	uint32_t	 file_id;
	/* SYM_FILE */
	bool		 is_elf;
	const char	*gnu_build_id, *go_build_id, *htlhash;	/* hex / text / 32 hex; NULL absent */
	const char	*debug_link;	/* base name, validated: no slash; NULL none */
	uint32_t	 debug_link_crc;
	bool		 want_debug;	/* no .symtab here: a separate debug file would help */
	bool		 has_debug;	/* a separate debug file is in use */
	bool		 stripped;
	bool		 is_static;	/* no PT_DYNAMIC */
	const char	*compiler;	/* `GCC 12.2.0`, `Go 1.22.1`; NULL unknown */
	const char	*error;		/* why it could not be read; NULL */
	uint32_t	 n_segments;
	struct sym_segment segments[SYM_MAX_SEGMENTS];	/* PT_LOAD */
	bool		 has_tls;	/* it defines the variable of thread contexts: */
	struct tls_facts tls;
	/* SYM_NAMES */
	uint32_t	 n_names;
	const struct sym_name *names;	/* valid until the next decode */
	bool		 kptr_restricted; /* kernel addresses were all zero */
};
#define SYMBOLS_MESSAGE_MAX 65536
/* Takes one raw answer: >0 bytes, 0 none now, -errno.  cap: SYMBOLS_MESSAGE_MAX.  The bytes are what
 * JOURNAL_NAMES holds; they have passed the door once already. */
int	symbols_take(struct symbols *s, void *buf, size_t cap);
/* The door: everything checked once; also used on replay.  scratch: SYMBOLS_MESSAGE_MAX bytes, aligned, or owned by s. */
struct symbols_decoder;
int	symbols_decoder_create(struct symbols_decoder **out);
void	symbols_decoder_destroy(struct symbols_decoder *d);
int	symbols_decode(struct symbols_decoder *d, const void *buf, size_t n, struct sym_answer *out);

/* Run-time offset in the file to ELF address by the segment table; false: in no segment. */
bool	symbols_file_to_vaddr(const struct sym_segment *seg, uint32_t n, uint64_t file_offset, uint64_t *vaddr);

#endif
