/* SPDX-License-Identifier: Apache-2.0 */
/* A recording from anywhere, through the replay source. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sidecar/collect/collect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void entry(void *arg, uint32_t type, const void *p, size_t len)
{
	(void)arg;
	sink += type;
	for (size_t i = 0; i < len; i++)
		sink += ((const uint8_t *)p)[i];
}

static void replay(const char *path)
{
	struct collect_options opt = { .entry = entry };
	char why[COLLECT_WHY_MAX];
	struct collect_batch b;
	struct collect *c;

	if (collect_open_replay(&c, path, &opt, why, sizeof(why)))
		return;
	while (!collect_drain(c, 0, &b)) {
		for (size_t i = 0; i < b.count; i++)
			sink += b.events[i]->size +
				((const uint8_t *)b.events[i])[b.events[i]->size - 1];
		if (b.end)
			break;
	}
	collect_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("journal", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size)
		replay(path);
	close(fd);
	return 0;
}
