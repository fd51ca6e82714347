/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table: one row parses a command line option, its YAML key (`-` becomes `_`), makes its
 * line of --help, and is looked for in the man page by tests.  Inside of config.
 */
#ifndef RINGSIDE_OPTIONS_H
#define RINGSIDE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sidecar/config.h"

#define OPTION_WHY_MAX 256

enum option_type {
	OPTION_STRING,		/* char * */
	OPTION_SIZE,		/* uint64_t, bytes */
	OPTION_DURATION,	/* uint64_t, ns */
	OPTION_NUMBER,		/* uint32_t */
	OPTION_OCTAL,		/* uint32_t */
	OPTION_FLAG,		/* bool; no argument on the command line */
	OPTION_CHOICE,		/* int, by option_row.choices */
	OPTION_CHOICE_BOOL,	/* bool, likewise */
	OPTION_SCOPE,
	OPTION_ACTION,		/* sets mode; an argument goes to offset as a string */
	OPTION_VERBOSE, OPTION_QUIET,
	OPTION_LATER,		/* comes with later work: refused, with what it comes with in later */
};

struct option_choice { const char *name; int value; };

struct option_row {
	const char	*name;		/* long option; "" none */
	char		 letter;	/* 0 none */
	bool		 command_line_only; /* no YAML key */
	enum option_type type;
	const char	*arg;		/* NULL: takes none */
	const char	*deflt;		/* in the form a user writes; NULL none */
	uint64_t	 min, max;	/* numbers, sizes, durations */
	size_t		 offset;	/* in struct config */
	enum config_mode mode;		/* OPTION_ACTION */
	const struct option_choice *choices; /* ends with NULL */
	const char	*later;		/* OPTION_LATER */
	const char	*help;
};

extern const struct option_row options[];
extern const uint32_t n_options;

/* 0, or -EINVAL with the reason in why, -ENOMEM too.  value is NULL for what takes no argument. */
int	option_set(struct config *c, const struct option_row *o, const char *value, char why[OPTION_WHY_MAX]);
/* NULL when there is none.  The key of YAML. */
const struct option_row *option_by_key(const char *key);
void	option_key(const struct option_row *o, char *buf, size_t n);
int	option_parse_bool(const char *text, bool *out);

/* How many single-character changes make a into b, cap at most. */
unsigned int text_distance(const char *a, const char *b, unsigned int cap);

/* yaml_config.c: text of a configuration file into c.  Counts of what was printed on out. */
struct yaml_result { uint32_t errors, warnings; };
#define YAML_CONFIG_MAX (1u << 20)
void	yaml_config_parse(struct config *c, const char *path, const char *text, size_t n, FILE *out,
			  struct yaml_result *r);
/* 0, -errno when the file cannot be read (nothing is printed then). */
int	yaml_config_read(struct config *c, const char *path, FILE *out, struct yaml_result *r);

/* Path of the sysctl is a parameter for tests.  0, or 2 after a message. */
int	config_check_rate(uint32_t frequency, const char *sysctl, FILE *err);

#endif
