/* SPDX-License-Identifier: Apache-2.0 */
/* The table itself.  Order here is order in --help. */
#include "client/options.h"

const char *const option_group_title[GROUP_MAX] = {
	[GROUP_OUTPUT] = "Output",
	[GROUP_WHEN] = "Time and amount",
	[GROUP_SELECTION] = "Selection (repeated: or; different ones: and)",
	[GROUP_RING] = "Ring",
	[GROUP_GENERAL] = "General",
};

const struct option_row option_table[] = {
	/* output of tail */
	{ OPTION_OUTPUT, "output", 'o', OPTION_CHOICE, GROUP_OUTPUT, IN_TAIL, "FORM",
	  "short full json folded", "short",
	  "how records are shown: one line, all details, one JSON object a line, or stacks for a "
	  "flame graph; perf comes with a later version",
	  "perf" },
	{ OPTION_STACK, "stack", 0, OPTION_NUMBER_OPTIONAL, GROUP_OUTPUT, IN_TAIL, "N",
	  NULL, "8 in short, all elsewhere",
	  "show the whole stack, or its N frames nearest the leaf", NULL },
	{ OPTION_NO_STACK, "no-stack", 0, OPTION_FLAG, GROUP_OUTPUT, IN_TAIL, NULL, NULL,
	  NULL, "show no stack", NULL },
	{ OPTION_ROOT_FIRST, "root-first", 0, OPTION_FLAG, GROUP_OUTPUT, IN_TAIL, NULL,
	  NULL, NULL,
	  "in short and full: outermost caller first (JSON stays leaf first, folded is always "
	  "root first)",
	  NULL },
	{ OPTION_UTC, "utc", 0, OPTION_FLAG, GROUP_OUTPUT, IN_TAIL | IN_LIST | IN_STATUS,
	  NULL, NULL, NULL, "UTC instead of local time (JSON is always UTC)", NULL },
	{ OPTION_COLOR, "color", 0, OPTION_CHOICE, GROUP_OUTPUT, IN_TAIL, "WHEN",
	  "auto always never", "auto",
	  "one colour a container or service; auto: on a terminal, without NO_COLOR and "
	  "TERM=dumb",
	  NULL },
	{ OPTION_HIGHLIGHT, "highlight", 'H', OPTION_LIST, GROUP_OUTPUT, IN_TAIL, "RE",
	  NULL, NULL, "mark functions whose name matches (>>name<< without colours)",
	  NULL },
	{ OPTION_KIND, "kind", 0, OPTION_CHOICES, GROUP_OUTPUT, IN_TAIL, "KIND",
	  "sample process lost clock incarnation all", "sample,lost,clock,incarnation",
	  "which records to show, separated by commas", NULL },
	{ OPTION_FILE, "output", 'o', OPTION_TEXT, GROUP_OUTPUT, IN_RECORD, "FILE", NULL,
	  NULL,
	  "file to write; its suffix chooses the form: .pprof or .pb.gz, .folded; - is the "
	  "standard output",
	  NULL },
	{ OPTION_FORMAT, "format", 0, OPTION_CHOICE, GROUP_OUTPUT, IN_RECORD, "FORM",
	  "pprof folded", NULL, "form, whatever the suffix says; needed with -o -",
	  "svg speedscope perf otlp" },
	{ OPTION_FORM, "output", 'o', OPTION_CHOICE, GROUP_OUTPUT,
	  IN_LIST | IN_STATUS | IN_DOCTOR, "FORM", "text json", "text",
	  "for people or for programs", NULL },

	/* when */
	{ OPTION_LINES, "lines", 'N', OPTION_NUMBER, GROUP_WHEN, IN_TAIL, "N", NULL, "0",
	  "first show the last N matching records that the ring still holds", NULL },
	{ OPTION_FOLLOW, "follow", 'f', OPTION_FLAG, GROUP_WHEN, IN_TAIL, NULL, NULL,
	  NULL, "wait for new records (the default)", NULL },
	{ OPTION_NO_FOLLOW, "no-follow", 0, OPTION_FLAG, GROUP_WHEN, IN_TAIL | IN_RECORD,
	  NULL, NULL, NULL, "take what the ring holds now, then end", NULL },
	{ OPTION_SINCE, "since", 0, OPTION_TIME, GROUP_WHEN, IN_READERS, "TIME", NULL,
	  NULL, "start here: RFC 3339, -5m, now; bounded by what the ring still holds",
	  NULL },
	{ OPTION_UNTIL, "until", 0, OPTION_TIME, GROUP_WHEN, IN_READERS, "TIME", NULL,
	  NULL, "end before this time", NULL },
	{ OPTION_FOR, "duration", 0, OPTION_DURATION, GROUP_WHEN, IN_TAIL | IN_RECORD,
	  "TIME", NULL, NULL, "end after following for so long: 250ms, 10s, 5m", NULL },
	{ OPTION_MAX_EVENTS, "max-events", 0, OPTION_NUMBER, GROUP_WHEN, IN_READERS, "N",
	  NULL, NULL, "end after N selected samples and process records", NULL },

	/* selection */
	{ OPTION_PID, "pid", 'p', OPTION_NUMBER_LIST, GROUP_SELECTION, IN_READERS, "PID",
	  NULL, NULL, "process, by its number in ringsided's pid namespace", NULL },
	{ OPTION_TID, "tid", 't', OPTION_NUMBER_LIST, GROUP_SELECTION, IN_READERS, "TID",
	  NULL, NULL, "thread, likewise", NULL },
	{ OPTION_COMM, "comm", 0, OPTION_LIST, GROUP_SELECTION, IN_READERS, "RE", NULL,
	  NULL, "thread name; REs are POSIX extended, unanchored", NULL },
	{ OPTION_SERVICE, "service", 0, OPTION_LIST, GROUP_SELECTION, IN_READERS, "RE",
	  NULL, NULL, "service.name", NULL },
	{ OPTION_CONTAINER, "container", 'c', OPTION_LIST, GROUP_SELECTION, IN_READERS,
	  "ID", NULL, NULL, "container: start of its id, or its name", NULL },
	{ OPTION_NAMESPACE, "namespace", 'n', OPTION_LIST, GROUP_SELECTION, IN_READERS,
	  "NAME", NULL, NULL, "Kubernetes namespace", NULL },
	{ OPTION_SELECTOR, "selector", 'l', OPTION_LIST, GROUP_SELECTION, IN_READERS,
	  "KEY=VALUE", NULL, NULL, "resource attribute", NULL },
	{ OPTION_TRACE_ID, "trace-id", 0, OPTION_LIST, GROUP_SELECTION, IN_READERS, "HEX",
	  NULL, NULL, "trace id, 32 hex digits", NULL },
	{ OPTION_SPAN_ID, "span-id", 0, OPTION_LIST, GROUP_SELECTION, IN_READERS, "HEX",
	  NULL, NULL, "span id, 16 hex digits", NULL },
	{ OPTION_ATTR, "attr", 0, OPTION_LIST, GROUP_SELECTION, IN_READERS, "KEY=VALUE",
	  NULL, NULL, "attribute of the thread context", NULL },
	{ OPTION_EVENT, "event", 0, OPTION_CHOICES, GROUP_SELECTION, IN_READERS, "KIND",
	  "cpu offcpu", NULL, "what was counted", NULL },
	{ OPTION_INCLUDE, "include", 'i', OPTION_LIST, GROUP_SELECTION, IN_READERS, "RE",
	  NULL, NULL, "samples with such a function in the stack", NULL },
	{ OPTION_EXCLUDE, "exclude", 'e', OPTION_LIST, GROUP_SELECTION, IN_READERS, "RE",
	  NULL, NULL, "no samples with such a function (wins over --include)", NULL },

	/* ring */
	{ OPTION_RING, "ring", 0, OPTION_TEXT, GROUP_RING, IN_RING, "PATH", NULL,
	  "$RINGSIDE_RING, else /run/ringside/ring", "the ring file", NULL },
	{ OPTION_WAIT, "wait", 0, OPTION_DURATION, GROUP_RING, IN_RING, "TIME", NULL, "0",
	  "wait so long for the ring to appear", NULL },
	{ OPTION_PARANOID, "paranoid", 0, OPTION_FLAG, GROUP_RING, IN_RING, NULL, NULL,
	  NULL, "read with pread, map nothing: for a ring whose owner is not trusted",
	  NULL },
	{ OPTION_OWNER, "owner", 0, OPTION_NUMBER, GROUP_RING, IN_RING, "UID", NULL,
	  "root and oneself", "accept a ring of this owner too", NULL },

	/* general */
	{ OPTION_MDOC, "mdoc", 0, OPTION_FLAG, GROUP_GENERAL, IN_HELP, NULL, NULL, NULL,
	  NULL, NULL },
	{ OPTION_VERBOSE, "verbose", 'v', OPTION_FLAG, GROUP_GENERAL, IN_ALL, NULL, NULL,
	  NULL, "say more on the standard error", NULL },
	{ OPTION_QUIET, "quiet", 'q', OPTION_FLAG, GROUP_GENERAL, IN_ALL, NULL, NULL,
	  NULL, "errors only: no summary, no remarks", NULL },
	{ OPTION_HELP, "help", 'h', OPTION_FLAG, GROUP_GENERAL, IN_ALL, NULL, NULL, NULL,
	  "show this and end", NULL },
	{ OPTION_VERSION, "version", 0, OPTION_FLAG, GROUP_GENERAL, IN_ALL, NULL, NULL,
	  NULL, "show the version and end", NULL },
};

const size_t option_table_rows = sizeof(option_table) / sizeof(option_table[0]);
