/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the process table: shared by the files of sidecar/process/ that work on it, by nobody else. */
#ifndef RINGSIDE_PROCESS_TABLE_H
#define RINGSIDE_PROCESS_TABLE_H

#include "sidecar/labels/resolver.h"
#include "sidecar/process/answer.h"
#include "sidecar/process/door.h"
#include "sidecar/process/parse.h"
#include "sidecar/process/process.h"
#include "sidecar/process/thread_plan.h"

#define PROCESS_BUCKETS	16384
#define IMAGE_BUCKETS	16384
#define FILE_BUCKETS	2048
#define CGROUP_SLOTS	1024
#define FIRST_FILE_ID	16

#define NS_PER_S	1000000000ull
#define DEAD_UNSAMPLED_NS (1 * NS_PER_S)	/* nobody will ask for a process that was never sampled */
#define DEAD_MAX	4096
#define IDLE_FILES_MAX	512			/* files that no mapping refers to */
#define WANTED_MAX	1024			/* frames remembered until the maps of their image come */
#define READ_TRIES	3
#define EXEC_ID_UNKNOWN	UINT64_MAX		/* of an image whose exec has not ended yet */
#define HEIRS_MAX	4096			/* children that wait for one reading */

/* A string that images share: forks and caches copy the pointer. */
struct text { uint32_t refs, n; char s[]; };
struct text *text_make(const char *s, size_t n);
struct text *text_get(struct text *x);
void	text_put(struct text *x);

/* Mappings that images share until one of them changes. */
/* What the worker found in a file; text stands behind it. */
struct file_facts { struct label_executable e; char text[]; };

struct map_set { uint32_t refs, n, cap, pad0; struct mapping m[]; };

/* What the environment and the command line said. */
struct declared {
	uint32_t	 refs;
	struct otel_env	 env;
	struct label	*environment;		/* allow-listed; points into text */
	uint32_t	 n_environment;
	char		*text, *command_line, *working_directory;
};

/* How the process context of an image stands; the context itself is image.context. */
struct image_context {
	struct answer_context read;		/* the last reading that told anything; verdict 0: none did */
	uint32_t	 state;			/* enum context_verdict of the last one, perhaps CONTEXT_BUSY */
	bool		 malformed;		/* and its payload was no protobuf */
	bool		 follow;		/* the look under way is the hook's: another one soon after */
	uint64_t	 address, stamp_ns;	/* of image.context, or of what was refused; 0 none */
	uint64_t	 hint;			/* told by the hook, not looked at yet */
	uint64_t	 told_ns;		/* when the hook last told of a change */
	uint64_t	 asked_ns;		/* an answer is on its way since; 0 none */
	uint64_t	 next_ns;		/* the next look */
	uint64_t	 least_ns;		/* none before it, whatever is told */
	uint64_t	 refresh_ns;		/* none before it because of a thread's context */
	uint32_t	 looks;			/* in vain, in a row */
	uint32_t	 rapid;			/* changes that followed one another quickly */
	uint64_t	 changed_ns;		/* the last one */
};

struct image_own {
	struct image	 i;			/* first */
	struct image_own *hash_next;		/* by serial */
	struct image_own *parent;		/* unread image that this one was forked from */
	struct image_own *heirs, *heir_next;	/* children gone unread, which wait for this one's reading */
	uint32_t	 n_heirs;
	uint64_t	 parent_start_ns;	/* identity of i.parent_pid; 0 unknown */
	struct map_set	*set;			/* i.maps points into it */
	struct text	*exe, *cgroup;
	struct text	*container;		/* a struct cgroup_identity, which begins with the container's id */
	struct text	*pod;			/* facts of its pod: name NUL value NUL.. */
	struct label_result *result;		/* i.labels points into it */
	uint64_t	 labels_expire_ns;	/* 0: when something changes */
	struct declared	*declared;
	struct file	*first_file;		/* of the first mapping after an exec began */
	struct file	*perf_file;
	__u64		*wanted;		/* user addresses seen while maps were unknown */
	uint32_t	 n_wanted;
	struct image_context context;
	uint32_t	 outstanding;		/* door answers that i.pending stands for */
	uint32_t	 tries;
	struct thread_plan *plan;		/* NULL: no thread contexts */
	bool		 asked, labels_dirty, perf_asked, perf_waited, v2_names_container, cgroup_learned;
	uint64_t	 began_ns, ended_ns;	/* ended: earliest known exec or exit after began; 0 none */
	uint64_t	 maps_read_ns;		/* begin of the last reading of maps */
	uint64_t	 maps_next_ns, maps_wait_ns;	/* rate of re-reading */
	uint64_t	 perf_next_ns;
	uint64_t	 cgroup_id;		/* of the last event */
	uint64_t	 cgroup_read_id, cgroup_read_ns;	/* cgroup_id before, end of the last reading */
	uint64_t	 first_sample_ns;
	uint32_t	 cgroup_step;		/* which of the timed re-reads comes next */
	uint32_t	 exe_major, exe_minor;	/* 0, 0 with inode 0: unknown */
	uint64_t	 exe_inode;
};

