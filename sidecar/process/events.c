/* SPDX-License-Identifier: Apache-2.0 */
/* Events in, images out. */
#include "sidecar/process/table.h"

#include <stdio.h>
#include <string.h>

/* The image that exec_id names, made when it is new.  NULL: out of memory. */
static struct image_own *image_for(struct process_table *t, struct process *p,
				   uint64_t exec_id, uint64_t boot_ns)
{
	if (p->current && p->current->i.exec_id == exec_id)
		return p->current;
	if (p->current && exec_id < p->current->i.exec_id) {
		if (p->previous && p->previous->i.exec_id == exec_id)
			return p->previous;
		image_unref(t, p->previous);
		p->previous = image_new(t, p, exec_id, boot_ns);
		if (p->previous)
			image_ended(p->previous, p->current->began_ns);
		return p->previous;
	}
	/* A tick inside the exec, or after one whose event was lost. */
	if (p->current) {
		image_ended(p->current, boot_ns);
		image_unref(t, p->previous);
		p->previous = p->current;
	}
	p->current = p->next ? p->next : image_new(t, p, exec_id, boot_ns);
	p->next = NULL;
	if (p->current) {
		p->current->i.exec_id = exec_id;
		p->current->began_ns = boot_ns;
		image_find_end(p, p->current);
	}
	return p->current;
}

static void note_cgroup(struct process_table *t, struct image_own *io, uint64_t cgroup_id,
			uint64_t boot_ns)
{
	bool changed = cgroup_id && io->cgroup_id && cgroup_id != io->cgroup_id;

	if (cgroup_id && cgroup_id != io->cgroup_id) {
		io->cgroup_id = cgroup_id;
		io->cgroup_learned = false;
		io->labels_dirty = true;
	}
	/* The id was the same before and after the reading: the path read is the path of
	 * that id. */
	if (!io->cgroup_learned && cgroup_id && cgroup_id == io->cgroup_read_id &&
	    io->cgroup_read_ns && boot_ns > io->cgroup_read_ns) {
		cgroup_learn(t, io);
		io->cgroup_learned = true;
	}
	if (changed)
		want_cgroup(t, io);
}

/* Without a v2 hierarchy that changes nothing tells of a move, so the file is read again
 * thrice. */
static void timed_cgroup(struct process_table *t, struct image_own *io, uint64_t boot_ns)
{
	static const uint64_t after_s[] = { 1, 5, 30 };

	if (!io->first_sample_ns)
		io->first_sample_ns = boot_ns;
	if (io->i.kthread || io->cgroup_step >= sizeof(after_s) / sizeof(after_s[0]) ||
	    boot_ns < io->first_sample_ns + after_s[io->cgroup_step] * NS_PER_S)
		return;
	io->cgroup_step++;
	want_cgroup(t, io);
}

static void note_sample(struct process_table *t, struct process *p, struct image_own *io,
			const struct ev_sample *s)
{
	p->sampled = true;
	if (!io->i.sampled) {
		io->i.sampled = true;
		io->labels_dirty = true;
	}
	if (s->head.flags & EV_F_KTHREAD)
		io->i.kthread = true;
	if (s->head.tid == s->head.tgid || !io->i.comm[0])
		image_set_comm(io, s->comm, EV_COMM_LEN);
	note_cgroup(t, io, s->cgroup_id, s->head.boot_ns);
	timed_cgroup(t, io, s->head.boot_ns);
	want_process(t, io);
	want_context(t, io);
	image_refresh(t, io);
	/* No names are spent on whom rules drop, once that is sure. */
	if (!io->i.dropped || io->i.pending)
		want_frames(t, io, s->frames + s->kernel_frames, s->user_frames);
}

struct image *process_on_sample(struct process_table *t, const struct ev_sample *s)
{
	struct process *p =
		process_enter(t, s->head.tgid, s->head.start_ns, s->head.boot_ns);
	struct image_own *io = p ? image_for(t, p, s->head.exec_id, s->head.boot_ns)
				 : NULL;

	if (!io) {
		image_ref(t->nobody);
		return &t->nobody->i;
	}
	note_sample(t, p, io, s);
	image_ref(io);
	return &io->i;
}

/* The parent's image that was forked from. */
static struct image_own *forked_from(struct process_table *t, const struct ev_fork *e)
{
	struct process *p =
		e->parent_tgid ? process_lookup(t, e->parent_tgid, e->parent_start_ns)
			       : NULL;

	if (!p)
		return NULL;
	if (p->current && p->current->i.exec_id == e->parent_exec_id)
		return p->current;
	if (p->previous && p->previous->i.exec_id == e->parent_exec_id)
		return p->previous;
	return NULL;
}

