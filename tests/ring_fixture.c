/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/ring_fixture.h"

struct ring_fixture fx;

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

void fixture_setup(void)
{
	memset(&fx, 0, sizeof(fx));
	snprintf(fx.dir, sizeof(fx.dir), "/dev/shm/check-ring-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(fx.dir));
	ck_assert_int_eq(chmod(fx.dir, 0755), 0);
	snprintf(fx.path, sizeof(fx.path), "%s/ring", fx.dir);
	unsetenv("RINGSIDE_RING");
	fx.fds = count_fds();
}

void fixture_teardown(void)
{
	static const char *const names[] = {
		"ring", "ring.prev", "ring.lock", ".ring.new",	"copy",	      "other",
		"link", "fifo",	     "x",	  "other.lock", "other.prev",
	};
	char path[192];

	ring_writer_close(fx.w, true);
	fx.w = NULL;
	ck_assert_msg(count_fds() == fx.fds, "descriptors leaked: %d, were %d",
		      count_fds(), fx.fds);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", fx.dir, names[i]);
		unlink(path);
	}
	ck_assert_msg(!rmdir(fx.dir), "%s is not empty", fx.dir);
}

struct ring_writer *fixture_writer(const char *path, uint64_t ring_bytes,
				   uint64_t dict_bytes, uint32_t block_bytes)
{
	struct ring_writer_options o = {
		.path = path, .group = (gid_t)-1, .mode = 0640,
		.ring_bytes = ring_bytes ? ring_bytes : 256 << 10,
		.dict_bytes = dict_bytes ? dict_bytes : 128 << 10,
		.block_bytes = block_bytes ? block_bytes : 4096,
	};
	struct ring_writer *w;

	ck_assert_ok(ring_writer_create(&w, &o));
	return w;
}

void fixture_create(uint64_t ring_bytes, uint64_t dict_bytes, uint32_t block_bytes)
{
	fx.w = fixture_writer(fx.path, ring_bytes, dict_bytes, block_bytes);
}

struct ringside *fixture_open(bool paranoid, bool from_oldest)
{
	struct ringside_options o = {
		.size = sizeof(o),
		.path = fx.path,
		.paranoid = paranoid,
		.from_oldest = from_oldest,
	};
	struct ringside *r;

	ck_assert_ok(ringside_open(&r, &o));
	return r;
}

/* --- numbered samples --------------------------------------------------------------- */

#define FRAMES	3

static void name_of(char buf[64], uint64_t i, unsigned int k)
{
	snprintf(buf, 64, "function_%llu_%u", (unsigned long long)(i / 7), k);
}

static int intern(struct ring_writer *w, const char *s, ringside_ref *ref)
{
	return ring_intern_string(w, s, strlen(s), ref);
}

static int intern_stack(struct ring_writer *w, uint64_t i, ringside_ref *ref)
{
	struct ring_mapping m = { .build_id_kind = RINGSIDE_BUILD_ID_GNU,
				  .start = 0x1000,
				  .end = 0x9000,
				  .file_offset = 0x200 };
	struct ring_frame f = { .type = RINGSIDE_FRAME_NATIVE };
	ringside_ref frames[FRAMES];
	char name[64];
	int err = intern(w, "/usr/bin/worker", &m.path);

	if (!err)
		err = intern(w, "00ff00ff", &m.build_id);
	if (!err)
		err = ring_intern_mapping(w, &m, &f.mapping);
	for (unsigned int k = 0; k < FRAMES && !err; k++) {
		name_of(name, i, k);
		f.address = i / 7 * 16 + k;
		f.offset = k;
		f.line = k + 1;
		f.inlined = k == 1;
		err = intern(w, name, &f.function);
		if (!err)
			err = intern(w, "worker.c", &f.file);
		if (!err)
			err = ring_intern_frame(w, &f, &frames[k]);
	}
	return err ? err : ring_intern_stack(w, frames, FRAMES, ref);
}

