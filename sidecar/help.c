/* SPDX-License-Identifier: Apache-2.0 */
/* --help, from the option table, within 80 columns. */
#include <string.h>
#include "sidecar/config.h"
#include "sidecar/options.h"

#define COLUMNS 79
#define INDENT 28

/* Words of text from column on; later lines begin at INDENT. */
static void put_wrapped(FILE *out, const char *text, int column)
{
	int len;

	while (*text) {
		len = (int)strcspn(text, " ");
		if (column > INDENT && column + 1 + len > COLUMNS) {
			fprintf(out, "\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", len, text);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void put_option(FILE *out, const struct option_row *o)
{
	char left[64], text[256];
	int n;

	if (!o->name[0])
		n = snprintf(left, sizeof(left), "  -%c", o->letter);
	else if (o->letter)
		n = snprintf(left, sizeof(left), "  -%c, --%s %s", o->letter, o->name,
			     o->arg ? o->arg : "");
	else
		n = snprintf(left, sizeof(left), "      --%s %s", o->name,
			     o->arg ? o->arg : "");
	fputs(left, out);
	if (n >= INDENT - 1) {
		fputc('\n', out);
		n = 0;
	}
	fprintf(out, "%*s", INDENT - n, "");
	if (o->deflt)
		snprintf(text, sizeof(text), "%s (default %s)", o->help, o->deflt);
	else
		snprintf(text, sizeof(text), "%s", o->help);
	put_wrapped(out, text, INDENT);
}

void config_help(FILE *out)
{
	fputs("usage: ringsided [OPTION]...\n"
	      "Samples every CPU and publishes resolved samples into a ring in shared memory.\n\n",
	      out);
	for (uint32_t i = 0; i < n_options; i++)
		put_option(out, &options[i]);
	fputs("\nSizes take K, M, G (powers of 1024); durations ms, s, m, h (a bare number is\n"
	      "seconds).  Signals: SIGHUP reloads the configuration, SIGUSR2 pauses and\n"
	      "resumes, SIGTERM and SIGINT stop.  Exit: 0 done, 1 failed, 2 wrong usage or\n"
	      "configuration.  See ringsided(8).\n",
	      out);
}
