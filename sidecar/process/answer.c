/* SPDX-License-Identifier: Apache-2.0 */
/* The door's answers: flat bytes out, checked views in. */
#include "sidecar/process/answer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "sidecar/context/context.h"
#include "sidecar/context/read.h"
#include "sidecar/context/tls_plan.h"

static_assert(sizeof(struct answer_head) == 72, "journaled");
static_assert(sizeof(struct answer_file) == 48, "journaled");
static_assert(sizeof(struct answer_map) == 64, "journaled");
static_assert(sizeof(struct answer_context) == 48, "journaled");
static_assert(sizeof(struct tls_word) == 24, "journaled");

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

struct answer_head *answer_begin(struct answer_writer *w, void *buf, size_t cap)
{
	struct answer_head *h = buf;

	assert(cap >= sizeof(*h));
	*w = (struct answer_writer){ .buf = buf, .cap = cap, .n = sizeof(*h) };
	memset(h, 0, sizeof(*h));
	h->magic = ANSWER_MAGIC;
	return h;
}

void answer_put(struct answer_writer *w, enum answer_tag tag, const void *data, size_t n)
{
	struct answer_section s = { .tag = tag, .len = n };

	if (n > w->cap || sizeof(s) + padded(n) > w->cap - w->n) {
		w->full = true;
		return;
	}
	memcpy(w->buf + w->n, &s, sizeof(s));
	w->n += sizeof(s);
	if (n)
		memcpy(w->buf + w->n, data, n);
	memset(w->buf + w->n + n, 0, padded(n) - n);
	w->n += padded(n);
}

void answer_end(struct answer_writer *w)
{
	((struct answer_head *)w->buf)->size = w->n;
}

static int read_sections(struct answer *out, const uint8_t *p, size_t n)
{
	while (n > 0) {
		struct answer_section s;

		if (n < sizeof(s))
			return -EBADMSG;
		memcpy(&s, p, sizeof(s));
		p += sizeof(s);
		n -= sizeof(s);
		if (s.tag == 0 || s.tag >= TAG_MAX || s.len > n || padded(s.len) > n ||
		    out->section[s.tag].p)
			return -EBADMSG;
		out->section[s.tag] = (struct answer_bytes){ p, s.len };
		p += padded(s.len);
		n -= padded(s.len);
	}
	return 0;
}

static int check_maps(struct answer *out)
{
	const struct answer_bytes *b = &out->section[TAG_MAPS];
	size_t strings = out->section[TAG_STRINGS].n;
	uint64_t last = 0;

	if (!b->p)
		return 0;
	if (b->n % sizeof(struct answer_map))
		return -EBADMSG;
	out->maps = b->p;
	out->n_maps = b->n / sizeof(struct answer_map);
	for (size_t i = 0; i < out->n_maps; i++) {
		const struct answer_map *m = &out->maps[i];

		if (m->start >= m->end || m->start < last || m->path_off > strings ||
		    m->path_len > strings - m->path_off)
			return -EBADMSG;
		last = m->end;
	}
	return 0;
}

static int check_file(const struct answer_bytes *b, const struct answer_file **out)
{
	if (!b->p)
		return 0;
	if (b->n != sizeof(struct answer_file))
		return -EBADMSG;
	*out = b->p;
	return 0;
}

static int check_context(struct answer *out)
{
	const struct answer_bytes *b = &out->section[TAG_CONTEXT];
	const struct answer_bytes *payload = &out->section[TAG_CONTEXT_PAYLOAD];

	if (!b->p)
		return payload->p ? -EBADMSG : 0;
	if (b->n != sizeof(struct answer_context))
		return -EBADMSG;
	out->context = b->p;
	if (out->context->verdict >= CONTEXT_VERDICTS ||
	    out->context->name >= CONTEXT_NAMES || payload->n > CONTEXT_PAYLOAD_MAX ||
	    (out->context->verdict == CONTEXT_PAYLOAD) != (payload->n != 0))
		return -EBADMSG;
	return 0;
}

static int check_words(struct answer *out)
{
	const struct answer_bytes *b = &out->section[TAG_WORDS];

	if (b->n % sizeof(struct tls_word))
		return -EBADMSG;
	out->words = b->p;
	out->n_words = b->n / sizeof(struct tls_word);
	return 0;
}

static bool are_pairs(const struct answer_bytes *b)
{
	const char *p = b->p;
	size_t strings = 0;

	for (size_t i = 0; i < b->n; i++)
		strings += !p[i];
	return !b->n || (!p[b->n - 1] && strings % 2 == 0);
}

int answer_read(struct answer *out, const void *buf, size_t n)
{
	const struct answer_head *h = buf;
	const struct answer_bytes *env;

	memset(out, 0, sizeof(*out));
	if (n < sizeof(*h) || (uintptr_t)buf % 8 || h->magic != ANSWER_MAGIC ||
	    h->size != n || h->error > 0)
		return -EBADMSG;
	out->head = h;
	if (read_sections(out, (const uint8_t *)buf + sizeof(*h), n - sizeof(*h)) ||
	    check_maps(out) || check_words(out) ||
	    check_file(&out->section[TAG_EXE_ID], &out->exe_id) ||
	    check_file(&out->section[TAG_FILE_ID], &out->file_id))
		return -EBADMSG;
	if (!are_pairs(&out->section[TAG_POD]) || check_context(out))
		return -EBADMSG;
	env = &out->section[TAG_ENV];
	if (env->n && ((const char *)env->p)[env->n - 1] != 0)
		return -EBADMSG;
	return 0;
}

char *answer_text(const struct answer *a, enum answer_tag tag)
{
	const struct answer_bytes *b = &a->section[tag];

	return b->p && b->n ? strndup(b->p, b->n) : NULL;
}