struct process {
	struct process	*hash_next;
	struct process	*newer, *older;		/* in its list, living or dead */
	uint32_t	 pid;
	uint32_t	 parent_pid;
	uint64_t	 parent_start_ns;	/* 0 unknown */
	uint64_t	 start_ns;		/* 0: not told yet, see process_enter() */
	uint64_t	 created_ns, exit_ns;	/* exit_ns 0: lives */
	/* Drained, but perhaps not applied: the latest beginning of an exec, the latest end of one and the
	 * image it makes, the exit.  0: none. */
	uint64_t	 peek_comm_ns, peek_exec_ns, peek_exec_id, peek_exit_ns;
	struct image_own *current, *previous;
	struct image_own *next;			/* an exec that has begun and not ended */
	bool		 dead, sampled;
};

struct process_list { struct process *newest, *oldest; uint32_t n; };

struct file_own {
	struct file	 f;			/* first */
	struct file_own	*identity_next, *path_next, *id_next;
	struct file_own	*newer, *older;		/* idle list */
	uint64_t	 generation;		/* inode generation, 0 unknown */
	enum mapping_kind kind;
	bool		 idle, owner_root, private_to_image;
	uint32_t	 asker_pid;		/* who was asked last, and for which image and range */
	uint64_t	 asker_start_ns, asker_serial;
	uint64_t	 map_start, map_end;
	uint64_t	 retry_ns;		/* FAILED: not before */
};

struct cgroup_slot { uint64_t id; struct text *container; };

struct process_table {
	struct process_options o;
	bool		 in_cluster, private_cgroups;
	char		 kernel_release[65], kernel_machine[65];
	struct resolver	*resolver;		/* made when labels are first wanted */
	struct door	*door;
	uint64_t	 now_ns;		/* newest event or tick */
	uint64_t	 next_tick_ns;
	struct process	*processes[PROCESS_BUCKETS];
	struct process_list living, dead;
	struct image_own *images[IMAGE_BUCKETS];
	uint64_t	 last_image_serial;
	uint32_t	 last_mapping_serial, last_file_id;
	struct file_own	*files_by_identity[FILE_BUCKETS], *files_by_path[FILE_BUCKETS];
	struct file_own	*files_by_id[FILE_BUCKETS];
	struct file_own	*idle_newest, *idle_oldest;
	uint32_t	 n_idle;
	struct cgroup_slot cgroups[CGROUP_SLOTS];
	struct image_own *nobody;		/* given when memory is out */
	process_file_fn	 file_fn;
	void		*file_arg;
	void		(*file_free)(void *arg, struct file *f);
	void		*file_free_arg;
	void		(*image_free)(void *arg, struct image *i);
	void		*image_free_arg;
	struct thread_plan *plans;		/* of all images */
	process_plan_fn	 plan_fn;
	void		*plan_arg;
	struct process_counts counts;
	size_t		 context_bytes;		/* of all contexts */
	struct door_request request;		/* scratch: too large for the stack */
};

static inline struct image_own *own(struct image *i)
{
	return (struct image_own *)i;
}

static inline struct file_own *file_own(struct file *f)
{
	return (struct file_own *)f;
}

/* --- table.c --- */
/* The process (pid, start_ns), made when it is new; a process with the same pid before it is dead. */
struct process *process_enter(struct process_table *t, uint32_t pid, uint64_t start_ns, uint64_t now_ns);
struct process *process_lookup(struct process_table *t, uint32_t pid, uint64_t start_ns);
/* Who had this pid at that time, for events without start_ns. */
struct process *process_at(struct process_table *t, uint32_t pid, uint64_t boot_ns);
void	process_die(struct process_table *t, struct process *p, uint64_t exit_ns);

/* --- image.c --- */
struct image_own *image_new(struct process_table *t, const struct process *p, uint64_t exec_id,
			    uint64_t began_ns);
/* A child's image: what the parent's said, with the child's own identity. */
struct image_own *image_fork(struct process_table *t, const struct process *child, struct image_own *parent,
			     uint64_t exec_id, uint64_t began_ns);
