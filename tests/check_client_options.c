/* SPDX-License-Identifier: Apache-2.0 */
/* The option table, parsing, selection, help and completion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/command.h"
#include "client/complain.h"
#include "client/selection.h"
#include "client/time.h"
#include "tests/client_records.h"

#define NOW INT64_C(1796058300000000000)
#define ARGS_MAX 24

/* "-p 1 --comm x" as argv; words are separated by blanks.  The result is static. */
static int split(const char *command, const char *line, char **argv)
{
	static char copy[256];
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s %s", command, line);
	argv[0] = copy;
	for (char *p = copy; *p; p++)
		if (*p == ' ') {
			*p = '\0';
			if (p[1] && p[1] != ' ')
				argv[argc++] = p + 1;
			ck_assert_int_lt(argc, ARGS_MAX);
		}
	argv[argc] = NULL;
	return argc;
}

static int parse(struct options *o, const char *command, const char *line)
{
	static char *argv[ARGS_MAX + 1];
	int argc = split(command, line, argv);

	return options_parse(o, command_find(command), argc, argv, NOW);
}

START_TEST(table_is_consistent)
{
	for (const struct command *c = subcommands; c->name; c++)
		for (size_t i = 0; i < option_table_rows; i++) {
			const struct option_row *a = &option_table[i];

			if (!(a->commands & c->bit))
				continue;
			ck_assert_msg((a->argument != NULL) == (a->type != OPTION_FLAG),
				      "%s", a->name);
			ck_assert_msg((a->choices != NULL) == (a->type == OPTION_CHOICE ||
							       a->type == OPTION_CHOICES),
				      "%s", a->name);
			for (size_t k = i + 1; k < option_table_rows; k++) {
				const struct option_row *b = &option_table[k];

				if (!(b->commands & c->bit))
					continue;
				ck_assert_msg(
					a->id != b->id && strcmp(a->name, b->name) &&
						(!a->letter || a->letter != b->letter),
					"%s: %s and %s", c->name, a->name, b->name);
			}
		}
}
END_TEST

/* Every option of ringside(1), spelled in every way. */
static const struct { const char *command, *line; int want;
} lines[] = {
	{ "tail", "", 0 },
	{ "tail", "-N 5 -f -o json --stack --utc --color never -H re --kind all", 0 },
	{ "tail",
	  "--lines=5 --follow --output full --stack=3 --root-first --kind sample,lost",
	  0 },
	{ "tail", "--no-follow --no-stack -q -v", 0 },
	{ "tail", "-p 1 -p 2 -t 3 --comm a --service b -c c -n d -l e=f --event cpu", 0 },
	{ "tail", "--pid 1 --tid=3 --container c --namespace d --selector e=f --attr g=h",
	  0 },
	{ "tail",
	  "-i x -e y --include x --exclude y --since -5m --until now --duration 1s", 0 },
	{ "tail", "--max-events 3 --ring r --wait 5s --paranoid --owner 1000", 0 },
	{ "tail",
	  "--trace-id 0af7651916cd43dd8448eb211c80319c --span-id b7ad6b7169203331", 0 },
	{ "record", "-o x.pprof --format folded -p 1 -- ./x -o y --nonsense", 0 },
	{ "list", "-o json -p 1 --ring x --utc", 0 },
	{ "status", "-o text --ring x --utc", 0 },
	{ "doctor", "--output json --ring x", 0 },
	{ "tail", "--nonsense", CLIENT_USAGE },
	{ "tail", "-Z", CLIENT_USAGE },
	{ "tail", "-o", CLIENT_USAGE },
	{ "tail", "--output", CLIENT_USAGE },
	{ "tail", "--utc=1", CLIENT_USAGE },
	{ "tail", "-o perf", CLIENT_USAGE },
	{ "tail", "-o yaml", CLIENT_USAGE },
	{ "tail", "-p 0", CLIENT_USAGE },
	{ "tail", "-p -1", CLIENT_USAGE },
	{ "tail", "-p 4294967296", CLIENT_USAGE },
	{ "tail", "-p 1x", CLIENT_USAGE },
	{ "tail", "-N x", CLIENT_USAGE },
	{ "tail", "-N 99999999999999999999", CLIENT_USAGE },
	{ "tail", "--kind sample,nothing", CLIENT_USAGE },
	{ "tail", "--kind sample,", CLIENT_USAGE },
	{ "tail", "--since tomorrow", CLIENT_USAGE },
	{ "tail", "--duration -5", CLIENT_USAGE },
	{ "tail", "--stack=x", CLIENT_USAGE },
	{ "status", "-p 1", CLIENT_USAGE },
	{ "doctor", "--since now", CLIENT_USAGE },
	{ "record", "--format svg", CLIENT_USAGE },
	{ "tail", "--event gpu", CLIENT_USAGE },
};

START_TEST(options_are_taken_or_refused)
{
	struct options o;

	ck_assert_msg(parse(&o, lines[_i].command, lines[_i].line) == lines[_i].want,
		      "%s %s", lines[_i].command, lines[_i].line);
	options_fini(&o);
}
END_TEST

