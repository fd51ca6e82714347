/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of options.  Parsing, --help, the option text of ringside(1) and the shell completions are
 * all made from it, so they cannot drift apart.
 */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;

/* Which commands take an option. */
enum command_bit {
	IN_TAIL = 1, IN_RECORD = 2, IN_LIST = 4, IN_STATUS = 8, IN_DOCTOR = 16, IN_HELP = 32,
	IN_COMPLETION = 64,
	IN_READERS = IN_TAIL | IN_RECORD | IN_LIST,
	IN_RING = IN_READERS | IN_STATUS | IN_DOCTOR,
	IN_ALL = IN_RING | IN_HELP | IN_COMPLETION,
};

enum option_type {
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_LIST,		/* may be repeated: or */
	OPTION_NUMBER,		/* 0 .. 2^63 - 1 */
	OPTION_NUMBER_OPTIONAL,	/* --x or --x=N */
	OPTION_NUMBER_LIST,	/* 1 .. 2^32 - 1 each */
	OPTION_DURATION,	/* ns in number */
	OPTION_TIME,		/* ns since 1970 in time */
	OPTION_CHOICE,		/* one of the words in choices; number = its index */
	OPTION_CHOICES,		/* some of them, separated by commas; number = a bit mask */
};

enum option_group { GROUP_OUTPUT, GROUP_WHEN, GROUP_SELECTION, GROUP_RING, GROUP_GENERAL, GROUP_MAX };

enum option_id {
	OPTION_RING, OPTION_WAIT, OPTION_PARANOID, OPTION_OWNER,
	OPTION_PID, OPTION_TID, OPTION_COMM, OPTION_SERVICE, OPTION_CONTAINER, OPTION_NAMESPACE,
	OPTION_SELECTOR, OPTION_TRACE_ID, OPTION_SPAN_ID, OPTION_ATTR, OPTION_EVENT, OPTION_INCLUDE,
	OPTION_EXCLUDE, OPTION_SINCE, OPTION_UNTIL, OPTION_FOR, OPTION_MAX_EVENTS,
	OPTION_LINES, OPTION_FOLLOW, OPTION_NO_FOLLOW, OPTION_OUTPUT, OPTION_STACK, OPTION_NO_STACK,
	OPTION_ROOT_FIRST, OPTION_UTC, OPTION_COLOR, OPTION_HIGHLIGHT, OPTION_KIND,
	OPTION_FILE, OPTION_FORMAT, OPTION_FORM,
	OPTION_HELP, OPTION_VERSION, OPTION_VERBOSE, OPTION_QUIET, OPTION_MDOC,
	OPTION_COUNT
};

struct option_row {
	enum option_id	 id;
	const char	*name;		/* long */
	char		 letter;	/* 0: none */
	enum option_type type;
	enum option_group group;
	unsigned	 commands;	/* enum command_bit */
	const char	*argument;	/* as shown; NULL for flags */
	const char	*choices;	/* words separated by blanks */
	const char	*preset;	/* default as shown, NULL: none */
	const char	*help;		/* NULL: not shown */
	const char	*later;		/* choices of a later version: refused with these words */
};

extern const struct option_row option_table[];
extern const size_t option_table_rows;
extern const char *const option_group_title[GROUP_MAX];

struct option_value {
	unsigned	 count;		/* how often it was given; 0: the default holds */
	uint64_t	 number;
	int64_t		 time;
	const char	*text;		/* the last one, borrowed from argv */
	const char	**list;		/* LIST types: all of them */
};

struct options {
	struct option_value value[OPTION_COUNT];
	char	**operands;		/* borrowed from argv */
	int	  noperands;
};

/*
 * Parses argv (argv[0] is the command's name).  0; CLIENT_USAGE after a message on stderr.  Times like
 * -5m are relative to now_ns.  Options of other commands are not known here.  The first operand or
 * "--" ends the options.
 */
int	 options_parse(struct options *o, const struct command *command, int argc, char **argv,
		       int64_t now_ns);
void	 options_fini(struct options *o);

bool	 option_given(const struct options *o, enum option_id id);
/* The n-th word of a row's choices and its length; NULL past the end. */
const char *option_choice(const struct option_row *row, unsigned n, size_t *len);
const struct option_row *option_row_find(enum option_id id, unsigned command);

#endif
