/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what the ELF files of a process say and the words that stand in its memory to where each of its
 * threads keeps its context (OTEP 4947).  Pure: takes facts, load biases and words, gives addresses to
 * read next, then a plan.  sidecar/process/thread_plan.c has the words read.
 */
#ifndef RINGSIDE_TLS_PLAN_H
#define RINGSIDE_TLS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "sidecar/context/tls_facts.h"

#define TLS_MAX_MODULES 4u	/* files of one process that define the variable */
#define TLS_MAX_WORDS 128u

enum tls_libc { TLS_LIBC_GLIBC, TLS_LIBC_MUSL };

/* A mapped file that defines the variable. */
struct tls_module {
	const struct tls_facts *facts;	/* borrowed */
	uint64_t	 bias;		/* run-time address - link-time address */
	bool		 is_main;	/* the program itself */
};

/* Eight bytes of the target.  Sought by address; one that could not be read is not ok. */
struct tls_word { uint64_t address, value; uint32_t ok, pad0; };

struct tls_target {
	uint16_t	 machine;	/* EM_X86_64 or EM_AARCH64 */
	enum tls_libc	 libc;
	uint32_t	 n_modules, n_words;
	struct tls_module modules[TLS_MAX_MODULES];
	struct tls_word	 words[TLS_MAX_WORDS];
};

/* Why there is no way, of the module that came closest. */
enum tls_why {
	TLS_WHY_NONE,		/* there is a way */
	TLS_WHY_NO_SYMBOL,	/* no mapped file defines the variable */
	TLS_WHY_MACHINE,	/* a file of another architecture does */
	TLS_WHY_NO_RELOC,	/* a library does, and none of its code uses it */
	TLS_WHY_UNREADABLE,	/* a word could not be read */
	TLS_WHY_UNBOUND,	/* not bound yet: lazy, or the module is not loaded */
};

struct tls_plan {
	uint32_t	 n_ways;
	enum tls_why	 why;
	struct ev_context_way way[EV_CONTEXT_WAYS];
	/* Where each way came from, for people. */
	uint32_t	 module[EV_CONTEXT_WAYS];
	uint32_t	 access[EV_CONTEXT_WAYS];	/* enum tls_access; 0: local exec */
};

/*
 * Addresses whose words the plan needs and that are not among t->words yet; gives their number, at most
 * max.  Words can point to further words, so: ask, read, until it gives 0.
 */
uint32_t tls_plan_needs(const struct tls_target *t, uint64_t *addresses, uint32_t max);
void	tls_plan_make(const struct tls_target *t, struct tls_plan *out);
const char *tls_why_text(enum tls_why why);

#endif