START_TEST(values_arrive)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "tail",
			       "-p 7 --pid=8 --since -5m --wait 250ms --stack=3 "
			       "--kind lost,clock"),
			 0);
	ck_assert_uint_eq(o.value[OPTION_PID].count, 2);
	ck_assert_str_eq(o.value[OPTION_PID].list[0], "7");
	ck_assert_str_eq(o.value[OPTION_PID].list[1], "8");
	ck_assert_int_eq(o.value[OPTION_SINCE].time, NOW - 300 * NS_PER_SEC);
	ck_assert_uint_eq(o.value[OPTION_WAIT].number, 250000000);
	ck_assert_uint_eq(o.value[OPTION_STACK].number, 3);
	ck_assert_uint_eq(o.value[OPTION_KIND].number, 1 << 2 | 1 << 3);
	ck_assert(!option_given(&o, OPTION_UTC));
	options_fini(&o);
	ck_assert_int_eq(parse(&o, "tail", "--stack -o json"), 0);
	ck_assert(option_given(&o, OPTION_STACK));
	ck_assert_uint_eq(o.value[OPTION_STACK].number, 0);
	ck_assert_uint_eq(o.value[OPTION_OUTPUT].number, 2);
	options_fini(&o);
}
END_TEST

START_TEST(a_recorded_command_keeps_its_options)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "record", "-o x -- ./x -p 5 --utc"), 0);
	ck_assert_int_eq(o.noperands, 4);
	ck_assert_str_eq(o.operands[0], "./x");
	ck_assert_str_eq(o.operands[3], "--utc");
	ck_assert(!option_given(&o, OPTION_PID));
	options_fini(&o);
	ck_assert_int_eq(parse(&o, "record", "-o x ./x -p 5"), 0);
	ck_assert_int_eq(o.noperands, 3);
	options_fini(&o);
}
END_TEST

/* record_sample: pid 77, tid 78, comm worker, service shop, ns prod, container
 * 0123456789abcdef (web) */
static const struct { const char *line; bool sample, process;
} selections[] = {
	{ "", true, true },
	{ "-p 77", true, false },
	{ "-p 80", false, true },
	{ "-p 1 -p 77", true, false },
	{ "-p 1", false, false },
	{ "-t 78", true, false },
	{ "-t 77", false, false },
	{ "-p 77 -t 1", false, false },
	{ "--comm work", true, false },
	{ "--comm ^work$", false, false },
	{ "--comm ^work|R", true, true },
	{ "--comm nope --comm ker$", true, false },
	{ "--service sho", true, false },
	{ "--service ^hop", false, false },
	{ "-c 0123", true, false },
	{ "-c 0123456789abcdef", true, false },
	{ "-c 123", false, false },
	{ "-c web", true, false },
	{ "-c we", false, false },
	{ "-n prod", true, false },
	{ "-n pro", false, false },
	{ "-n dev -n prod", true, false },
	{ "-l service.name=shop", true, false },
	{ "-l service.name=sho", false, false },
	{ "-l process.pid=77", true, false },
	{ "-l process.pid=077", false, false },
	{ "-l debug=true", true, false },
	{ "-l ratio=0.10", true, false },
	{ "-l a=b -l service.name=shop", true, false },
	{ "-l service.name=", false, false },
	{ "--trace-id 0AF7651916CD43DD8448EB211C80319C", true, false },
	{ "--trace-id 00000000000000000000000000000001", false, false },
	{ "--span-id b7ad6b7169203331", true, false },
	{ "--span-id b7ad6b7169203332", false, false },
	{ "--attr http.route=/cart", true, false },
	{ "--attr http.route=/", false, false },
	{ "--attr service.name=shop", false, false },
	{ "--event cpu", true, false },
	{ "--event offcpu", false, false },
	{ "--event offcpu,cpu", true, false },
	{ "-i ^burn$", true, false },
	{ "-i vfs", true, false },
	{ "-i nope", false, false },
	{ "-i nope -i main", true, false },
	{ "-e main", false, true },
	{ "-e nope", true, true },
	{ "-i burn -e vfs", false, false },
	{ "-e shop::", false, true },
};

START_TEST(selection_takes_what_was_asked_for)
{
	struct selection *s;
	struct options o;

	ck_assert_int_eq(parse(&o, "tail", selections[_i].line), 0);
	ck_assert_int_eq(selection_create(&s, &o), 0);
	ck_assert_msg(selection_matches(s, &record_sample) == selections[_i].sample,
		      "%s: sample", selections[_i].line);
	ck_assert_msg(selection_matches(s, &record_process) == selections[_i].process,
		      "%s: process", selections[_i].line);
	/* Losses and clock steps concern everybody. */
	ck_assert(selection_matches(s, &record_lost));
	ck_assert(selection_matches(s, &record_clock));
	selection_destroy(s);
	options_fini(&o);
}
END_TEST

static const char *const bad_selections[] = {
	"--comm [",
	"--service (",
	"-i *[",
	"-l novalue",
	"-l =x",
	"--attr x",
	"--trace-id 12",
	"--trace-id 0af7651916cd43dd8448eb211c80319g",
	"--span-id 0af7651916cd43dd8448eb211c80319c",
};

