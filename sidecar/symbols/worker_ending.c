/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/symbols/worker_ending.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

const char *worker_ending(char buf[WORKER_ENDING_MAX], int status, const char *why)
{
	if (why)
		snprintf(buf, WORKER_ENDING_MAX, "killed by us, %s", why);
	else if (status < 0)
		snprintf(buf, WORKER_ENDING_MAX, "it could not be started, %s", strerror(-status));
	else if (WIFSIGNALED(status))
		snprintf(buf, WORKER_ENDING_MAX, "signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(buf, WORKER_ENDING_MAX, "exit status %d", WEXITSTATUS(status));
	return buf;
}
