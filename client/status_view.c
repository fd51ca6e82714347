/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/escape.h"
#include "client/frame.h"
#include "client/json.h"
#include "client/status_view.h"
#include "client/time.h"

const struct status_group status_groups[] = {
	/* Lapped and corrupt are counted by each reader, never by the writer. */
	{ "lost", "lost", RINGSIDE_N_LOST, RINGSIDE_LOST_KERNEL_RING_FULL,
	  RINGSIDE_LOST_CORRUPT, ringside_cause_name },
	{ "skipped", "skipped", RINGSIDE_N_SKIPPED, 0, RINGSIDE_SKIPPED_MAX,
	  ringside_skipped_name },
	{ "degraded", "degraded", RINGSIDE_N_DEGRADED, 0, RINGSIDE_DEGRADED_MAX,
	  ringside_degraded_name },
	{ "stack_end", "stacks", RINGSIDE_N_STACK_END, 0, RINGSIDE_END_MAX,
	  ringside_stack_end_name },
	{ "context", "contexts", RINGSIDE_N_CONTEXT, RINGSIDE_CONTEXT_OK, RINGSIDE_CONTEXT_MAX,
	  ringside_context_state_name },
	{ NULL, NULL, 0, 0, 0, NULL },
};

int status_view_read(struct status_view *v, struct ring *r)
{
	int err;

	memset(v, 0, sizeof(*v));
	err = ring_geometry(r, &v->geometry);
	if (!err)
		err = ring_liveness(r, &v->liveness);
	if (err)
		return err;
	err = ring_status(r, &v->page);
	if (err == -ENODATA || err == -EAGAIN) {
		v->page = NULL;
		return 0;
	}
	return err < 0 ? err : 0;
}

bool status_view_number(const struct status_view *v, uint32_t id, uint64_t *out)
{
	*out = 0;
	return v->page && ringside_status_number(v->page, id, out);
}

const char *status_view_text(const struct status_view *v, uint32_t id, uint32_t n)
{
	return v->page ? ringside_status_text(v->page, id, n) : NULL;
}

static void json_number(struct json *j, const char *key, const struct status_view *v,
			uint32_t id)
{
	uint64_t n;

	if (status_view_number(v, id, &n))
		json_put_u64(j, key, n);
}

static void json_group(struct json *j, const struct status_view *v,
		       const struct status_group *g)
{
	uint64_t n;

	json_key(j, g->key);
	json_open(j, '{');
	for (uint32_t i = g->first; i < g->end; i++) {
		const char *name = g->name(i);

		if (!name)
			continue;
		/* A counter that was never touched may not be on the page: it is zero. */
		status_view_number(v, g->base + i, &n);
		json_put_u64(j, name, n);
	}
	json_close(j, '}');
}

static void json_texts(struct json *j, const char *key, const struct status_view *v,
		       uint32_t id)
{
	const char *s;

	json_key(j, key);
	json_open(j, '[');
	for (uint32_t i = 0; (s = status_view_text(v, id, i)); i++)
		json_string_n(j, s, strlen(s));
	json_close(j, ']');
}

static void json_clock(struct json *j, const struct status_view *v)
{
	char buf[NAME_BUF];
	uint64_t n;

	json_key(j, "clock");
	json_open(j, '{');
	json_number(j, "epoch", v, RINGSIDE_N_CLOCK_EPOCH);
	if (status_view_number(v, RINGSIDE_N_CLOCK_SOURCE, &n))
		json_put_string(j, "source",
				name_or_number(ringside_clock_source_name((uint32_t)n),
					       (uint32_t)n, buf));
	json_number(j, "error_nano", v, RINGSIDE_N_CLOCK_ERROR_NS);
	json_close(j, '}');
}

