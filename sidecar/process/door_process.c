/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what /proc/PID tells: names, executable, cgroup, chosen environment variables,
 * mappings. */
#include "sidecar/process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sidecar/clock/clock.h"

static void fill_file(struct answer_file *f, const struct stat *st, enum answer_how how)
{
	*f = (struct answer_file){
		.inode = st->st_ino, .size = st->st_size, .mtime_ns = mtime_ns(st),
		.dev_major = major(st->st_dev), .dev_minor = minor(st->st_dev),
		.uid = st->st_uid, .nlink = st->st_nlink, .how = how,
	};
}

static void read_comm(struct target *t, struct answer_writer *w)
{
	char comm[64];
	int n = read_whole(t->dir, "comm", comm, sizeof(comm));

	/* The kernel adds one newline; others are the name's. */
	if (n > 0 && comm[n - 1] == '\n')
		n--;
	if (n > 0)
		answer_put(w, TAG_COMM, comm, n);
}

static void read_exe(struct target *t, struct door_scratch *s, struct answer_writer *w)
{
	struct answer_file id;
	struct stat st;
	ssize_t n;

	if (stat_quick(t->base, "exe", 0, &st))
		return;
	fill_file(&id, &st, BY_EXE);
	answer_put(w, TAG_EXE_ID, &id, sizeof(id));
	/* A path beyond a page is refused here (ENAMETOOLONG); maps shows it whole, and
	 * the table finds it there by the identity above. */
	n = readlinkat(t->base, "exe", s->path, sizeof(s->path));
	if (n > 0 && (size_t)n < sizeof(s->path))
		answer_put(w, TAG_EXE, s->path, true_path(t, s->path, n, &st));
}

static void read_cgroup(struct target *t, struct door_scratch *s, struct answer_writer *w,
			const struct door_allowed *a)
{
	struct pod_facts pod = { .buf = s->pod, .cap = sizeof(s->pod) };
	int n = read_whole(t->base, "cgroup", s->text, READ_CGROUP_MAX);

	if (n <= 0)
		return;
	answer_put(w, TAG_CGROUP, s->text, n);
	pods_read(&a->pods, s->text, n, &pod);
	if (pod.n)
		answer_put(w, TAG_POD, pod.buf, pod.n);
}

static void read_environ(struct target *t, struct door_scratch *s,
			 struct answer_writer *w, struct answer_head *h,
			 const struct door_allowed *a)
{
	struct env_filter f = { (const char *const *)a->names, a->n_names };
	int n = read_whole(t->base, "environ", s->env, sizeof(s->env)), kept;

	if (n < 0) {
		h->flags |= ANSWER_ENV_DENIED;
		return;
	}
	if ((size_t)n == sizeof(s->env))
		h->flags |= ANSWER_ENV_CUT;
	kept = environ_filter(s->env, n, &f, s->env_kept, sizeof(s->env_kept));
	if (kept > 0)
		answer_put(w, TAG_ENV, s->env_kept, kept);
	/* The rest of the environment is nobody's business: it does not stay in our
	 * memory. */
	explicit_bzero(s->env, n);
}

static void read_command_line(struct target *t, struct door_scratch *s,
			      struct answer_writer *w)
{
	int n = read_whole(t->base, "cmdline", s->text, READ_CMDLINE_MAX);

	while (n > 0 && !s->text[n - 1])
		n--;
	for (int i = 0; i < n; i++) {
		if (!s->text[i])
			s->text[i] = ' ';
	}
	if (n > 0)
		answer_put(w, TAG_CMDLINE, s->text, n);
}

static void read_working_directory(struct target *t, struct door_scratch *s,
				   struct answer_writer *w)
{
	ssize_t n = readlinkat(t->base, "cwd", s->path, sizeof(s->path));

	if (n > 0 && (size_t)n < sizeof(s->path))
		answer_put(w, TAG_CWD, s->path, n);
}

/* --- maps --- */

struct maps_reading {
	struct target		*t;
	struct door_scratch	*s;
	size_t			 n, strings;
	bool			 cut;
};

/* Fills size, mtime and the true path of a mapped file; 0 stays where it cannot be seen.
 */
static size_t inspect_mapped(struct maps_reading *r, struct answer_map *m, char *path,
			     size_t n)
{
	bool escaped = memmem(path, n, "\\012", 4) != NULL;
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	if (stat_quick(r->t->dir, name, 0, &st)) {
		st = (struct stat){ .st_ino = m->inode,
				    .st_dev = makedev(m->dev_major, m->dev_minor) };
		return true_path(r->t, path, escaped ? maps_unescape(path, n) : n, &st);
	}
	m->size = st.st_size;
	m->mtime_ns = mtime_ns(&st);
	if (escaped) {
		/* `\012` in maps may be a newline or those four bytes; the link tells. */
		ssize_t got = readlinkat(r->t->dir, name, path, MAPS_LINE_MAX);

		if (got > 0 && got < MAPS_LINE_MAX)
			n = got;
		else
			n = maps_unescape(path, n);
	}
	return true_path(r->t, path, n, &st);
}

