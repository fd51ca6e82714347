/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/escape.h"
#include "client/format.h"
#include "client/frame.h"
#include "client/process_table.h"
#include "client/selection.h"
#include "client/time.h"

void process_table_init(struct process_table *t, bool json)
{
	memset(t, 0, sizeof(*t));
	t->json = json;
}

void process_table_fini(struct process_table *t)
{
	for (size_t i = 0; i < t->nslots; i++) {
		struct process_entry *p = t->slots[i];

		if (!p)
			continue;
		text_fini(&p->resource);
		text_fini(&p->service);
		text_fini(&p->schema_url);
		free(p);
	}
	free(t->slots);
	free(t->sorted);
	memset(t, 0, sizeof(*t));
}

/* The slot of that identity, or the free one where it belongs.  There is always a free
 * one. */
static struct process_entry **slot(struct process_entry **slots, size_t nslots,
				   uint32_t pid, uint64_t start_ns)
{
	uint64_t h = (start_ns ^ pid) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(h >> 32) & (nslots - 1);

	while (slots[i] && (slots[i]->pid != pid || slots[i]->start_ns != start_ns))
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static int grow(struct process_table *t)
{
	size_t nslots = t->nslots ? t->nslots * 2 : 256;
	struct process_entry **slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->nslots; i++)
		if (t->slots[i])
			*slot(slots, nslots, t->slots[i]->pid, t->slots[i]->start_ns) =
				t->slots[i];
	free(t->slots);
	t->slots = slots;
	t->nslots = nslots;
	return 0;
}

static struct process_entry *entry(struct process_table *t, uint32_t pid,
				   uint64_t start_ns, int64_t time_ns)
{
	struct process_entry **at, *p;

	if (t->n * 2 >= t->nslots && grow(t))
		return NULL;
	at = slot(t->slots, t->nslots, pid, start_ns);
	if (*at)
		return *at;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->start_ns = start_ns;
	p->first_ns = time_ns;
	text_init(&p->resource, TEXT_LINE_MAX);
	text_init(&p->service, TEXT_LINE_MAX);
	text_init(&p->schema_url, TEXT_LINE_MAX);
	*at = p;
	t->n++;
	return p;
}

/* Renders the resource when it is another one than last time: its bytes are only ours for
 * now. */
static void keep_resource(const struct process_table *t, struct process_entry *p,
			  const struct ringside_resource *r)
{
	struct json j;

	if (!r->n || (r->ref && r->ref == p->resource_ref))
		return;
	p->resource_ref = r->ref;
	text_clear(&p->resource);
	text_clear(&p->service);
	text_clear(&p->schema_url);
	if (r->schema_url)
		text_puts(&p->schema_url, r->schema_url);
	escape_terminal_string(&p->service, resource_string(r, "service.name"));
	if (t->json) {
		json_init(&j, &p->resource);
		format_json_attributes(&j, r->attributes, r->n);
		return;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		text_puts(&p->resource, "    ");
		attribute_print(&p->resource, &r->attributes[i]);
		text_putc(&p->resource, '\n');
	}
}

static void keep_comm(struct process_entry *p, const char comm[16], bool of_main)
{
	if (p->has_comm_of_main && !of_main)
		return;
	memcpy(p->comm, comm, sizeof(p->comm));
	p->has_comm_of_main = of_main;
}

int process_table_add(struct process_table *t, const struct ringside_record *rec)
{
	bool sample = rec->kind == RINGSIDE_SAMPLE;
	uint32_t pid = sample ? rec->sample.pid : rec->process.pid;
	uint64_t start = sample ? rec->sample.process_start_ns
				: rec->process.process_start_ns;
	struct process_entry *p;

	if (rec->incarnation_changed)
		for (size_t i = 0; i < t->nslots; i++)
			if (t->slots[i])
				t->slots[i]->resource_ref = 0;
	if (t->n >= PROCESS_TABLE_MAX && !*slot(t->slots, t->nslots, pid, start)) {
		t->left_out++;
		return 0;
	}
	p = entry(t, pid, start, rec->time_ns);
	if (!p)
		return -ENOMEM;
	p->last_ns = rec->time_ns;
	if (sample) {
		p->samples++;
		keep_comm(p, rec->sample.comm, rec->sample.tid == pid);
		keep_resource(t, p, &rec->sample.resource);
	} else {
		p->exited = rec->process.action == RINGSIDE_EXIT;
		if (rec->process.parent_pid)
			p->parent_pid = rec->process.parent_pid;
		keep_comm(p, rec->process.comm, true);
		keep_resource(t, p, &rec->process.resource);
	}
	return text_failed(&p->resource) ? -ENOMEM : 0;
}

static int busier(const void *a, const void *b)
{
	const struct process_entry *p = *(struct process_entry *const *)a;
	const struct process_entry *q = *(struct process_entry *const *)b;

	if (p->samples != q->samples)
		return p->samples < q->samples ? 1 : -1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return p->start_ns < q->start_ns ? -1 : p->start_ns > q->start_ns;
}

int process_table_sort(struct process_table *t)
{
	size_t n = 0;

	free(t->sorted);
	t->sorted = calloc(t->n ? t->n : 1, sizeof(*t->sorted));
	if (!t->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < t->nslots; i++)
		if (t->slots[i])
			t->sorted[n++] = t->slots[i];
	qsort(t->sorted, n, sizeof(*t->sorted), busier);
	return 0;
}

void process_text_head(struct text *t)
{
	text_puts(t, "    PID  SAMPLES LAST            COMM            SERVICE\n");
}

void process_text(struct text *t, const struct process_entry *p, bool utc)
{
	size_t start;

	text_printf(t, "%7" PRIu32 " %8" PRIu64 " ", p->pid, p->samples);
	time_print_short(t, p->last_ns, utc);
	text_putc(t, ' ');
	start = t->len;
	escape_terminal(t, p->comm, strnlen(p->comm, sizeof(p->comm)));
	text_pad(t, start, 15);
	text_printf(t, " %s%s\n", p->service.len ? text_string(&p->service) : "-",
		    p->exited ? " (ended)" : "");
	text_puts(t, text_string(&p->resource));
}

void process_json(struct text *t, const struct process_entry *p)
{
	struct json j;

	json_init(&j, t);
	json_open(&j, '{');
	json_put_u64(&j, "pid", p->pid);
	if (p->start_ns)
		json_put_u64_string(&j, "process_start_boot_nano", p->start_ns);
	if (p->parent_pid)
		json_put_u64(&j, "parent_pid", p->parent_pid);
	json_key(&j, "comm");
	json_string_n(&j, p->comm, strnlen(p->comm, sizeof(p->comm)));
	json_put_u64(&j, "samples", p->samples);
	json_put_i64_string(&j, "first_unix_nano", p->first_ns);
	json_put_i64_string(&j, "last_unix_nano", p->last_ns);
	json_put_bool(&j, "exited", p->exited);
	if (p->resource.len) {
		json_key(&j, "resource");
		text_add(t, text_string(&p->resource), p->resource.len);
		j.comma = true;
	}
	if (p->schema_url.len)
		json_put_string(&j, "schema_url", text_string(&p->schema_url));
	json_close(&j, '}');
	text_putc(t, '\n');
}