/* What is known of the file and the writer's life, page or not. */
static void json_file(struct json *j, const struct status_view *v)
{
	const struct ringside_geometry *g = &v->geometry;
	const struct ringside_liveness *l = &v->liveness;
	char format[32];

	snprintf(format, sizeof(format), "%" PRIu32 ".%" PRIu32, g->major, g->minor);
	json_put_string(j, "ring", g->path);
	json_put_string(j, "format", format);
	json_put_bool(j, "alive", l->alive);
	json_put_bool(j, "closed", l->closed);
	json_put_bool(j, "superseded", l->superseded);
	json_put_u64(j, "writer_pid", l->writer_pid);
	json_put_u64(j, "incarnation", l->incarnation);
	json_put_u64(j, "heartbeat_age_nano", l->heartbeat_age_ns);
	if (l->started_ns)
		json_put_i64_string(j, "started_unix_nano", l->started_ns);
}

static void json_history(struct json *j, const struct status_view *v)
{
	const struct ringside_geometry *g = &v->geometry;

	json_put_u64(j, "ring_bytes", g->data_bytes);
	json_put_u64(j, "dict_bytes", g->dict_bytes);
	json_put_u64(j, "dict_used_bytes", g->dict_used_bytes);
	json_number(j, "records", v, RINGSIDE_N_RECORDS);
	json_number(j, "samples", v, RINGSIDE_N_SAMPLES);
	json_put_u64(j, "held_records", g->next_seq - g->first_seq);
	if (g->oldest_ns)
		json_put_i64_string(j, "oldest_unix_nano", g->oldest_ns);
	if (g->newest_ns)
		json_put_i64_string(j, "newest_unix_nano", g->newest_ns);
}

static void json_costs(struct json *j, const struct status_view *v)
{
	uint64_t n;

	json_number(j, "processes", v, RINGSIDE_N_PROCESSES);
	if (status_view_number(v, RINGSIDE_N_PROCESS_CONTEXTS, &n)) {
		json_key(j, "process_contexts");
		json_open(j, '{');
		json_put_u64(j, "published", n);
		json_number(j, "refused", v, RINGSIDE_N_PROCESS_CONTEXTS_REFUSED);
		json_number(j, "busy", v, RINGSIDE_N_PROCESS_CONTEXTS_BUSY);
		json_close(j, '}');
	}
	json_key(j, "memory");
	json_open(j, '{');
	json_number(j, "heap_bytes", v, RINGSIDE_N_HEAP_BYTES);
	json_number(j, "bpf_map_bytes", v, RINGSIDE_N_BPF_MAP_BYTES);
	json_number(j, "limit_bytes", v, RINGSIDE_N_MEMORY_LIMIT);
	json_close(j, '}');
	json_key(j, "cpu");
	json_open(j, '{');
	json_number(j, "user_nano", v, RINGSIDE_N_CPU_USER_NS);
	json_number(j, "system_nano", v, RINGSIDE_N_CPU_SYSTEM_NS);
	json_number(j, "bpf_nano", v, RINGSIDE_N_CPU_BPF_NS);
	json_close(j, '}');
}

void status_json(struct text *t, const struct status_view *v)
{
	struct json j;
	uint64_t n;

	json_init(&j, t);
	json_open(&j, '{');
	json_file(&j, v);
	json_put_string(&j, "version", status_view_text(v, RINGSIDE_T_VERSION, 0));
	json_put_string(&j, "node", status_view_text(v, RINGSIDE_T_NODE, 0));
	json_number(&j, "frequency_hz", v, RINGSIDE_N_FREQUENCY_HZ);
	json_number(&j, "cpus", v, RINGSIDE_N_CPUS);
	if (status_view_number(v, RINGSIDE_N_PAUSED, &n))
		json_put_bool(&j, "paused", n != 0);
	json_put_string(&j, "scope", status_view_text(v, RINGSIDE_T_SCOPE, 0));
	json_put_string(&j, "io_backend", status_view_text(v, RINGSIDE_T_IO_BACKEND, 0));
	json_clock(&j, v);
	json_history(&j, v);
	for (const struct status_group *g = status_groups; v->page && g->key; g++)
		json_group(&j, v, g);
	json_costs(&j, v);
	json_texts(&j, "capabilities", v, RINGSIDE_T_CAPABILITY);
	json_texts(&j, "warnings", v, RINGSIDE_T_WARNING);
	json_close(&j, '}');
	text_putc(t, '\n');
}

