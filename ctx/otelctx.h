/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes what a process and its threads are doing, for profilers and other tools
 * that read it from outside: OTEP 4719 (process context: resource and attributes of the
 * process) and OTEP 4947 (thread context: the trace and span that a thread works for,
 * and a few attributes).  Publishing needs no right and talks to nobody: it is a few
 * stores into memory of this process.
 *
 * Every int function returns 0 or a non-negative result, or a negated errno.  Nothing
 * here prints, exits or installs a signal handler.  Plain C ABI: no varargs, nothing
 * inline, and structs of fixed layout, for foreign function interfaces.  Strings are
 * UTF-8.
 *
 * Of these functions only otelctx_thread_attach may be called from a signal handler, and in
 * a thread that has attached before.  A thread may be cancelled in any of them (not
 * asynchronously); what it had begun is finished first.
 *
 * fork: the child has no process context until it publishes its own; threads and
 * contexts of the parent mean nothing there but the forking thread's.  vfork and
 * clone(CLONE_VM): the child shares the parent's memory, hence its context; it may call
 * nothing in here before it execs.
 */
#ifndef OTELCTX_H
#define OTELCTX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* --- Attributes --- */

enum otelctx_type {
	OTELCTX_NONE = 0,	/* an empty value */
	OTELCTX_STRING = 1,
	OTELCTX_BOOL = 2,
	OTELCTX_INT = 3,
	OTELCTX_DOUBLE = 4,
	OTELCTX_BYTES = 5,
	OTELCTX_ARRAY = 6,	/* of values */
	OTELCTX_KVLIST = 7,	/* of attributes */
};

#define OTELCTX_NUL	((size_t)-1)	/* a string's length: up to its NUL */

struct otelctx_attribute;

/* Borrowed for the call that takes it. */
struct otelctx_value {
	uint32_t type;				/* enum otelctx_type */
	uint32_t reserved;			/* 0 */
	size_t	 n;			/* bytes, values, attributes */
	union {
		const void			*data;		/* STRING, BYTES */
		int64_t				 integer;	/* INT, BOOL */
		double				 number;	/* DOUBLE */
		const struct otelctx_value	*values;	/* ARRAY */
		const struct otelctx_attribute	*attributes;	/* KVLIST */
	} u;
};

struct otelctx_attribute {
	const char		*key;		/* not empty, NUL-terminated */
	struct otelctx_value	 value;
};

/* --- Names of thread attributes --- */

/*
 * Thread attributes name their keys by an index into a key map, which the process
 * context carries. The map only grows: an index keeps its meaning for the life of the
 * process.  At most 256 names. Safe to use from several threads, but for destroy.
 */
struct otelctx_names;

#define OTELCTX_NAMES_MAX	256

/*
 * keys: n NUL-terminated names, indexes 0..n-1.  -EINVAL: an empty name or one twice;
 * -ENOSPC: n > 256; -EILSEQ: not UTF-8.
 */
int	otelctx_names_create(struct otelctx_names **out, const char *const *keys,
			     size_t n);

/*
 * NULL is fine.  What was published of it stays published until the next update or
 * drop.
 */
void	otelctx_names_destroy(struct otelctx_names *names);

/*
 * Index of key, which is added when it is new.  If these names are published, the
 * process context is published anew before this returns, so a reader never meets an
 * index that it cannot look up; when that fails, the name is not added.  -ENOSPC: the
 * 257th name.
 */
int	otelctx_names_add(struct otelctx_names *names, const char *key);

/* Index of key, or -ENOENT.  No lock, no allocation. */
int	otelctx_names_find(const struct otelctx_names *names, const char *key);

size_t	otelctx_names_count(const struct otelctx_names *names);

/*
 * For programs whose process context is published by somebody else: the attributes (of
 * field 2, not of the resource) that tell a reader about these names, as they are now.
 * *out is one block, to be given to otelctx_names_attributes_free.  Publish them anew
 * whenever a name was added, before it is used.
 */
int	otelctx_names_attributes(const struct otelctx_names *names,
				 struct otelctx_attribute **out, size_t *n);
void	otelctx_names_attributes_free(struct otelctx_attribute *attributes);

/* --- Process context --- */

#define OTELCTX_PAYLOAD_MAX	65536	/* bytes of protobuf: readers refuse more */
#define OTELCTX_DEPTH_MAX	8	/* arrays and lists within each other */

struct otelctx_process {
	size_t				 size;		/* of this struct */
	const struct otelctx_attribute	*resource;	/* service.name and so on */
	size_t				 n_resource;
	const struct otelctx_attribute	*attributes;	/* others, not of the resource */
	size_t				 n_attributes;
	struct otelctx_names		*names;		/* their key map; or NULL */
};

