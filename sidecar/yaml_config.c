/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ringside.yaml: libyaml's events, and a schema walk of our own, so that every complaint
 * has its FILE:LINE:COLUMN.  A wrong value is told and skipped, to find them all in one
 * run; a mistake of syntax ends the walk.  Aliases are refused: with them a few lines
 * expand to gigabytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sidecar/options.h"
#include "sidecar/yaml_walk.h"

typedef void (*value_fn)(struct yaml_walk *w, const struct yaml_key *key);	/* current event: the value's first */

/* --- values ------------------------------------------------------------------------- */

static void take_env_vars(struct yaml_walk *w, const struct yaml_key *key)
{
	struct config *c = w->c;
	const char *s;

	if (!yaml_begins(w, YAML_SEQUENCE_START_EVENT, key, "list of names"))
		return;
	c->include_env_vars = calloc(YAML_ENTRIES_MAX, sizeof(*c->include_env_vars));
	while (yaml_next(w) && w->event.type != YAML_SEQUENCE_END_EVENT) {
		s = yaml_scalar(w, key);
		if (!s)
			continue;
		if (!*s || strchr(s, '=')) {
			yaml_say(w, true, w->event.start_mark,
				 "%s: not the name of a variable", key->name);
		} else if (!c->include_env_vars ||
			   c->n_include_env_vars == YAML_ENTRIES_MAX) {
			yaml_say(w, true, w->event.start_mark, "%s: more than %d names",
				 key->name, YAML_ENTRIES_MAX);
		} else {
			c->include_env_vars[c->n_include_env_vars] = strdup(s);
			c->n_include_env_vars +=
				c->include_env_vars[c->n_include_env_vars] != NULL;
		}
	}
}

static void take_otel_attributes(struct yaml_walk *w, const struct yaml_key *key)
{
	const char *s = yaml_scalar(w, key);

	if (!s)
		return;
	if (!strcmp(s, "lenient"))
		w->c->otel_lenient = true;
	else if (strcmp(s, "strict"))
		yaml_say(w, true, w->event.start_mark, "%s: must be strict or lenient",
			 key->name);
	else
		w->c->otel_lenient = false;
}

static void take_publish(struct yaml_walk *w, const struct yaml_key *key)
{
	struct yaml_key inner;
	const char *s;
	bool *field;

	if (!yaml_begins(w, YAML_MAPPING_START_EVENT, key, "map"))
		return;
	while (yaml_next_key(w, &inner)) {
		field = !strcmp(inner.name, "command_line") ? &w->c->publish_command_line
			: !strcmp(inner.name, "working_directory")
				? &w->c->publish_working_directory
				: NULL;
		if (!field) {
			yaml_say(
				w, false, inner.mark,
				"publish: %s: unknown key; it knows command_line and working_directory",
				inner.name);
			yaml_skip(w);
			continue;
		}
		s = yaml_scalar(w, &inner);
		if (s && option_parse_bool(s, field))
			yaml_say(w, true, w->event.start_mark,
				 "publish: %s: must be true or false", inner.name);
	}
}

/* --- keys --------------------------------------------------------------------------- */

/* Keys that are no option.  Without a function: of later work; told, so that nobody
 * relies on them. */
static const struct { const char *name; value_fn take; } structured[] = {
	{ "include_env_vars",		take_env_vars },
	{ "external_labels",		yaml_take_external_labels },
	{ "otel_resource_attributes",	take_otel_attributes },
	{ "publish",			take_publish },
	{ "relabel_configs",		yaml_take_relabel_configs },
	{ "label_ttl",			yaml_take_label_ttl },
	{ "label_cache_size",		yaml_take_label_cache_size },
	{ "kubernetes",			yaml_take_kubernetes },
};
#define N_STRUCTURED (sizeof(structured) / sizeof(structured[0]))

/* What is told of an unknown key: the known one that looks most like it. */
static void unknown(struct yaml_walk *w, const struct yaml_key *key)
{
	unsigned int best = (unsigned int)strlen(key->name) / 2 + 1, d;
	char nearest[YAML_KEY_MAX] = "", name[YAML_KEY_MAX];

	if (best > 4)
		best = 4;
	for (size_t i = 0; i < N_STRUCTURED + n_options; i++) {
		if (i < N_STRUCTURED)
			snprintf(name, sizeof(name), "%s", structured[i].name);
		else
			option_key(&options[i - N_STRUCTURED], name, sizeof(name));
		if (!name[0] ||
		    (i >= N_STRUCTURED && options[i - N_STRUCTURED].command_line_only))
			continue;
		d = text_distance(key->name, name, best);
		if (d < best) {
			best = d;
			memcpy(nearest, name, sizeof(nearest));
		}
	}
	if (nearest[0])
		yaml_say(w, false, key->mark, "%s: unknown key; did you mean %s?",
			 key->name, nearest);
	else
		yaml_say(w, false, key->mark, "%s: unknown key", key->name);
}

