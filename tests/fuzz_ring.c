/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole ring file under attack.  A sound ring is made once; each input is a list of
 * patches to it:
 *
 *	0      1          3     4
 *	| where| offset   | len | len bytes ...
 *
 * where picks what the offset counts in: page 0, a status slot, block headers, records
 * (by their heads), dictionary entries, or plain bytes.  Then everything that a reader can
 * do is done, mapped and by pread, and both must tell the same story.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/ring_layout.h"
#include "shm/ring_writer.h"

#define MAX_RECORDS	20000u
#define MAX_HEADS	4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *file, *sound;
static size_t file_bytes;
static char dir[64], path[96];
static uint32_t heads[MAX_HEADS], nheads;	/* offsets of record heads in the file */
static uint64_t dict_off, dict_used;

static void need(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "fuzz_ring: %s: %s\n", what, ring_writer_error());
		abort();
	}
}

/* Every kind of record, every part that a sample can have. */
static void put_some(struct ring_writer *w, uint64_t i)
{
	struct ringside_attribute v = {
		.key = "k", .type = RINGSIDE_STRING, .string = "v", .len = 1
	};
	struct ringside_mapping im = { .path = "/bin/x", .build_id = "00" };
	struct ringside_frame f = {
		.type = 1, .function = "f", .file = "f.c", .mapping = &im
	};
	const struct ringside_frame *list = &f;
	struct ringside_stack stack = { .n = 1, .frames = &list };
	struct ringside_resource resource = { .n = 1,
					      .attributes = &v,
					      .schema_url = "u" };
	struct ring_sample s = { .stamp = { (int64_t)i, i, 1, 1 },
				 .pid = (uint32_t)i,
				 .weight = i };
	struct ring_process p = { .stamp = s.stamp,
				  .action = RINGSIDE_EXEC,
				  .command = "x" };
	struct ring_attribute a = { .type = RINGSIDE_STRING };
	struct ring_mapping m = { .start = i };
	struct ring_frame rf = { .type = 1, .address = i };
	struct ringside_clock c = { .source = 1 };
	ringside_ref frame;
	char name[32];

	ring_writer_open_block(w, NULL);
	snprintf(name, sizeof(name), "name%u", (unsigned)(i % 100));
	need(!ring_intern_string(w, name, strlen(name), &a.key), "string");
	a.string = m.path = rf.function = a.key;
	need(!ring_intern_mapping(w, &m, &rf.mapping), "mapping");
	need(!ring_intern_frame(w, &rf, &frame), "frame");
	need(!ring_intern_stack(w, &frame, 1, &s.user_stack), "stack");
	need(!ring_intern_resource(w, &a, 1, a.key, &s.resource), "resource");
	s.inline_kernel = i % 3 ? NULL : &stack;
	s.inline_resource = i % 5 ? NULL : &resource;
	s.resource = i % 5 ? s.resource : 0;
	s.has_link = i % 4 == 0;
	s.nattributes = i % 7 == 0;
	s.attributes = i % 2 ? &a : NULL;
	s.attribute_values = &v;
	need(!ring_put_sample(w, &s), "sample");
	p.resource = s.resource;
	if (i % 16 == 0)
		ring_put_process(w, &p);
	if (i % 32 == 0)
		need(!ring_put_clock(w, &s.stamp, &c) &&
			     !ring_put_lost(w, &s.stamp, 3, 1),
		     "clock, lost");
}

static void find_heads(void)
{
	const struct ring_header *h = (const struct ring_header *)(const void *)file;
	uint32_t len;

	for (uint64_t pos = 0; pos < h->tail && nheads < MAX_HEADS;
	     pos += RING_RECORD_BYTES(len)) {
		memcpy(&len, file + h->data_off + pos, sizeof(len));
		heads[nheads++] = (uint32_t)(h->data_off + pos);
	}
	dict_off = h->dict_off;
	dict_used = h->half[0].used;
}

static void remove_ring(void)
{
	char lock[112];

	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	unlink(path);
	rmdir(dir);
}

