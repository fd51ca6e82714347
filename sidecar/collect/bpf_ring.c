/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/bpf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Kernel ABI, linux/bpf.h: bits of the length word that precedes a record. */
#define RECORD_BUSY	(1u << 31)
#define RECORD_DISCARD	(1u << 30)
#define RECORD_HEADER	8

int bpf_ring_open(struct bpf_ring *r, int map_fd, size_t size)
{
	void *p;

	memset(r, 0, sizeof(*r));
	r->page = (size_t)sysconf(_SC_PAGESIZE);
	p = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->consumer = p;
	/*
	 * The kernel maps the data twice, so that a record is contiguous wherever it
	 * wraps.
	 */
	p = mmap(NULL, r->page + 2 * size, PROT_READ, MAP_SHARED, map_fd, (off_t)r->page);
	if (p == MAP_FAILED) {
		int err = -errno;

		bpf_ring_close(r);
		return err;
	}
	r->producer = p;
	r->data = (uint8_t *)p + r->page;
	r->size = size;
	r->pos = *r->consumer;
	return 0;
}

void bpf_ring_close(struct bpf_ring *r)
{
	if (r->producer)
		munmap(r->producer, r->page + 2 * r->size);
	if (r->consumer)
		munmap(r->consumer, r->page);
	memset(r, 0, sizeof(*r));
}

static size_t record_space(uint32_t len)
{
	return (RECORD_HEADER + (size_t)len + 7) & ~(size_t)7;
}

bool bpf_ring_peek(struct bpf_ring *r, const void **data, size_t *len)
{
	for (;;) {
		const uint32_t *word =
			(const uint32_t *)(r->data + (r->pos & (r->size - 1)));
		uint32_t head;

		/*
		 * Pairs with the kernel's release of producer_pos, after it marked the
		 * record busy.
		 */
		if (r->pos >= __atomic_load_n(r->producer, __ATOMIC_ACQUIRE))
			return false;
		/*
		 * Pairs with the xchg in bpf_ringbuf_commit(): not busy means that all
		 * bytes are there.
		 */
		head = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (head & RECORD_BUSY)
			return false;
		if (!(head & RECORD_DISCARD)) {
			*data = (const uint8_t *)word + RECORD_HEADER;
			*len = head;
			return true;
		}
		bpf_ring_pop(r, head & ~RECORD_DISCARD);
	}
}

void bpf_ring_pop(struct bpf_ring *r, size_t len)
{
	r->pos += record_space((uint32_t)len);
	/*
	 * Pairs with the kernel's acquire in __bpf_ringbuf_reserve(): what we read is
	 * read before it is reused.
	 */
	__atomic_store_n(r->consumer, r->pos, __ATOMIC_RELEASE);
}
