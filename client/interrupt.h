/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of the client: Ctrl-C and SIGTERM ask to end, a closed pipe is an error of write(). */
#ifndef CLIENT_INTERRUPT_H
#define CLIENT_INTERRUPT_H

/* SIGINT and SIGTERM are noted and interrupt waits; a second one kills.  SIGPIPE is ignored. */
void	 interrupt_install(void);
/* 0, SIGINT or SIGTERM. */
int	 interrupt_signal(void);
/* 130 after SIGINT, else what the command says. */
int	 interrupt_exit(int otherwise);

#endif
