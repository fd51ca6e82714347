/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/perf_events.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "sidecar/collect/rights.h"

static int perf_open(struct perf_event_attr *attr, unsigned cpu, int cgroup_fd)
{
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int fd;

	if (cgroup_fd >= 0)
		flags |= PERF_FLAG_PID_CGROUP;
	fd = (int)syscall(SYS_perf_event_open, attr, cgroup_fd >= 0 ? cgroup_fd : -1,
			  (int)cpu, -1, flags);
	return fd < 0 ? -errno : fd;
}

unsigned perf_max_sample_rate(void)
{
	return (unsigned)rights_number("/proc/sys/kernel/perf_event_max_sample_rate",
				       100000);
}

unsigned perf_max_stack(void)
{
	return (unsigned)rights_number("/proc/sys/kernel/perf_event_max_stack", 127);
}

int perf_open_tick(unsigned cpu, uint64_t period_ns, int prog_fd, int cgroup_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
	};
	int fd = perf_open(&attr, cpu, cgroup_fd);
	int err;

	if (fd < 0)
		return fd;
	/*
	 * The ioctl and not a link: it works on 5.10 too, needs no bpf() (a CPU may come
	 * online after CAP_BPF was dropped), and the program is detached when the
	 * descriptor is closed.
	 */
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int perf_enable(int fd, bool on)
{
	return ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) ? -errno
										 : 0;
}

int perf_count(int fd, uint64_t *ns)
{
	ssize_t n = read(fd, ns, sizeof(*ns));

	if (n == (ssize_t)sizeof(*ns))
		return 0;
	return n < 0 ? -errno : -EIO;	/* 0 bytes: the event is in error state */
}

int perf_enabled_time(int fd, uint64_t *ns)
{
	uint64_t value[2];	/* count, time enabled: the side-band's read_format */
	ssize_t n = read(fd, value, sizeof(value));

	if (n != (ssize_t)sizeof(value))
		return n < 0 ? -errno : -EIO;
	*ns = value[1];
	return 0;
}

int perf_open_sideband(unsigned cpu, uint32_t wakeup_bytes, bool *build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.ksymbol = 1,
		.build_id = *build_id,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		.watermark = 1,
		.wakeup_watermark = wakeup_bytes,
	};
	int fd = perf_open(&attr, cpu, -1);

	if (fd == -EINVAL && *build_id) {
		attr.build_id = 0;
		fd = perf_open(&attr, cpu, -1);
		if (fd >= 0)
			*build_id = false;
	}
	return fd;
}