void process_on_fork(struct process_table *t, const struct ev_fork *e)
{
	struct image_own *parent = forked_from(t, e), *io;
	struct process *p;

	/* The parent must not be the one that goes to make room. */
	if (parent)
		image_ref(parent);
	p = process_enter(t, e->head.tgid, e->head.start_ns, e->head.boot_ns);
	if (p && !p->current) {
		p->parent_pid = e->parent_tgid;
		p->parent_start_ns = e->parent_start_ns;
		io = image_fork(t, p, parent, e->head.exec_id, e->head.boot_ns);
		if (io) {
			image_set_comm(io, e->comm, EV_COMM_LEN);
			io->i.kthread = e->head.flags & EV_F_KTHREAD;
			if (e->cgroup_id)
				io->cgroup_id = e->cgroup_id;
		}
		p->current = io;
	}
	image_unref(t, parent);
}

void process_on_comm_exec(struct process_table *t, const struct ev_comm_exec *e)
{
	struct process *p = process_at(t, e->head.tgid, e->head.boot_ns);

	if (!p)
		p = process_enter(t, e->head.tgid, 0, e->head.boot_ns);
	if (!p)
		return;
	image_unref(t, p->next);
	image_ended(p->current, e->head.boot_ns);
	p->next = image_new(t, p, EXEC_ID_UNKNOWN, e->head.boot_ns);
	if (p->next)
		image_set_comm(p->next, e->comm, EV_COMM_LEN);
}

/* --- mappings --- */

