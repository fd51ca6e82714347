/* SPDX-License-Identifier: Apache-2.0 */
/* What the door is asked, and when: on first need, at a bounded rate, never of who is
 * gone. */
#include "sidecar/process/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_WAIT_MAX_NS	(64 * NS_PER_S)
#define PERF_WAIT_NS		(2 * NS_PER_S)
#define FILE_RETRY_NS		(5 * NS_PER_S)
#define VSYSCALL		"[vsyscall]"

/* Of a process that is gone, the parent most likely sees the same root directory. */
static void use_parent(struct door_request *r, const struct image_own *io)
{
	if (!io->i.parent_pid || !io->parent_start_ns) {
		r->flags |= DOOR_F_GONE;
		return;
	}
	r->pid = io->i.parent_pid;
	r->start_ns = io->parent_start_ns;
}

static struct door_request *begin(struct process_table *t, struct image_own *io,
				  enum door_ask what, const struct file_own *fo)
{
	struct door_request *r = &t->request;

	memset(r, 0, offsetof(struct door_request, path) + 1);
	r->ask = what;
	if (io) {
		r->pid = io->i.pid;
		r->start_ns = io->i.start_ns;
		r->image_serial = io->i.serial;
	}
	if (io && what == DOOR_CONTEXT) {
		r->context_hint = io->context.hint;
		r->context_address = io->context.address;
		r->context_seen_ns = io->context.stamp_ns;
	}
	if (!fo)
		return r;
	r->file_id = fo->f.id;
	r->dev_major = fo->f.dev_major;
	r->dev_minor = fo->f.dev_minor;
	r->inode = fo->f.inode;
	if (io && io->ended_ns) {
		use_parent(r, io);
	} else {
		r->map_start = fo->map_start;
		r->map_end = fo->map_end;
	}
	if (fo->kind == MAPPING_VDSO && !fo->private_to_image)
		r->flags |= DOOR_F_OWN_VDSO;
	if (fo->f.expect_build_id)
		snprintf(r->build_id, sizeof(r->build_id), "%s", fo->f.expect_build_id);
	snprintf(r->path, sizeof(r->path), "%s", fo->f.path);
	return r;
}

static int send_request(struct process_table *t)
{
	int err = t->door ? door_ask(t->door, &t->request) : t->o.replay ? 0 : -EBUSY;

	t->counts.refused += err != 0;
	return err;
}

int ask(struct process_table *t, struct image_own *io, enum door_ask what,
	struct file_own *fo)
{
	begin(t, io, what, fo);
	return send_request(t);
}

int ask_words(struct process_table *t, struct image_own *io, const uint64_t *addresses,
	      uint32_t n)
{
	struct door_request *r = begin(t, io, DOOR_TLS, NULL);

	r->n_words = n;
	memcpy(r->words, addresses, n * sizeof(addresses[0]));
	return send_request(t);
}

static void wait_for(struct image_own *io)
{
	io->outstanding++;
	io->i.pending = true;
}

void answered(struct image_own *io)
{
	if (io->outstanding)
		io->outstanding--;
	io->i.pending = io->outstanding > 0;
}

/* The image that this one was forked from was read in the meantime: one memory, one
 * reading. */
static bool inherit_late(struct process_table *t, struct image_own *io)
{
	struct image_own *parent = io->parent;

	if (!parent || parent->i.state != IMAGE_READ)
		return false;
	io->parent = NULL;
	image_inherit(t, io, parent);
	image_unref(t, parent);
	return true;
}

void want_process(struct process_table *t, struct image_own *io)
{
	if (io->i.state != IMAGE_EVENTS || io->asked || !io->i.start_ns ||
	    inherit_late(t, io))
		return;
	if (io->i.kthread) {
		image_set_state(t, io, IMAGE_READ);
		return;
	}
	if (io->ended_ns || io->tries == READ_TRIES) {
		if (!want_parent(t, io))
			image_set_state(t, io, IMAGE_GONE);
		return;
	}
	if (ask(t, io, DOOR_PROCESS, NULL))
		return;
	io->asked = true;
	io->tries++;
	io->cgroup_read_id = io->cgroup_id;
	wait_for(io);
}

