/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts for bash, zsh and fish, made from the option table. */
#include <stdio.h>
#include <string.h>

#include "client/command.h"
#include "client/complain.h"

static bool shown(const struct option_row *row, const struct command *c)
{
	return (row->commands & c->bit) && row->help;
}

/* --name and -x of a row, separated by blanks. */
static void bash_words(FILE *f, const struct option_row *row)
{
	fprintf(f, "--%s ", row->name);
	if (row->letter)
		fprintf(f, "-%c ", row->letter);
}

/* What a command's option takes: its words, or files. */
static void bash_arguments(FILE *f, const struct command *c)
{
	for (size_t i = 0; i < option_table_rows; i++) {
		const struct option_row *row = &option_table[i];

		if (!shown(row, c) || !row->argument)
			continue;
		fprintf(f, "\t%s:--%s", c->name, row->name);
		if (row->letter)
			fprintf(f, "|%s:-%c", c->name, row->letter);
		if (row->choices)
			fprintf(f,
				") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
				row->choices);
		else if (row->type == OPTION_TEXT)
			fprintf(f,
				") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
		else
			fprintf(f, ") return ;;\n");
	}
}

static void bash_write(FILE *f)
{
	fprintf(f,
		"# bash completion for ringside, made by 'ringside completion bash'\n"
		"_ringside()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tlocal command=${COMP_WORDS[1]}\n\n"
		"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		"\t\tCOMPREPLY=($(compgen -W '");
	for (const struct command *c = subcommands; c->name; c++)
		fprintf(f, "%s ", c->name);
	fprintf(f, "--help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n"
		   "\tcase $command:$prev in\n");
	for (const struct command *c = subcommands; c->name; c++)
		bash_arguments(f, c);
	fprintf(f, "\tesac\n\tcase $command in\n");
	for (const struct command *c = subcommands; c->name; c++) {
		fprintf(f, "\t%s) COMPREPLY=($(compgen -W '", c->name);
		if (c->bit == IN_HELP)
			for (const struct command *d = subcommands; d->name; d++)
				fprintf(f, "%s ", d->name);
		if (c->bit == IN_COMPLETION)
			fprintf(f, "bash zsh fish ");
		for (size_t i = 0; i < option_table_rows; i++)
			if (shown(&option_table[i], c))
				bash_words(f, &option_table[i]);
		fprintf(f, "' -- \"$cur\")) ;;\n");
	}
	fprintf(f, "\tesac\n}\ncomplete -F _ringside ringside\n");
}

/* Text inside '...' of zsh's _arguments specification or of fish: quotes and brackets go.
 */
static void plain_words(FILE *f, const char *s)
{
	for (; *s; s++)
		fputc(strchr("'[]:\\$\"", *s) ? ' ' : *s, f);
}

static void zsh_row(FILE *f, const struct option_row *row)
{
	const char *repeat =
		row->type == OPTION_LIST || row->type == OPTION_NUMBER_LIST ? "*" : "";

	for (int letter = 0; letter <= (row->letter ? 1 : 0); letter++) {
		if (letter)
			fprintf(f, "\t\t'%s-%c", repeat, row->letter);
		else
			fprintf(f, "\t\t'%s--%s", repeat, row->name);
		if (row->type == OPTION_NUMBER_OPTIONAL)
			fputs("=-", f);
		else if (row->argument && !letter)
			fputc('=', f);
		fputc('[', f);
		plain_words(f, row->help);
		fputc(']', f);
		if (row->type == OPTION_NUMBER_OPTIONAL)
			fprintf(f, "::%s:", row->argument);
		else if (row->choices)
			fprintf(f, ":%s:(%s)", "choice", row->choices);
		else if (row->argument)
			fprintf(f, ":argument:%s",
				row->type == OPTION_TEXT ? "_files" : "");
		fputs("' \\\n", f);
	}
}

static void zsh_write(FILE *f)
{
	fprintf(f,
		"#compdef ringside\n# made by 'ringside completion zsh'\n_ringside()\n{\n"
		"\tlocal -a commands\n\tcommands=(\n");
	for (const struct command *c = subcommands; c->name; c++)
		fprintf(f, "\t\t'%s:%s'\n", c->name, c->summary);
	fprintf(f,
		"\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n"
		"\tfi\n\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n"
		"\tcase $command in\n");
	for (const struct command *c = subcommands; c->name; c++) {
		fprintf(f, "\t%s) _arguments -s \\\n", c->name);
		for (size_t i = 0; i < option_table_rows; i++)
			if (shown(&option_table[i], c))
				zsh_row(f, &option_table[i]);
		if (c->bit == IN_COMPLETION)
			fprintf(f, "\t\t'1:shell:(bash zsh fish)' ;;\n");
		else if (c->bit == IN_RECORD)
			fprintf(f, "\t\t'*::command:_normal' ;;\n");
		else
			fprintf(f, "\t\t'1: :' ;;\n");
	}
	fprintf(f, "\tesac\n}\n_ringside \"$@\"\n");
}

static void fish_row(FILE *f, const struct command *c, const struct option_row *row)
{
	fprintf(f, "complete -c ringside -n '__fish_seen_subcommand_from %s' -l %s",
		c->name, row->name);
	if (row->letter)
		fprintf(f, " -s %c", row->letter);
	if (row->type == OPTION_TEXT)
		fputs(" -r -F", f);
	else if (row->choices)
		fprintf(f, " -x -a '%s'", row->choices);
	else if (row->argument && row->type != OPTION_NUMBER_OPTIONAL)
		fputs(" -x", f);
	fputs(" -d '", f);
	plain_words(f, row->help);
	fputs("'\n", f);
}

static void fish_write(FILE *f)
{
	fprintf(f, "# fish completion for ringside, made by 'ringside completion fish'\n"
		   "complete -c ringside -f\n");
	for (const struct command *c = subcommands; c->name; c++) {
		fprintf(f,
			"complete -c ringside -n __fish_use_subcommand -a %s -d '%s'\n",
			c->name, c->summary);
		for (size_t i = 0; i < option_table_rows; i++)
			if (shown(&option_table[i], c))
				fish_row(f, c, &option_table[i]);
	}
	fprintf(f, "complete -c ringside -n '__fish_seen_subcommand_from completion' "
		   "-a 'bash zsh fish'\n");
}

bool completion_write(FILE *f, const char *shell)
{
	if (!strcmp(shell, "bash"))
		bash_write(f);
	else if (!strcmp(shell, "zsh"))
		zsh_write(f);
	else if (!strcmp(shell, "fish"))
		fish_write(f);
	else
		return false;
	return true;
}

int cmd_completion(const struct command *c, const struct options *o)
{
	if (o->noperands != 1 || !completion_write(stdout, o->operands[0])) {
		complain(
			"completion: takes one of bash, zsh, fish; see 'ringside %s --help'",
			c->name);
		return CLIENT_USAGE;
	}
	return CLIENT_OK;
}
