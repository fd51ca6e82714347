/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_dump RING: makes a ring there that holds every kind and form of record, then
 * prints what the library reads of it, one line a record.  tests/ring_stranger.py must
 * print the same.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/ring_fixture.h"

static void make(const char *path)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .block_bytes = 8192,
					 .ring_bytes = 512 << 10,
					 .dict_bytes = 128 << 10 };
	struct ring_stamp stamp = {
		.wall_ns = -5, .boot_ns = 6, .clock_epoch = 7, .clock_error_ns = 8
	};
	struct ring_process p = { .stamp = stamp,
				  .pid = 1,
				  .parent_pid = 2,
				  .exit_code = 3,
				  .exit_signal = 4,
				  .action = RINGSIDE_EXIT,
				  .comm = "sh",
				  .command = "sh -c x" };
	struct ringside_clock c = { .offset_ns = -9,
				    .step_ns = 10,
				    .source = RINGSIDE_CLOCK_PAIRED };
	struct ring_writer *w;

	for (int life = 0; life < 2; life++) {
		if (ring_writer_create(&w, &o))
			errx(1, "%s", ring_writer_error());
		for (uint64_t i = 0; i < 700; i++) {
			if (numbered_put(w, i) ||
			    (i == 650 &&
			     (ring_put_process(w, &p) || ring_put_clock(w, &stamp, &c) ||
			      ring_put_lost(w, &stamp, 3, 11))))
				errx(1, "put");
		}
		ring_writer_close(w, true);
	}
}

static const char *or_none(const char *s)
{
	return s ? s : "-";
}

static void print_attributes(const struct ringside_attribute *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		printf(" %s:%u:", a[i].key, a[i].type);
		if (a[i].type == RINGSIDE_INT || a[i].type == RINGSIDE_BOOL)
			printf("%" PRId64, a[i].number);
		else if (a[i].type == RINGSIDE_DOUBLE)
			printf("%.2f", a[i].real);
		else
			for (uint32_t k = 0; k < a[i].len; k++)
				printf("%02x", (uint8_t)a[i].string[k]);
	}
}

static void print_stack(const char *what, const struct ringside_stack *s)
{
	printf(" %s", what);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct ringside_frame *f = s->frames[i];

		printf(" %u/%d/%" PRIx64 "/%" PRIu64 "/%s/%s/%s/%u", f->type, f->inlined,
		       f->address, f->offset, or_none(f->function),
		       or_none(f->system_name), or_none(f->file), f->line);
		if (f->mapping)
			printf("/%s/%s/%u/%" PRIx64 "/%" PRIx64 "/%" PRIx64,
			       or_none(f->mapping->path), or_none(f->mapping->build_id),
			       f->mapping->build_id_kind, f->mapping->start,
			       f->mapping->end, f->mapping->file_offset);
	}
}

static void print_sample(const struct ringside_sample *s)
{
	printf(" pid %u tid %u cpu %u start %" PRIu64 " weight %" PRIu64
	       " comm %s event %u unit %u ends %u %u",
	       s->pid, s->tid, s->cpu, s->process_start_ns, s->weight, s->comm, s->event,
	       s->unit, s->user_end, s->kernel_end);
	if (s->has_link)
		printf(" link %02x%02x %02x%02x %u", s->trace_id[0], s->trace_id[15],
		       s->span_id[0], s->span_id[7], s->trace_flags);
	printf(" resource %s", or_none(s->resource.schema_url));
	print_attributes(s->resource.attributes, s->resource.n);
	print_stack("kernel", &s->kernel);
	print_stack("user", &s->user);
	printf(" attributes");
	print_attributes(s->attributes, s->nattributes);
}

static void print(const struct ringside_record *rec)
{
	const struct ringside_process *p = &rec->process;

	printf("%" PRIu64 " %s %" PRId64 " %" PRIu64 " %u %" PRIu64, rec->seq,
	       ringside_kind_name(rec->kind), rec->time_ns, rec->boot_ns,
	       rec->clock_epoch, rec->clock_error_ns);
	if (rec->kind == RINGSIDE_SAMPLE)
		print_sample(&rec->sample);
	else if (rec->kind == RINGSIDE_PROCESS)
		printf(" %u %u %u %u %u %s %s", p->pid, p->parent_pid, p->exit_code,
		       p->exit_signal, p->action, p->comm, or_none(p->command));
	else if (rec->kind == RINGSIDE_CLOCK)
		printf(" %" PRId64 " %" PRId64 " %u", rec->clock.offset_ns,
		       rec->clock.step_ns, rec->clock.source);
	else if (rec->kind == RINGSIDE_LOST)
		printf(" %" PRIu64 " %u", rec->lost.count, rec->lost.cause);
	else
		printf(" %u %u", rec->incarnation.incarnation,
		       rec->incarnation.writer_pid);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct ringside_options o = { .size = sizeof(o), .from_oldest = true };
	struct ringside_record rec;
	struct ringside *r;

	if (argc != 2)
		errx(2, "usage: ring_dump RING");
	make(argv[1]);
	o.path = argv[1];
	if (ringside_open(&r, &o))
		errx(1, "%s", ringside_open_error());
	while (ringside_next(r, &rec) == 1)
		print(&rec);
	ringside_close(r);
	return 0;
}
