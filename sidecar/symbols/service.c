/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/symbols/inspect.h"
#include "sidecar/symbols/service.h"

/* Larger than this takes tens of milliseconds to get ready. */
#define SLOW_FILE (8ull << 20)
#define SLOW_DWARF (128ull << 10)	/* bytes of .debug_info */

/* The descriptor changes its owner. */
static int fd_take(struct pending *r)
{
	int fd = r->fd;

	r->fd = -1;
	return fd;
}

static uint32_t query_addresses(const struct pending *r, uint64_t *addr)
{
	if (r->h.n > SYMBOLS_MAX_ADDRESSES || r->len != r->h.n * sizeof(*addr))
		_exit(1);
	memcpy(addr, r->payload, r->len);
	return r->h.n;
}

static void answer_gone(struct service *w, const struct pending *r)
{
	answer_plain(w->answer, SYM_GONE, r->h.file_id, r->h.seq, 0, 0);
}

static void answer_error(struct service *w, const struct pending *r, const char *why)
{
	struct sym_answer a = { .kind = SYM_FILE, .file_id = r->h.file_id, .error = why };

	answer_file(w->answer, &a, r->h.seq);
}

/* Keeps what the inspection found and answers; takes the descriptor. */
static void file_settle(struct service *w, struct pending *r, struct inspection *f)
{
	struct sym_file *file = NULL;

	if (f->answer.is_elf)
		file = budget_add(w->names.budget, r->h.file_id);
	if (file) {
		file->fd = fd_take(r);
		file->is_elf = true;
		file->is_go = f->answer.go_build_id;
		file->no_dwarf = r->h.flags & WIRE_NO_DWARF;
		file->size = f->src.size;
		file->dwarf_size = f->elf.debug[ELF_DEBUG_INFO].size;
	}
	f->answer.file_id = r->h.file_id;
	answer_file(w->answer, &f->answer, r->h.seq);
}

void service_add_files(struct service *w, struct pending *const *r, unsigned int n)
{
	struct inspection *f = calloc(n, sizeof(*f)), *good[INSPECT_BATCH] = { NULL };
	int state[INSPECT_BATCH];
	unsigned int n_good = 0;

	for (unsigned int i = 0; i < n; i++) {
		state[i] = !f ? -ENOMEM
			      : source_from_fd(&f[i].src, w->names.io, r[i]->fd);
		if (!state[i])
			good[n_good++] = &f[i];
	}
	inspect_files(good, n_good, w->names.io);
	for (unsigned int i = 0; i < n; i++) {
		if (!state[i])
			file_settle(w, r[i], &f[i]);
		else
			answer_error(w, r[i],
				     state[i] == -EINVAL ? "not a regular file"
							 : "cannot be read");
	}
	free(f);
}

static void add_image(struct service *w, struct pending *r)
{
	struct inspection *f = calloc(1, sizeof(*f));
	struct sym_file *file = budget_add(w->names.budget, r->h.file_id);
	void *copy = malloc(r->len ? r->len : 1);

	if (!f || !file || !copy || r->h.n != r->len) {
		budget_forget(w->names.budget, r->h.file_id);
		free(copy);
		answer_error(w, r, "no memory for the image");
	} else {
		memcpy(copy, r->payload, r->len);
		file->image = copy;
		file->image_size = r->len;
		file->is_elf = true;
		budget_settle(w->names.budget, file);
		source_from_memory(&f->src, copy, r->len);
		inspect_image(f);
		f->answer.want_debug = false;
		f->answer.file_id = r->h.file_id;
		answer_file(w->answer, &f->answer, r->h.seq);
	}
	free(f);
}

/* The file's own story again, now with or without the debug file. */
static void answer_debug(struct service *w, struct pending *r, struct sym_file *file)
{
	struct inspection *f = calloc(1, sizeof(*f));
	struct elf_file *debug = calloc(1, sizeof(*debug));
	struct source src;
	const char *why;

	if (!f || !debug || sym_file_source(file, w->names.io, &f->src)) {
		answer_error(w, r, "cannot be read");
		goto out;
	}
	inspect_files(&f, 1, w->names.io);
	if (f->answer.is_elf && r->fd >= 0 && !source_from_fd(&src, w->names.io, r->fd) &&
	    !elf_file_read(debug, &src, &why) && inspect_debug_matches(&f->elf, debug)) {
		if (file->debug_fd >= 0)
			close(file->debug_fd);
		file->debug_fd = fd_take(r);
		if (!file->dwarf_size)
			file->dwarf_size = debug->debug[ELF_DEBUG_INFO].size;
		budget_drop_tables(w->names.budget, file);
	}
	f->answer.has_debug = file->debug_fd >= 0;
	f->answer.want_debug = false;
	f->answer.file_id = r->h.file_id;
	answer_file(w->answer, &f->answer, r->h.seq);
out:
	free(f);
	free(debug);
}

