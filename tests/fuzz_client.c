/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the client reads from people and from tenants: times, durations, options with a
 * selection, escapes, embedded JSON.  The first byte chooses.  Invariants beside not
 * crashing: escaped text holds no control byte, and JSON that was accepted once is
 * accepted again unchanged.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/command.h"
#include "client/escape.h"
#include "client/json_copy.h"
#include "client/selection.h"
#include "client/time.h"

#define INPUT_MAX	4096
#define ARGS_MAX	32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void fuzz_times(const char *s)
{
	struct text t;
	int64_t a, b;

	if (!duration_parse(s, &a))
		must(a >= 0);
	if (time_parse(s, 0, &a))
		return;
	/* What is written is read back as the same. */
	text_init(&t, 256);
	time_print(&t, a, true);
	if (!time_parse(text_string(&t), 0, &b))
		must(a == b);
	text_fini(&t);
}

static void fuzz_escapes(const char *s, size_t len)
{
	struct text t;
	uint32_t c;

	text_init(&t, 16 * INPUT_MAX);
	escape_terminal_except(&t, s, len, ";");
	escape_json(&t, s, len);
	escape_utf8(&t, s, len);
	must(!text_failed(&t));
	for (size_t i = 0, n; i < t.len; i += n) {
		n = utf8_decode((const unsigned char *)t.p + i, t.len - i, &c);
		must(n && c >= 0x20 && !(c >= 0x7f && c < 0xa0));
	}
	text_fini(&t);
}

static void fuzz_json(const char *s, size_t len)
{
	struct text once, twice;

	text_init(&once, 16 * INPUT_MAX);
	text_init(&twice, 16 * INPUT_MAX);
	if (json_copy(&once, s, len)) {
		must(!memchr(text_string(&once), '\n', once.len));
		must(json_copy(&twice, text_string(&once), once.len));
		must(once.len == twice.len && !memcmp(once.p, twice.p, once.len));
	}
	text_fini(&once);
	text_fini(&twice);
}

/* Words separated by newlines as the command line of tail, and a record judged by it. */
static void fuzz_selection(char *s)
{
	static const struct ringside_attribute a[] = {
		{ .key = "service.name",
		  .type = RINGSIDE_STRING,
		  .len = 4,
		  .string = "shop" },
	};
	struct ringside_record rec = {
		.kind = RINGSIDE_SAMPLE,
		.sample = { .pid = 1,
			    .tid = 2,
			    .comm = "worker",
			    .event = RINGSIDE_EVENT_CPU,
			    .has_link = true,
			    .resource = { .n = 1, .attributes = a } },
	};
	char tail[] = "tail", *argv[ARGS_MAX + 2] = { tail }, *word;
	struct selection *selection;
	struct options o;
	int argc = 1;

	while (argc <= ARGS_MAX && (word = strsep(&s, "\n"))) {
		/* Repetition counts make regcomp of any libc slow; that is the user's own
		 * time. */
		if (strlen(word) > 64 || strchr(word, '{') || strchr(word, '*') ||
		    strchr(word, '+'))
			return;
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	if (!options_parse(&o, command_find("tail"), argc, argv, 0) &&
	    !selection_create(&selection, &o)) {
		selection_matches(selection, &rec);
		selection_in_time(selection, &rec);
		selection_destroy(selection);
	}
	options_fini(&o);
}

/* Messages about bad options are many and not what is looked for. */
static void fuzz_selection_quietly(char *s)
{
	static int null = -1;
	int saved = dup(STDERR_FILENO);

	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	dup2(null, STDERR_FILENO);
	fuzz_selection(s);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s;

	if (size < 1 || size > INPUT_MAX)
		return 0;
	s = malloc(size);
	if (!s)
		return 0;
	memcpy(s, data + 1, size - 1);
	s[size - 1] = '\0';
	switch (data[0] % 4) {
	case 0:
		fuzz_times(s);
		break;
	case 1:
		fuzz_escapes(s, size - 1);
		break;
	case 2:
		fuzz_json(s, size - 1);
		break;
	default:
		fuzz_selection_quietly(s);
	}
	free(s);
	return 0;
}