bool want_parent(struct process_table *t, struct image_own *io)
{
	struct image_own *parent = io->parent;

	if (inherit_late(t, io) || io->heir_next || (parent && parent->heirs == io))
		return true;
	if (!parent || parent->i.state != IMAGE_EVENTS)
		return false;
	want_process(t, parent);
	if (inherit_late(t, io))
		return true;
	if (!parent->outstanding || parent->n_heirs == HEIRS_MAX)
		return false;
	io->heir_next = parent->heirs;
	parent->heirs = io;
	parent->n_heirs++;
	image_ref(io);
	wait_for(io);
	return true;
}

void settle_heirs(struct process_table *t, struct image_own *parent)
{
	struct image_own *io;

	image_ref(parent);			/* an heir may hold the last reference */
	while ((io = parent->heirs)) {
		parent->heirs = io->heir_next;
		io->heir_next = NULL;
		parent->n_heirs--;
		answered(io);
		if (!inherit_late(t, io) && io->i.state == IMAGE_EVENTS)
			image_set_state(t, io, IMAGE_GONE);
		want_remembered(t, io);
		image_refresh(t, io);
		image_unref(t, io);
	}
	image_unref(t, parent);
}

void want_cgroup(struct process_table *t, struct image_own *io)
{
	/* While the first reading is on its way, that one brings it. */
	if (io->i.kthread || io->ended_ns || !io->i.start_ns ||
	    io->i.state == IMAGE_EVENTS || io->i.state == IMAGE_TIMEOUT)
		return;
	io->cgroup_read_id = io->cgroup_id;
	ask(t, io, DOOR_CGROUP, NULL);
}

static bool may_ask(const struct process_table *t, const struct file_own *fo,
		    const struct image_own *io)
{
	if (fo->f.state == FILE_UNKNOWN)
		return true;
	/* One process could not show it; another may. */
	return fo->f.state == FILE_FAILED && t->now_ns >= fo->retry_ns &&
	       fo->asker_serial != io->i.serial;
}

static void want_file(struct process_table *t, struct image_own *io,
		      const struct mapping *m)
{
	struct file_own *fo = file_own(m->file);

	if (!may_ask(t, fo, io))
		return;
	if (fo->kind == MAPPING_VDSO && !strcmp(fo->f.path, VSYSCALL)) {
		fo->f.state = FILE_FAILED;	/* execute-only, and not an ELF image */
		fo->retry_ns = UINT64_MAX;
		return;
	}
	fo->map_start = m->start;
	fo->map_end = m->end;
	fo->asker_pid = io->i.pid;
	fo->asker_start_ns = io->i.start_ns;
	fo->asker_serial = io->i.serial;
	fo->retry_ns = t->now_ns + FILE_RETRY_NS;
	if (!ask(t, io, m->kind == MAPPING_VDSO ? DOOR_VDSO : DOOR_FILE, fo))
		fo->f.state = FILE_OPENING;
}

/* A file that stands for the perf map of this image; it may turn out that there is none.
 */
static struct file_own *perf_file(struct process_table *t, struct image_own *io)
{
	struct file_key k = { .kind = MAPPING_JIT, .alone = true };
	char path[64];

	if (io->perf_file)
		return file_own(io->perf_file);
	k.path_len = snprintf(path, sizeof(path), "/tmp/perf-%u.map", io->i.pid);
	k.path = path;
	io->perf_file = file_obtain(t, &k);
	return io->perf_file ? file_own(io->perf_file) : NULL;
}

static void want_perf_map(struct process_table *t, struct image_own *io)
{
	struct file_own *fo;

	if (io->ended_ns || !io->i.start_ns || io->i.kthread ||
	    t->now_ns < io->perf_next_ns || io->i.state == IMAGE_TIMEOUT)
		return;
	fo = perf_file(t, io);
	if (!fo || ask(t, io, DOOR_PERF_MAP, fo))
		return;
	io->perf_next_ns = t->now_ns + PERF_WAIT_NS;
	if (!io->perf_asked) {
		io->perf_asked = io->perf_waited = true;
		wait_for(io);
	}
}

void process_want_file(struct process_table *t, struct image *i, const struct mapping *m)
{
	if (m->kind == MAPPING_FILE || m->kind == MAPPING_VDSO)
		want_file(t, own(i), m);
	else if (m->kind == MAPPING_ANON && !own(i)->perf_asked)
		want_perf_map(t, own(i));
	else if (m->kind == MAPPING_JIT && m->file->state == FILE_UNKNOWN)
		want_perf_map(t, own(i));
}

static void remember(struct image_own *io, const __u64 *frames, uint32_t n)
{
	if (!io->wanted)
		io->wanted = malloc(WANTED_MAX * sizeof(*io->wanted));
	if (!io->wanted)
		return;
	if (n > WANTED_MAX - io->n_wanted)
		n = WANTED_MAX - io->n_wanted;
	memcpy(io->wanted + io->n_wanted, frames, n * sizeof(*frames));
	io->n_wanted += n;
}

void want_frames(struct process_table *t, struct image_own *io, const __u64 *frames,
		 uint32_t n)
{
	const struct mapping *m = NULL;

	if (!n)
		return;
	if (io->outstanding)
		remember(io, frames, n);
	for (uint32_t i = 0; i < n; i++) {
		if (m && frames[i] >= m->start && frames[i] < m->end)
			continue;		/* like the frame before it */
		m = image_find(&io->i, frames[i]);
		if (m)
			process_want_file(t, &io->i, m);
	}
}

void want_remembered(struct process_table *t, struct image_own *io)
{
	__u64 *frames = io->wanted;
	uint32_t n = io->n_wanted;

	io->wanted = NULL;
	io->n_wanted = 0;
	want_frames(t, io, frames, n);
	free(frames);
}

void process_miss(struct process_table *t, struct image *i, uint64_t addr)
{
	struct image_own *io = own(i);
	const struct mapping *m = image_find(i, addr);

	if (m) {
		if (m->kind == MAPPING_ANON || m->kind == MAPPING_JIT)
			want_perf_map(t, io);
		return;
	}
	if (i->state != IMAGE_READ || i->kthread || io->ended_ns ||
	    t->now_ns < io->maps_next_ns)
		return;
	if (ask(t, io, DOOR_MAPS, NULL))
		return;
	io->maps_wait_ns = io->maps_wait_ns ? io->maps_wait_ns * 2 : NS_PER_S;
	if (io->maps_wait_ns > MAPS_WAIT_MAX_NS)
		io->maps_wait_ns = MAPS_WAIT_MAX_NS;
	io->maps_next_ns = t->now_ns + io->maps_wait_ns;
	wait_for(io);
}

void process_want_debug(struct process_table *t, struct file *f, const char *gnu_build_id,
			const char *debug_link)
{
	struct file_own *fo = file_own(f);
	struct image_own *io = image_by_serial(t, fo->asker_serial);
	struct door_request *r = begin(t, io, DOOR_DEBUG, fo);

	if (!io) {				/* our own root is left */
		r->pid = fo->asker_pid;
		r->start_ns = fo->asker_start_ns;
		r->flags |= DOOR_F_GONE;
	}
	snprintf(r->build_id, sizeof(r->build_id), "%s",
		 gnu_build_id ? gnu_build_id : "");
	snprintf(r->link, sizeof(r->link), "%s", debug_link ? debug_link : "");
	send_request(t);
}

void process_reopen_file(struct process_table *t, struct file *f)
{
	(void)t;
	f->state = FILE_UNKNOWN;
}
