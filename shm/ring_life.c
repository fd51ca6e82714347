/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which boot, which process: what tells one writer's life from another's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/ring_atomic.h"
#include "shm/ring_time.h"
#include "shm/writer_state.h"

static uint64_t own_start_time(void)
{
	char buf[1024], *p;
	ssize_t n;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	buf[n] = 0;
	p = strrchr(buf, ')');		/* field 2 may hold anything */
	for (int field = 3; p && field <= 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

void ring_boot_id(uint8_t out[16])
{
	char buf[64] = "";
	int n = 0, fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (read(fd, buf, sizeof(buf) - 1) < 0)
		buf[0] = 0;
	close(fd);
	for (const char *p = buf; *p && n < 16; p++) {
		unsigned int v;

		if (*p == '-')
			continue;
		if (sscanf(p, "%2x", &v) != 1)
			break;
		out[n++] = (uint8_t)v;
		p++;
	}
}

/* Readers may be looking: a resumed file is signed anew under their eyes. */
void ring_sign(struct ring_writer *w, uint64_t boot_ns)
{
	struct ring_header *h = w->hdr;

	ring_relaxed_store(&h->writer_pid, (uint32_t)getpid());
	ring_relaxed_store(&h->writer_start, own_start_time());
	ring_relaxed_store(&h->incarnation, w->incarnation);
	ring_relaxed_store(&h->heartbeat, boot_ns);
	ring_relaxed_store(&h->started_ns, (int64_t)ring_clock_ns(CLOCK_REALTIME));
}
