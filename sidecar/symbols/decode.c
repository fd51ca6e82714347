/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for the worker's answers.  The worker has parsed hostile bytes and may be
 * taken over, so every length, count and offset is checked here, once; what comes out
 * points into the caller's buffer and can be used without further thought.  Journaled
 * answers pass here too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/symbols/symbols.h"
#include "sidecar/symbols/wire.h"

#define DECODE_MAX_NAMES (SYMBOLS_MESSAGE_MAX / sizeof(struct wire_name))

struct symbols_decoder {
	struct sym_name names[DECODE_MAX_NAMES];
};

int symbols_decoder_create(struct symbols_decoder **out)
{
	*out = malloc(sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void symbols_decoder_destroy(struct symbols_decoder *d)
{
	free(d);
}

struct string_area {
	const char *bytes;
	uint32_t    size;
};

/* 0 is absent; anything else must start inside the area, whose last byte is NUL, and be
 * short enough. */
static bool area_get(const struct string_area *a, uint32_t at, uint32_t max,
		     const char **out)
{
	*out = NULL;
	if (!at)
		return true;
	if (at >= a->size || strnlen(a->bytes + at, max) >= max)
		return false;
	*out = a->bytes + at;
	return true;
}

/* The fixed part is `fixed` bytes; what follows must be exactly the string area. */
static bool area_open(const struct wire_answer *h, const char *buf, size_t n,
		      size_t fixed, struct string_area *a)
{
	if (fixed > n || h->strings != n - fixed)
		return false;
	a->bytes = buf + fixed;
	a->size = h->strings;
	return a->size == 0 || (a->bytes[0] == '\0' && a->bytes[a->size - 1] == '\0');
}

static bool plain_text(const char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
			return false;
	return true;
}

/* A base name that may be put behind a directory: no way up or elsewhere. */
static bool link_is_safe(const char *s)
{
	return !s || (*s && !strchr(s, '/') && strcmp(s, ".") && strcmp(s, ".."));
}

static bool hex_text(const char *s)
{
	return !s || strspn(s, "0123456789abcdef") == strlen(s);
}

static int decode_file(const struct wire_answer *h, const char *buf, size_t n,
		       struct sym_answer *out)
{
	size_t fixed = sizeof(*h) + sizeof(struct wire_file);
	size_t segments = h->n * sizeof(struct sym_segment);
	size_t tls = h->flags & WIRE_TLS ? sizeof(out->tls) : 0;
	struct string_area a;
	struct wire_file f;

	if (h->n > SYM_MAX_SEGMENTS)
		return -EBADMSG;
	if (!area_open(h, buf, n, fixed + segments + tls, &a))
		return -EBADMSG;
	memcpy(&f, buf + sizeof(*h), sizeof(f));
	memcpy(out->segments, buf + fixed, segments);
	memcpy(&out->tls, buf + fixed + segments, tls);
	out->has_tls = tls != 0;
	if (tls && !tls_facts_ok(&out->tls))
		return -EBADMSG;
	if (!area_get(&a, f.gnu_build_id, WIRE_BUILD_ID_MAX, &out->gnu_build_id) ||
	    !area_get(&a, f.go_build_id, WIRE_BUILD_ID_MAX, &out->go_build_id) ||
	    !area_get(&a, f.htlhash, WIRE_BUILD_ID_MAX, &out->htlhash) ||
	    !area_get(&a, f.debug_link, WIRE_BUILD_ID_MAX, &out->debug_link) ||
	    !area_get(&a, f.error, WIRE_ERROR_MAX, &out->error) ||
	    !area_get(&a, f.compiler, WIRE_ERROR_MAX, &out->compiler))
		return -EBADMSG;
	if (!hex_text(out->gnu_build_id) || !hex_text(out->htlhash) ||
	    !plain_text(out->go_build_id) || !plain_text(out->error) ||
	    !plain_text(out->compiler) || !link_is_safe(out->debug_link))
		return -EBADMSG;
	out->n_segments = h->n;
	out->is_elf = h->flags & WIRE_IS_ELF;
	out->want_debug = h->flags & WIRE_WANT_DEBUG;
	out->has_debug = h->flags & WIRE_HAS_DEBUG;
	out->stripped = h->flags & WIRE_STRIPPED;
	out->is_static = h->flags & WIRE_STATIC;
	out->debug_link_crc = (uint32_t)h->value;
	return 0;
}

static int decode_names(struct symbols_decoder *d, const struct wire_answer *h,
			const char *buf, size_t n, struct sym_answer *out)
{
	struct string_area a;
	struct wire_name w;

	if (h->n > DECODE_MAX_NAMES)
		return -EBADMSG;
	if (!area_open(h, buf, n, sizeof(*h) + h->n * sizeof(w), &a))
		return -EBADMSG;
	for (uint32_t i = 0; i < h->n; i++) {
		struct sym_name *name = &d->names[i];

		memcpy(&w, buf + sizeof(*h) + i * sizeof(w), sizeof(w));
		*name = (struct sym_name){
			.address = w.address, .line = w.line, .offset = w.offset,
			.inlined = w.inlined, .type = w.type, .same = w.same,
		};
		if (w.same && (w.offset > w.address || w.same - 1 > UINT64_MAX - w.address))
			return -EBADMSG;
		/* The last level of an address is never inlined: there is nothing to be
		 * inlined into. */
		if (i && d->names[i - 1].inlined && d->names[i - 1].address != w.address)
			return -EBADMSG;
		if (w.inlined > 1 || (w.inlined && i + 1 == h->n))
			return -EBADMSG;
		if (!area_get(&a, w.function, WIRE_NAME_MAX, &name->function) ||
		    !area_get(&a, w.system_name, WIRE_NAME_MAX, &name->system_name) ||
		    !area_get(&a, w.file, WIRE_NAME_MAX, &name->file))
			return -EBADMSG;
	}
	out->n_names = h->n;
	out->names = d->names;
	out->kptr_restricted = h->flags & WIRE_KPTR;
	return 0;
}

int symbols_decode(struct symbols_decoder *d, const void *buf, size_t n,
		   struct sym_answer *out)
{
	struct wire_answer h;

	memset(out, 0, sizeof(*out));
	if (n < sizeof(h) || n > SYMBOLS_MESSAGE_MAX)
		return -EBADMSG;
	memcpy(&h, buf, sizeof(h));
	out->kind = h.kind;
	out->file_id = h.file_id;
	switch (h.kind) {
	case SYM_FILE:
		return decode_file(&h, buf, n, out);
	case SYM_NAMES:
		return decode_names(d, &h, buf, n, out);
	case SYM_GONE:
	case SYM_INFO:
		return n == sizeof(h) ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}
