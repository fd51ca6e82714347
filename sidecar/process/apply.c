/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door's answers into the table.  A reading serves an image only when no exec and no
 * exit of that process lies before the reading's end; everything else is some other
 * program's data.
 */
#include "sidecar/process/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_RETRY_NS NS_PER_S

static const char *map_path(const struct answer *a, const struct answer_map *m)
{
	return (const char *)a->section[TAG_STRINGS].p + m->path_off;
}

static enum mapping_kind kind_of(const struct answer *a, const struct answer_map *m)
{
	enum mapping_kind k = mapping_kind_of(map_path(a, m), m->path_len, m->inode != 0);

	/* A memory file is code made at run time, unless it is what was executed. */
	if (k == MAPPING_ANON && m->inode && a->exe_id && a->exe_id->inode == m->inode &&
	    a->exe_id->dev_major == m->dev_major && a->exe_id->dev_minor == m->dev_minor)
		return MAPPING_FILE;
	return k;
}

/* An event told of this mapping by build id and path only; now its file's identity is
 * known. */
static void identify_event_file(struct process_table *t, struct image_own *io,
				const struct answer_map *m, const struct file_key *k)
{
	const struct mapping *old = image_find(&io->i, m->start);
	struct file_key with_claim = *k;
	struct file *known, *f;

	if (!old || old->start != m->start || old->file_offset != m->offset ||
	    !old->file || old->file->inode || old->kind != MAPPING_FILE ||
	    strlen(old->file->path) != k->path_len ||
	    memcmp(old->file->path, k->path, k->path_len))
		return;
	f = old->file;
	with_claim.build_id = f->expect_build_id;
	known = file_find(t, &with_claim);
	if (known)
		maps_set_file(t, io, f, known);
	else
		file_identify(t, f, &with_claim);
}

static struct file *file_of(struct process_table *t, struct image_own *io,
			    const struct answer *a, const struct answer_map *m,
			    enum mapping_kind kind)
{
	struct file_key k = {
		.dev_major = m->dev_major, .dev_minor = m->dev_minor, .inode = m->inode,
		.size = m->size, .mtime_ns = m->mtime_ns, .path = map_path(a, m),
		.path_len = m->path_len, .kind = kind,
	};
	const char *nul = memchr(k.path, 0, k.path_len);

	if (nul)
		k.path_len = nul - k.path;
	if (kind == MAPPING_VDSO) {
		k.inode = 0;
		k.size = m->end - m->start;
		k.alone = m->start < 1ull << 32;
	} else {
		identify_event_file(t, io, m, &k);
	}
	return file_obtain(t, &k);
}

static void take_maps(struct process_table *t, struct image_own *io,
		      const struct answer *a)
{
	struct mapping *maps;
	size_t n = 0;

	/* None at all: it was dying, and its events told more. */
	if (!a->n_maps)
		return;
	maps = calloc(a->n_maps + 1, sizeof(*maps));
	if (!maps)
		return;
	for (size_t i = 0; i < a->n_maps; i++) {
		const struct answer_map *m = &a->maps[i];
		struct mapping *to = &maps[n];

		*to = (struct mapping){ .start = m->start,
					.end = m->end,
					.file_offset = m->offset,
					.kind = kind_of(a, m),
					.since_ns = a->head->begin_ns };
		if (to->kind == MAPPING_ANON && io->i.perf_map_id) {
			to->kind = MAPPING_JIT;
			to->file = file_get(t, io->perf_file);
		} else if (to->kind != MAPPING_ANON) {
			to->file = file_of(t, io, a, m, to->kind);
			if (!to->file)
				continue;
		}
		n++;
	}
	maps_replace(t, io, maps, n, a->head->begin_ns);
	io->maps_read_ns = a->head->begin_ns;
	free(maps);
}

/* The executable among the mapped files: by identity, and by path where stat shows
 * another device. */
static struct file *find_exe(struct image_own *io, const struct answer_file *id,
			     const char *path)
{
	for (uint32_t i = 0; i < io->i.n_maps; i++) {
		struct file *f = io->i.maps[i].file;

		if (!f || io->i.maps[i].kind != MAPPING_FILE || f->inode != id->inode)
			continue;
		if ((f->dev_major == id->dev_major && f->dev_minor == id->dev_minor) ||
		    (path && !strcmp(path, f->path)))
			return f;
	}
	return NULL;
}

