/* SPDX-License-Identifier: Apache-2.0 */
/* getopt_long driven by option_table[]; getopt_long and not argp, which musl does not
 * have. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/command.h"
#include "client/complain.h"
#include "client/time.h"

#define ROWS_MAX 64
#define LONG_BASE 256		/* getopt_long values: LONG_BASE + row index, letters below */

_Static_assert(OPTION_COUNT < ROWS_MAX,
	       "an id stands at most once in what one command takes");

const struct option_row *option_row_find(enum option_id id, unsigned command)
{
	for (size_t i = 0; i < option_table_rows; i++)
		if (option_table[i].id == id && (option_table[i].commands & command))
			return &option_table[i];
	return NULL;
}

bool option_given(const struct options *o, enum option_id id)
{
	return o->value[id].count > 0;
}

const char *option_choice(const struct option_row *row, unsigned n, size_t *len)
{
	const char *s = row->choices;

	for (; s && *s; s += *len + (s[*len] == ' ')) {
		*len = strcspn(s, " ");
		if (!n--)
			return s;
	}
	return NULL;
}

/* Index of the word, or -1. */
static int choice_index(const struct option_row *row, const char *word, size_t word_len)
{
	const char *s;
	size_t len;

	for (unsigned n = 0; (s = option_choice(row, n, &len)); n++)
		if (len == word_len && !memcmp(s, word, len))
			return (int)n;
	return -1;
}

/* A word that a later version will know. */
static bool comes_later(const struct option_row *row, const char *word)
{
	struct option_row later = { .choices = row->later };

	return row->later && choice_index(&later, word, strlen(word)) >= 0;
}

static int parse_choices(const struct option_row *row, const char *arg, uint64_t *mask)
{
	for (;;) {
		size_t len = strcspn(arg, ",");
		int i = choice_index(row, arg, len);

		if (i < 0)
			return -EINVAL;
		*mask |= UINT64_C(1) << i;
		if (!arg[len])
			return 0;
		arg += len + 1;
	}
}

static int parse_number(const char *arg, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	if (*arg < '0' || *arg > '9')
		return -EINVAL;
	*out = strtoull(arg, &end, 10);
	if (*end)
		return -EINVAL;
	return errno || *out > max ? -ERANGE : 0;
}

static int parse_value(struct option_value *v, const struct option_row *row,
		       const char *arg, int64_t now_ns)
{
	int i;

	switch (row->type) {
	case OPTION_FLAG:
	case OPTION_TEXT:
	case OPTION_LIST:
		return 0;
	case OPTION_NUMBER_OPTIONAL:
		if (!arg) {
			v->number = 0;
			return 0;
		}
		/* fall through */
	case OPTION_NUMBER:
		return parse_number(arg, INT64_MAX, &v->number);
	case OPTION_NUMBER_LIST:
		i = parse_number(arg, UINT32_MAX, &v->number);
		return i ? i : v->number ? 0 : -EINVAL;
	case OPTION_DURATION:
		i = duration_parse(arg, &v->time);
		v->number = (uint64_t)v->time;
		return i;
	case OPTION_TIME:
		return time_parse(arg, now_ns, &v->time);
	case OPTION_CHOICE:
		i = choice_index(row, arg, strlen(arg));
		v->number = (uint64_t)i;
		return i < 0 ? -EINVAL : 0;
	case OPTION_CHOICES:
		return parse_choices(row, arg, &v->number);
	}
	return -EINVAL;
}

/* What would have been right. */
static const char *type_wants(const struct option_row *row)
{
	switch (row->type) {
	case OPTION_NUMBER_LIST:
		return "a number from 1";
	case OPTION_DURATION:
		return "a duration like 250ms, 10s, 5m";
	case OPTION_TIME:
		return "a time like 2026-11-30T17:05:00Z, -5m, now";
	case OPTION_CHOICE:
		return "one of";
	case OPTION_CHOICES:
		return "a comma-separated list of";
	default:
		return "a number";
	}
}

static int store(struct options *o, const struct command *c, const struct option_row *row,
		 const char *arg, int64_t now_ns)
{
	struct option_value *v = &o->value[row->id];
	int err = parse_value(v, row, arg, now_ns);

	if (err && comes_later(row, arg)) {
		complain("--%s %s: comes with a later version; there are: %s", row->name,
			 arg, row->choices);
		return CLIENT_USAGE;
	}
	if (err) {
		complain("--%s: %s: %s; it takes %s%s%s, see 'ringside %s --help'",
			 row->name, arg,
			 err == -ERANGE ? "out of range" : "not understood",
			 type_wants(row), row->choices ? " " : "",
			 row->choices ? row->choices : "", c->name);
		return CLIENT_USAGE;
	}
	if (row->type == OPTION_LIST || row->type == OPTION_NUMBER_LIST) {
		const char **list = realloc(v->list, (v->count + 1) * sizeof(*list));

		if (!list) {
			complain("--%s: out of memory", row->name);
			return CLIENT_FAILED;
		}
		v->list = list;
		list[v->count] = arg;
	}
	v->text = arg;
	v->count++;
	return 0;
}

static int has_arg(const struct option_row *row)
{
	if (row->type == OPTION_FLAG)
		return no_argument;
	return row->type == OPTION_NUMBER_OPTIONAL ? optional_argument
						   : required_argument;
}

/* getopt's two forms of our table, for one command. */
static void build(const struct command *c, struct option *longs, char *shorts)
{
	/* '+': operands end the options, so that a recorded command keeps its own; ':': a
	 * missing argument is told apart from an unknown option. */
	*shorts++ = '+';
	*shorts++ = ':';
	for (size_t i = 0; i < option_table_rows; i++) {
		const struct option_row *row = &option_table[i];

		if (!(row->commands & c->bit))
			continue;
		longs->name = row->name;
		longs->has_arg = has_arg(row);
		longs->flag = NULL;
		longs->val = LONG_BASE + (int)i;
		longs++;
		if (row->letter) {
			*shorts++ = row->letter;
			if (longs[-1].has_arg == required_argument)
				*shorts++ = ':';
		}
	}
	memset(longs, 0, sizeof(*longs));
	*shorts = '\0';
}

static const struct option_row *row_of(const struct command *c, int val)
{
	if (val >= LONG_BASE)
		return &option_table[val - LONG_BASE];
	for (size_t i = 0; i < option_table_rows; i++)
		if ((option_table[i].commands & c->bit) && option_table[i].letter == val)
			return &option_table[i];
	return NULL;
}

int options_parse(struct options *o, const struct command *command, int argc, char **argv,
		  int64_t now_ns)
{
	struct option longs[ROWS_MAX];
	char shorts[2 + 2 * ROWS_MAX + 1];
	int c, err;

	memset(o, 0, sizeof(*o));
	build(command, longs, shorts);
	opterr = 0;
#ifdef __GLIBC__
	optind = 0;	/* glibc: forget an earlier parse; musl and others: 1 does it */
#else
	optind = 1;
#endif
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == '?' || c == ':') {
			complain("%s: %s; see 'ringside %s --help'", argv[optind - 1],
				 c == ':'	       ? "needs an argument"
				 : optopt >= LONG_BASE ? "takes no argument"
						       : "unknown option",
				 command->name);
			return CLIENT_USAGE;
		}
		err = store(o, command, row_of(command, c), optarg, now_ns);
		if (err)
			return err;
	}
	o->operands = argv + optind;
	o->noperands = argc - optind;
	return 0;
}

void options_fini(struct options *o)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		free(o->value[i].list);
	memset(o, 0, sizeof(*o));
}
