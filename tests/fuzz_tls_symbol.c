/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file that may define the variable of thread contexts, and plans from what is found. */
#include <stdlib.h>
#include <string.h>

#include "sidecar/context/tls_plan.h"
#include "sidecar/symbols/tls_symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever the words say, a plan is made in a few rounds and is what the kernel can walk. */
static void plan_from(const struct tls_facts *f, const uint8_t *data, size_t size)
{
	static struct tls_target t;
	uint64_t need[TLS_MAX_WORDS];
	struct tls_plan plan;
	uint32_t n;

	memset(&t, 0, sizeof(t));
	t.machine = f->machine;
	t.libc = size & 1 ? TLS_LIBC_MUSL : TLS_LIBC_GLIBC;
	t.n_modules = 2;
	t.modules[0] = (struct tls_module){ .facts = f, .bias = size, .is_main = size & 2 };
	t.modules[1] = (struct tls_module){ .facts = f, .bias = 1ull << 46 };
	for (int round = 0; round < 4; round++) {
		n = tls_plan_needs(&t, need, TLS_MAX_WORDS);
		for (uint32_t i = 0; i < n; i++) {
			struct tls_word *w = &t.words[t.n_words++];

			*w = (struct tls_word){ .address = need[i], .ok = need[i] % 5 != 0 };
			memcpy(&w->value, data + need[i] % (size - 8), sizeof(w->value));
		}
	}
	tls_plan_make(&t, &plan);
	if (plan.n_ways > EV_CONTEXT_WAYS || !plan.n_ways != (plan.why != TLS_WHY_NONE))
		abort();
	for (uint32_t i = 0; i < plan.n_ways; i++) {
		if (!plan.way[i].kind || plan.way[i].kind > EV_WAY_MUSL ||
		    (plan.way[i].kind != EV_WAY_STATIC && !plan.way[i].module))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *e = calloc(1, sizeof(*e));
	struct tls_facts f;
	struct source src;
	const char *why;

	if (!e)
		abort();
	source_from_memory(&src, data, size);
	if (!elf_file_read(e, &src, &why) && tls_symbol_find(e, &f)) {
		if (!tls_facts_ok(&f))
			abort();
		plan_from(&f, data, size);
	}
	free(e);
	return 0;
}