static void add_path(struct maps_reading *r, struct answer_map *m, const char *path,
		     size_t n)
{
	const struct answer_map *last = r->n ? &r->s->maps[r->n - 1] : NULL;

	if (last && last->path_len == n &&
	    !memcmp(r->s->strings + last->path_off, path, n)) {
		m->path_off = last->path_off;
		m->path_len = n;
		return;
	}
	if (n > READ_STRINGS_MAX - r->strings) {
		r->cut = true;
		return;
	}
	memcpy(r->s->strings + r->strings, path, n);
	m->path_off = r->strings;
	m->path_len = n;
	r->strings += n;
}

static bool same_file(const struct answer_map *a, const struct answer_map *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

static int on_mapping(void *arg, const struct maps_line *l)
{
	struct maps_reading *r = arg;
	const struct answer_map *last = r->n ? &r->s->maps[r->n - 1] : NULL;
	struct answer_map *m = &r->s->maps[r->n];
	size_t n = l->path_len;

	if (r->n == READ_MAPS_MAX) {
		r->cut = true;
		return 1;
	}
	*m = (struct answer_map){
		.start = l->start, .end = l->end, .offset = l->offset, .inode = l->inode,
		.dev_major = l->dev_major, .dev_minor = l->dev_minor,
	};
	memcpy(r->s->path, l->path ? l->path : "", n);
	if (l->inode && !path_is_anonymous(r->s->path, n)) {
		if (last && last->size && same_file(last, m)) {	/* one file, several segments */
			m->size = last->size;
			m->mtime_ns = last->mtime_ns;
			n = last->path_len;
			memcpy(r->s->path, r->s->strings + last->path_off, n);
		} else {
			n = inspect_mapped(r, m, r->s->path, n);
		}
	}
	add_path(r, m, r->s->path, n);
	r->n++;
	return 0;
}

/* A context's mapping is noticed in passing, so that the many processes without one cost no second look. */
static void on_any_mapping(void *arg, const struct maps_line *l)
{
	struct maps_reading *r = arg;

	context_places_add(&r->s->places, l->start, l->exec, l->path, l->path_len);
}

static void read_map_lines(struct maps_reading *r, int fd, struct maps_stream *stream)
{
	for (;;) {
		ssize_t got = read(fd, r->s->text, sizeof(r->s->text));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || maps_stream_feed(stream, r->s->text, got))
			break;
		if (stream->lines > READ_LINES_MAX ||
		    thread_cpu_ns() > r->t->cpu_limit_ns) {
			r->cut = true;
			break;
		}
	}
	maps_stream_end(stream);
}

/* The kernel may show a mapping twice when it changes between two pages of output. */
static size_t drop_overlaps(struct answer_map *m, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		if (!to || m[i].start >= m[to - 1].end)
			m[to++] = m[i];
	}
	return to;
}

int door_read_maps(struct target *t, struct door_scratch *s, struct answer_writer *w)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	struct maps_reading r = { .t = t, .s = s };
	struct maps_stream stream = { .fn = on_mapping,
				      .every = on_any_mapping,
				      .arg = &r,
				      .buf = s->line };
	int fd = openat(t->base, "maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		h->flags |= ANSWER_MAPS_DENIED;
		return -errno;
	}
	memset(&s->places, 0, sizeof(s->places));
	read_map_lines(&r, fd, &stream);
	close(fd);
	h->malformed = stream.malformed;
	if (r.cut)
		h->flags |= ANSWER_MAPS_CUT;
	r.n = drop_overlaps(s->maps, r.n);
	answer_put(w, TAG_STRINGS, s->strings, r.strings);
	answer_put(w, TAG_MAPS, s->maps, r.n * sizeof(s->maps[0]));
	return 0;
}

static void read_all(struct target *t, struct door_scratch *s, struct answer_writer *w,
		     const struct door_request *r, const struct door_allowed *a)
{
	struct answer_head *h = (struct answer_head *)w->buf;

	if (t->stat.flags & STAT_PF_KTHREAD) {
		h->flags |= ANSWER_KTHREAD;
		read_comm(t, w);
		return;
	}
	if (r->ask == DOOR_PROCESS) {
		read_comm(t, w);
		read_exe(t, s, w);
		read_cgroup(t, s, w, a);
		read_environ(t, s, w, h, a);
		if (a->command_line)
			read_command_line(t, s, w);
		if (a->working_directory)
			read_working_directory(t, s, w);
	}
	if (r->ask == DOOR_CGROUP)
		read_cgroup(t, s, w, a);
	else if (!door_read_maps(t, s, w) && r->ask == DOOR_PROCESS)
		door_put_context(t, s, w);
}

int door_read_process(struct door_scratch *s, struct answer_writer *w,
		      const struct door_request *r, const struct door_allowed *a)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	struct target t;
	int err = target_open(&t, r->pid, r->start_ns);

	if (err)
		return err;
	h->begin_ns = t.begin_ns;
	h->ppid = t.stat.ppid;
	if (t.leader_gone)
		h->flags |= ANSWER_LEADER_GONE;
	read_all(&t, s, w, r, a);
	err = target_check(&t);
	target_close(&t);
	return err;
}