static void make_ring(void)
{
	struct ring_writer_options o = { .path = path,
					 .group = (gid_t)-1,
					 .block_bytes = 4096 };
	struct ring_writer *w;
	int fd;

	snprintf(dir, sizeof(dir), "%s/fuzz-ring-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	need(mkdtemp(dir) != NULL, "folder");
	snprintf(path, sizeof(path), "%s/ring", dir);
	need(!ring_writer_create(&w, &o), "create");
	for (uint64_t i = 0; i < 64; i++)
		put_some(w, i);
	ring_status_begin(w);
	ring_status_number(w, RINGSIDE_N_CPUS, 2);
	ring_status_text(w, RINGSIDE_T_SCOPE, "host");
	ring_status_end(w);
	ring_writer_close(w, true);
	fd = open(path, O_RDWR);
	need(fd >= 0, "open");
	file_bytes = (size_t)lseek(fd, 0, SEEK_END);
	file = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sound = malloc(file_bytes);
	need(file != MAP_FAILED && sound, "map");
	close(fd);
	memcpy(sound, file, file_bytes);
	find_heads();
	atexit(remove_ring);
}

static size_t place(uint8_t where, uint16_t offset)
{
	switch (where % 6) {
	case 0:
		return offset % 0x500;
	case 1:
		return RING_STATUS_OFF + offset % (RING_STATUS_SLOTS * RING_STATUS_BYTES);
	case 2:
		return 65536 + (size_t)(offset / 64 % 4) * 4096 + offset % 64;
	case 3:
		return heads[offset / 16 % nheads] + offset % 16;
	case 4:
		return dict_off + (uint64_t)offset * 4 % dict_used;
	default:
		return 65536 + (size_t)offset;
	}
}

static void patch(const uint8_t *data, size_t size)
{
	while (size >= 4) {
		size_t at = place(data[0], (uint16_t)(data[1] | data[2] << 8)),
		       len = data[3];

		data += 4;
		size -= 4;
		if (len > size)
			len = size;
		if (len > file_bytes - at)
			len = file_bytes - at;
		memcpy(file + at, data, len);
		data += len;
		size -= len;
	}
}

static uint64_t use(const char *s)
{
	return s ? strlen(s) : 0;
}

static uint64_t use_record(const struct ringside_record *rec)
{
	const struct ringside_stack *stacks[2] = { &rec->sample.kernel,
						   &rec->sample.user };
	uint64_t sum = 0;

	if (rec->kind != RINGSIDE_SAMPLE)
		return 0;
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < stacks[k]->n; i++) {
			const struct ringside_frame *f = stacks[k]->frames[i];

			sum += use(f->function) + use(f->system_name) + use(f->file);
			if (f->mapping)
				sum += use(f->mapping->path) + use(f->mapping->build_id);
		}
	for (uint32_t i = 0; i < rec->sample.resource.n; i++)
		sum += use(rec->sample.resource.attributes[i].key);
	for (uint32_t i = 0; i < rec->sample.nattributes; i++)
		sum += use(rec->sample.attributes[i].key) + rec->sample.attributes[i].len;
	return sum;
}

/* 0 when it could not be opened, else something that both ways of reading must
 * agree on. */
static uint64_t read_all(bool paranoid)
{
	struct ringside_options o = { .size = sizeof(o),
				      .path = path,
				      .paranoid = paranoid,
				      .from_oldest = true,
				      .no_follow = true };
	const struct ringside_status *status;
	struct ringside_geometry g;
	struct ringside_counts c;
	struct ringside_record rec;
	struct ringside *r;
	uint64_t sum = 0, n = 0, v;

	if (ringside_open(&r, &o))
		return 0;
	while (ringside_next(r, &rec) == 1) {
		sum += use_record(&rec);
		need(++n < MAX_RECORDS, "no end");
	}
	ringside_counts(r, &c);
	if (!ringside_seek_time(r, 30))
		ringside_next(r, &rec);
	ringside_seek_last(r, 5);
	ringside_seek_newest(r);
	ringside_geometry(r, &g);
	if (!ringside_status(r, &status) &&
	    ringside_status_number(status, RINGSIDE_N_CPUS, &v))
		sum += v + use(ringside_status_text(status, RINGSIDE_T_SCOPE, 0));
	ringside_close(r);
	return 1 + sum * 31 + c.received * 7 + c.corrupt_events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t mapped, read;

	if (!file)
		make_ring();
	patch(data, size);
	mapped = read_all(false);
	read = read_all(true);
	memcpy(file, sound, file_bytes);
	need(mapped == read, "mapped and pread differ");
	return 0;
}
