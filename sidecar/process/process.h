/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who runs: processes, their images, their mappings, the files behind them.  Takes events in order and
 * the door's answers, gives images.  Used by sidecar/pipeline.c on one thread; the door (door.h) has
 * helper threads of its own, which share nothing with this but queues.
 *
 * Identity of a process = (pid, start_ns).  exec makes a new image.  Samples hold an image by reference
 * count, so a later exec or exit never changes what an earlier sample says.  A fork inherits the
 * parent's image until it execs: same mappings, same environment, own pid.
 */
#ifndef RINGSIDE_PROCESS_H
#define RINGSIDE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "sidecar/labels/resolver.h"

struct process_table;
struct process_context;
struct door;

/* A file behind a mapping.  Key: device, inode, size, mtime (and for a process that is gone: device and
 * inode, or build id, as the side-band event told).  Shared by all processes; ref-counted by mappings. */
enum file_state { FILE_UNKNOWN, FILE_OPENING, FILE_SENT, FILE_READY, FILE_FAILED };
struct sym_segment;
struct tls_facts;
struct tls_plan;
struct file {
	uint32_t	 id;			/* symbols file_id, >= 16 */
	enum file_state	 state;
	uint32_t	 dev_major, dev_minor;
	uint64_t	 inode;
	uint64_t	 size;
	int64_t		 mtime_ns;
	char		*path;			/* true path, no ` (deleted)` marker of the kernel's */
	char		*build_id;		/* GNU, else Go, else htlhash; NULL unknown yet */
	uint8_t		 build_id_kind;		/* enum ringside_build_id_kind */
	uint32_t	 n_segments;
	struct sym_segment *segments;
	struct tls_facts *tls;			/* it defines the variable of thread contexts; NULL no */
	uint32_t	 refs;
	uint32_t	 name_version;		/* grows when better answers may exist (debug file came) */
	void		*user;			/* pipeline's own; freed by its callback */
	struct file_facts *facts;		/* for labels; NULL until the worker looked into it */
	/* 20 bytes at most, hex: what the kernel said the mapped file's GNU build id is; NULL it did not.
	 * A file that was opened by path alone and whose own build id differs is another file. */
	char		*expect_build_id;
};

/*
 * FILE: names by ELF address of file.  VDSO: the same, file is the image.  JIT: anonymous memory of a
 * process that has a perf map; file is that map, asked with run-time addresses.  ANON: no names.
 */
enum mapping_kind { MAPPING_FILE, MAPPING_ANON, MAPPING_VDSO, MAPPING_JIT };
struct mapping {
	uint64_t	 start, end, file_offset;
	enum mapping_kind kind;
	struct file	*file;			/* NULL for ANON */
	uint32_t	 serial;		/* unique in this table: for caches */
	uint32_t	 pad0;
	uint64_t	 since_ns;		/* boot time of the event or reading that told of it */
};

/* Where what is known of an image came from: better later answers raise it. */
enum image_state { IMAGE_EVENTS /* only what events said */, IMAGE_READ /* the door answered */,
	IMAGE_GONE /* gone before it could be read */, IMAGE_UNREADABLE, IMAGE_TIMEOUT };

struct image {
	uint32_t	 pid;
	uint64_t	 start_ns, exec_id;
	uint64_t	 serial;		/* unique: for caches */
	uint32_t	 version;		/* grows with every change of mappings */
	uint32_t	 label_version;		/* grows with every change of labels */
	uint32_t	 context_version;	/* grows with every change of context */
	enum image_state state;
	bool		 pending;		/* a door answer is outstanding: worth waiting for */
	bool		 kthread;
	bool		 sampled;
	bool		 seen_published;
	uint32_t	 parent_pid;
	char		 comm[16];		/* of the main thread */
	char		*exe_path;		/* NULL unknown */
	char		*exe_name;		/* basename */
	char		*cgroup;		/* path of the chosen line, or NULL */
	const struct label_set *labels;		/* attributes; NULL until known, and when dropped */
	bool		 dropped;		/* by rules, by what is known so far: final unless pending */
	struct file	*exe;			/* may be NULL */
	struct mapping	*maps; uint32_t n_maps; /* sorted, executable only */
	/* What it publishes of itself (sidecar/context/context.h), by this very image: never its parent's.
	 * NULL: nothing, so that it has no thread contexts either. */
	struct process_context *context;
	uint8_t		 context_state;		/* what a sample says whose thread context was not read:
						 * enum ringside_context_state */
	char		*perf_map;		/* path form for messages only; NULL none */
	uint32_t	 perf_map_id;		/* symbols file_id of the perf map; 0 none */
	uint32_t	 refs;
	void		*user;			/* pipeline's own */
};

