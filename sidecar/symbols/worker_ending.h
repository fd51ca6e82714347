/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker ended, in words, for the log. */
#ifndef RINGSIDE_SYMBOLS_WORKER_ENDING_H
#define RINGSIDE_SYMBOLS_WORKER_ENDING_H

#define WORKER_ENDING_MAX 96

/* status: as from wait, or -errno when it was never born.  why: of a kill of our own, else NULL.  Returns buf. */
const char *worker_ending(char buf[WORKER_ENDING_MAX], int status, const char *why);

#endif
