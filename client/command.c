/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/command.h"

const struct command subcommands[] = {
	{ "tail", IN_TAIL, cmd_tail, "[OPTION]...", "show records as they come",
	  "ringside tail --service shop -i 'malloc|free'" },
	{ "record", IN_RECORD, cmd_record,
	  "-o FILE [OPTION]... [-- COMMAND [ARGUMENT]...]", "write a profile to a file",
	  "ringside record -o worker.pprof -- ./worker" },
	{ "list", IN_LIST, cmd_list, "[OPTION]...",
	  "show the processes that held records refer to", "ringside list -o json" },
	{ "status", IN_STATUS, cmd_status, "[OPTION]...",
	  "show the state of the ring and of its writer", "ringside status" },
	{ "doctor", IN_DOCTOR, cmd_doctor, "[OPTION]...",
	  "check that profiling works here, and say what is missing", "ringside doctor" },
	{ "help", IN_HELP, cmd_help, "[COMMAND]", "show how a command is used",
	  "ringside help tail" },
	{ "completion", IN_COMPLETION, cmd_completion, "bash|zsh|fish",
	  "write a completion script for a shell",
	  "ringside completion bash >/etc/bash_completion.d/ringside" },
	{ NULL, 0, NULL, NULL, NULL, NULL },
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = subcommands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}