struct process_options {
	uint64_t	 grace_ns;		/* how long the dead keep their entry; 0: 10 s */
	uint32_t	 max_processes;		/* 65536: beyond it the least recently seen dead, then living, go */
	uint32_t	 max_maps;		/* executable mappings kept per image: 8192 */
	const char	*node;			/* host.name */
	bool		 otel_lenient;
	const char	*const *include_env_vars; uint32_t n_include_env_vars;
	bool		 publish_command_line, publish_working_directory;
	const char	*container_id;		/* --container-id: our own */
	bool		 replay;		/* ask no door: answers come from a journal */
	struct relabel_rules *rules;		/* borrowed; NULL none */
	const struct label_pair *external; uint32_t n_external;	/* borrowed */
	uint64_t	 label_ttl_ns; uint32_t label_cache_size;	/* 0: the resolver's defaults */
	bool		 local_only;		/* nothing of pods but the container's id */
	const char	*revision;		/* of ringsided */
	size_t		 context_bytes_max;	/* of all process contexts together: more are refused; 0: 16 MiB */
	bool		 rules_may_come;	/* command lines are read for them from the start */
};
int	process_table_create(struct process_table **out, const struct process_options *o, struct door *door);
void	process_table_destroy(struct process_table *t);

/*
 * What is the same for all processes of this machine, before the first event: uname's release and machine,
 * and whether this is a Kubernetes cluster.  As flat bytes, so that a journal can hold it.  0 or -EBADMSG.
 */
int	process_system(struct process_table *t, const void *msg, size_t n);
/* Fills such a message from this machine; gives its length. */
#define PROCESS_SYSTEM_MAX 160
size_t	process_system_read(char buf[PROCESS_SYSTEM_MAX]);
/* The worker looked into f; copied.  Labels of those who run it are made anew. */
void	process_file_facts(struct process_table *t, struct file *f, const struct label_executable *e);
/* f defines the variable of thread contexts; copied. */
void	process_file_tls(struct process_table *t, struct file *f, const struct tls_facts *facts);
/*
 * Plans for the kernel: how thread contexts of pid are reached; NULL: not any more.  0 or -errno, counted as
 * plans_refused.  Not called on replay.
 */
typedef int (*process_plan_fn)(void *arg, uint32_t pid, const struct ev_context_plan *plan);
void	process_set_plan_fn(struct process_table *t, process_plan_fn fn, void *arg);
/* Labels of image's process step by step; see resolver.h. */
int	process_explain(struct process_table *t, struct image *i, FILE *out, bool json);
/* What image's process publishes, or why nothing; and its thread contexts. */
struct explained_thread;		/* sidecar/process/thread_explain.h */
#define EXPLAINED_THREADS_MAX 64u
struct explained_threads { struct explained_thread *thread; uint32_t n, more; };
int	process_explain_context(struct image *i, const struct explained_threads *threads, FILE *out, bool json);
/* How thread contexts of i are reached; NULL: it has none.  *settled: nothing is on its way. */
const struct tls_plan *process_thread_plan(const struct image *i, bool *settled);
/* Other rules and labels from now on (borrowed, as in process_options): who is sampled next gets its labels anew. */
void	process_set_rules(struct process_table *t, struct relabel_rules *rules, const struct label_pair *external,
			  uint32_t n_external, uint64_t label_ttl_ns, uint32_t label_cache_size);
/* How often a limit kept a rule from matching. */
uint64_t process_rule_limits(const struct process_table *t);

/* Events, in event order.  on_sample never returns NULL; release with image_put(). */
struct image *process_on_sample(struct process_table *t, const struct ev_sample *s);
void	process_on_fork(struct process_table *t, const struct ev_fork *e);
struct image *process_on_exec(struct process_table *t, const struct ev_exec *e);	/* the new image, borrowed */
void	process_on_context(struct process_table *t, const struct ev_context *e);
struct image *process_on_exit(struct process_table *t, const struct ev_exit *e);	/* may be NULL; borrowed */
void	process_on_mmap(struct process_table *t, const struct ev_mmap *e);
void	process_on_comm_exec(struct process_table *t, const struct ev_comm_exec *e);
/*
 * Tells of an exec or exit as soon as it is drained, before the event's turn comes: a reading that ends
 * after it must not serve the image before it.
 */
