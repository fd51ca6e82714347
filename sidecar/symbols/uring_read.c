/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar/symbols/uring_read.h"

/* Reads the kernel cannot finish at once go to its own threads: few, or a cold batch
 * floods the disk. */
#define URING_WORKERS 2u
/* Longest single read; the rest is completed by pread. */
#define URING_READ_MAX (1u << 30)

struct uring_read {
	struct io_uring ring;
	bool		broken;
};

/* liburing 2.3 declares functions for two of these that its shared library does not
 * export. */
static int ring_register(struct io_uring *ring, unsigned int what, void *arg,
			 unsigned int n)
{
	return syscall(SYS_io_uring_register, ring->ring_fd, what, arg, n) < 0 ? -errno
									       : 0;
}

static int ring_restrict(struct io_uring *ring)
{
	struct io_uring_restriction r[] = {
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_READ },
		{ .opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = 0 },
	};
	unsigned int workers[2] = { URING_WORKERS, URING_WORKERS };
	int err;

	/* Since 5.15; without it the kernel's own bound holds. */
	ring_register(ring, IORING_REGISTER_IOWQ_MAX_WORKERS, workers, 2);
	err = ring_register(ring, IORING_REGISTER_RESTRICTIONS, r,
			    sizeof(r) / sizeof(r[0]));
	if (err)
		return err;
	return ring_register(ring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

int uring_read_create(struct uring_read **out, unsigned int entries)
{
	struct uring_read *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	err = io_uring_queue_init(entries, &u->ring, IORING_SETUP_R_DISABLED);
	if (err)
		goto out_free;
	err = ring_restrict(&u->ring);
	if (err)
		goto out_ring;
	*out = u;
	return 0;
out_ring:
	io_uring_queue_exit(&u->ring);
out_free:
	free(u);
	return err;
}

void uring_read_destroy(struct uring_read *u)
{
	if (!u)
		return;
	io_uring_queue_exit(&u->ring);
	free(u);
}

static unsigned int queue_reads(struct uring_read *u, struct file_read *reads,
				unsigned int n)
{
	unsigned int queued = 0;

	for (; queued < n; queued++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
		struct file_read *r = &reads[queued];

		if (!sqe)
			break;
		io_uring_prep_read(sqe, r->fd, r->buf,
				   r->len < URING_READ_MAX ? (unsigned int)r->len
							   : URING_READ_MAX,
				   r->offset);
		io_uring_sqe_set_data(sqe, r);
	}
	return queued;
}

/* Every read that was queued must be reaped before its buffer may go: there is no way out
 * before. */
static void reap_reads(struct uring_read *u, unsigned int pending)
{
	while (pending) {
		struct io_uring_cqe *cqe;
		struct file_read *r;

		int err = io_uring_wait_cqe(&u->ring, &cqe);

		if (err == -EINTR)
			continue;
		if (err)
			abort();	/* the kernel may still write into the buffers; a new worker will not */
		r = io_uring_cqe_get_data(cqe);
		/* What may be a matter of the moment is tried again by pread. */
		r->got = cqe->res == -EAGAIN || cqe->res == -EINTR ? 0 : cqe->res;
		io_uring_cqe_seen(&u->ring, cqe);
		pending--;
	}
}

void uring_read_batch(struct uring_read *u, struct file_read *reads, unsigned int n)
{
	for (unsigned int done = 0; done < n && !u->broken;) {
		unsigned int queued = queue_reads(u, reads + done, n - done);
		int sent = io_uring_submit_and_wait(&u->ring, queued);

		if (sent < 0 || (unsigned int)sent != queued) {
			u->broken = true;
			if (sent > 0)
				reap_reads(u, (unsigned int)sent);
			return;
		}
		reap_reads(u, queued);
		done += queued;
	}
}
