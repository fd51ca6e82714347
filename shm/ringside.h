/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read side of the Ringside ring: samples that a privileged sidecar (ringsided) publishes into a file
 * in shared memory.  ringside-ring(5) describes the file, byte by byte.
 *
 * A reader maps the file read-only.  It takes no lock, makes no store, and the writer does not know
 * that it exists: it can neither slow the writer nor harm another reader.  What it pays for that: a
 * reader slower than the writer is lapped and loses the oldest records.  Losses are counted, never
 * hidden: ringside_next() returns them as records of kind RINGSIDE_LOST, in line.
 *
 * Every int function returns 0 or a non-negative result, or a negated errno.  Nothing here prints,
 * exits, installs a signal handler or changes errno's meaning.  One reader belongs to one thread at a
 * time; different readers are independent.
 *
 * A file that shrinks while it is mapped raises SIGBUS in the thread that touches it.  Only the file's
 * owner can shrink it; whoever does not trust the owner sets ringside_options.paranoid (pread, no
 * mapping, about twice the cost).
 */
#ifndef RINGSIDE_H
#define RINGSIDE_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RINGSIDE_DEFAULT_RING "/run/ringside/ring"

struct ringside;			/* a reader; opaque */

/* A reference into the dictionary.  0 refers to nothing.  Equal refs mean equal bytes for as long as
 * the reader stays on one incarnation of one file (see ringside_record.incarnation_changed). */
typedef uint64_t ringside_ref;

struct ringside_options {
	size_t		 size;		/* sizeof(struct ringside_options), for later versions */
	const char	*path;		/* NULL: $RINGSIDE_RING, else RINGSIDE_DEFAULT_RING */
	uid_t		 owner;		/* accept a file of this uid too, when any_owner is set */
	bool		 has_owner;	/* owner is valid; else only uid 0 and the caller's own */
	bool		 paranoid;	/* read by pread instead of a mapping */
	bool		 no_follow;	/* stay on this file when the writer replaces it */
	bool		 from_oldest;	/* start at the oldest held record instead of the newest */
	bool		 no_resolve;	/* do not resolve references (statistics only) */
};

enum ringside_kind {
	RINGSIDE_SAMPLE		= 1,
	RINGSIDE_PROCESS	= 2,
	RINGSIDE_LOST		= 3,
	RINGSIDE_CLOCK		= 4,
	RINGSIDE_INCARNATION	= 5,
};

/* What a sample counts. */
enum ringside_event { RINGSIDE_EVENT_CPU = 1, RINGSIDE_EVENT_OFFCPU = 2 };
enum ringside_unit { RINGSIDE_UNIT_NANOSECONDS = 1, RINGSIDE_UNIT_COUNT = 2, RINGSIDE_UNIT_BYTES = 3 };

/* How a stack part ended. */
enum ringside_stack_end {
	RINGSIDE_END_NONE = 0,		/* no such part */
	RINGSIDE_END_COMPLETE = 1,	/* reached the root */
	RINGSIDE_END_FRAME_POINTER = 2,	/* walked by frame pointers until the chain stopped */
	RINGSIDE_END_NO_TABLE = 3,
	RINGSIDE_END_READ_FAULT = 4,
	RINGSIDE_END_ANONYMOUS = 5,
	RINGSIDE_END_TOO_DEEP = 6,
	RINGSIDE_END_MAX
};

