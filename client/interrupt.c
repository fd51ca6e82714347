/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "client/complain.h"
#include "client/interrupt.h"

static volatile sig_atomic_t caught;

static void note(int sig)
{
	caught = sig;
}

void interrupt_install(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = note;
	/* No SA_RESTART: waits must end.  SA_RESETHAND: who presses Ctrl-C twice means
	 * it. */
	sa.sa_flags = SA_RESETHAND;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sa.sa_flags = 0;
	sigaction(SIGPIPE, &sa, NULL);
}

int interrupt_signal(void)
{
	return caught;
}

int interrupt_exit(int otherwise)
{
	return caught == SIGINT ? CLIENT_INTERRUPTED : otherwise;
}