static void take_exe(struct process_table *t, struct image_own *io,
		     const struct answer *a)
{
	char *path = answer_text(a, TAG_EXE);
	struct file *f = a->exe_id ? find_exe(io, a->exe_id, path) : NULL;

	if (f) {
		file_get(t, f);
		file_put(t, io->i.exe);
		io->i.exe = f;
	}
	if (path)
		image_set_exe(io, text_make(path, strlen(path)));
	else if (f)				/* too long for a link, not for maps */
		image_set_exe(io, text_make(f->path, strlen(f->path)));
	free(path);
}

static void take_cgroup(struct process_table *t, struct image_own *io,
			const struct answer *a)
{
	const struct answer_bytes *b = &a->section[TAG_CGROUP];

	if (!b->p)
		return;
	image_set_cgroup(t, io, b->p, b->n);
	image_set_pod(io, a->section[TAG_POD].p, a->section[TAG_POD].n);
	io->cgroup_read_ns = a->head->end_ns;
	io->cgroup_learned = false;
}

static void take_reading(struct process_table *t, struct image_own *io,
			 const struct answer *a)
{
	const struct answer_bytes *comm = &a->section[TAG_COMM];

	if (comm->n)
		image_set_comm(io, comm->p, comm->n);
	if (a->head->flags & ANSWER_KTHREAD)
		io->i.kthread = true;
	if (io->i.parent_pid != a->head->ppid) {
		io->i.parent_pid = a->head->ppid;
		io->parent_start_ns = 0;
	}
	declared_put(io->declared);
	io->declared = declared_make(a, t->o.otel_lenient);
	take_cgroup(t, io, a);
	take_maps(t, io, a);
	take_exe(t, io, a);
	take_context(t, io, a);
	io->labels_dirty = true;
	image_set_state(t, io,
			a->head->flags & ANSWER_MAPS_DENIED ? IMAGE_UNREADABLE
							    : IMAGE_READ);
	if (io->parent) {
		image_unref(t, io->parent);
		io->parent = NULL;
	}
}

static void fail_reading(struct process_table *t, struct image_own *io, int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		image_set_state(t, io, IMAGE_UNREADABLE);
		break;
	case -ETIMEDOUT:
		image_set_state(t, io, IMAGE_TIMEOUT);
		break;
	case -EAGAIN:				/* in the middle of an exec: the next sample asks again */
		io->asked = false;
		break;
	default:
		if (!want_parent(t, io))
			image_set_state(t, io, IMAGE_GONE);
		break;
	}
}

static void apply_reading(struct process_table *t, const struct answer *a)
{
	const struct answer_head *h = a->head;
	struct image_own *io = image_by_serial(t, h->image_serial);
	int error = h->error;

	if (!io || io->i.pid != h->pid || io->i.start_ns != h->start_ns)
		return;
	if (!error && io->ended_ns && h->end_ns >= io->ended_ns)
		error = -ESRCH;
	if (h->ask != DOOR_CGROUP)
		answered(io);
	t->counts.malformed += h->malformed;
	if (h->ask == DOOR_PROCESS) {
		if (error)
			fail_reading(t, io, error);
		else
			take_reading(t, io, a);
	} else if (!error && h->ask == DOOR_MAPS) {
		take_maps(t, io, a);
	} else if (!error) {
		take_cgroup(t, io, a);
	}
	image_refresh(t, io);
	if (!io->outstanding && !io->i.dropped)
		want_remembered(t, io);
	if (h->ask == DOOR_PROCESS)
		settle_heirs(t, io);
}

/* --- files --- */

/* Opened by name: what is known of the file from elsewhere must fit. */
static bool fits(const struct file *f, const struct answer_file *id)
{
	if (id->how == BY_MAP_FILES || id->how == BY_EXE || id->how == BY_MEMORY ||
	    !f->size)
		return true;
	return f->size == id->size && f->mtime_ns == id->mtime_ns;
}