static void hex(const uint8_t *bytes, uint32_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	/* Not by printf: an exec maps a dozen files, and this was a quarter of the
	 * sidecar's time then. */
	for (uint32_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = 0;
}

static struct file *mapped_file(struct process_table *t, const struct ev_mmap *e,
				enum mapping_kind kind, size_t path_len)
{
	char build_id[2 * EV_BUILD_ID_MAX + 1];
	struct file_key k = { .path = e->path, .path_len = path_len, .kind = kind };

	if (kind == MAPPING_VDSO) {
		k.size = e->len;
		k.alone = e->addr < 1ull << 32;	/* 32-bit: its image is not ours */
	} else if (e->head.flags & EV_F_MMAP_BUILD_ID) {
		hex(e->build_id, e->build_id_len, build_id);
		k.build_id = build_id;
	} else {
		k.inode = e->inode;
		k.dev_major = e->dev_major;
		k.dev_minor = e->dev_minor;
		k.generation = e->inode_generation;
	}
	return file_obtain(t, &k);
}

void process_on_mmap(struct process_table *t, const struct ev_mmap *e)
{
	struct process *p = process_at(t, e->head.tgid, e->head.boot_ns);
	struct image_own *io = p ? (p->next ? p->next : p->current) : NULL;
	struct mapping m = { .start = e->addr,
			     .end = e->addr + e->len,
			     .file_offset = e->pgoff,
			     .since_ns = e->head.boot_ns };
	size_t n = e->path_len;

	/* Older than the reading of these very mappings: it is in there, or gone again.
	 */
	if (!io || m.end <= m.start || e->head.boot_ns < io->maps_read_ns)
		return;
	m.kind = mapping_kind_of(e->path, n, e->inode || e->build_id_len);
	/* A memory file with a build id is ELF, and what an exec maps first is the
	 * executable. */
	if (m.kind == MAPPING_ANON &&
	    (e->build_id_len || (p->next && !io->first_file && e->inode)))
		m.kind = MAPPING_FILE;
	if (path_has_deleted_mark(e->path, n))
		n -= strlen(DELETED_MARK);
	if (m.kind == MAPPING_FILE || m.kind == MAPPING_VDSO) {
		m.file = mapped_file(t, e, m.kind, n);
		if (!m.file)
			return;
	} else if (io->i.perf_map_id) {
		m.kind = MAPPING_JIT;
		m.file = file_get(t, io->perf_file);
	}
	if (p->next && !io->first_file && m.kind == MAPPING_FILE)
		io->first_file = file_get(t, m.file);
	maps_insert(t, io, &m);
}

/* --- exec and exit --- */

/* The first file that was mapped is the executable; now its device and inode are known as
 * well. */
static void identify_exe(struct process_table *t, struct image_own *io,
			 const struct ev_exec *e)
{
	struct file_key k = { .dev_major = e->dev_major,
			      .dev_minor = e->dev_minor,
			      .inode = e->inode,
			      .kind = MAPPING_FILE,
			      .build_id = io->first_file->expect_build_id };
	struct file *known;

	if (io->first_file->inode || !e->inode)
		return;
	known = file_find(t, &k);
	if (known) {
		maps_set_file(t, io, io->first_file, known);
		file_get(t, known);
		file_put(t, io->first_file);
		io->first_file = known;
	} else {
		file_identify(t, io->first_file, &k);
	}
}

/* A name that ends like the kernel's mark, as it was given to execve: then it is no mark.
 */
static bool name_has_mark(const struct ev_exec *e, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = strlen(base), mark = strlen(DELETED_MARK);

	return path_has_deleted_mark(e->filename, e->filename_len) &&
	       e->filename_len >= n + mark &&
	       !memcmp(e->filename + e->filename_len - n - mark, base, n);
}

static void exe_of_exec(struct process_table *t, struct image_own *io,
			const struct ev_exec *e)
{
	io->exe_major = e->dev_major;
	io->exe_minor = e->dev_minor;
	io->exe_inode = e->inode;
	if (io->first_file) {
		identify_exe(t, io, e);
		if (name_has_mark(e, io->first_file->path)) {
			char path[EV_PATH_MAX + sizeof(DELETED_MARK)];
			int n = snprintf(path, sizeof(path), "%s%s", io->first_file->path,
					 DELETED_MARK);

			file_rename(t, io->first_file, path, n);
		}
		file_put(t, io->i.exe);
		io->i.exe = file_get(t, io->first_file);
		image_set_exe(io, text_make(io->first_file->path,
					    strlen(io->first_file->path)));
	} else if (e->filename_len && e->filename[0] == '/' &&
		   !(e->head.flags & EV_F_MISC_CUT)) {
		image_set_exe(io, text_make(e->filename, e->filename_len));
	}
}

struct image *process_on_exec(struct process_table *t, const struct ev_exec *e)
{
	struct process *p =
		process_enter(t, e->head.tgid, e->head.start_ns, e->head.boot_ns);
	struct image_own *io;

	if (!p)
		return &t->nobody->i;
	if (e->parent_tgid && e->parent_tgid != p->parent_pid) {
		p->parent_pid = e->parent_tgid;
		p->parent_start_ns = 0;
	}
	io = p->current;
	if (!io || io->i.exec_id != e->head.exec_id) {
		io = p->next ? p->next
			     : image_new(t, p, e->head.exec_id, e->head.boot_ns);
		p->next = NULL;
		if (!io)
			return &t->nobody->i;
		image_ended(p->current, e->head.boot_ns);
		image_unref(t, p->previous);
		p->previous = p->current;
		p->current = io;
	}
	io->i.exec_id = e->head.exec_id;
	io->i.parent_pid = p->parent_pid;
	io->parent_start_ns = p->parent_start_ns;
	io->began_ns = e->head.boot_ns;
	image_find_end(p, io);
	io->cgroup_id = e->cgroup_id;
	io->i.kthread = false;
	image_set_comm(io, e->comm, EV_COMM_LEN);
	exe_of_exec(t, io, e);
	image_refresh(t, io);
	return &io->i;
}

struct image *process_on_exit(struct process_table *t, const struct ev_exit *e)
{
	struct process *p = process_lookup(t, e->head.tgid, e->head.start_ns);

	if (e->head.boot_ns > t->now_ns)
		t->now_ns = e->head.boot_ns;
	if (!p)
		return NULL;
	image_ended(p->current, e->head.boot_ns);
	image_unref(t, p->next);
	p->next = NULL;
	process_die(t, p, e->head.boot_ns);
	return p->current ? &p->current->i : NULL;
}

void process_peek(struct process_table *t, const struct ev_head *e)
{
	struct process *p;

	if (e->type != EV_EXEC && e->type != EV_EXIT && e->type != EV_COMM_EXEC)
		return;
	p = e->start_ns ? process_lookup(t, e->tgid, e->start_ns)
			: process_at(t, e->tgid, e->boot_ns);
	/* Its first event may be in the same batch, before this one: what is learnt now
	 * must not be lost. */
	if (!p && e->start_ns && e->type != EV_EXIT)
		p = process_enter(t, e->tgid, e->start_ns, e->start_ns);
	if (!p)
		return;
	if (e->type == EV_EXIT) {
		p->peek_exit_ns = e->boot_ns;
	} else if (e->type == EV_COMM_EXEC) {
		if (e->boot_ns > p->peek_comm_ns)
			p->peek_comm_ns = e->boot_ns;
	} else if (e->boot_ns > p->peek_exec_ns) {
		p->peek_exec_ns = e->boot_ns;
		p->peek_exec_id = e->exec_id;
	}
	/* The first of several ends it; what is drained later comes later. */
	if (p->current && e->boot_ns > p->current->began_ns &&
	    (e->type != EV_EXEC || e->exec_id > p->current->i.exec_id))
		image_ended(p->current, e->boot_ns);
}