/* --- text --------------------------------------------------------------------------- */

static void title(struct text *t, const char *s)
{
	size_t start = t->len;

	text_puts(t, s);
	text_pad(t, start, 11);
}

static void put_size(struct text *t, uint64_t bytes)
{
	if (bytes < 1024)
		text_printf(t, "%" PRIu64 " B", bytes);
	else if (bytes < 1024 * 1024)
		text_printf(t, "%.1f KiB", (double)bytes / 1024);
	else
		text_printf(t, "%.1f MiB", (double)bytes / (1024 * 1024));
}

static void text_file(struct text *t, const struct status_view *v)
{
	const struct ringside_geometry *g = &v->geometry;

	title(t, "ring");
	escape_terminal_string(t, g->path);
	text_printf(t, ", format %" PRIu32 ".%" PRIu32 ", ", g->major, g->minor);
	put_size(t, g->data_bytes);
	text_puts(t, " and a dictionary of ");
	put_size(t, g->dict_bytes);
	if (g->dict_bytes)
		text_printf(t, " (%" PRIu64 " %% used)",
			    (uint64_t)((double)g->dict_used_bytes * 100 /
				       (double)g->dict_bytes));
	text_putc(t, '\n');
}

static void text_writer(struct text *t, const struct status_view *v, bool utc)
{
	const struct ringside_liveness *l = &v->liveness;
	const char *version = status_view_text(v, RINGSIDE_T_VERSION, 0);

	title(t, "writer");
	text_puts(t, "ringsided ");
	escape_terminal_string(t, version);
	text_printf(t, "%spid %" PRIu32 ", %s, last sign of life ", version ? ", " : "",
		    l->writer_pid,
		    l->alive	? "alive"
		    : l->closed ? "ENDED"
				: "GONE without a word");
	duration_print(t, (int64_t)l->heartbeat_age_ns);
	text_puts(t, " ago");
	if (l->started_ns) {
		text_puts(t, ", started ");
		time_print(t, l->started_ns, utc);
	}
	if (l->superseded)
		text_puts(t, "; another ring has taken this one's place");
	text_putc(t, '\n');
}

static void text_sampling(struct text *t, const struct status_view *v)
{
	const char *scope = status_view_text(v, RINGSIDE_T_SCOPE, 0);
	const char *io = status_view_text(v, RINGSIDE_T_IO_BACKEND, 0);
	uint64_t n;

	title(t, "sampling");
	status_view_number(v, RINGSIDE_N_FREQUENCY_HZ, &n);
	text_printf(t, "%" PRIu64 " Hz", n);
	if (status_view_number(v, RINGSIDE_N_CPUS, &n))
		text_printf(t, " on %" PRIu64 " CPUs", n);
	text_puts(t, ", scope ");
	escape_terminal_string(t, scope ? scope : "unknown");
	text_puts(t, ", files read by ");
	escape_terminal_string(t, io ? io : "unknown");
	if (status_view_number(v, RINGSIDE_N_PAUSED, &n) && n)
		text_puts(t, "; PAUSED");
	text_putc(t, '\n');
}

static void text_clock(struct text *t, const struct status_view *v)
{
	char buf[NAME_BUF];
	uint64_t n;

	title(t, "clock");
	status_view_number(v, RINGSIDE_N_CLOCK_SOURCE, &n);
	text_puts(t, name_or_number(ringside_clock_source_name((uint32_t)n), (uint32_t)n,
				    buf));
	status_view_number(v, RINGSIDE_N_CLOCK_EPOCH, &n);
	text_printf(t, ", epoch %" PRIu64 ", error +-", n);
	status_view_number(v, RINGSIDE_N_CLOCK_ERROR_NS, &n);
	duration_print(t, (int64_t)n);
	text_putc(t, '\n');
}

