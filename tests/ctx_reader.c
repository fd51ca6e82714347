/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/ctx_reader.h"

static int scan(pid_t pid, uint64_t address, struct ctx_mapping *m)
{
	struct ctx_mapping one;
	char path[64];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(one.line, sizeof(one.line), f)) {
		if (sscanf(one.line, "%" SCNx64 "-%" SCNx64 " %4s", &one.start, &one.end,
			   one.perms) != 3)
			continue;
		if (address ? address < one.start || address >= one.end :
		    !strstr(one.line, "OTEL_CTX"))
			continue;
		*m = one;
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

int ctx_find(pid_t pid, struct ctx_mapping *m)
{
	return scan(pid, 0, m);
}

int ctx_mapping_at(pid_t pid, uint64_t address, struct ctx_mapping *m)
{
	return scan(pid, address, m);
}

int ctx_read(int mem, uint64_t at, struct otel_ctx_header *h, uint8_t *payload)
{
	uint64_t again = 0;
	ssize_t got = -1;

	if (pread(mem, h, sizeof(*h), (off_t)at) != sizeof(*h))
		return -1;
	if (!h->published_ns || h->payload_size > OTELCTX_PAYLOAD_MAX)
		return 0;
	/* The stamp may be older than the rest: the header is no single load. */
	if (pread(mem, &again, sizeof(again), (off_t)at + 16) != sizeof(again))
		return -1;
	if (again != h->published_ns)
		return 0;
	got = pread(mem, payload, h->payload_size, (off_t)h->payload);
	if (pread(mem, &again, sizeof(again), (off_t)at + 16) != sizeof(again))
		return -1;
	if (again != h->published_ns)
		return 0;
	return got == (ssize_t)h->payload_size ? 1 : -1;
}

struct otel_ctx_header *ctx_own(void)
{
	struct ctx_mapping m;

	return ctx_find(getpid(), &m) == 1 ? (void *)(uintptr_t)m.start : NULL;
}

int ctx_publish(int (*how)(const struct otelctx_process *), const char *value, size_t n)
{
	const struct otelctx_attribute a = {
		.key = "a", .value = { .type = OTELCTX_STRING, .n = n, .u.data = value },
	};
	const struct otelctx_process p = {
		.size = sizeof(p), .resource = &a, .n_resource = 1,
	};

	return how(&p);
}

void ctx_number_ids(uint8_t *trace_id, uint8_t *span_id, uint8_t number)
{
	memset(trace_id, number, 16);
	memset(span_id, number, 8);
}

int ctx_number_append(struct otelctx_thread *t, uint8_t number, unsigned int key)
{
	uint8_t value[2];

	memset(value, (uint8_t)(number + key), 2);
	return otelctx_thread_append(t, key, value, 2);
}

int ctx_is_numbered(const struct otel_thread_ctx *r)
{
	uint8_t number = r->trace_flags;

	for (int i = 0; i < 16; i++)
		if (r->trace_id[i] != number || r->span_id[i / 2] != number)
			return 0;
	for (unsigned int at = 0; at < r->attrs_size; at += 4) {
		uint8_t key = (uint8_t)(at / 4), value = (uint8_t)(number + key);

		if (r->attrs[at] != key || r->attrs[at + 1] != 2 ||
		    r->attrs[at + 2] != value || r->attrs[at + 3] != value)
			return 0;
	}
	return r->attrs_size % 4 == 0;
}