static int intern_resource(struct ring_writer *w, uint64_t i, ringside_ref *ref)
{
	struct ring_attribute a[2] = { { .type = RINGSIDE_STRING },
				       { .type = RINGSIDE_INT } };
	ringside_ref schema;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "service-%u", (unsigned int)(i % 5));
	a[1].number = (int64_t)(i % 5);
	err = intern(w, "service.name", &a[0].key);
	if (!err)
		err = intern(w, name, &a[0].string);
	if (!err)
		err = intern(w, "process.pid", &a[1].key);
	if (!err)
		err = intern(w, "https://opentelemetry.io/schemas/1.37.0", &schema);
	return err ? err : ring_intern_resource(w, a, 2, schema, ref);
}

/* The same content, standing in the record. */
struct inline_parts {
	char names[FRAMES][64], service[64];
	struct ringside_mapping m;
	struct ringside_frame f[FRAMES];
	const struct ringside_frame *list[FRAMES];
	struct ringside_stack stack;
	struct ringside_attribute a[2];
	struct ringside_resource resource;
};

static void fill_inline(struct inline_parts *p, uint64_t i)
{
	p->m = (struct ringside_mapping){ .path = "/usr/bin/worker",
					  .build_id = "00ff00ff",
					  .build_id_kind = RINGSIDE_BUILD_ID_GNU,
					  .start = 0x1000,
					  .end = 0x9000,
					  .file_offset = 0x200 };
	for (unsigned int k = 0; k < FRAMES; k++) {
		name_of(p->names[k], i, k);
		p->f[k] = (struct ringside_frame){ .type = RINGSIDE_FRAME_NATIVE,
						   .inlined = k == 1,
						   .address = i / 7 * 16 + k,
						   .offset = k,
						   .function = p->names[k],
						   .file = "worker.c",
						   .line = k + 1,
						   .mapping = &p->m };
		p->list[k] = &p->f[k];
	}
	p->stack = (struct ringside_stack){ .n = FRAMES, .frames = p->list };
	snprintf(p->service, sizeof(p->service), "service-%u", (unsigned int)(i % 5));
	p->a[0] = (struct ringside_attribute){ .key = "service.name",
					       .type = RINGSIDE_STRING,
					       .string = p->service,
					       .len = (uint32_t)strlen(p->service) };
	p->a[1] = (struct ringside_attribute){ .key = "process.pid", .type = RINGSIDE_INT,
		.number = (int64_t)(i % 5) };
	p->resource = (struct ringside_resource){ .n = 2, .attributes = p->a,
		.schema_url = "https://opentelemetry.io/schemas/1.37.0" };
}

static struct ring_sample base_sample(uint64_t i)
{
	struct ring_sample s = {
		.stamp = { .wall_ns = (int64_t)(1000000 + i),
			   .boot_ns = 500 + i,
			   .clock_epoch = 3,
			   .clock_error_ns = 77 },
		.pid = (uint32_t)(i * 3 + 1),
		.tid = (uint32_t)(i * 3 + 2),
		.cpu = (uint32_t)(i % 64),
		.process_start_ns = i ^ 0x123456789a,
		.event = RINGSIDE_EVENT_CPU,
		.unit = RINGSIDE_UNIT_NANOSECONDS,
		.user_end = RINGSIDE_END_FRAME_POINTER,
		.kernel_end = RINGSIDE_END_COMPLETE,
		.weight = i,
	};

	snprintf(s.comm, sizeof(s.comm), "w%llu", (unsigned long long)(i % 1000000));
	return s;
}

int numbered_put_plain(struct ring_writer *w, uint64_t i)
{
	struct ring_sample s = base_sample(i);
	struct inline_parts p;

	ring_writer_open_block(w, NULL);
	if (intern_stack(w, i, &s.user_stack) || intern_resource(w, i, &s.resource)) {
		fill_inline(&p, i);
		s.inline_user = &p.stack;
		s.inline_resource = &p.resource;
		s.user_stack = s.resource = 0;
	}
	return ring_put_sample(w, &s);
}