void	process_peek(struct process_table *t, const struct ev_head *e);

void	image_get(struct image *i);
void	image_put(struct process_table *t, struct image *i);
/*
 * A sample of i needs names of m: has its file opened when nobody did so yet.  process_on_sample() does
 * it for every frame, now or when the maps of a pending image come, so that calling this is only needed
 * for a file whose state went back to FILE_UNKNOWN (process_reopen_file) or FILE_FAILED.
 */
void	process_want_file(struct process_table *t, struct image *i, const struct mapping *m);
/*
 * addr of a sample of i is in no mapping: the maps are read again, at most after 1, 2, 4.. s.  Or it is
 * in an ANON or JIT mapping and stayed unnamed: the perf map is opened again, at most every 2 s.
 */
void	process_miss(struct process_table *t, struct image *i, uint64_t addr);
/*
 * What is known of the process context may be too old (a thread context has a key that it does not name):
 * it is read again, at most once in a while.  True while a reading is on its way.
 */
bool	process_want_context(struct process_table *t, struct image *i);
/* The mapping that holds addr, or NULL. */
const struct mapping *image_find(const struct image *i, uint64_t addr);
struct image *process_find(struct process_table *t, uint32_t pid, uint64_t start_ns); /* current image or NULL */

/*
 * The door's answers.  The pipeline drains events first (so that process_peek() has seen every exec up
 * to the reading's end), then takes, journals and applies.  Raw bytes are self-contained but for fds.
 */
#define DOOR_MAX_FDS 1
/* Applies one answer.  fds (at most one) are consumed.  On replay fds is empty. */
int	process_apply(struct process_table *t, const void *msg, size_t n, int fd);
/*
 * Files that should be handed to the symbol worker now: calls fn once per opening, fd consumed by fn.
 * kind FILE: an ELF file; debug: a separate debug file of f.  VDSO: a sealed memory file that holds the
 * image's bytes.  JIT: a perf map, to be added again whenever it comes.  f->state is FILE_SENT; the
 * pipeline makes it FILE_READY or FILE_FAILED by the worker's answer.
 */
typedef void (*process_file_fn)(void *arg, struct file *f, int fd, enum mapping_kind kind, bool debug);
void	process_set_file_fn(struct process_table *t, process_file_fn fn, void *arg);
/* The worker wants a debug file for f; the door looks for it (by build id, by link) and opens it. */
void	process_want_debug(struct process_table *t, struct file *f, const char *gnu_build_id, const char *debug_link);
struct file *process_file(struct process_table *t, uint32_t file_id);	/* NULL when forgotten */
/*
 * Is the file that was opened the one that was mapped?  No, when the kernel told the mapped file's build
 * id and the worker found another or none in the one opened by name: then its names are a stranger's,
 * so forget it at the worker; f is FILE_FAILED now, and tried again through another process.
 */
bool	process_file_confirm(struct process_table *t, struct file *f, const char *gnu_build_id);
/* The worker forgot it (restart): open it again on next use. */
void	process_reopen_file(struct process_table *t, struct file *f);
void	process_set_file_free_fn(struct process_table *t, void (*fn)(void *arg, struct file *f), void *arg);
void	process_set_image_free_fn(struct process_table *t, void (*fn)(void *arg, struct image *i), void *arg);

/* Once a drain: grace, re-reads (cgroup at 1, 5, 30 s), memory bound. */
void	process_tick(struct process_table *t, uint64_t boot_ns);

/*
 * Memory is short: half of the dead go, the longest dead first, and half of the files that nobody maps and
 * of the labels that are remembered; where nobody is dead, a quarter of the living, who are read again when
 * a tick meets them.
 */
void	process_trim(struct process_table *t);

struct process_counts {
	uint64_t processes, images, files, gone, unreadable, timeouts, malformed, refused;
	uint64_t plans_refused;			/* thread contexts that the kernel has no room for */
	uint64_t contexts;			/* images that have one, now */
	uint64_t contexts_refused;		/* found, and not a context: by whatever fault of the publisher's */
	uint64_t contexts_busy;			/* readings that met a change at every attempt */
	size_t heap_bytes;
};
void	process_counts(const struct process_table *t, struct process_counts *out);

#endif
