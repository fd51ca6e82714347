/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol worker: a process that may only read the descriptors it is handed and answer on its socket.
 * Takes requests of wire.h one after another, gives answers in the same order.  Everything hostile
 * (ELF, DWARF, xz, mangled names) is parsed here and nowhere else.
 */
#ifndef RINGSIDE_SYMBOLS_WORKER_H
#define RINGSIDE_SYMBOLS_WORKER_H

#include <sys/types.h>

#include "sidecar/symbols/symbols.h"

/* In the forked child: gives up all rights, then serves until the socket's other end is closed. */
__attribute__((noreturn))
void	worker_main(int sock, enum symbols_io io, uint64_t memory_limit, pid_t parent);

#endif
