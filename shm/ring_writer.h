/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write side of the ring.  Never installed: one writer per file, and it is ringsided.
 *
 * Order of work for a record: ring_writer_open_block(), THEN intern, THEN ring_put_*.  A half of the
 * dictionary is recycled only in ring_writer_open_block(), and only when no live block refers to it; a
 * record put later with a reference of the generation before is refused (-ESTALE).
 *
 * Records become visible with ring_writer_publish(), one release store for a whole batch.
 * One thread.  Nothing here allocates, locks or makes a system call on the put path.
 * int functions return 0 or -errno.
 */
#ifndef RINGSIDE_RING_WRITER_H
#define RINGSIDE_RING_WRITER_H

#include "shm/ringside.h"

struct ring_writer;

struct ring_writer_options {
	const char	*path;
	uint64_t	 ring_bytes, dict_bytes;	/* rounded up to legal sizes */
	gid_t		 group;				/* (gid_t)-1: leave it */
	mode_t		 mode;				/* 0: 0640; never writable by others */
	uint32_t	 block_bytes;			/* 0: 64 KiB; 4 KiB to 16 MiB */
	const char	*exclude_hint;			/* unused: NULL */
};

/*
 * What a crashed writer left at the path is resumed in place when it is what these options would have made,
 * of this boot, and sound; its readers stay where they are.  Otherwise the file is created complete under a
 * temporary name, locked, renamed into place, and a predecessor marked superseded (kept as PATH.prev).
 * Either way sequence numbers go on, and a record of kind incarnation says that a new life began.
 * -EBUSY: another live writer (see ring_writer_error(), which names its pid); -ENOSPC: named with sizes;
 * -EEXIST: something of ours stands at the path that is not a ring; -EPERM: the group could not be given.
 */
int	 ring_writer_create(struct ring_writer **out, const struct ring_writer_options *o);
/* clean: mark the ring closed.  NULL is fine. */
void	 ring_writer_close(struct ring_writer *w, bool clean);
const char *ring_writer_error(void);	/* like ringside_open_error() */
bool	 ring_writer_on_tmpfs(const struct ring_writer *w);
bool	 ring_writer_resumed(const struct ring_writer *w);	/* in place, after a crash */
/* Once a second: heartbeat; also removes PATH.prev when its time is over. */
void	 ring_writer_heartbeat(struct ring_writer *w, uint64_t boot_ns);

/* --- dictionary --------------------------------------------------------------------- */

/* Life of the current half.  References obtained under another generation must not be used again:
 * intern anew.  Changes only inside ring_writer_open_block(). */
uint32_t ring_writer_generation(const struct ring_writer *w);

/* Each sets *ref.  -ENOSPC: the current half is full and the other not yet free: write the record
 * self-contained (degraded dictionary_full).  Interning is by content: equal bytes, equal ref. */
int	 ring_intern_string(struct ring_writer *w, const char *s, size_t len, ringside_ref *ref);

struct ring_mapping { ringside_ref path, build_id; uint8_t build_id_kind; uint64_t start, end, file_offset; };
int	 ring_intern_mapping(struct ring_writer *w, const struct ring_mapping *m, ringside_ref *ref);

struct ring_frame {
	uint8_t		 type;
	bool		 inlined;
	uint64_t	 address, offset;
	ringside_ref	 function, system_name, file, mapping;
	uint32_t	 line;
};
int	 ring_intern_frame(struct ring_writer *w, const struct ring_frame *f, ringside_ref *ref);
int	 ring_intern_stack(struct ring_writer *w, const ringside_ref *frames, uint32_t n, ringside_ref *ref);

/* key: interned string; value by type. */
struct ring_attribute { ringside_ref key; uint8_t type; ringside_ref string; int64_t number; double real; };
int	 ring_intern_resource(struct ring_writer *w, const struct ring_attribute *a, uint32_t n,
			      ringside_ref schema_url, ringside_ref *ref);

/* --- records ------------------------------------------------------------------------ */

/* The safe point before a record's references are obtained: goes over to the other half of the
 * dictionary when this one is full and that one dead.  Cheap; call it for each record.  Blocks are opened
 * by ring_put_* as needed.  Sets *generation when not NULL. */
void	 ring_writer_open_block(struct ring_writer *w, uint32_t *generation);

struct ring_stamp { int64_t wall_ns; uint64_t boot_ns; uint32_t clock_epoch; uint64_t clock_error_ns; };

struct ring_sample {
	struct ring_stamp stamp;
	uint32_t	 pid, tid, cpu;
	uint64_t	 process_start_ns;
	char		 comm[16];
	uint8_t		 event, unit, user_end, kernel_end, context_state;
	bool		 has_link;
	uint8_t		 trace_id[16], span_id[8], trace_flags;
	uint64_t	 weight;
	ringside_ref	 resource, kernel_stack, user_stack;
	/* Self-contained form: used for each of the three whose ref is 0 and whose pointer is set.  A
	 * stack too long for the record is cut in the middle, leaf and root kept, and flagged. */
	const struct ringside_resource	*inline_resource;
	const struct ringside_stack	*inline_kernel, *inline_user;
	uint32_t	 nattributes;
	const struct ring_attribute	*attributes;	/* keys are refs; values: string refs are NOT used,
							 * see value below */
	const struct ringside_attribute	*attribute_values; /* nattributes of them; key used when no ref */
};
/* -EMSGSIZE: could not be made to fit (counted record_too_big by the caller).  -ESTALE: a reference of
 * another generation; intern anew. */
int	 ring_put_sample(struct ring_writer *w, const struct ring_sample *s);

struct ring_process {
	struct ring_stamp stamp;
	uint32_t	 pid, parent_pid, exit_code, exit_signal;
	uint64_t	 process_start_ns;
	uint8_t		 action;
	char		 comm[16];
	const char	*command;	/* NULL unless allowed */
	ringside_ref	 resource;	/* 0 unless the process was sampled */
	const struct ringside_resource *inline_resource;
};
/* -EDQUOT: process records have had their tenth of this block (the caller counts process_burst). */
int	 ring_put_process(struct ring_writer *w, const struct ring_process *p);
int	 ring_put_lost(struct ring_writer *w, const struct ring_stamp *stamp, uint32_t cause, uint64_t count);
int	 ring_put_clock(struct ring_writer *w, const struct ring_stamp *stamp, const struct ringside_clock *c);

/* Makes everything put since the last call visible; wakes at most two waiters. */
void	 ring_writer_publish(struct ring_writer *w);

/* --- header ------------------------------------------------------------------------- */

struct ring_anchor { uint64_t boot_ns; int64_t real_ns, offset_ns; uint64_t bound_ns; uint32_t clock_epoch, source;
	uint64_t taken_boot_ns; };
void	 ring_writer_anchor(struct ring_writer *w, const struct ring_anchor *a);
/* Cumulative loss totals of this life; what was lost before in the same file is added to them, in the
 * header and in each block header. */
void	 ring_writer_lost_total(struct ring_writer *w, uint32_t cause, uint64_t total);
uint64_t ring_writer_next_seq(const struct ring_writer *w);
uint64_t ring_writer_dict_used(const struct ring_writer *w);

/* The status page: begin, add, end.  What does not fit is left out, last rows first. */
void	 ring_status_begin(struct ring_writer *w);
void	 ring_status_number(struct ring_writer *w, uint32_t id, uint64_t value);
void	 ring_status_text(struct ring_writer *w, uint32_t id, const char *text);
void	 ring_status_end(struct ring_writer *w);

#endif