static void hand_over(struct process_table *t, struct file *f, int fd, bool debug)
{
	if (fd < 0)				/* replay: the names are in the journal */
		return;
	if (t->file_fn)
		t->file_fn(t->file_arg, f, fd, file_own(f)->kind, debug);
	else
		close(fd);
}

static void apply_file(struct process_table *t, const struct answer *a, int fd)
{
	struct file *f = file_by_id(t, a->head->file_id);
	struct image_own *io = image_by_serial(t, a->head->image_serial);
	const struct answer_file *id = a->file_id;
	bool stale;

	if (!f || f->state == FILE_READY || f->state == FILE_SENT) {
		if (fd >= 0)
			close(fd);
		return;
	}
	/* Known by no identity, the range of an image that has ended proves nothing. */
	stale = !f->inode && io && io->ended_ns && a->head->end_ns >= io->ended_ns &&
		id && id->how == BY_MAP_FILES;
	if (a->head->error || !id || stale || !fits(f, id)) {
		if (fd >= 0)
			close(fd);
		f->state = FILE_FAILED;
		file_own(f)->retry_ns = t->now_ns + FILE_RETRY_NS;
		return;
	}
	f->size = id->size;
	f->mtime_ns = id->mtime_ns;
	file_own(f)->owner_root = id->uid == 0 && id->how != BY_MEMORY;
	f->state = FILE_SENT;
	hand_over(t, f, fd, false);
}

static void apply_debug(struct process_table *t, const struct answer *a, int fd)
{
	struct file *f = file_by_id(t, a->head->file_id);

	if (!f || a->head->error) {
		if (fd >= 0)
			close(fd);
		return;
	}
	f->name_version++;
	hand_over(t, f, fd, true);
}

static void apply_perf_map(struct process_table *t, const struct answer *a, int fd)
{
	struct image_own *io = image_by_serial(t, a->head->image_serial);
	struct file *f = file_by_id(t, a->head->file_id);
	bool ok = io && f && io->perf_file == f && !a->head->error &&
		  !(io->ended_ns && a->head->end_ns >= io->ended_ns);

	if (ok) {
		f->state = FILE_SENT;
		f->name_version++;
		if (!io->i.perf_map_id) {
			io->i.perf_map_id = f->id;
			io->i.perf_map = strdup(f->path);
			maps_set_jit(t, io, f);
		}
		hand_over(t, f, fd, false);
	} else if (fd >= 0) {
		close(fd);
	}
	/* Only the first request was waited for. */
	if (io && io->perf_waited)
		answered(io);
	if (io)
		io->perf_waited = false;
}

static void apply_words(struct process_table *t, const struct answer *a)
{
	struct image_own *io = image_by_serial(t, a->head->image_serial);

	if (io && io->i.pid == a->head->pid && io->i.start_ns == a->head->start_ns)
		thread_plan_words(t, io, a);
}

int process_apply(struct process_table *t, const void *msg, size_t n, int fd)
{
	struct answer a;
	void *copy = NULL;
	int err;

	if ((uintptr_t)msg % 8) {		/* out of a journal */
		copy = malloc(n ? n : 1);
		if (copy)
			msg = memcpy(copy, msg, n);
	}
	err = answer_read(&a, msg, n);
	if (err) {
		t->counts.malformed++;
		if (fd >= 0)
			close(fd);
		free(copy);
		return err;
	}
	switch (a.head->ask) {
	case DOOR_FILE:
	case DOOR_VDSO:
		apply_file(t, &a, fd);
		break;
	case DOOR_DEBUG:
		apply_debug(t, &a, fd);
		break;
	case DOOR_PERF_MAP:
		apply_perf_map(t, &a, fd);
		break;
	case DOOR_CONTEXT:
		context_apply(t, &a);
		if (fd >= 0)
			close(fd);
		break;
	case DOOR_TLS:
		apply_words(t, &a);
		if (fd >= 0)
			close(fd);
		break;
	case DOOR_PROCESS:
	case DOOR_CGROUP:
	case DOOR_MAPS:
		apply_reading(t, &a);
		/* fall through */
	default:
		if (fd >= 0)
			close(fd);
		break;
	}
	free(copy);
	return 0;
}
