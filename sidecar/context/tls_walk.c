/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/tls_walk.h"

#include <stdbool.h>
#include <string.h>

static bool word(const struct tls_memory *m, uint64_t address, uint64_t *to)
{
	return m->read(m->arg, address, to, sizeof(*to)) == 0;
}

/* dtv[-1] is the capacity, dtv[0] the generation. */
static enum ev_context_state glibc_block(const struct ev_context_way *way, uint64_t dtv,
					 const struct tls_memory *m, uint64_t *block)
{
	uint64_t head[3];

	if (m->read(m->arg, dtv - 16, head, sizeof(head)))
		return EV_CONTEXT_FAULT;
	if (way->module > head[0] || head[2] < way->generation)
		return EV_CONTEXT_UNALLOCATED;
	if (!word(m, dtv + way->module * 16, block))
		return EV_CONTEXT_FAULT;
	return *block && *block != UINT64_MAX ? EV_CONTEXT_OK : EV_CONTEXT_UNALLOCATED;
}

static enum ev_context_state musl_block(const struct ev_context_way *way, uint64_t dtv,
					const struct tls_memory *m, uint64_t *block)
{
	uint64_t count;

	if (!word(m, dtv, &count))
		return EV_CONTEXT_FAULT;
	if (way->module > count)
		return EV_CONTEXT_UNALLOCATED;
	if (!word(m, dtv + way->module * 8, block))
		return EV_CONTEXT_FAULT;
	return *block ? EV_CONTEXT_OK : EV_CONTEXT_UNALLOCATED;
}

static enum ev_context_state find_slot(const struct ev_context_way *way, uint64_t tp,
				       const struct tls_memory *m, uint64_t *slot)
{
	uint64_t dtv, block = 0;
	enum ev_context_state state;

	if (way->kind == EV_WAY_STATIC) {
		*slot = tp + (uint64_t)way->offset;
		return EV_CONTEXT_OK;
	}
	if (!word(m, tp + (uint64_t)(int64_t)way->dtv_at, &dtv))
		return EV_CONTEXT_FAULT;
	if (!dtv)
		return EV_CONTEXT_UNALLOCATED;
	state = way->kind == EV_WAY_GLIBC ? glibc_block(way, dtv, m, &block)
					  : musl_block(way, dtv, m, &block);
	*slot = state == EV_CONTEXT_OK ? block + (uint64_t)way->offset : 0;
	return state;
}

static enum ev_context_state copy_record(const struct tls_memory *m, struct tls_slot *s)
{
	struct otel_thread_ctx head;
	uint32_t n;

	if (m->read(m->arg, s->record, s->bytes, OTEL_THREAD_CTX_HEADER_SIZE))
		return EV_CONTEXT_FAULT;
	memcpy(&head, s->bytes, OTEL_THREAD_CTX_HEADER_SIZE);
	if (head.valid != 1)
		return EV_CONTEXT_INVALID;
	n = head.attrs_size < OTEL_THREAD_CTX_ATTRS_MAX ? head.attrs_size
							: OTEL_THREAD_CTX_ATTRS_MAX;
	if (n && m->read(m->arg, s->record + OTEL_THREAD_CTX_HEADER_SIZE,
			 s->bytes + OTEL_THREAD_CTX_HEADER_SIZE, n))
		return EV_CONTEXT_FAULT;
	s->n = OTEL_THREAD_CTX_HEADER_SIZE + n;
	return EV_CONTEXT_OK;
}

enum ev_context_state tls_walk(const struct ev_context_way *way, uint32_t n_ways,
			       uint64_t thread_pointer, const struct tls_memory *m,
			       struct tls_slot *out)
{
	enum ev_context_state worst = EV_CONTEXT_ABSENT, state;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < n_ways && i < EV_CONTEXT_WAYS; i++) {
		state = find_slot(&way[i], thread_pointer, m, &out->slot);
		if (state == EV_CONTEXT_OK && !word(m, out->slot, &out->record))
			state = EV_CONTEXT_FAULT;
		else if (state == EV_CONTEXT_OK && out->record)
			return copy_record(m, out);
		else if (state == EV_CONTEXT_OK)
			state = EV_CONTEXT_NONE;
		worst = state > worst ? state : worst;
	}
	return worst;
}
