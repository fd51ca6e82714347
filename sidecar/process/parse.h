/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of /proc/PID into structs.  Takes bytes that the target partly chooses (its name, its paths, its
 * environment), gives checked values.  Pure: no file is read here, so that all of it is fuzzed.
 */
#ifndef RINGSIDE_PROCESS_PARSE_H
#define RINGSIDE_PROCESS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMM_MAX 16

/* What is needed of /proc/PID/stat.  Unreadable address fields are 0 or 1, as the kernel gives them. */
struct proc_stat {
	char		comm[COMM_MAX];		/* cut to 15 bytes */
	char		state;
	uint32_t	ppid;
	uint32_t	flags;			/* task->flags; PF_KTHREAD below */
	uint32_t	threads;
	uint64_t	start_ticks;		/* field 22, in the reader's time namespace */
	uint64_t	start_code, end_code, start_stack;	/* 26-28 */
	uint64_t	env_start;		/* 50 */
};
#define STAT_PF_KTHREAD 0x00200000u

/* 0 or -EBADMSG.  The name may hold blanks, parentheses and newlines: it ends at the last `)`. */
int	stat_parse(const char *text, size_t n, struct proc_stat *out);

/* Both readings saw one image of one process. */
bool	stat_same_image(const struct proc_stat *a, const struct proc_stat *b);
/* A user process whose new image is not complete yet: its addresses are still zero. */
bool	stat_in_exec(const struct proc_stat *s);
/* start_ns of the kernel shows as field 22 for a reader whose boot clock is shifted by timens_ns. */
uint64_t stat_ticks(uint64_t start_ns, int64_t timens_ns);

/* One line of /proc/PID/maps; path points into the line, which is not terminated. */
struct maps_line {
	uint64_t	start, end, offset, inode;
	uint32_t	dev_major, dev_minor;
	bool		exec;
	const char	*path;			/* NULL: none */
	size_t		path_len;
};
int	maps_line_parse(const char *line, size_t n, struct maps_line *out);

/*
 * A stream of maps text cut into lines, whatever the size of the reads.  fn gets every executable
 * mapping, every (may be NULL) each mapping before that; a non-zero return of fn stops the stream.  Lines that cannot be parsed, or that are longer
 * than MAPS_LINE_MAX, are counted and skipped: they never spill into the next.
 */
#define MAPS_LINE_MAX 20480			/* a path of 4096 bytes, every byte escaped, and the numbers */
struct maps_stream {
	int		(*fn)(void *arg, const struct maps_line *l);	/* NULL: nobody wants them */
	void		(*every)(void *arg, const struct maps_line *l);
	void		*arg;
	char		*buf;			/* MAPS_LINE_MAX bytes, the caller's */
	size_t		 have;
	bool		 skipping;		/* the rest of a line too long */
	uint32_t	 lines, malformed;
};
int	maps_stream_feed(struct maps_stream *s, const char *data, size_t n);
int	maps_stream_end(struct maps_stream *s);	/* a last line without newline */

/* Undoes the kernel's \012 for a newline, in place; gives the new length. */
size_t	maps_unescape(char *path, size_t n);
#define DELETED_MARK " (deleted)"
bool	path_has_deleted_mark(const char *path, size_t n);
/* Memory that has a name but no file: memfd, shared anonymous, SysV, huge pages. */
bool	path_is_anonymous(const char *path, size_t n);

/*
 * Picks the wanted entries (NAME=VALUE, NUL-terminated) out of an environment.  An entry without `=` is
 * skipped; the last of equal names wins.  Gives bytes written to out, entries NUL-terminated, or -ENOSPC.
 */
struct env_filter { const char *const *names; uint32_t n; };
int	environ_filter(const char *text, size_t n, const struct env_filter *f, char *out, size_t cap);
/* The value of name in filtered entries, or NULL. */
const char *environ_get(const char *entries, size_t n, const char *name);

/* NSpid and Uid of /proc/PID/status.  ns_pid: the innermost one.  0 or -EBADMSG. */
struct proc_status { uint32_t ns_pid; uint32_t uid[4]; };
int	status_parse(const char *text, size_t n, struct proc_status *out);

/* The line of a cgroup file that names the process best (facts: labels 1.1); false: none.
 * Leading `..` steps of a foreign cgroup namespace are left out. */
bool	cgroup_choose(const char *text, size_t n, const char **path, size_t *path_len);

#endif
