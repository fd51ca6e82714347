/* SPDX-License-Identifier: Apache-2.0 */
/* Help made from the tables: for a terminal, and as mdoc for ringside(1). */
#include <stdio.h>
#include <string.h>

#include "client/command.h"
#include "client/complain.h"
#include "client/text.h"

#define LEFT	26	/* where explanations begin */
#define WIDTH	79

/* The whole explanation of a row: help, choices, default. */
static void explain(struct text *t, const struct option_row *row)
{
	const char *s;
	size_t len;

	text_puts(t, row->help);
	if (row->choices) {
		text_printf(t, "; %s is ", row->argument);
		for (unsigned n = 0; (s = option_choice(row, n, &len)); n++) {
			text_puts(t, n ? ", " : "");
			text_add(t, s, len);
		}
	}
	if (row->preset)
		text_printf(t, " (default: %s)", row->preset);
}

/* Writes words from column `at` on, breaking lines before WIDTH and indenting by
 * `indent`. */
static void wrap(FILE *f, const char *words, unsigned at, unsigned indent)
{
	bool first = true;

	while (*words) {
		size_t len = strcspn(words, " ");

		if (!first && at + 1 + len > WIDTH) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		fprintf(f, "%s%.*s", first ? "" : " ", (int)len, words);
		at += (unsigned)len + !first;
		first = false;
		words += len;
		words += strspn(words, " ");
	}
	fputc('\n', f);
}

static void help_row(FILE *f, const struct option_row *row)
{
	struct text left, right;

	text_init(&left, 256);
	text_init(&right, 4096);
	if (row->letter)
		text_printf(&left, "  -%c, --%s", row->letter, row->name);
	else
		text_printf(&left, "      --%s", row->name);
	if (row->type == OPTION_NUMBER_OPTIONAL)
		text_printf(&left, "[=%s]", row->argument);
	else if (row->argument)
		text_printf(&left, " %s", row->argument);
	explain(&right, row);
	fputs(text_string(&left), f);
	if (left.len + 1 > LEFT)
		fprintf(f, "\n%*s", LEFT, "");
	else
		fprintf(f, "%*s", (int)(LEFT - left.len), "");
	wrap(f, text_string(&right), LEFT, LEFT);
	text_fini(&left);
	text_fini(&right);
}

static void help_group(FILE *f, const struct command *c, enum option_group group)
{
	bool titled = false;

	for (size_t i = 0; i < option_table_rows; i++) {
		const struct option_row *row = &option_table[i];

		if (row->group != group || !(row->commands & c->bit) || !row->help)
			continue;
		if (!titled)
			fprintf(f, "\n%s:\n", option_group_title[group]);
		titled = true;
		help_row(f, row);
	}
}

void help_command(FILE *f, const struct command *c)
{
	fprintf(f, "Usage: ringside %s %s\n", c->name, c->synopsis);
	wrap(f, c->summary, 0, 0);
	for (int group = 0; group < GROUP_MAX; group++)
		help_group(f, c, (enum option_group)group);
	fprintf(f, "\nExample: %s\n", c->example);
	fprintf(f, "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.  "
		   "See ringside(1).\n");
}

void help_overview(FILE *f)
{
	fprintf(f, "Usage: ringside COMMAND [OPTION]...\n"
		   "Reads the samples that ringsided publishes in a ring file.\n\n");
	for (const struct command *c = subcommands; c->name; c++)
		fprintf(f, "  %-12s %s\n", c->name, c->summary);
	fprintf(f,
		"\n'ringside COMMAND --help' shows the options of a command, "
		"'ringside --version'\nthe version.  Not there yet: top, a live table.\n");
}

/* One word of running text; at the start of a line it must not look like a request. */
static void mdoc_word(struct text *t, const char *s, size_t len)
{
	if (*s == '.' || *s == '\'')
		text_puts(t, "\\&");
	for (; len; s++, len--) {
		if (*s == '\\')
			text_puts(t, "\\e");
		else if (*s == '-')
			text_puts(t, "\\-");
		else
			text_putc(t, *s);
	}
}

/* Source lines stay short, which mandoc's lint asks for. */
static void mdoc_text(FILE *f, const char *s)
{
	struct text word;
	size_t at = 0;

	text_init(&word, 256);
	while (*s) {
		size_t len = strcspn(s, " ");

		text_clear(&word);
		mdoc_word(&word, s, len);
		if (at && at + 1 + word.len > WIDTH) {
			fputc('\n', f);
			at = 0;
		}
		at += (size_t)fprintf(f, "%s%s", at ? " " : "", text_string(&word));
		s += len;
		s += strspn(s, " ");
	}
	fputc('\n', f);
	text_fini(&word);
}

static void mdoc_argument(FILE *f, const struct option_row *row)
{
	if (!row->argument)
		return;
	if (row->type == OPTION_NUMBER_OPTIONAL)
		fprintf(f, " Ns Oo = Ns Ar %s Oc", row->argument);
	else
		fprintf(f, " Ar %s", row->argument);
}

static void mdoc_row(FILE *f, const struct option_row *row)
{
	struct text t;

	text_init(&t, 4096);
	explain(&t, row);
	fputs(".It ", f);
	if (row->letter)
		fprintf(f, "Fl %c , ", row->letter);
	fprintf(f, "Fl \\-%s", row->name);
	mdoc_argument(f, row);
	fputc('\n', f);
	mdoc_text(f, text_string(&t));
	text_fini(&t);
}

void help_mdoc(FILE *f, const struct command *c)
{
	fprintf(f, ".Bl -tag -width Ds -compact\n");
	for (size_t i = 0; i < option_table_rows; i++)
		if ((option_table[i].commands & c->bit) && option_table[i].help &&
		    option_table[i].group != GROUP_GENERAL)
			mdoc_row(f, &option_table[i]);
	fprintf(f, ".El\n");
}

int cmd_help(const struct command *c, const struct options *o)
{
	(void)c;
	if (o->noperands > 1) {
		complain("help: takes one command; see 'ringside --help'");
		return CLIENT_USAGE;
	}
	if (!o->noperands) {
		help_overview(stdout);
		return CLIENT_OK;
	}
	c = command_find(o->operands[0]);
	if (!c) {
		complain("help: %s: no such command; see 'ringside --help'",
			 o->operands[0]);
		return CLIENT_USAGE;
	}
	if (option_given(o, OPTION_MDOC))
		help_mdoc(stdout, c);
	else
		help_command(stdout, c);
	return CLIENT_OK;
}
