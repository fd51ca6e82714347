/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/answer.h"

#define ANSWER_SHARED 64u		/* strings remembered for sharing, a power of two */

/*
 * names grow from the front and strings from the back of their own halves: the message is
 * put together when it is sent.
 */
struct answer {
	answer_send_fn	   send;
	void		  *arg;
	struct wire_answer head;
	uint32_t	   n, strings;		/* used */
	struct { uint32_t hash, at; } shared[ANSWER_SHARED];
	struct wire_name   names[SYMBOLS_MAX_ADDRESSES + ANSWER_MAX_LEVELS];
	char		   text[SYMBOLS_MESSAGE_MAX];
	char		   message[SYMBOLS_MESSAGE_MAX];
};

#define ANSWER_NAMES (sizeof(((struct answer *)0)->names) / sizeof(struct wire_name))

int answer_create(struct answer **out, answer_send_fn send, void *arg)
{
	struct answer *a = malloc(sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->send = send;
	a->arg = arg;
	*out = a;
	return 0;
}

void answer_destroy(struct answer *a)
{
	free(a);
}

static void answer_reset(struct answer *a)
{
	memset(a->shared, 0, sizeof(a->shared));
	a->n = 0;
	a->strings = 1;
	a->text[0] = '\0';
}

static uint32_t text_hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

/* Offset of the string, cut to WIRE_NAME_MAX; 0 for none.  The caller has made room. */
static uint32_t answer_text(struct answer *a, const char *s, size_t max)
{
	uint32_t at = a->strings, hash, slot;
	size_t n;

	if (!s || !*s)
		return 0;
	n = strnlen(s, max - 1);
	hash = text_hash(s, n);
	slot = hash & (ANSWER_SHARED - 1);
	if (a->shared[slot].at && a->shared[slot].hash == hash &&
	    !strncmp(a->text + a->shared[slot].at, s, n) &&
	    !a->text[a->shared[slot].at + n])
		return a->shared[slot].at;
	memcpy(a->text + at, s, n);
	a->text[at + n] = '\0';
	a->strings += (uint32_t)n + 1;
	a->shared[slot].hash = hash;
	a->shared[slot].at = at;
	return at;
}

static void answer_emit(struct answer *a, const void *fixed, size_t fixed_len)
{
	size_t n = sizeof(a->head);

	a->head.strings = a->strings;
	memcpy(a->message, &a->head, n);
	memcpy(a->message + n, fixed, fixed_len);
	n += fixed_len;
	memcpy(a->message + n, a->text, a->strings);
	a->send(a->arg, a->message, n + a->strings);
	answer_reset(a);
}

void answer_names_begin(struct answer *a, uint32_t file_id, uint32_t seq)
{
	answer_reset(a);
	a->head =
		(struct wire_answer){ .kind = SYM_NAMES, .file_id = file_id, .seq = seq };
}

static void names_flush(struct answer *a, uint32_t flags)
{
	a->head.flags = flags;
	a->head.n = a->n;
	answer_emit(a, a->names, a->n * sizeof(a->names[0]));
}

static size_t text_room(const char *s)
{
	return s ? strnlen(s, WIRE_NAME_MAX - 1) + 1 : 0;
}

static size_t level_room(const struct sym_name *l)
{
	return sizeof(struct wire_name) + text_room(l->function) +
	       text_room(l->system_name) + text_room(l->file);
}

static void names_put(struct answer *a, const struct sym_name *l, bool text)
{
	a->names[a->n++] = (struct wire_name){
		.address = l->address,
		.offset = l->offset,
		.line = l->line,
		.type = l->type,
		.inlined = l->inlined,
		.same = text ? l->same : 0,
		.function = text ? answer_text(a, l->function, WIRE_NAME_MAX) : 0,
		.system_name = text ? answer_text(a, l->system_name, WIRE_NAME_MAX) : 0,
		.file = text ? answer_text(a, l->file, WIRE_NAME_MAX) : 0,
	};
}

void answer_names_add(struct answer *a, const struct sym_name *levels, uint32_t n)
{
	size_t need = 0, used;

	for (uint32_t i = 0; i < n; i++)
		need += level_room(&levels[i]);
	used = sizeof(a->head) + a->n * sizeof(a->names[0]) + a->strings;
	if (a->n && (used + need > SYMBOLS_MESSAGE_MAX || a->n + n > ANSWER_NAMES)) {
		names_flush(a, WIRE_MORE);
		used = sizeof(a->head) + a->strings;
	}
	/* Alone in a message and still too long: the outer levels keep their place, not
	 * their text. */
	used += n * sizeof(a->names[0]);
	for (uint32_t i = 0; i < n; i++) {
		used += level_room(&levels[i]) - sizeof(a->names[0]);
		names_put(a, &levels[i], used <= SYMBOLS_MESSAGE_MAX);
	}
}

void answer_names_end(struct answer *a, uint32_t flags)
{
	names_flush(a, flags);
}

void answer_file(struct answer *a, const struct sym_answer *f, uint32_t seq)
{
	struct {
		struct wire_file file;
		uint8_t rest[sizeof(f->segments) + sizeof(f->tls)];
	} fixed;
	size_t bytes = f->n_segments * sizeof(f->segments[0]);

	answer_reset(a);
	a->head = (struct wire_answer){ .kind = SYM_FILE,
					.file_id = f->file_id,
					.seq = seq,
					.n = f->n_segments,
					.value = f->debug_link_crc };
	a->head.flags =
		(f->is_elf ? WIRE_IS_ELF : 0) | (f->want_debug ? WIRE_WANT_DEBUG : 0) |
		(f->stripped ? WIRE_STRIPPED : 0) | (f->has_debug ? WIRE_HAS_DEBUG : 0) |
		(f->is_static ? WIRE_STATIC : 0) | (f->has_tls ? WIRE_TLS : 0);
	fixed.file = (struct wire_file){
		.gnu_build_id = answer_text(a, f->gnu_build_id, WIRE_BUILD_ID_MAX),
		.go_build_id = answer_text(a, f->go_build_id, WIRE_BUILD_ID_MAX),
		.htlhash = answer_text(a, f->htlhash, WIRE_BUILD_ID_MAX),
		.debug_link = answer_text(a, f->debug_link, WIRE_BUILD_ID_MAX),
		.error = answer_text(a, f->error, WIRE_ERROR_MAX),
		.compiler = answer_text(a, f->compiler, WIRE_ERROR_MAX),
	};
	memcpy(fixed.rest, f->segments, bytes);
	if (f->has_tls) {
		memcpy(fixed.rest + bytes, &f->tls, sizeof(f->tls));
		bytes += sizeof(f->tls);
	}
	answer_emit(a, &fixed, sizeof(fixed.file) + bytes);
}

void answer_plain(struct answer *a, enum sym_kind kind, uint32_t file_id, uint32_t seq,
		  uint32_t flags, uint64_t value)
{
	struct wire_answer h = { .kind = kind,
				 .file_id = file_id,
				 .seq = seq,
				 .flags = flags,
				 .value = value };

	a->send(a->arg, &h, sizeof(h));
}
