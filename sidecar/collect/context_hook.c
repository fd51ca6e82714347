/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/context_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar/collect/cpus.h"
#include "sidecar/collect/rights.h"

static const char *const places[] = {
	"/sys/kernel/tracing/events/syscalls/sys_exit_prctl/id",
	"/sys/kernel/debug/tracing/events/syscalls/sys_exit_prctl/id",
};

int context_hook_id(void)
{
	int err = -ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char text[32];
		int fd = open(places[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		long id;

		if (n < 0 && errno != ENOENT)
			err = -errno;
		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		text[n] = 0;
		id = strtol(text, NULL, 10);
		if (id > 0 && id < 1 << 30)
			return (int)id;
	}
	return err;
}

/* The program runs on every CPU, whichever of them the event is bound to. */
static int open_event(int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (unsigned)id,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	struct cpu_set online;
	unsigned cpu = 0;
	int fd;

	if (!cpus_read(&online, "online")) {
		while (cpu < online.end && !cpus_has(&online, cpu))
			cpu++;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int context_hook_open(int id, int prog_fd, char *why, size_t n)
{
	int fd, err = 0;

	if (id < 0) {
		snprintf(why, n,
			 "tracefs: %s: no sys_exit_prctl; mount -t tracefs tracefs /sys/kernel/tracing",
			 strerror(-id));
		return id;
	}
	fd = open_event(id);
	if (fd < 0) {
		rights_explain_perf(why, n, -fd);
		return fd;
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (err) {
		snprintf(why, n, "attaching to sys_exit_prctl: %s", strerror(-err));
		close(fd);
		return err;
	}
	return fd;
}
