/* SPDX-License-Identifier: Apache-2.0 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "sidecar/symbols/demangle.h"

#define DEMANGLE_INPUT_MAX 4096u

struct sink {
	char	*buf;
	size_t	 n, used;
	jmp_buf	 full;
};

/*
 * A few bytes of mangled name can ask for gigabytes of text (each substitution may repeat
 * all before it), and the demangler offers no way to stop it but leaving: it holds only
 * its own stack here.
 */
static void sink_take(const char *text, size_t len, void *arg)
{
	struct sink *s = arg;

	if (!len)
		return;		/* the text may be NULL then */
	if (len >= s->n - s->used)
		longjmp(s->full, 1);
	memcpy(s->buf + s->used, text, len);
	s->used += len;
}

/* The recursion limit of libiberty stays on: DMGL_NO_RECURSE_LIMIT is not given. */
static enum demangled demangle_into(const char *raw, struct sink *s)
{
	if (setjmp(s->full))
		return DEMANGLED_NOT;
	if (rust_demangle_callback(raw, DMGL_PARAMS, sink_take, s))
		return DEMANGLED_RUST;
	s->used = 0;
	if (raw[0] == '_' && raw[1] == 'Z' &&
	    cplus_demangle_v3_callback(raw, DMGL_PARAMS | DMGL_ANSI, sink_take, s))
		return DEMANGLED_CXX;
	return DEMANGLED_NOT;
}

static bool worth_trying(const char *raw)
{
	/* Both schemes are ASCII; anything else would only be copied through. */
	if (raw[0] != '_' || (raw[1] != 'Z' && raw[1] != 'R'))
		return false;
	if (strnlen(raw, DEMANGLE_INPUT_MAX) >= DEMANGLE_INPUT_MAX)
		return false;
	for (const char *p = raw; *p; p++)
		if ((unsigned char)*p < 0x21 || (unsigned char)*p > 0x7e)
			return false;
	return true;
}

enum demangled demangle(const char *raw, char *buf, size_t n)
{
	struct sink s = { .buf = buf, .n = n };
	enum demangled how;

	if (!n || !worth_trying(raw))
		return DEMANGLED_NOT;
	how = demangle_into(raw, &s);
	if (how == DEMANGLED_NOT || !s.used)
		return DEMANGLED_NOT;
	buf[s.used] = '\0';
	return how;
}