/* Takes over what an image read by somebody else with the same memory says. */
void	image_inherit(struct process_table *t, struct image_own *to, struct image_own *from);
struct image_own *image_by_serial(struct process_table *t, uint64_t serial);
void	image_ref(struct image_own *io);
void	image_unref(struct process_table *t, struct image_own *io);
void	image_ended(struct image_own *io, uint64_t boot_ns);
/* When it ended, as far as what was drained of its process tells. */
void	image_find_end(const struct process *p, struct image_own *io);
void	image_set_comm(struct image_own *io, const char *comm, size_t n);
void	image_set_exe(struct image_own *io, struct text *path);	/* takes over */
void	image_set_cgroup(struct process_table *t, struct image_own *io, const char *text, size_t n);
void	image_set_state(struct process_table *t, struct image_own *io, enum image_state s);
void	image_set_pod(struct image_own *io, const char *facts, size_t n);
/* --- labels.c --- */
/* Labels again, when something changed and somebody looks at them. */
void	image_refresh(struct process_table *t, struct image_own *io);
struct declared *declared_make(const struct answer *a, bool lenient);
void	declared_put(struct declared *d);
struct text *cgroup_known(struct process_table *t, uint64_t cgroup_id);	/* borrowed; NULL */
void	cgroup_learn(struct process_table *t, const struct image_own *io);

/* --- maps.c --- */
/* m->file is taken over.  Older mappings in the way are cut, split or go.  -ENOSPC at max_maps. */
int	maps_insert(struct process_table *t, struct image_own *io, const struct mapping *m);
/* A reading that began at begin_ns replaces what was known before it; m[].file taken over. */
int	maps_replace(struct process_table *t, struct image_own *io, struct mapping *m, size_t n,
		     uint64_t begin_ns);
void	maps_share(struct process_table *t, struct image_own *to, struct image_own *from);
void	maps_drop(struct process_table *t, struct image_own *io);
/* Every ANON mapping becomes JIT with names from f. */
void	maps_set_jit(struct process_table *t, struct image_own *io, struct file *f);
/* Mappings of from are to from now on. */
void	maps_set_file(struct process_table *t, struct image_own *io, struct file *from, struct file *to);
enum mapping_kind mapping_kind_of(const char *path, size_t n, bool has_file);

/* --- context.c --- */
/* A sample came, or the hook told: is it time to look at the context? */
void	want_context(struct process_table *t, struct image_own *io);
/* What a reading of io says of its context. */
void	take_context(struct process_table *t, struct image_own *io, const struct answer *a);
void	context_apply(struct process_table *t, const struct answer *a);	/* DOOR_CONTEXT */
void	context_drop(struct process_table *t, struct image_own *io);

/* --- files.c --- */
struct file_key {
	uint32_t	 dev_major, dev_minor;
	uint64_t	 inode;			/* 0: by build id and path */
	uint64_t	 size;			/* size, mtime: both 0 unknown */
	int64_t		 mtime_ns;
	uint64_t	 generation;		/* 0 unknown */
	const char	*build_id;		/* hex; NULL */
	const char	*path;
	size_t		 path_len;
	enum mapping_kind kind;			/* FILE or VDSO */
	bool		 alone;			/* never shared */
};
struct file *file_find(struct process_table *t, const struct file_key *k);	/* borrowed, NULL */
struct file *file_obtain(struct process_table *t, const struct file_key *k);	/* a reference, NULL: no memory */
struct file *file_get(struct process_table *t, struct file *f);
void	file_put(struct process_table *t, struct file *f);
/* A file known by build id only has turned out to be this one. */
void	file_identify(struct process_table *t, struct file *f, const struct file_key *k);
void	file_rename(struct process_table *t, struct file *f, const char *path, size_t n);
void	files_trim(struct process_table *t);	/* half of those that nobody maps */
void	files_destroy(struct process_table *t);
struct file *file_by_id(struct process_table *t, uint32_t id);

/* --- want.c --- */
/* Asks the door; 0 asked.  Counts what it refuses. */
int	ask(struct process_table *t, struct image_own *io, enum door_ask what, struct file_own *f);
int	ask_words(struct process_table *t, struct image_own *io, const uint64_t *addresses, uint32_t n);
void	want_process(struct process_table *t, struct image_own *io);
void	answered(struct image_own *io);	/* one answer that i.pending stood for has come */
/*
 * The memory of a child that never exec'd is its parent's as it was: has that one read for a child that
 * is gone itself.  false: nobody is left to read.
 */
bool	want_parent(struct process_table *t, struct image_own *io);
/* The reading of parent has come, or never will. */
void	settle_heirs(struct process_table *t, struct image_own *parent);
void	want_cgroup(struct process_table *t, struct image_own *io);
void	want_frames(struct process_table *t, struct image_own *io, const __u64 *frames, uint32_t n);
/* The frames of samples that came while the maps were on their way. */
void	want_remembered(struct process_table *t, struct image_own *io);

#endif
