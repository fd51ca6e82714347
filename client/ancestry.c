/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ancestry.h"

#define NS		UINT64_C(1000000000)
#define GENERATIONS	64	/* longest chain that is followed */
#define FIELD_PARENT	2	/* counted from the state, which follows the name */
#define FIELD_START	20

bool ancestry_parse(const char *stat, size_t len, uint32_t *parent, uint64_t *start_ticks)
{
	const char *p = memrchr(stat, ')', len), *end = stat + len;
	uint64_t value;

	*parent = 0;
	*start_ticks = 0;
	if (!p)
		return false;
	p++;
	for (int field = 1; p < end && *p == ' '; field++) {
		p++;
		for (value = 0; p < end && *p >= '0' && *p <= '9'; p++)
			value = value * 10 + (uint64_t)(*p - '0');
		if (field == FIELD_PARENT)
			*parent = (uint32_t)value;
		if (field == FIELD_START) {
			*start_ticks = value;
			return true;
		}
		/* The state is a letter, some numbers are negative. */
		while (p < end && *p != ' ')
			p++;
	}
	return false;
}

static bool read_stat(uint32_t pid, uint32_t *parent, uint64_t *start_ticks)
{
	char path[32], stat[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, stat, sizeof(stat));
	close(fd);
	return n > 0 && ancestry_parse(stat, (size_t)n, parent, start_ticks);
}

/* What this time namespace adds to CLOCK_BOOTTIME; records carry the host's. */
static int64_t boot_offset_ns(void)
{
	char line[128];
	long long sec, ns;
	int64_t offset = 0;
	FILE *f = fopen("/proc/self/timens_offsets", "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "boottime %lld %lld", &sec, &ns) == 2)
			offset = sec * (int64_t)NS + ns;
	fclose(f);
	return offset;
}

static bool starts_at(uint64_t ticks, uint64_t start_ns)
{
	static int64_t offset;
	static long hz;
	uint64_t want;

	if (!hz) {
		hz = sysconf(_SC_CLK_TCK);
		offset = boot_offset_ns();
	}
	if (!start_ns || hz <= 0)
		return false;
	want = (uint64_t)((int64_t)start_ns + offset) / (NS / (uint64_t)hz);
	/* The kernel rounds down; one tick more for a namespace whose offset is not whole
	 * ticks. */
	return ticks == want || ticks == want + 1;
}

bool ancestry_is(uint32_t pid, uint64_t start_ns)
{
	uint32_t parent;
	uint64_t ticks;

	return read_stat(pid, &parent, &ticks) && starts_at(ticks, start_ns);
}

bool ancestry_descends(uint32_t pid, uint64_t start_ns, uint32_t root)
{
	uint32_t parent;
	uint64_t ticks;

	if (!read_stat(pid, &parent, &ticks) || !starts_at(ticks, start_ns))
		return false;
	for (int i = 0; i < GENERATIONS && parent > 1; i++) {
		if (parent == root)
			return true;
		if (!read_stat(parent, &parent, &ticks))
			return false;
	}
	return false;
}
