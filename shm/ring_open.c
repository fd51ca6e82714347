/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of a reader.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/reader_state.h"
#include "shm/ring_time.h"

#define CHUNK_BYTES	(256u << 10)

/* A later caller may have more options than we know: refuse what it set there, take the
 * rest. */
static int take_options(struct ringside_options *to, const struct ringside_options *from)
{
	size_t known = sizeof(*to);

	memset(to, 0, known);
	if (!from)
		return 0;
	if (!from->size || from->size > 4096)
		return -EINVAL;
	for (size_t i = known; i < from->size; i++)
		if (((const char *)from)[i])
			return -EINVAL;
	memcpy(to, from, from->size < known ? from->size : known);
	return 0;
}

static int take_path(struct ringside *r)
{
	const char *path = r->options.path;

	if (!path || !*path)
		path = getenv("RINGSIDE_RING");
	if (!path || !*path)
		path = RINGSIDE_DEFAULT_RING;
	r->path = strdup(path);
	r->options.path = r->path;
	return r->path ? 0 : -ENOMEM;
}

static void release_buffers(struct ringside *r)
{
	free(r->payload);
	free(r->chunk);
	r->payload = r->chunk = NULL;
	dict_cache_fini(&r->cache[0]);
	dict_cache_fini(&r->cache[1]);
}

int ring_reader_prepare(struct ringside *r)
{
	size_t block = (size_t)1 << r->f.shift;

	release_buffers(r);
	r->payload = malloc(r->f.max_payload + 16);
	r->chunk_cap = CHUNK_BYTES > block / 2 ? CHUNK_BYTES : block / 2;
	if (r->chunk_cap > block)
		r->chunk_cap = block;
	r->chunk_pos = r->chunk_end = 0;
	if (r->f.paranoid)
		r->chunk = malloc(r->chunk_cap);
	if (!r->payload || (r->f.paranoid && !r->chunk) ||
	    dict_cache_init(&r->cache[0], r->f.half_bytes) ||
	    dict_cache_init(&r->cache[1], r->f.half_bytes))
		return -ENOMEM;
	/* A record decodes to a small multiple of its size. */
	r->arena.limit = (size_t)r->f.max_payload * 8 + (1u << 20);
	return 0;
}

int ringside_open(struct ringside **out, const struct ringside_options *options)
{
	struct ringside *r;
	int err;

	*out = NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return ring_open_fail(-ENOMEM, "open: out of memory");
	r->f.fd = -1;
	err = take_options(&r->options, options);
	if (err) {
		ring_open_fail(
			err,
			"open: options of another version of the library; set size to "
			"sizeof(struct ringside_options)");
		goto out;
	}
	err = take_path(r);
	if (!err)
		err = ring_file_open(&r->f, &r->options);
	if (err)
		goto out;
	r->counts.files = 1;
	r->timens_offset = ring_timens_offset();
	err = ring_reader_prepare(r);
	if (!err)
		err = ring_position(r);
	if (err)
		ring_open_fail(err, "open: on %s: %s", r->path, strerror(-err));
out:
	if (err)
		ringside_close(r);
	else
		*out = r;
	return err;
}

void ringside_close(struct ringside *r)
{
	if (!r)
		return;
	ring_file_close(&r->f);
	release_buffers(r);
	arena_fini(&r->arena);
	free(r->status);
	free(r->path);
	free(r);
}
