/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of ringside.  main is a look-up in subcommands[]. */
#ifndef CLIENT_COMMAND_H
#define CLIENT_COMMAND_H

#include <stdio.h>

#include "client/options.h"

struct command {
	const char	*name;
	unsigned	 bit;		/* enum command_bit */
	int		(*run)(const struct command *c, const struct options *o); /* exit code */
	const char	*synopsis;	/* after the name */
	const char	*summary;	/* one line */
	const char	*example;
};

extern const struct command subcommands[];	/* ends with a NULL name */
const struct command *command_find(const char *name);

int	 cmd_tail(const struct command *c, const struct options *o);
int	 cmd_list(const struct command *c, const struct options *o);
int	 cmd_status(const struct command *c, const struct options *o);
int	 cmd_doctor(const struct command *c, const struct options *o);
int	 cmd_record(const struct command *c, const struct options *o);
int	 cmd_help(const struct command *c, const struct options *o);
int	 cmd_completion(const struct command *c, const struct options *o);

/* --help: 80 columns at most. */
void	 help_overview(FILE *f);
void	 help_command(FILE *f, const struct command *c);
/* The option list of a command for ringside(1). */
void	 help_mdoc(FILE *f, const struct command *c);

/* False for shells that are not known. */
bool	 completion_write(FILE *f, const char *shell);

#endif