/* Verdict on the thread context (OTEP 4947).  From 3 on: why what may be there was not read. */
enum ringside_context_state {
	RINGSIDE_CONTEXT_ABSENT = 0,	/* the process publishes none */
	RINGSIDE_CONTEXT_OK = 1,	/* read; it may have attributes only, and no trace */
	RINGSIDE_CONTEXT_NONE = 2,	/* nothing is attached to the thread */
	RINGSIDE_CONTEXT_NO_SYMBOL = 3,	/* no mapped file defines the variable */
	RINGSIDE_CONTEXT_UNRESOLVED = 4,	/* where the variable is was not known at that time */
	RINGSIDE_CONTEXT_UNALLOCATED = 5,	/* the thread never touched it: nothing can be attached */
	RINGSIDE_CONTEXT_FAULT = 6,	/* memory on the way to the record could not be read */
	RINGSIDE_CONTEXT_INVALID = 7,	/* the record said that it is not valid: detached, or being written */
	RINGSIDE_CONTEXT_SCHEMA = 8,	/* published by a schema that is not read */
	RINGSIDE_CONTEXT_MAX
};

enum ringside_frame_type { RINGSIDE_FRAME_NATIVE = 1, RINGSIDE_FRAME_KERNEL = 2, RINGSIDE_FRAME_GO = 3,
	RINGSIDE_FRAME_RUST = 4, RINGSIDE_FRAME_V8JS = 5, RINGSIDE_FRAME_CPYTHON = 6, RINGSIDE_FRAME_JVM = 7,
	RINGSIDE_FRAME_JIT = 8 };

enum ringside_build_id_kind { RINGSIDE_BUILD_ID_NONE = 0, RINGSIDE_BUILD_ID_GNU = 1, RINGSIDE_BUILD_ID_GO = 2,
	RINGSIDE_BUILD_ID_HTLHASH = 3 };

/* All strings below are NUL-terminated, bounded, and may hold any byte but NUL: they come from
 * tenants.  Escape them before they meet a terminal.  An unknown string is NULL. */
struct ringside_mapping {
	const char	*path;		/* e.g. /usr/bin/x, [vdso], [kernel.kallsyms], //anon */
	const char	*build_id;	/* GNU: hex; Go: as in the file; htlhash: 32 hex digits */
	uint8_t		 build_id_kind;	/* enum ringside_build_id_kind */
	uint64_t	 start, end;	/* run-time range, 0 when unknown */
	uint64_t	 file_offset;
};

struct ringside_frame {
	ringside_ref	 ref;		/* 0 when the record is self-contained */
	uint8_t		 type;		/* enum ringside_frame_type */
	bool		 inlined;	/* inlined into the next frame of the stack */
	bool		 cut;		/* frames were left out after this one (leaf side) */
	uint64_t	 address;	/* ELF virtual address (kernel: the address itself) */
	uint64_t	 offset;	/* from the start of the function */
	const char	*function;	/* demangled; NULL when unnamed */
	const char	*system_name;	/* as in the symbol table; NULL when the same as function */
	const char	*file;		/* source file; NULL when unknown */
	uint32_t	 line;		/* 0 unknown */
	const struct ringside_mapping *mapping;	/* NULL unknown */
};

struct ringside_stack {
	ringside_ref	 ref;		/* 0 when self-contained or empty */
	uint32_t	 n;
	const struct ringside_frame *const *frames; /* leaf first */
};

enum ringside_value_type { RINGSIDE_STRING = 1, RINGSIDE_INT = 2, RINGSIDE_BOOL = 3, RINGSIDE_DOUBLE = 4,
	RINGSIDE_BYTES = 5,
	RINGSIDE_JSON = 6 /* arrays and maps, as JSON text */ };

struct ringside_attribute {
	const char	*key;
	uint8_t		 type;		/* enum ringside_value_type */
	uint32_t	 len;		/* bytes at string (STRING, BYTES, JSON), without the NUL */
	const char	*string;	/* STRING, BYTES, JSON */
	int64_t		 number;	/* INT, BOOL */
	double		 real;		/* DOUBLE */
};

struct ringside_resource {
	ringside_ref	 ref;
	uint32_t	 n;
	const struct ringside_attribute *attributes;	/* in rendering order */
	const char	*schema_url;
};

