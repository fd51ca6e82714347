/* SPDX-License-Identifier: Apache-2.0 */
/* ringside COMMAND: reads the ring that ringsided writes.  Needs no right but to read
 * that file. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "client/command.h"
#include "client/complain.h"
#include "client/interrupt.h"
#include "client/time.h"
#include "shm/ringside.h"

static int version(void)
{
	printf("ringside %s\n", ringside_version());
	return fflush(stdout) ? CLIENT_FAILED : CLIENT_OK;
}

/* Without a command: --help, --version, or wrong usage. */
static int no_command(const char *word)
{
	if (word && (!strcmp(word, "--version") || !strcmp(word, "-V")))
		return version();
	if (word && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
		help_overview(stdout);
		return CLIENT_OK;
	}
	if (!word)
		help_overview(stderr);
	else if (!strcmp(word, "top"))
		complain(
			"top: comes with a later version; 'ringside tail' shows samples as they "
			"come, 'ringside record' counts them");
	else
		complain("%s: no such command; see 'ringside --help'", word);
	return CLIENT_USAGE;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options o;
	int err = options_parse(&o, c, argc, argv, time_now());

	complain_level(option_given(&o, OPTION_QUIET), option_given(&o, OPTION_VERBOSE));
	if (err)
		goto out;
	if (option_given(&o, OPTION_HELP)) {
		help_command(stdout, c);
	} else if (option_given(&o, OPTION_VERSION)) {
		err = version();
	} else {
		/* record and doctor start programs that may need what set-uid or file
		 * capabilities give; they renounce once those run. */
		if (!(c->bit & (IN_RECORD | IN_DOCTOR)))
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		interrupt_install();
		err = c->run(c, &o);
	}
out:
	options_fini(&o);
	return err;
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? command_find(argv[1]) : NULL;

	if (!c)
		return no_command(argc > 1 ? argv[1] : NULL);
	return run(c, argc - 1, argv + 1);
}