/*
 * A process has one context.  Everything in p is copied, except that names are kept
 * until the next update or drop, to publish anew when one is added; they may be
 * destroyed before.  These three may be called from any thread.
 *
 * publish: -EEXIST when there is a context already.  update: -ENOENT when there is
 * none; in a child of a process that had one it publishes afresh.  When either fails,
 * what was there before is still there.  Errors of both:
 *	-EINVAL	an empty key, an unknown type, too deep; or names, and a key threadlocal.*
 *	-EILSEQ	a key or string that is not UTF-8
 *	-E2BIG	more than OTELCTX_PAYLOAD_MAX
 *	-ENOMEM
 * and of a first publication, what mmap, madvise(MADV_DONTFORK) or memfd_create said;
 * the last only where the kernel cannot name other memory, so that no reader could find
 * the context.  Of equal keys readers take any.
 */
int	otelctx_process_publish(const struct otelctx_process *p);
int	otelctx_process_update(const struct otelctx_process *p);
int	otelctx_process_drop(void);			/* -ENOENT: there is none */

/* --- Thread context --- */

/*
 * One context: ids and attributes, to be attached by the threads that work for it.
 * Readers see it only while it is attached and the thread is stopped or interrupted.
 *
 * Threads: create, append, reset and destroy of one context must not run at the same
 * time as each other or as an attach of it elsewhere.  They may run while it is
 * attached elsewhere (not reset); and different contexts are independent.
 */
struct otelctx_thread;

struct otelctx_thread_attribute {
	const void	*value;
	size_t		 n;		/* OTELCTX_NUL: up to its NUL */
	uint32_t	 key;		/* index, 0..255 */
	uint32_t	 reserved;	/* 0 */
};

#define OTELCTX_VALUE_MAX	255	/* longer values are cut, at a code point */
#define OTELCTX_ATTRIBUTES_MAX	612	/* bytes of all; each has 2 more than its value */

/*
 * trace_id: 16 bytes in W3C order, span_id: 8 bytes; both NULL or zero: attributes
 * without a trace.  flags: W3C trace flags.  An attribute that is cut or does not fit is
 * no error: see truncated.  -EINVAL: one id is zero and the other not, or a key over 255.
 */
int	otelctx_thread_create(struct otelctx_thread **out, const uint8_t *trace_id,
			      const uint8_t *span_id, uint8_t flags,
			      const struct otelctx_thread_attribute *attributes,
			      size_t n);

/*
 * Detaches it wherever it is attached, then frees it.  NULL is fine.  Costs no lock
 * when no thread but the caller ever attached it; else a look at each thread that ever
 * attached anything.
 */
void	otelctx_thread_destroy(struct otelctx_thread *t);

/*
 * Adds an attribute; every thread that has t attached shows it from now on, also when
 * the record had to move for it.  Of a key given twice the last value counts.  1: the
 * value was cut; -ENOSPC, -ENOMEM: not added, and truncated says so from now on; a
 * smaller one may still fit.
 */
int	otelctx_thread_append(struct otelctx_thread *t, uint32_t key, const void *value,
			      size_t n);

/*
 * Other ids, no attributes, in the same memory: for programs that keep their contexts.
 * t may be attached to the calling thread, to no other.
 */
int	otelctx_thread_reset(struct otelctx_thread *t, const uint8_t *trace_id,
			     const uint8_t *span_id, uint8_t flags);

/*
 * The calling thread works for t from now on, instead of what it had attached; NULL:
 * for nothing. One store.  The first attach in a thread registers the thread and may
 * allocate; after that attach takes no lock, makes no system call, and may be called
 * from a signal handler. What a thread has attached when it ends is detached.  -ENOMEM:
 * the thread could not be registered; -ECANCELED: the thread is ending (from a
 * destructor that runs after this library's).
 */
int	otelctx_thread_attach(struct otelctx_thread *t);

/* 1 when an attribute was cut or left out since create or reset, else 0. */
int	otelctx_thread_truncated(const struct otelctx_thread *t);

/* --- Both: attributes by name --- */

struct otelctx_named_attribute {
	const char	*key;
	const void	*value;
	size_t		 n;		/* OTELCTX_NUL: up to its NUL */
};

/*
 * create and append with keys by name; new names are added (see otelctx_names_add for
 * how that fails: then create gives nothing and append adds nothing).
 */
int	otelctx_names_thread_create(struct otelctx_names *names,
				    struct otelctx_thread **out, const uint8_t *trace_id,
				    const uint8_t *span_id, uint8_t flags,
				    const struct otelctx_named_attribute *attributes,
				    size_t n);
int	otelctx_names_thread_append(struct otelctx_names *names, struct otelctx_thread *t,
				    const char *key, const void *value, size_t n);

const char *otelctx_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