struct ringside_sample {
	uint32_t	 pid, tid, cpu;	/* in the sidecar's pid namespace */
	uint64_t	 process_start_ns; /* with pid: the process identity (host CLOCK_BOOTTIME) */
	char		 comm[16];	/* thread name at the tick */
	uint8_t		 event;		/* enum ringside_event */
	uint8_t		 unit;		/* enum ringside_unit */
	uint8_t		 user_end, kernel_end;	/* enum ringside_stack_end */
	uint8_t		 context_state;
	bool		 has_link;	/* trace_id, span_id, trace_flags are valid */
	uint8_t		 trace_id[16], span_id[8], trace_flags;
	uint64_t	 weight;	/* in unit */
	struct ringside_resource resource;	/* n == 0 when nothing is known */
	struct ringside_stack kernel, user;	/* whole stack, leaf first: kernel then user */
	uint32_t	 nattributes;
	const struct ringside_attribute *attributes;	/* thread-context attributes */
};

enum ringside_action { RINGSIDE_SEEN = 1, RINGSIDE_FORK = 2, RINGSIDE_EXEC = 3, RINGSIDE_EXIT = 4 };

struct ringside_process {
	uint32_t	 pid, parent_pid;
	uint64_t	 process_start_ns;
	uint8_t		 action;	/* enum ringside_action */
	uint32_t	 exit_code, exit_signal;
	char		 comm[16];
	const char	*command;	/* by allow list only; NULL otherwise */
	struct ringside_resource resource; /* n == 0 unless the process was sampled */
};

/* Causes.  Writer-side ones are counted in the file; lapped is counted by the reader. */
enum ringside_cause {
	RINGSIDE_LOST_LAPPED		= 0,	/* the reader was overtaken */
	RINGSIDE_LOST_KERNEL_RING_FULL	= 1,
	RINGSIDE_LOST_MALFORMED		= 2,
	RINGSIDE_LOST_CLOCK_REFUSED	= 3,
	RINGSIDE_LOST_RECORD_TOO_BIG	= 4,
	RINGSIDE_LOST_THROTTLED		= 5,
	RINGSIDE_LOST_PROCESS_BURST	= 6,
	RINGSIDE_LOST_CORRUPT		= 7,	/* reader: bytes that break the format's rules */
	RINGSIDE_LOST_MAX
};

struct ringside_lost {
	uint64_t	 count;		/* 0: by the reader, when it is not known yet; it follows */
	uint8_t		 cause;		/* enum ringside_cause */
	bool		 by_reader;	/* else by the writer */
	uint64_t	 first_seq;	/* by_reader: first missing sequence number */
};

enum ringside_clock_source { RINGSIDE_CLOCK_PAIRED = 1, RINGSIDE_CLOCK_BTIME = 2, RINGSIDE_CLOCK_ESTIMATED = 3 };

struct ringside_clock {
	int64_t		 offset_ns;	/* wall = boot + offset */
	int64_t		 step_ns;	/* against the anchor before; 0 for the first */
	uint64_t	 suspended_ns;	/* the machine slept that long since the anchor before */
	uint8_t		 source;	/* enum ringside_clock_source */
};

struct ringside_incarnation {
	uint32_t	 incarnation;
	uint32_t	 writer_pid;
};

struct ringside_record {
	uint32_t	 kind;		/* enum ringside_kind; 0x10000 and more: a record of a later
					 * minor version, of which only the common fields are set */
	uint64_t	 seq;		/* consecutive; a reader-side RINGSIDE_LOST has none */
	int64_t		 time_ns;	/* wall clock, ns since 1970 */
	uint64_t	 boot_ns;	/* host CLOCK_BOOTTIME */
	uint32_t	 clock_epoch;	/* life of the wall-clock anchor that made time_ns */
	uint64_t	 clock_error_ns;/* half-width of the anchor's bracket */
	bool		 incarnation_changed; /* first record of another incarnation or file: forget all refs */
	union {
		struct ringside_sample		sample;
		struct ringside_process		process;
		struct ringside_lost		lost;
		struct ringside_clock		clock;
		struct ringside_incarnation	incarnation;
	};
};