static int put_with_attributes(struct ring_writer *w, struct ring_sample *s, uint64_t i,
			       bool keys)
{
	char text[32];
	struct ringside_attribute v[] = {
		{ .key = "user", .type = RINGSIDE_STRING, .string = text },
		{ .key = "tenant", .type = RINGSIDE_INT, .number = -(int64_t)i },
		{ .key = "on", .type = RINGSIDE_BOOL, .number = i & 1 },
		{ .key = "ratio", .type = RINGSIDE_DOUBLE, .real = (double)i / 4 },
		{ .key = "raw", .type = RINGSIDE_BYTES, .string = "a\0b", .len = 3 },
		{ .key = "list", .type = RINGSIDE_JSON, .string = "[1,2]", .len = 5 },
	};
	struct ring_attribute refs[6] = { { 0 } };

	v[0].len = (uint32_t)snprintf(text, sizeof(text), "user-%llu",
				      (unsigned long long)i);
	for (int k = 0; keys && k < 6; k++)
		if (intern(w, v[k].key, &refs[k].key))
			keys = false;
	s->nattributes = 6;
	s->attributes = keys ? refs : NULL;
	s->attribute_values = v;
	return ring_put_sample(w, s);
}

int numbered_put(struct ring_writer *w, uint64_t i)
{
	struct ring_sample s = base_sample(i);
	unsigned int form = (unsigned int)(i % NUMBERED_FORMS);
	struct inline_parts p;
	ringside_ref ref;

	ring_writer_open_block(w, NULL);
	fill_inline(&p, i);
	if (form == 0 || form == 1 || form == 2 || form == 5) {
		if (!intern_stack(w, i, &ref))
			s.user_stack = ref;
		if (!intern_resource(w, i, &ref))
			s.resource = ref;
	}
	if (form == 5 && !intern_stack(w, i + 7, &ref))
		s.kernel_stack = ref;
	if (form != 7) {
		s.inline_user = s.user_stack ? NULL : &p.stack;
		s.inline_resource = s.resource ? NULL : &p.resource;
	}
	if (form == 1) {
		s.has_link = true;
		memset(s.trace_id, (int)(i & 0xff), sizeof(s.trace_id));
		memset(s.span_id, (int)(i & 0x7f), sizeof(s.span_id));
		s.trace_flags = 1;
	}
	if (form == 2 || form == 6)
		return put_with_attributes(w, &s, i, form == 2);
	return ring_put_sample(w, &s);
}

/* --- and back ----------------------------------------------------------------------- */

uint64_t numbered_of(const struct ringside_record *rec)
{
	return rec->sample.weight;
}

#define NEED(cond)	do { if (!(cond)) return #cond; } while (0)

static const char *check_stack(const struct ringside_stack *s, uint64_t i)
{
	char name[64];

	NEED(s->n == FRAMES);
	for (unsigned int k = 0; k < FRAMES; k++) {
		const struct ringside_frame *f = s->frames[k];

		name_of(name, i, k);
		NEED(f->function && !strcmp(f->function, name));
		NEED(!f->system_name && f->file && !strcmp(f->file, "worker.c"));
		NEED(f->type == RINGSIDE_FRAME_NATIVE && f->inlined == (k == 1) &&
		     !f->cut);
		NEED(f->address == i / 7 * 16 + k && f->offset == k && f->line == k + 1);
		NEED(f->mapping && !strcmp(f->mapping->path, "/usr/bin/worker"));
		NEED(!strcmp(f->mapping->build_id, "00ff00ff"));
		NEED(f->mapping->build_id_kind == RINGSIDE_BUILD_ID_GNU &&
		     f->mapping->start == 0x1000 && f->mapping->end == 0x9000 &&
		     f->mapping->file_offset == 0x200);
		NEED(!f->ref == !s->ref);
	}
	return NULL;
}

static const char *check_resource(const struct ringside_resource *r, uint64_t i)
{
	char name[64];

	snprintf(name, sizeof(name), "service-%u", (unsigned int)(i % 5));
	NEED(r->n == 2 && r->schema_url &&
	     !strcmp(r->schema_url, "https://opentelemetry.io/schemas/1.37.0"));
	NEED(!strcmp(r->attributes[0].key, "service.name") &&
	     r->attributes[0].type == RINGSIDE_STRING);
	NEED(!strcmp(r->attributes[0].string, name) &&
	     r->attributes[0].len == strlen(name));
	NEED(!strcmp(r->attributes[1].key, "process.pid") &&
	     r->attributes[1].number == (int64_t)(i % 5));
	return NULL;
}

