/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running sidecar: what is open, and who feeds the pipeline.  main_setup.c opens everything in the order
 * that rights demand; main_live.c turns the loop's wake-ups into pipeline inputs and journals each of them;
 * main_replay.c feeds the same inputs from a journal.
 */
#ifndef RINGSIDE_MAIN_LIVE_H
#define RINGSIDE_MAIN_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/clock/clock.h"
#include "sidecar/collect/collect.h"
#include "sidecar/config.h"
#include "sidecar/labels/resolver.h"
#include "sidecar/symbols/symbols.h"

struct clock_step_watch;
struct door;
struct journal;
struct loop;
struct loop_source;
struct notify;
struct pipeline;
struct probe;
struct process_table;
struct ring_writer;

/* Journal entries that this level writes, beside those of sidecar/collect/event_file.h. */
enum { JOURNAL_TICK = 32, JOURNAL_LOSSES = 33, JOURNAL_TRIM = 34 /* no bytes */ };
struct journal_tick { uint64_t boot_ns; };
struct journal_anchor { struct clock_anchor anchor; uint32_t stepped, pad0; };
struct journal_losses { uint64_t boot_ns; struct collect_stats stats; };

#define LIVE_WARNINGS 16u
#define LIVE_EXTERNAL 256u	/* as many as the configuration takes */
#define LIVE_HELD_BYTES (4u << 20)
#define LIVE_HELD 64u		/* readings that wait until every exec before their end has been seen */

struct held_reading { void *msg; size_t n; int fd; };

struct live {
	struct config		*config;
	char			 node[256];
	char			 scope[512];
	struct label_pair	 external[LIVE_EXTERNAL];
	struct loop		*loop;
	struct ring_writer	*writer;
	struct collect		*collect;
	struct journal		*journal;	/* NULL: not recorded */
	struct door		*door;
	struct process_table	*processes;
	struct symbols		*symbols;
	struct pipeline		*pipeline;
	struct clock_step_watch	*steps;
	struct probe		*probe;
	struct notify		*notify;
	int			 kallsyms;
	struct loop_source	*drain, *ring_full, *door_ready, *reading, *names, *second, *stepped, *duration,
				*watchdog, *term, *intr, *hup, *usr2, *stop_timer;
	uint64_t		 drain_ns;	/* interval */
	uint64_t		 started_wall_ns;
	uint64_t		 ring_dev, ring_ino;	/* to notice that it is not at its path any more */
	uint64_t		 first_seq;	/* of this life: a predecessor's numbers go on */
	uint64_t		 seconds;	/* ticks of the one-second timer */
	uint32_t		 trims;		/* in a row, for memory */
	bool			 paused, stopping;
	bool			 reading_armed;
	void			*buffer;	/* one door or worker message */
	size_t			 buffer_bytes;
	struct held_reading	 held[LIVE_HELD];
	uint32_t		 n_held;
	size_t			 held_bytes;
	size_t			 applied_bytes;	/* of readings, since memory was measured */
	size_t			 bpf_map_bytes;	/* when it was measured last */
	char			*warnings[LIVE_WARNINGS];
	uint32_t		 n_warnings;
	bool			 worker_lost;	/* was told, too */
	bool			 worker_told;	/* how it works was checked against what was asked for */
};

/* Opens all that sampling needs, drops what rights are not needed any more.  0, or an exit status after
 * it was logged. */
int	live_open(struct live *l, struct config *c, struct symbols_launcher *launcher);
/* Samples until told to stop.  0 or an exit status. */
int	live_run(struct live *l);
void	live_close(struct live *l);
/* Keeps a warning for the status page and logs it. */
void	live_warn(struct live *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --explain-labels, --explain-context (main_explain.c).  An exit status. */
int	explain_process(struct config *c, struct symbols_launcher *launcher);
/* What threads of pid have attached, each stopped for a moment; free() out->thread. */
struct explained_threads;
struct tls_plan;
void	explain_threads(uint32_t pid, const struct tls_plan *plan, struct explained_threads *out);
/* Feeds a recorded event stream into a ring.  An exit status. */
int	replay_run(struct live *l, struct config *c);

void	live_allow_pods(struct door *door, const struct config *c);
/* collect_options.log: into the log. */
void	live_collect_says(void *arg, enum collect_log_level level, const char *line);

/* The ring of this configuration, with its group.  0 or an exit status after it was logged. */
int	live_open_ring(struct live *l, const struct config *c);
/* --scope as collect/ wants it, and as people read it.  0 or an exit status after it was logged. */
int	live_scope(struct live *l, const struct config *c, struct collect_options *o);
/* external_labels of c, which stays, into l. */
void	live_external(struct live *l, const struct config *c);
int	live_open_pipeline(struct live *l, const struct config *c);

/* Heap and BPF maps, the worker's heap included (main_memory.c). */
size_t	live_heap_bytes(const struct live *l);
/* Once a second and after many readings: keeps them below --memory-limit. */
void	live_memory(struct live *l);

/* Writes the status page (main_status.c). */
void	live_status(struct live *l);

#endif