static void add_debug(struct service *w, struct pending *r)
{
	struct sym_file *file = budget_find(w->names.budget, r->h.file_id);

	if (file && file->fd >= 0 && file->is_elf)
		answer_debug(w, r, file);
	else
		answer_gone(w, r);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !file_stat(a, &x) && !file_stat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static void add_perf_map(struct service *w, struct pending *r)
{
	struct sym_file *file = budget_find(w->names.budget, r->h.file_id);
	struct source src;

	if (source_from_fd(&src, w->names.io, r->fd)) {
		answer_error(w, r, "perf map is not a regular file");
		return;
	}
	if (file && file->is_jit && same_file(file->fd, r->fd)) {
		/* The same file again: read on from where we were. */
		close(file->fd);
		file->jit_read_ns = 0;
	} else {
		file = budget_add(w->names.budget, r->h.file_id);
	}
	if (file) {
		file->fd = fd_take(r);
		file->is_jit = true;
	}
	answer_error(w, r, file ? NULL : "no memory for the perf map");
}

static void query(struct service *w, struct pending *r)
{
	uint64_t addr[SYMBOLS_MAX_ADDRESSES];
	struct sym_file *file = NULL;
	uint32_t flags = 0, n = query_addresses(r, addr);

	if (r->h.file_id != SYMBOLS_KERNEL_FILE) {
		file = budget_find(w->names.budget, r->h.file_id);
		if (!file) {
			answer_gone(w, r);
			return;
		}
	}
	w->untidy = true;
	answer_names_begin(w->answer, r->h.file_id, r->h.seq);
	if (!file) {
		names_of_kernel(w->kernel, addr, n, w->answer);
		flags = w->kernel && kallsyms_hidden(w->kernel) ? WIRE_KPTR : 0;
	} else if (file->is_jit) {
		names_of_jit(&w->names, file, addr, n, names_now(), w->answer);
	} else {
		names_of_file(&w->names, file, addr, n, w->answer);
	}
	answer_names_end(w->answer, flags);
}

static void add_kallsyms(struct service *w, struct pending *r)
{
	kallsyms_destroy(w->kernel);
	w->kernel = NULL;
	w->reading_kernel = false;
	if (r->fd >= 0 && !kallsyms_create(&w->kernel, r->fd))
		r->fd = -1;
}

void service_serve(struct service *w, struct pending *r)
{
	switch (r->h.kind) {
	case WIRE_ADD_FILE:
		service_add_files(w, &r, 1);
		break;
	case WIRE_ADD_DEBUG:
		add_debug(w, r);
		break;
	case WIRE_ADD_IMAGE:
		add_image(w, r);
		break;
	case WIRE_ADD_PERF_MAP:
		add_perf_map(w, r);
		break;
	case WIRE_ADD_KALLSYMS:
		add_kallsyms(w, r);
		break;
	case WIRE_FORGET:
		budget_forget(w->names.budget, r->h.file_id);
		break;
	case WIRE_QUERY:
		query(w, r);
		break;
	default:
		_exit(1);
	}
}

/* A new pass over kallsyms helps this query, or one is under way. */
static bool kernel_is_slow(struct service *w, const struct pending *r)
{
	uint64_t addr[SYMBOLS_MAX_ADDRESSES];
	uint32_t n = query_addresses(r, addr);

	return w->kernel &&
	       (w->reading_kernel || kallsyms_due(w->kernel, addr, n, names_now()));
}

bool service_is_slow(struct service *w, const struct pending *r)
{
	const struct sym_file *f;

	if (r->h.kind == WIRE_ADD_DEBUG)
		return true;		/* may have to be summed up whole */
	if (r->h.kind != WIRE_QUERY)
		return false;
	if (r->h.file_id == SYMBOLS_KERNEL_FILE)
		return kernel_is_slow(w, r);
	f = budget_find(w->names.budget, r->h.file_id);
	if (!f || !f->is_elf)
		return false;
	return (!f->loaded && f->size > SLOW_FILE) ||
	       (!f->lines_loaded && !f->no_dwarf && f->dwarf_size > SLOW_DWARF);
}

bool service_step(struct service *w, struct pending *r)
{
	if (r->h.kind == WIRE_QUERY && r->h.file_id == SYMBOLS_KERNEL_FILE &&
	    kernel_is_slow(w, r)) {
		if (!w->reading_kernel)
			kallsyms_read_begin(w->kernel, names_now());
		w->reading_kernel = kallsyms_read_some(w->kernel) > 0;
		if (w->reading_kernel)
			return false;
	}
	service_serve(w, r);
	return true;
}