static const char *check_attributes(const struct ringside_sample *s, uint64_t i)
{
	const struct ringside_attribute *a = s->attributes;
	char text[32];

	snprintf(text, sizeof(text), "user-%llu", (unsigned long long)i);
	NEED(s->nattributes == 6);
	NEED(!strcmp(a[0].key, "user") && a[0].type == RINGSIDE_STRING &&
	     !strcmp(a[0].string, text));
	NEED(!strcmp(a[1].key, "tenant") && a[1].type == RINGSIDE_INT &&
	     a[1].number == -(int64_t)i);
	NEED(!strcmp(a[2].key, "on") && a[2].type == RINGSIDE_BOOL &&
	     a[2].number == (int64_t)(i & 1));
	NEED(!strcmp(a[3].key, "ratio") && a[3].type == RINGSIDE_DOUBLE &&
	     a[3].real == (double)i / 4);
	NEED(!strcmp(a[4].key, "raw") && a[4].len == 3 &&
	     !memcmp(a[4].string, "a\0b", 4));
	NEED(!strcmp(a[5].key, "list") && a[5].type == RINGSIDE_JSON &&
	     !strcmp(a[5].string, "[1,2]"));
	return NULL;
}

static const char *check_fixed(const struct ringside_record *rec, uint64_t i)
{
	const struct ringside_sample *s = &rec->sample;
	struct ring_sample want = base_sample(i);

	NEED(rec->time_ns == want.stamp.wall_ns && rec->boot_ns == want.stamp.boot_ns);
	NEED(rec->clock_epoch == 3 && rec->clock_error_ns == 77);
	NEED(s->pid == want.pid && s->tid == want.tid && s->cpu == want.cpu);
	NEED(s->process_start_ns == want.process_start_ns && !strcmp(s->comm, want.comm));
	NEED(s->event == RINGSIDE_EVENT_CPU && s->unit == RINGSIDE_UNIT_NANOSECONDS);
	NEED(s->user_end == RINGSIDE_END_FRAME_POINTER &&
	     s->kernel_end == RINGSIDE_END_COMPLETE);
	NEED(s->context_state == RINGSIDE_CONTEXT_ABSENT);
	return NULL;
}

const char *numbered_check(const struct ringside_record *rec)
{
	uint64_t i = numbered_of(rec);
	unsigned int form = (unsigned int)(i % NUMBERED_FORMS);
	const struct ringside_sample *s = &rec->sample;
	const char *bad = check_fixed(rec, i);

	if (bad || (form == 7 && !s->user.n)) /* plain puts have a stack in every form */
		return bad;
	bad = check_stack(&s->user, i);
	if (!bad)
		bad = check_resource(&s->resource, i);
	if (!bad && s->kernel.n)
		bad = check_stack(&s->kernel, i + 7);
	if (!bad && s->has_link)
		NEED(s->trace_id[15] == (i & 0xff) && s->span_id[7] == (i & 0x7f) &&
		     s->trace_flags == 1);
	if (!bad && s->nattributes)
		bad = check_attributes(s, i);
	return bad;
}

struct drained drain(struct ringside *r)
{
	struct drained d = { .first = UINT64_MAX };
	struct ringside_record rec;
	const char *bad;
	int n;

	while ((n = ringside_next(r, &rec)) == 1) {
		if (rec.kind == RINGSIDE_LOST && rec.lost.by_reader)
			d.lost += rec.lost.count;
		if (rec.kind != RINGSIDE_SAMPLE)
			continue;
		bad = numbered_check(&rec);
		ck_assert_msg(!bad, "sample %llu: not %s",
			      (unsigned long long)numbered_of(&rec), bad);
		ck_assert_msg(!d.samples || numbered_of(&rec) > d.last, "out of order");
		d.last = numbered_of(&rec);
		if (!d.samples++)
			d.first = d.last;
	}
	ck_assert_int_eq(n, 0);
	return d;
}
