/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a crash left, under attack: each input is a list of patches to it,
 *
 *	0      1          3     4
 *	| where| offset   | len | len bytes ...
 *
 * in page 0, in the last block, or in a half of the dictionary.  Then a writer starts: it
 * resumes or replaces the file, or says what stands there; and whatever it put is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/writer_state.h"

#define RING_BYTES	65536u
#define DICT_BYTES	131072u
#define BLOCK_BYTES	4096u
#define RECORDS		40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *sound, *spoilt;
static size_t file_bytes;
static uint64_t last_block;		/* offset in the file */
static char dir[64], path[96], prev[104], lock[104];

static void need(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "fuzz_ring_resume: %s: %s / %s\n", what,
			ring_writer_error(), ringside_open_error());
		abort();
	}
}

static int create(struct ring_writer **w)
{
	struct ring_writer_options o = { .path = path, .group = (gid_t)-1,
					 .ring_bytes = RING_BYTES,
					 .dict_bytes = DICT_BYTES,
					 .block_bytes = BLOCK_BYTES };

	return ring_writer_create(w, &o);
}

static void put(struct ring_writer *w, uint64_t from, uint64_t n)
{
	struct ring_sample s = { .weight = 1 };
	struct ring_frame f = { .type = RINGSIDE_FRAME_NATIVE };
	ringside_ref frame;
	char name[32];

	for (uint64_t i = from; i < from + n; i++) {
		ring_writer_open_block(w, NULL);
		snprintf(name, sizeof(name), "name %llu", (unsigned long long)i);
		if (ring_intern_string(w, name, strlen(name), &f.function) ||
		    ring_intern_frame(w, &f, &frame) ||
		    ring_intern_stack(w, &frame, 1, &s.user_stack))
			s.user_stack = 0;
		s.stamp.boot_ns = i;
		need(!ring_put_sample(w, &s), "put");
	}
}

static void cleanup(void)
{
	unlink(path);
	unlink(prev);
	unlink(lock);
	rmdir(dir);
}

static void make(void)
{
	struct ring_writer *w;

	snprintf(dir, sizeof(dir), "/dev/shm/fuzz-resume-XXXXXX");
	need(mkdtemp(dir) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/ring", dir);
	snprintf(prev, sizeof(prev), "%s.prev", path);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	atexit(cleanup);
	need(!create(&w), "create");
	put(w, 0, 900);
	ring_writer_publish(w);
	last_block = RING_DATA_OFF + (((w->pos - 1) & w->data_mask) & ~(BLOCK_BYTES - 1ull));
	put(w, 900, 50);
	w->published = w->pos;		/* the rest was never published */
	file_bytes = w->map_bytes;
	sound = malloc(file_bytes);
	spoilt = malloc(file_bytes);
	need(sound && spoilt, "memory");
	memcpy(sound, w->map, file_bytes);
	ring_writer_close(w, false);
	unlink(path);
}

static void patch(const uint8_t *data, size_t size)
{
	const uint64_t starts[] = { 0, last_block, RING_DATA_OFF + RING_BYTES,
				    RING_DATA_OFF + RING_BYTES + DICT_BYTES / 2 };
	uint64_t at;
	uint8_t len;

	memcpy(spoilt, sound, file_bytes);
	while (size >= 4) {
		at = starts[data[0] % 4] + (data[1] | (uint64_t)data[2] << 8);
		len = data[3];
		if (len > size - 4)
			len = (uint8_t)(size - 4);
		if (at + len <= file_bytes)
			memcpy(spoilt + at, data + 4, len);
		data += 4 + len;
		size -= 4 + len;
	}
}

static void stand(void)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0640);

	need(fd >= 0 && write(fd, spoilt, file_bytes) == (ssize_t)file_bytes &&
		     !fchmod(fd, 0640),
	     "write");
	close(fd);
}

/* The newest records are those of the new life, each with its number. */
static void look(const struct ring_writer *w, uint64_t first)
{
	struct ringside_options o = { .size = sizeof(o), .path = path,
				      .from_oldest = true };
	struct ringside_record rec;
	struct ringside *r;
	uint64_t found = 0;
	int n;

	need(!ringside_open(&r, &o), "open");
	while ((n = ringside_next(r, &rec)) == 1)
		if (rec.kind == RINGSIDE_SAMPLE && rec.seq >= first)
			need(rec.boot_ns == 5000 + found++, "order");
	need(n == 0 && found == RECORDS, "what was put is read");
	need(ringside_position(r) == ring_writer_next_seq(w), "position");
	ringside_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ring_writer *w;
	uint64_t first;
	int err;

	if (!sound)
		make();
	patch(data, size);
	stand();
	err = create(&w);
	if (!err) {
		need(size >= 4 || ring_writer_resumed(w), "what is sound is resumed");
		first = ring_writer_next_seq(w);
		put(w, 5000, RECORDS);
		ring_writer_publish(w);
		look(w, first);
		ring_writer_close(w, false);
	} else {
		need(err == -EEXIST && memcmp(spoilt, RING_MAGIC, 8),
		     "only what is no ring is refused");
	}
	unlink(path);
	unlink(prev);
	return 0;
}