/*
 * Opens the ring and positions the reader after the newest record (or as options say).
 * -ENOENT no ring; -EACCES not permitted; -EPERM an owner or mode that is not trusted; -ENOTSUP another
 * major version; -EBADMSG not a ring, truncated, or inconsistent; -EINVAL bad options.
 * ringside_open_error() tells the whole story in words.
 */
int	 ringside_open(struct ringside **out, const struct ringside_options *options);
void	 ringside_close(struct ringside *r);			/* NULL is fine */
/* Why the last ringside_open() of this thread failed, as "what: on what: why; what to do". */
const char *ringside_open_error(void);

/*
 * Next record.  1: *rec is filled; 0: nothing new; -errno: the reader is unusable and should be closed
 * (-EBADMSG the file became inconsistent).  Everything *rec points to is owned by the reader and valid
 * until the next call on it.  One call is bounded: it never waits and never retries for ever.
 * A record is returned only when it and everything that it refers to was proven intact.
 * When the writer has replaced the file, the old one is drained first, then the reader follows.
 */
int	 ringside_next(struct ringside *r, struct ringside_record *rec);

/* Waits until there may be something new: 1 maybe, 0 timeout.  A wake-up is a hint.  -EINTR on a
 * signal.  timeout_ms < 0 waits for ever (in slices: a hostile co-reader can steal a wake-up). */
int	 ringside_wait(struct ringside *r, int timeout_ms);

/* Position at the first record whose block may hold wall time >= t.  Records before t may still
 * come: filter by time_ns.  ringside_seek_oldest() and _newest() are the ends. */
int	 ringside_seek_time(struct ringside *r, int64_t time_ns);
int	 ringside_seek_oldest(struct ringside *r);
int	 ringside_seek_newest(struct ringside *r);
/* Position so that about n records are still to come. */
int	 ringside_seek_last(struct ringside *r, uint64_t n);
/* Position at that sequence number, or at the oldest held one after it. */
int	 ringside_seek_seq(struct ringside *r, uint64_t seq);

/* Counted by this reader since it was opened. */
struct ringside_counts {
	uint64_t received;			/* records returned, reader-side lost ones excluded */
	uint64_t lost[RINGSIDE_LOST_MAX];	/* LAPPED and CORRUPT here; the others as announced by the writer
						 * since the reader's position */
	uint64_t corrupt_events;
	uint64_t files;				/* rings followed, the first included */
};
void	 ringside_counts(const struct ringside *r, struct ringside_counts *out);

/* Liveness of the writer: the lock that the kernel drops even after kill -9, and the heartbeat. */
struct ringside_liveness {
	bool	 alive;			/* the writer's lock is held */
	bool	 closed;		/* closed cleanly */
	bool	 superseded;		/* another file has taken this one's place */
	uint32_t writer_pid;		/* informational: in the writer's pid namespace */
	uint32_t incarnation;
	uint64_t heartbeat_age_ns;
	int64_t	 started_ns;		/* wall clock */
};
int	 ringside_liveness(struct ringside *r, struct ringside_liveness *out);

struct ringside_geometry {
	uint32_t major, minor, block_bytes, nblocks, max_payload;
	uint64_t data_bytes, dict_bytes, file_bytes, dict_used_bytes;
	uint64_t first_seq, next_seq;		/* held now: first_seq .. next_seq - 1 */
	int64_t	 oldest_ns, newest_ns;		/* wall; 0 when empty */
	char	 path[4096];
};
int	 ringside_geometry(struct ringside *r, struct ringside_geometry *out);

/* Sequence number of the next record that ringside_next() would look at. */
uint64_t ringside_position(const struct ringside *r);

/*
 * The status page: numbers by id, texts and rows.  Ids only grow; one that the writer did not set
 * reads as absent.  The views are valid until the next ringside_status() or ringside_close().
 */
