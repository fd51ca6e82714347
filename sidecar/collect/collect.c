/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/collect.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sidecar/collect/collect_source.h"
#include "sidecar/collect/perf_events.h"

#define PIDNS_INITIAL_INUM	0xEFFFFFFCu	/* PROC_PID_INIT_INO: fixed by the kernel */

void collect_logf(const struct collect_options *opt, enum collect_log_level level,
		  const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!opt->log)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	line[strcspn(line, "\n")] = 0;
	opt->log(opt->log_arg, level, line);
}

static int check_scope(const struct collect_options *opt, char *why, size_t n)
{
	if (opt->scope == EV_SCOPE_PIDS &&
	    (!opt->npids || opt->npids > COLLECT_PIDS_MAX)) {
		snprintf(why, n,
			 "scope pid: %zu processes; between 1 and %u can be selected",
			 opt->npids, COLLECT_PIDS_MAX);
		return -EINVAL;
	}
	if (opt->scope == EV_SCOPE_CGROUP && !opt->cgroup) {
		snprintf(why, n, "scope cgroup: no path");
		return -EINVAL;
	}
	return 0;
}

int collect_check_options(const struct collect_options *opt, char *why, size_t n)
{
	unsigned rate = perf_max_sample_rate();

	if (opt->frequency < 1 || opt->frequency > COLLECT_FREQUENCY_MAX) {
		snprintf(why, n, "frequency %u: must be between 1 and %u Hz",
			 opt->frequency, COLLECT_FREQUENCY_MAX);
		return -EINVAL;
	}
	if (opt->frequency > rate) {
		snprintf(
			why, n,
			"frequency %u: above this kernel's limit of %u Hz; lower it, or sysctl "
			"kernel.perf_event_max_sample_rate=%u",
			opt->frequency, rate, opt->frequency);
		return -EINVAL;
	}
	if (opt->stack_depth > EV_MAX_FRAMES) {
		snprintf(why, n, "stack depth %u: at most %u frames", opt->stack_depth,
			 EV_MAX_FRAMES);
		return -EINVAL;
	}
	return check_scope(opt, why, n);
}

bool collect_in_initial_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == PIDNS_INITIAL_INUM;
}

void collect_close(struct collect *c)
{
	if (c)
		c->ops->close(c);
}

int collect_arm(struct collect *c, char *why, size_t n)
{
	return c->ops->arm(c, why, n);
}

int collect_drain(struct collect *c, uint64_t now_ns, struct collect_batch *batch)
{
	memset(batch, 0, sizeof(*batch));
	return c->ops->drain(c, now_ns, batch);
}

int collect_pause(struct collect *c, bool paused)
{
	return c->ops->pause(c, paused);
}

int collect_rescope(struct collect *c, const uint32_t *pids, size_t npids)
{
	return c->ops->rescope(c, pids, npids);
}

int collect_context_plan(struct collect *c, uint32_t pid,
			 const struct ev_context_plan *plan)
{
	return c->ops->context_plan(c, pid, plan);
}

int collect_hotplug(struct collect *c, char *why, size_t n)
{
	return c->ops->hotplug(c, why, n);
}

int collect_stats(struct collect *c, struct collect_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	return c->ops->stats(c, stats);
}

int collect_fd(const struct collect *c)
{
	return c->ops->fd(c);
}
