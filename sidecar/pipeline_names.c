/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/pipeline_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/ringside.h"
#include "sidecar/log.h"
#include "sidecar/process/process.h"
#include "sidecar/publish/publish.h"
#include "sidecar/symbols/symbols.h"

struct pipeline_names {
	struct process_table	*processes;
	struct symbols		*symbols;
	struct publisher	*publisher;
	struct symbols_decoder	*decoder;
	int			 kallsyms;	/* borrowed */
};

static void give_kallsyms(struct pipeline_names *n)
{
	int fd;

	if (!n->symbols || n->kallsyms < 0)
		return;
	fd = fcntl(n->kallsyms, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		symbols_add_kallsyms(n->symbols, fd);
}

/* process_file_fn: the door has opened a file. */
static void give_file(void *arg, struct file *f, int fd, enum mapping_kind kind,
		      bool debug)
{
	struct pipeline_names *n = arg;
	int err;

	if (!n->symbols) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (debug)
		err = symbols_add_debug(n->symbols, f->id, fd);
	else if (kind == MAPPING_JIT)
		err = symbols_add_perf_map(n->symbols, f->id, fd);
	else
		err = symbols_add_file(n->symbols, f->id, fd);
	if (err)
		log_limited(LOG_LEVEL_DEBUG,
			    "cannot hand a file to the symbol worker: %s: %s", f->path,
			    strerror(-err));
}

int pipeline_names_create(struct pipeline_names **out, struct process_table *t,
			  struct symbols *s, struct publisher *p, int kallsyms)
{
	struct pipeline_names *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	*n = (struct pipeline_names){
		.processes = t, .symbols = s, .publisher = p, .kallsyms = kallsyms
	};
	err = symbols_decoder_create(&n->decoder);
	if (err) {
		free(n);
		return err;
	}
	process_set_file_fn(t, give_file, n);
	give_kallsyms(n);
	*out = n;
	return 0;
}

void pipeline_names_destroy(struct pipeline_names *n)
{
	if (!n)
		return;
	symbols_decoder_destroy(n->decoder);
	free(n);
}

void pipeline_names_forget(struct pipeline_names *n, const struct file *f)
{
	if (n->symbols && f->state != FILE_UNKNOWN && f->state != FILE_OPENING)
		symbols_forget(n->symbols, f->id);
}

/* Sends asks[from..to), all of one file. */
static void send_asks(struct pipeline_names *n, const struct publish_ask *asks,
		      uint32_t from, uint32_t to)
{
	uint64_t addresses[SYMBOLS_MAX_ADDRESSES];
	uint32_t count;

	for (; from < to; from += count) {
		count = to - from < SYMBOLS_MAX_ADDRESSES ? to - from
							  : SYMBOLS_MAX_ADDRESSES;
		for (uint32_t i = 0; i < count; i++)
			addresses[i] = asks[from + i].address;
		if (!symbols_query(n->symbols, asks[from].file_id, addresses, count))
			continue;
		for (uint32_t i = 0; i < count; i++)
			publisher_unask(n->publisher, &asks[from + i]);
	}
}

void pipeline_names_ask(struct pipeline_names *n)
{
	uint32_t count, from, to;
	const struct publish_ask *asks = publisher_asks(n->publisher, &count);

	if (!n->symbols)
		return;
	for (from = 0; from < count; from = to) {
		for (to = from + 1; to < count && asks[to].file_id == asks[from].file_id;
		     to++)
			;
		send_asks(n, asks, from, to);
	}
	symbols_flush(n->symbols);
}

static char *copy_of(const char *s, uint8_t kind, uint8_t *kind_out)
{
	if (!s || !*s)
		return NULL;
	*kind_out = kind;
	return strdup(s);
}

/* GNU, else Go, else htlhash: the one that a backend is most likely to know. */
static void set_build_id(struct file *f, const struct sym_answer *a)
{
	uint8_t kind = RINGSIDE_BUILD_ID_NONE;
	char *id = copy_of(a->gnu_build_id, RINGSIDE_BUILD_ID_GNU, &kind);

	if (!id)
		id = copy_of(a->go_build_id, RINGSIDE_BUILD_ID_GO, &kind);
	if (!id)
		id = copy_of(a->htlhash, RINGSIDE_BUILD_ID_HTLHASH, &kind);
	if (!id)
		return;
	free(f->build_id);
	f->build_id = id;
	f->build_id_kind = kind;
}

static void set_segments(struct file *f, const struct sym_answer *a)
{
	struct sym_segment *copy;

	if (!a->n_segments)
		return;
	copy = malloc(a->n_segments * sizeof(*copy));
	if (!copy)
		return;
	memcpy(copy, a->segments, a->n_segments * sizeof(*copy));
	free(f->segments);
	f->segments = copy;
	f->n_segments = a->n_segments;
}

static void set_facts(struct pipeline_names *n, struct file *f,
		      const struct sym_answer *a)
{
	struct label_executable e = {
		.file_id = a->htlhash,
		.gnu_build_id = a->gnu_build_id,
		.go_build_id = a->go_build_id,
		.compiler = a->compiler,
		.is_elf = a->is_elf,
		.is_static = a->is_static,
		.stripped = a->stripped,
	};

	process_file_facts(n->processes, f, &e);
}

static void file_answer(struct pipeline_names *n, const struct sym_answer *a)
{
	struct file *f = process_file(n->processes, a->file_id);
	bool again;

	if (!f)
		return;
	if (!process_file_confirm(n->processes, f, a->gnu_build_id)) {
		if (n->symbols)
			symbols_forget(n->symbols, f->id);
		publisher_file_changed(n->publisher, a->file_id, true);
		return;
	}
	again = f->state == FILE_READY;
	set_build_id(f, a);
	set_segments(f, a);
	if (!again)
		set_facts(n, f, a);
	if (a->has_tls)
		process_file_tls(n->processes, f, &a->tls);
	/* A file that is no ELF keeps its id: the htlhash is what a backend finds it by.
	 */
	f->state = a->error ? FILE_FAILED : FILE_READY;
	f->name_version++;
	/* The second answer follows a debug file: names may be better now. */
	publisher_file_changed(n->publisher, a->file_id, again);
	if (a->want_debug && !again)
		process_want_debug(n->processes, f, a->gnu_build_id, a->debug_link);
}

static void gone(struct pipeline_names *n, uint32_t file_id)
{
	struct file *f;

	publisher_file_changed(n->publisher, file_id, true);
	if (file_id == SYMBOLS_KERNEL_FILE) {
		give_kallsyms(n);
		return;
	}
	f = process_file(n->processes, file_id);
	if (f)
		process_reopen_file(n->processes, f);
}

int pipeline_names_answer(struct pipeline_names *n, const void *msg, size_t len,
			  uint64_t *kptr_restricted)
{
	struct sym_answer a;
	int err = symbols_decode(n->decoder, msg, len, &a);

	if (err)
		return err;
	switch (a.kind) {
	case SYM_FILE:
		file_answer(n, &a);
		break;
	case SYM_NAMES:
		*kptr_restricted += a.kptr_restricted;
		publisher_names(n->publisher, &a);
		break;
	case SYM_GONE:
		gone(n, a.file_id);
		break;
	case SYM_INFO:
		break;
	}
	return 0;
}