enum ringside_number {
	RINGSIDE_N_FREQUENCY_HZ = 1, RINGSIDE_N_RECORDS, RINGSIDE_N_SAMPLES, RINGSIDE_N_PROCESSES,
	RINGSIDE_N_CLOCK_EPOCH, RINGSIDE_N_CLOCK_SOURCE, RINGSIDE_N_CLOCK_ERROR_NS, RINGSIDE_N_STARTED_NS,
	RINGSIDE_N_PAUSED, RINGSIDE_N_CPUS,
	RINGSIDE_N_LOST = 32,		/* + enum ringside_cause */
	RINGSIDE_N_SKIPPED = 64,	/* + enum ringside_skipped */
	RINGSIDE_N_DEGRADED = 96,	/* + enum ringside_degraded */
	RINGSIDE_N_STACK_END = 128,	/* + enum ringside_stack_end: user parts */
	RINGSIDE_N_CONTEXT = 160,	/* + enum ringside_context_state */
	RINGSIDE_N_HEAP_BYTES = 192, RINGSIDE_N_BPF_MAP_BYTES, RINGSIDE_N_MEMORY_LIMIT, RINGSIDE_N_CPU_USER_NS,
	RINGSIDE_N_CPU_SYSTEM_NS, RINGSIDE_N_CPU_BPF_NS,
	RINGSIDE_N_PROCESS_CONTEXTS,	/* processes known now that publish one (OTEP 4719) */
	RINGSIDE_N_PROCESS_CONTEXTS_REFUSED, RINGSIDE_N_PROCESS_CONTEXTS_BUSY,	/* readings, ever */
	RINGSIDE_N_MAX = 512
};
enum ringside_skipped { RINGSIDE_SKIPPED_OUT_OF_SCOPE = 0, RINGSIDE_SKIPPED_RULES, RINGSIDE_SKIPPED_PAUSED,
	RINGSIDE_SKIPPED_MAX };
enum ringside_degraded { RINGSIDE_DEGRADED_PROCESS_GONE = 0, RINGSIDE_DEGRADED_UNREADABLE,
	RINGSIDE_DEGRADED_NAMES_LATE, RINGSIDE_DEGRADED_DICTIONARY_FULL, RINGSIDE_DEGRADED_WORKER_RESTARTS,
	RINGSIDE_DEGRADED_MAX };
enum ringside_text {
	RINGSIDE_T_SCOPE = 1, RINGSIDE_T_IO_BACKEND, RINGSIDE_T_VERSION, RINGSIDE_T_NODE,
	RINGSIDE_T_CAPABILITY = 16,	/* repeated */
	RINGSIDE_T_WARNING,		/* repeated */
	RINGSIDE_T_PROBE,		/* repeated; fields separated by 0x1f: name, ok (0/1), need, effect, remedy */
};
struct ringside_status;			/* a view */
int	 ringside_status(struct ringside *r, const struct ringside_status **out);  /* -ENODATA: none yet */
bool	 ringside_status_number(const struct ringside_status *s, uint32_t id, uint64_t *out);
/* The n-th text of that id (n from 0), NULL when there are no more. */
const char *ringside_status_text(const struct ringside_status *s, uint32_t id, uint32_t n);

/* Names as the man pages spell them; NULL for an unknown value. */
const char *ringside_cause_name(uint32_t cause);
const char *ringside_stack_end_name(uint32_t end);
const char *ringside_frame_type_name(uint32_t type);
const char *ringside_event_name(uint32_t event);
const char *ringside_unit_name(uint32_t unit);
const char *ringside_action_name(uint32_t action);
const char *ringside_kind_name(uint32_t kind);
const char *ringside_clock_source_name(uint32_t source);
const char *ringside_context_state_name(uint32_t state);
const char *ringside_build_id_kind_name(uint32_t kind);
const char *ringside_skipped_name(uint32_t i);
const char *ringside_degraded_name(uint32_t i);
const char *ringside_version(void);	/* of the library, "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif
