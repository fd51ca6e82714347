/* SPDX-License-Identifier: Apache-2.0 */
/* Makers of events and answers, and the program that runs the suites of sidecar/process.
 */
#include "tests/check_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process_table *table;

void table_open(void)
{
	struct process_options o = {
		.node = "n1", .replay = true, .max_processes = 4096, .max_maps = 64
	};

	ck_assert_int_eq(process_table_create(&table, &o, NULL), 0);
}

void table_close(void)
{
	process_table_destroy(table);
}

static struct ev_head head(uint32_t type, uint32_t pid, uint64_t start_ns,
			   uint64_t exec_id, uint64_t at)
{
	return (struct ev_head){ .type = type,
				 .tgid = pid,
				 .tid = pid,
				 .start_ns = start_ns,
				 .exec_id = exec_id,
				 .boot_ns = at };
}

static void set_name(char comm[EV_COMM_LEN], const char *name)
{
	snprintf(comm, EV_COMM_LEN, "%s", name);
}

struct image *sample(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint64_t at,
		     const char *comm, uint64_t frame)
{
	union {
		struct ev_sample s;
		uint8_t room[sizeof(struct ev_sample) + 8];
	} e = { .s = { .user_frames = frame != 0 } };

	e.s.head = head(EV_SAMPLE, pid, start_ns, exec_id, at);
	set_name(e.s.comm, comm);
	e.s.frames[0] = frame;
	return process_on_sample(table, &e.s);
}

void forked(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint32_t parent,
	    uint64_t parent_start, uint64_t parent_exec, uint64_t at)
{
	struct ev_fork e = { .head = head(EV_FORK, pid, start_ns, exec_id, at),
			     .parent_tgid = parent,
			     .parent_start_ns = parent_start,
			     .parent_exec_id = parent_exec };

	set_name(e.comm, "forked");
	process_on_fork(table, &e);
}

void comm_exec(uint32_t pid, uint64_t at, const char *comm)
{
	struct ev_comm_exec e = { .head = head(EV_COMM_EXEC, pid, 0, 0, at) };

	set_name(e.comm, comm);
	process_on_comm_exec(table, &e);
}

struct image *execed(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint64_t at,
		     const char *filename, uint64_t inode)
{
	const char *slash = strrchr(filename, '/');
	struct ev_exec *e = calloc(1, sizeof(*e) + strlen(filename) + 8);
	struct image *i;

	e->head = head(EV_EXEC, pid, start_ns, exec_id, at);
	e->inode = inode;
	e->dev_major = 8;
	e->dev_minor = 1;
	e->filename_len = strlen(filename);
	memcpy(e->filename, filename, e->filename_len + 1);
	set_name(e->comm, slash ? slash + 1 : filename);
	i = process_on_exec(table, e);
	free(e);
	return i;
}

void exited(uint32_t pid, uint64_t start_ns, uint64_t at)
{
	struct ev_exit e = { .head = head(EV_EXIT, pid, start_ns, 0, at) };

	process_on_exit(table, &e);
}

void peek_comm(uint32_t pid, uint64_t at)
{
	struct ev_head h = head(EV_COMM_EXEC, pid, 0, 0, at);

	process_peek(table, &h);
}

void peek_exec(uint32_t pid, uint64_t start_ns, uint64_t exec_id, uint64_t at)
{
	struct ev_head h = head(EV_EXEC, pid, start_ns, exec_id, at);

	process_peek(table, &h);
}

void peek_exit(uint32_t pid, uint64_t start_ns, uint64_t at)
{
	struct ev_head h = head(EV_EXIT, pid, start_ns, 0, at);

	process_peek(table, &h);
}

static void map_event(struct ev_mmap *template, uint32_t pid, uint64_t at, uint64_t addr,
		      uint64_t len, const char *path)
{
	struct ev_mmap *e = calloc(1, sizeof(*e) + strlen(path) + 8);
	uint32_t flags = template->head.flags;

	*e = *template;
	e->head = head(EV_MMAP, pid, 0, 0, at);
	e->head.flags = flags;
	e->addr = addr;
	e->len = len;
	e->path_len = strlen(path);
	memcpy(e->path, path, e->path_len + 1);
	process_on_mmap(table, e);
	free(e);
}

void mapped(uint32_t pid, uint64_t at, uint64_t addr, uint64_t len, uint64_t inode,
	    const char *path)
{
	struct ev_mmap e = { .inode = inode,
			     .dev_major = inode ? 8 : 0,
			     .dev_minor = inode ? 1 : 0 };

	map_event(&e, pid, at, addr, len, path);
}

void mapped_id(uint32_t pid, uint64_t at, uint64_t addr, uint64_t len, uint8_t id,
	       const char *path)
{
	struct ev_mmap e = { .build_id_len = 20, .head.flags = EV_F_MMAP_BUILD_ID };

	memset(e.build_id, id, sizeof(e.build_id));
	map_event(&e, pid, at, addr, len, path);
}

static void put_text(struct answer_writer *w, enum answer_tag tag, const char *s)
{
	if (s)
		answer_put(w, tag, s, strlen(s));
}

static void put_env(struct answer_writer *w, const char *env)
{
	char copy[4096];
	size_t n = env ? strlen(env) + 1 : 0;

	if (!n)
		return;
	memcpy(copy, env, n);
	for (size_t i = 0; i < n; i++)
		copy[i] = copy[i] == '\n' ? 0 : copy[i];
	answer_put(w, TAG_ENV, copy, n);
}

static void put_maps(struct answer_writer *w, const struct reading *r)
{
	struct answer_map maps[8] = { { 0 } };
	char strings[1024];
	size_t used = 0;

	for (size_t i = 0; i < r->n_maps; i++) {
		size_t n = strlen(r->maps[i].path);

		maps[i] = (struct answer_map){
			.start = r->maps[i].start,
			.end = r->maps[i].end,
			.offset = r->maps[i].offset,
			.inode = r->maps[i].inode,
			.size = r->maps[i].mtime ? 4096 : 0,
			.mtime_ns = r->maps[i].mtime,
			.dev_major = r->maps[i].inode ? 8 : 0,
			.dev_minor = r->maps[i].minor,
			.path_off = used,
			.path_len = n,
		};
		memcpy(strings + used, r->maps[i].path, n);
		used += n;
	}
	answer_put(w, TAG_STRINGS, strings, used);
	answer_put(w, TAG_MAPS, maps, r->n_maps * sizeof(maps[0]));
}

int answer(const struct image *i, const struct reading *r)
{
	static _Alignas(8) uint8_t buf[16384];
	struct answer_file exe = { .inode = r->exe_inode,
				   .dev_major = 8,
				   .dev_minor = 1 };
	struct answer_writer w;
	struct answer_head *h = answer_begin(&w, buf, sizeof(buf));

	h->ask = r->ask ? r->ask : DOOR_PROCESS;
	h->error = r->error;
	h->pid = i->pid;
	h->start_ns = i->start_ns;
	h->image_serial = i->serial;
	h->begin_ns = r->begin;
	h->end_ns = r->end;
	h->flags = r->flags;
	h->ppid = r->ppid;
	put_text(&w, TAG_COMM, r->comm);
	put_text(&w, TAG_EXE, r->exe);
	put_text(&w, TAG_CGROUP, r->cgroup);
	put_env(&w, r->env);
	if (r->exe_inode)
		answer_put(&w, TAG_EXE_ID, &exe, sizeof(exe));
	if (r->n_maps)
		put_maps(&w, r);
	answer_end(&w);
	return process_apply(table, buf, w.n, -1);
}

int file_answer(enum door_ask what, const struct image *i, const struct file *f,
		int error, uint64_t size, int64_t mtime, uint32_t uid, int fd)
{
	_Alignas(8) uint8_t buf[256];
	struct answer_file id = {
		.size = size, .mtime_ns = mtime, .uid = uid, .how = BY_TARGET_PATH
	};
	struct answer_writer w;
	struct answer_head *h = answer_begin(&w, buf, sizeof(buf));

	h->ask = what;
	h->error = error;
	h->pid = i->pid;
	h->start_ns = i->start_ns;
	h->image_serial = i->serial;
	h->file_id = f->id;
	if (!error)
		answer_put(&w, TAG_FILE_ID, &id, sizeof(id));
	answer_end(&w);
	return process_apply(table, buf, w.n, fd);
}

const char *label(const struct image *i, const char *key)
{
	static char number[32];

	for (uint32_t k = 0; i->labels && k < i->labels->n; k++) {
		const struct label *l = &i->labels->labels[k];

		if (strcmp(l->key, key))
			continue;
		return label_words(l, number, sizeof(number));
	}
	return "(none)";
}

const char *layout(const struct image *i)
{
	static char out[4096];
	size_t n = 0;

	out[0] = 0;
	for (uint32_t k = 0; k < i->n_maps; k++)
		n += snprintf(out + n, sizeof(out) - n, "%s%llx-%llx:%llx", k ? " " : "",
			      (unsigned long long)i->maps[k].start,
			      (unsigned long long)i->maps[k].end,
			      (unsigned long long)i->maps[k].file_offset);
	return out;
}

int main(void)
{
	SRunner *r = srunner_create(table_suite());
	int failed;

	srunner_add_suite(r, bounds_suite());
	srunner_add_suite(r, process_context_suite());
	srunner_add_suite(r, process_threads_suite());
	srunner_add_suite(r, files_suite());
	srunner_add_suite(r, parse_suite());
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