static void text_history(struct text *t, const struct status_view *v, bool utc)
{
	const struct ringside_geometry *g = &v->geometry;
	uint64_t n;

	title(t, "held");
	text_printf(t, "%" PRIu64 " records", g->next_seq - g->first_seq);
	if (g->oldest_ns && g->newest_ns) {
		text_puts(t, " of ");
		duration_print(t, g->newest_ns - g->oldest_ns);
		text_puts(t, ", the newest of ");
		time_print(t, g->newest_ns, utc);
	}
	text_putc(t, '\n');
	if (!status_view_number(v, RINGSIDE_N_RECORDS, &n))
		return;
	title(t, "written");
	text_printf(t, "%" PRIu64 " records, ", n);
	status_view_number(v, RINGSIDE_N_SAMPLES, &n);
	text_printf(t, "%" PRIu64 " samples; ", n);
	status_view_number(v, RINGSIDE_N_PROCESSES, &n);
	text_printf(t, "%" PRIu64 " processes known", n);
	if (status_view_number(v, RINGSIDE_N_PROCESS_CONTEXTS, &n))
		text_printf(t, ", %" PRIu64 " publish a context", n);
	text_putc(t, '\n');
}

/* Zeros are left out; a group of zeros says so. */
static void text_group(struct text *t, const struct status_view *v,
		       const struct status_group *g)
{
	bool any = false;
	uint64_t n;

	title(t, g->title);
	for (uint32_t i = g->first; i < g->end; i++) {
		const char *name = g->name(i);

		if (!name || !status_view_number(v, g->base + i, &n) || !n)
			continue;
		text_printf(t, "%s%s %" PRIu64, any ? ", " : "", name, n);
		any = true;
	}
	text_puts(t, any ? "\n" : "none\n");
}

static void text_costs(struct text *t, const struct status_view *v)
{
	static const struct { uint32_t id; const char *what;
	} memory[] = {
		{ RINGSIDE_N_HEAP_BYTES, "heap" }, { RINGSIDE_N_BPF_MAP_BYTES, ", BPF maps" },
		{ RINGSIDE_N_MEMORY_LIMIT, ", limit" },
	}, cpu[] = {
		{ RINGSIDE_N_CPU_USER_NS, "user" }, { RINGSIDE_N_CPU_SYSTEM_NS, ", system" },
		{ RINGSIDE_N_CPU_BPF_NS, ", BPF" },
	};
	uint64_t n;

	title(t, "memory");
	for (size_t i = 0; i < 3; i++) {
		status_view_number(v, memory[i].id, &n);
		text_printf(t, "%s ", memory[i].what);
		put_size(t, n);
	}
	text_putc(t, '\n');
	title(t, "CPU");
	for (size_t i = 0; i < 3; i++) {
		status_view_number(v, cpu[i].id, &n);
		text_printf(t, "%s ", cpu[i].what);
		duration_print(t, (int64_t)n);
	}
	text_putc(t, '\n');
}

static void text_rows(struct text *t, const struct status_view *v)
{
	const char *s;

	title(t, "rights");
	for (uint32_t i = 0; (s = status_view_text(v, RINGSIDE_T_CAPABILITY, i)); i++) {
		text_puts(t, i ? " " : "");
		escape_terminal_string(t, s);
	}
	if (!status_view_text(v, RINGSIDE_T_CAPABILITY, 0))
		text_puts(t, "no capability");
	text_putc(t, '\n');
	for (uint32_t i = 0; (s = status_view_text(v, RINGSIDE_T_WARNING, i)); i++) {
		title(t, "WARNING");
		escape_terminal_string(t, s);
		text_putc(t, '\n');
	}
}

void status_text(struct text *t, const struct status_view *v, bool utc)
{
	text_file(t, v);
	text_writer(t, v, utc);
	if (v->page) {
		text_sampling(t, v);
		text_clock(t, v);
	}
	text_history(t, v, utc);
	if (!v->page) {
		text_puts(t, "The writer has not said more yet.\n");
		return;
	}
	for (const struct status_group *g = status_groups; g->key; g++)
		text_group(t, v, g);
	text_costs(t, v);
	text_rows(t, v);
}
