/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/ringside.h"
#include "sidecar/symbols/pending.h"
#include "sidecar/symbols/symbols.h"

void pending_list_init(struct pending_list *l)
{
	l->first = NULL;
	l->last = &l->first;
	l->n = 0;
	l->bytes = 0;
}

void pending_push(struct pending_list *l, struct pending *p)
{
	p->next = NULL;
	*l->last = p;
	l->last = &p->next;
	l->n++;
	l->bytes += p->len;
}

struct pending *pending_pop(struct pending_list *l)
{
	struct pending *p = l->first;

	if (!p)
		return NULL;
	l->first = p->next;
	if (!l->first)
		l->last = &l->first;
	l->n--;
	l->bytes -= p->len;
	return p;
}

struct pending *pending_find(const struct pending_list *l, uint32_t seq)
{
	struct pending *p = l->first;

	while (p && p->h.seq != seq)
		p = p->next;
	return p;
}

void pending_remove(struct pending_list *l, struct pending *p)
{
	struct pending **at = &l->first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (l->last == &p->next)
		l->last = at;
	l->n--;
	l->bytes -= p->len;
}

void pending_list_clear(struct pending_list *l)
{
	while (l->first)
		pending_destroy(pending_pop(l));
}

struct pending *pending_create(uint32_t kind, uint32_t file_id, int fd,
			       const void *payload, size_t len)
{
	struct pending *p = malloc(sizeof(*p) + len);

	if (!p) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	*p = (struct pending){ .h = { .kind = kind, .file_id = file_id },
			       .fd = fd,
			       .len = len };
	if (len)
		memcpy(p->payload, payload, len);
	return p;
}

void pending_destroy(struct pending *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

static int compose_unnamed(const struct pending *p, struct wire_answer *h, uint8_t *buf,
			   size_t cap)
{
	uint32_t n = p->h.n;

	if (cap < sizeof(*h) + n * sizeof(struct wire_name))
		return -EMSGSIZE;
	h->kind = SYM_NAMES;
	h->n = n;
	memcpy(buf, h, sizeof(*h));
	for (uint32_t i = 0; i < n; i++) {
		struct wire_name name = { .type = p->h.file_id == SYMBOLS_KERNEL_FILE
							  ? RINGSIDE_FRAME_KERNEL
							  : RINGSIDE_FRAME_NATIVE };

		memcpy(&name.address, p->payload + i * sizeof(name.address),
		       sizeof(name.address));
		memcpy(buf + sizeof(*h) + i * sizeof(name), &name, sizeof(name));
	}
	return (int)(sizeof(*h) + n * sizeof(struct wire_name));
}

static int compose_error(const char *why, struct wire_answer *h, uint8_t *buf, size_t cap)
{
	struct wire_file file = { .error = 1 };
	size_t len = strlen(why) + 1;

	if (cap < sizeof(*h) + sizeof(file) + 1 + len)
		return -EMSGSIZE;
	h->kind = SYM_FILE;
	h->strings = (uint32_t)len + 1;
	memcpy(buf, h, sizeof(*h));
	memcpy(buf + sizeof(*h), &file, sizeof(file));
	buf[sizeof(*h) + sizeof(file)] = '\0';
	memcpy(buf + sizeof(*h) + sizeof(file) + 1, why, len);
	return (int)(sizeof(*h) + sizeof(file) + 1 + len);
}

int pending_compose(const struct pending *p, void *buf, size_t cap)
{
	struct wire_answer h = { .kind = SYM_GONE,
				 .file_id = p->h.file_id,
				 .seq = p->h.seq };

	if (p->verdict == VERDICT_GONE) {
		if (cap < sizeof(h))
			return -EMSGSIZE;
		memcpy(buf, &h, sizeof(h));
		return sizeof(h);
	}
	if (p->h.kind == WIRE_QUERY)
		return compose_unnamed(p, &h, buf, cap);
	return compose_error(p->verdict == VERDICT_REFUSED
				     ? "symbol workers died of this file"
				     : "no symbol worker",
			     &h, buf, cap);
}

static uint32_t strikes_index(const struct strikes *s, uint32_t file_id)
{
	uint32_t i = 0;

	while (i < STRIKES_MAX && s->s[i].file_id != file_id)
		i++;
	return i;
}

void strikes_add(struct strikes *s, uint32_t file_id, uint32_t count)
{
	uint32_t i = strikes_index(s, file_id);

	if (i == STRIKES_MAX) {
		i = s->next++ % STRIKES_MAX;
		s->s[i].file_id = file_id;
		s->s[i].count = 0;
	}
	s->s[i].count += count;
}

uint32_t strikes_of(const struct strikes *s, uint32_t file_id)
{
	uint32_t i = strikes_index(s, file_id);

	return i < STRIKES_MAX ? s->s[i].count : 0;
}

void strikes_forget(struct strikes *s, uint32_t file_id)
{
	uint32_t i = strikes_index(s, file_id);

	if (i < STRIKES_MAX)
		s->s[i].file_id = s->s[i].count = 0;
}