START_TEST(selection_refuses_what_it_cannot_read)
{
	struct selection *s;
	struct options o;

	ck_assert_int_eq(parse(&o, "tail", bad_selections[_i]), 0);
	ck_assert_int_eq(selection_create(&s, &o), CLIENT_USAGE);
	ck_assert_ptr_null(s);
	options_fini(&o);
}
END_TEST

START_TEST(selection_has_a_half_open_time_range)
{
	struct ringside_record rec = record_sample, lapped = record_lapped;
	struct selection *s;
	struct options o;

	ck_assert_int_eq(parse(&o, "tail", "--since now --until +1s"), 0);
	ck_assert_int_eq(selection_create(&s, &o), 0);
	rec.time_ns = NOW - 1;
	ck_assert(!selection_in_time(s, &rec));
	rec.time_ns = NOW;
	ck_assert(selection_in_time(s, &rec));
	rec.time_ns = NOW + NS_PER_SEC - 1;
	ck_assert(selection_in_time(s, &rec));
	rec.time_ns = NOW + NS_PER_SEC;
	ck_assert(!selection_in_time(s, &rec));
	lapped.time_ns = 0;
	ck_assert(selection_in_time(s, &lapped));
	selection_destroy(s);
	options_fini(&o);
}
END_TEST

/* What a writer of help puts out, in memory. */
static char *written(void (*write)(FILE *, const struct command *),
		     const struct command *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(f);
	write(f, c);
	ck_assert_int_eq(fclose(f), 0);
	return text;
}

static void overview(FILE *f, const struct command *c)
{
	(void)c;
	help_overview(f);
}

static void fits_80_columns(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		ck_assert_msg(len <= 80, "%.*s", (int)len, text);
		ck_assert_msg(!len || text[len - 1] != ' ', "%.*s|", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

START_TEST(help_fits_and_names_every_option)
{
	char *text = written(overview, NULL);

	fits_80_columns(text);
	for (const struct command *c = subcommands; c->name; c++)
		ck_assert_ptr_nonnull(strstr(text, c->name));
	free(text);
	for (const struct command *c = subcommands; c->name; c++) {
		text = written(help_command, c);
		fits_80_columns(text);
		for (size_t i = 0; i < option_table_rows; i++) {
			char name[64];

			snprintf(name, sizeof(name), "--%s", option_table[i].name);
			if ((option_table[i].commands & c->bit) && option_table[i].help)
				ck_assert_msg(strstr(text, name), "%s %s", c->name, name);
		}
		free(text);
	}
}
END_TEST

/* The page holds what the table says: between markers, a block a command. */
START_TEST(man_page_has_the_option_text_of_the_table)
{
	const char *srcdir = getenv("srcdir");
	char path[512], *page = calloc(1, 1 << 17);
	FILE *f;

	snprintf(path, sizeof(path), "%s/man/ringside.1", srcdir ? srcdir : ".");
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s", path);
	ck_assert_uint_lt(fread(page, 1, 1 << 17, f), 1 << 17);
	fclose(f);
	for (const struct command *c = subcommands; c->name; c++) {
		char *text;

		if (c->bit & (IN_HELP | IN_COMPLETION))
			continue;
		text = written(help_mdoc, c);
		ck_assert_msg(strstr(page, text), "%s: run tests/client_man_update.sh",
			      c->name);
		free(text);
	}
	free(page);
}
END_TEST

START_TEST(completion_knows_three_shells)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };
	char *text;
	size_t len;
	FILE *f;

	for (int i = 0; i < 3; i++) {
		f = open_memstream(&text, &len);
		ck_assert(completion_write(f, shells[i]));
		fclose(f);
		ck_assert_ptr_nonnull(strstr(text, "max-events"));
		ck_assert_ptr_nonnull(strstr(text, "short full json folded"));
		ck_assert_ptr_null(strstr(text, "mdoc"));
		free(text);
	}
	f = open_memstream(&text, &len);
	ck_assert(!completion_write(f, "csh"));
	fclose(f);
	free(text);
}
END_TEST

Suite *suite_options(void)
{
	Suite *s = suite_create("client options");
	TCase *tc = tcase_create("options");

#define ROWS(a) (int)(sizeof(a) / sizeof(*(a)))
	tcase_add_test(tc, table_is_consistent);
	tcase_add_loop_test(tc, options_are_taken_or_refused, 0, ROWS(lines));
	tcase_add_test(tc, values_arrive);
	tcase_add_test(tc, a_recorded_command_keeps_its_options);
	tcase_add_loop_test(tc, selection_takes_what_was_asked_for, 0, ROWS(selections));
	tcase_add_loop_test(tc, selection_refuses_what_it_cannot_read, 0,
			    ROWS(bad_selections));
	tcase_add_test(tc, selection_has_a_half_open_time_range);
	tcase_add_test(tc, help_fits_and_names_every_option);
	tcase_add_test(tc, man_page_has_the_option_text_of_the_table);
	tcase_add_test(tc, completion_knows_three_shells);
	suite_add_tcase(s, tc);
	return s;
}
