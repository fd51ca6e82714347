/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/config.h"
#include "sidecar/main_live.h"
#include "sidecar/log.h"
#include "sidecar/privilege.h"

static int probe(const struct config *c)
{
	struct probe *p;

	if (probe_run(&p, c)) {
		log_error("the probe failed: out of memory");
		return 1;
	}
	probe_print(p, stdout, c->json_output);
	probe_free(p);
	return 0;
}

static int run(struct config *c, struct symbols_launcher *launcher)
{
	struct live *l = calloc(1, sizeof(*l));
	int status;

	if (!l) {
		log_error("cannot start: out of memory");
		return 1;
	}
	l->config = c;
	l->kallsyms = -1;
	l->started_wall_ns = (uint64_t)clock_real_now();
	if (c->node)
		snprintf(l->node, sizeof(l->node), "%s", c->node);
	if (c->replay) {
		status = replay_run(l, c);
	} else {
		status = live_open(l, c, launcher);
		if (!status)
			status = live_run(l);
	}
	live_close(l);
	free(l);
	return status;
}

static int dispatch(struct config *c, struct symbols_launcher *launcher)
{
	switch (c->mode) {
	case MODE_HELP:
		config_help(stdout);
		return 0;
	case MODE_VERSION:
		puts("ringside " PACKAGE_VERSION);
		return 0;
	case MODE_CHECK_CONFIG:
		return config_check_file(c->config_path, stdout);
	case MODE_EXPLAIN_LABELS:
	case MODE_EXPLAIN_CONTEXT:
		return explain_process(c, launcher);
	case MODE_PROBE:
		return probe(c);
	default:
		return run(c, launcher);
	}
}

int main(int argc, char **argv)
{
	struct symbols_launcher launcher = { .sock = -1 };
	struct config c;
	int status;

	/* First of all, while this process has nothing that its child could inherit. */
	if (symbols_launcher_start(&launcher))
		fputs("ringsided: cannot fork the launcher of the symbol worker\n",
		      stderr);
	signal(SIGPIPE, SIG_IGN);
	status = config_load(&c, argc, argv, stderr);
	if (!status) {
		log_init((enum log_level)c.log_level, c.log_json);
		status = dispatch(&c, &launcher);
	}
	config_free(&c);
	symbols_launcher_stop(&launcher);
	return status;
}