static void take_option(struct yaml_walk *w, const struct yaml_key *key,
			const struct option_row *o)
{
	char why[OPTION_WHY_MAX], buf[YAML_SHOWN_MAX];
	const char *s;

	if (o->type == OPTION_LATER) {
		yaml_say(w, false, key->mark, "%s: not used by this version: %s",
			 key->name, o->later);
		yaml_skip(w);
		return;
	}
	s = yaml_scalar(w, key);
	if (s && option_set(w->c, o, s, why))
		yaml_say(w, true, w->event.start_mark, "%s: %s: %s", key->name,
			 yaml_shown(s, strlen(s), buf), why);
}

static void take(struct yaml_walk *w, const struct yaml_key *key)
{
	const struct option_row *o = option_by_key(key->name);

	for (size_t i = 0; i < N_STRUCTURED; i++) {
		if (strcmp(key->name, structured[i].name))
			continue;
		if (structured[i].take) {
			structured[i].take(w, key);
			return;
		}
		yaml_say(w, false, key->mark, "%s: not used by this version", key->name);
		yaml_skip(w);
		return;
	}
	if (o && !o->command_line_only) {
		take_option(w, key, o);
		return;
	}
	if (o)
		yaml_say(w, true, key->mark, "%s: only on the command line", key->name);
	else
		unknown(w, key);
	yaml_skip(w);
}

/* Keys seen so far, to tell a second one: which of the two counts is not for us to guess.
 */
struct seen { char names[YAML_ENTRIES_MAX][YAML_KEY_MAX]; uint32_t n; };

static bool seen_before(struct seen *seen, const struct yaml_key *key)
{
	for (uint32_t i = 0; i < seen->n; i++)
		if (!strcmp(seen->names[i], key->name))
			return true;
	if (seen->n < YAML_ENTRIES_MAX)
		memcpy(seen->names[seen->n++], key->name, YAML_KEY_MAX);
	return false;
}

static void walk_root(struct yaml_walk *w)
{
	struct seen *seen;
	struct yaml_key key = { .name = "" };

	if (w->event.type == YAML_SCALAR_EVENT && !w->event.data.scalar.length)
		return;		/* an empty document: the defaults */
	if (w->event.type != YAML_MAPPING_START_EVENT) {
		yaml_die(w, w->event.start_mark,
			 "the file must be a map of keys to values");
		return;
	}
	seen = calloc(1, sizeof(*seen));
	if (!seen) {
		yaml_die(w, w->event.start_mark, strerror(ENOMEM));
		return;
	}
	while (yaml_next_key(w, &key)) {
		if (seen_before(seen, &key)) {
			yaml_say(w, true, key.mark, "%s: a second time", key.name);
			yaml_skip(w);
		} else {
			take(w, &key);
		}
	}
	free(seen);
}

static void walk_stream(struct yaml_walk *w)
{
	if (!yaml_next(w) || !yaml_next(w) || w->event.type == YAML_STREAM_END_EVENT)
		return;
	if (!yaml_next(w))
		return;
	walk_root(w);
	if (yaml_next(w) && yaml_next(w) && w->event.type != YAML_STREAM_END_EVENT)
		yaml_die(w, w->event.start_mark, "a second document; there must be one");
}

void yaml_config_parse(struct config *c, const char *path, const char *text, size_t n,
		       FILE *out, struct yaml_result *r)
{
	struct yaml_walk w = { .c = c, .path = path, .out = out, .result = r };

	if (!yaml_parser_initialize(&w.parser)) {
		yaml_die(&w, (yaml_mark_t){ 0 }, strerror(ENOMEM));
		return;
	}
	yaml_parser_set_input_string(&w.parser, (const unsigned char *)text, n);
	walk_stream(&w);
	if (w.have_event)
		yaml_event_delete(&w.event);
	yaml_parser_delete(&w.parser);
}

static ssize_t read_all(int fd, char *buf, size_t cap)
{
	size_t n = 0;
	ssize_t got;

	while (n < cap) {
		got = read(fd, buf + n, cap - n);
		if (got < 0)
			return -errno;
		if (!got)
			return (ssize_t)n;
		n += (size_t)got;
	}
	return -EFBIG;
}

int yaml_config_read(struct config *c, const char *path, FILE *out, struct yaml_result *r)
{
	ssize_t n = -ENOMEM;
	struct stat st = { 0 };
	char *text;
	int fd;

	/* Never wait: a pipe in its place would stop the sidecar at a reload. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		fprintf(out, "%s:1:1: error: not a regular file\n", path);
		r->errors++;
		return 0;
	}
	text = malloc(YAML_CONFIG_MAX + 1);
	if (text)
		n = read_all(fd, text, YAML_CONFIG_MAX + 1);
	if (n >= 0)
		yaml_config_parse(c, path, text, (size_t)n, out, r);
	free(text);
	close(fd);
	return n < 0 ? (int)n : 0;
}
