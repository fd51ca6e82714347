/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/complain.h"
#include "client/escape.h"

static bool is_quiet, is_verbose;

void complain_level(bool quiet, bool verbose)
{
	is_quiet = quiet;
	is_verbose = verbose;
}

/* Messages quote paths and names that others chose; backslashes of our own escapes are
 * not doubled because what is passed here has not been escaped yet. */
static void vcomplain(const char *format, va_list ap)
{
	char raw[4096];
	struct text t;
	ssize_t n;

	if (vsnprintf(raw, sizeof(raw), format, ap) < 0)
		return;
	text_init(&t, 5 * sizeof(raw));
	text_puts(&t, "ringside: ");
	escape_terminal(&t, raw, strlen(raw));
	text_putc(&t, '\n');
	n = write(STDERR_FILENO, text_string(&t), t.len);
	(void)n;	/* nowhere left to complain */
	text_fini(&t);
}

void complain(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vcomplain(format, ap);
	va_end(ap);
}

void complain_note(const char *format, ...)
{
	va_list ap;

	if (is_quiet)
		return;
	va_start(ap, format);
	vcomplain(format, ap);
	va_end(ap);
}

void complain_detail(const char *format, ...)
{
	va_list ap;

	if (!is_verbose)
		return;
	va_start(ap, format);
	vcomplain(format, ap);
	va_end(ap);
}
