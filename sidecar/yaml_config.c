/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ringside.yaml: libyaml's events, and a schema walk of our own, so that every complaint has its
 * FILE:LINE:COLUMN.  A wrong value is told and skipped, to find them all in one run; a mistake of syntax
 * ends the walk.  Aliases are refused: with them a few lines expand to gigabytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>
#include "sidecar/options.h"

#define DEPTH_MAX 32
#define ENTRIES_MAX 256		/* of one list or map that is kept */
#define KEY_MAX 64
#define SHOWN_MAX 64

struct walk {
	yaml_parser_t	parser;
	yaml_event_t	event;		/* the current one */
	bool		have_event, dead; /* dead: no more events, and it has been told */
	unsigned int	depth;
	struct config	*c;
	const char	*path;
	FILE		*out;
	struct yaml_result *result;
};

struct key { char name[KEY_MAX]; yaml_mark_t mark; };
typedef void (*value_fn)(struct walk *w, const struct key *key);	/* current event: the value's first */

static void say(struct walk *w, bool error, yaml_mark_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void say(struct walk *w, bool error, yaml_mark_t at, const char *fmt, ...)
{
	va_list ap;

	fprintf(w->out, "%s:%zu:%zu: %s: ", w->path, at.line + 1, at.column + 1, error ? "error" : "warning");
	va_start(ap, fmt);
	vfprintf(w->out, fmt, ap);
	va_end(ap);
	fputc('\n', w->out);
	if (error)
		w->result->errors++;
	else
		w->result->warnings++;
}

static void die(struct walk *w, yaml_mark_t at, const char *what)
{
	if (!w->dead)
		say(w, true, at, "%s", what);
	w->dead = true;
}

/* A word of the file for a message: cut, and nothing in it that moves a cursor. */
static const char *shown(const char *s, size_t n, char buf[SHOWN_MAX])
{
	size_t k = n < SHOWN_MAX - 1 ? n : SHOWN_MAX - 1;

	for (size_t i = 0; i < k; i++)
		buf[i] = s[i] >= 0x20 && s[i] < 0x7f ? s[i] : '?';
	buf[k] = '\0';
	return buf;
}

/* The next event becomes the current one; false when the walk is over. */
static bool next(struct walk *w)
{
	yaml_parser_t *p = &w->parser;

	if (w->have_event)
		yaml_event_delete(&w->event);
	w->have_event = false;
	if (w->dead)
		return false;
	if (!yaml_parser_parse(p, &w->event)) {
		die(w, p->problem_mark, p->problem ? p->problem : "not YAML");
		return false;
	}
	w->have_event = true;
	switch (w->event.type) {
	case YAML_ALIAS_EVENT:
		die(w, w->event.start_mark, "aliases are not taken here; write the value out");
		break;
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		if (++w->depth > DEPTH_MAX)
			die(w, w->event.start_mark, "nested more than 32 deep");
		break;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		w->depth--;
		break;
	default:
		break;
	}
	return !w->dead;
}

/* Leaves the value that the current event begins; afterwards its last event is the current one. */
static void skip(struct walk *w)
{
	unsigned int outer;

	if (w->dead || (w->event.type != YAML_MAPPING_START_EVENT && w->event.type != YAML_SEQUENCE_START_EVENT))
		return;
	outer = w->depth - 1;
	while (w->depth > outer && next(w))
		;
}

/* The text of the current scalar; NULL after a message when it is not one, or holds what a text cannot. */
static const char *scalar(struct walk *w, const struct key *key)
{
	const char *s;

	if (w->event.type != YAML_SCALAR_EVENT) {
		say(w, true, w->event.start_mark, "%s: must be a single value", key->name);
		skip(w);
		return NULL;
	}
	s = (const char *)w->event.data.scalar.value;
	if (strlen(s) != w->event.data.scalar.length) {
		say(w, true, w->event.start_mark, "%s: holds a NUL character", key->name);
		return NULL;
	}
	if (w->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && (!*s || !strcmp(s, "~") || !strcmp(s, "null"))) {
		say(w, true, w->event.start_mark, "%s: has no value", key->name);
		return NULL;
	}
	return s;
}

static bool begins(struct walk *w, yaml_event_type_t type, const struct key *key, const char *what)
{
	if (w->event.type == type)
		return true;
	say(w, true, w->event.start_mark, "%s: must be a %s", key->name, what);
	skip(w);
	return false;
}

/* Reads the next key of a mapping; false at its end.  The current event is then the value's first. */
static bool next_key(struct walk *w, struct key *key)
{
	char buf[SHOWN_MAX];

	while (next(w) && w->event.type != YAML_MAPPING_END_EVENT) {
		key->mark = w->event.start_mark;
		if (w->event.type == YAML_SCALAR_EVENT && w->event.data.scalar.length < KEY_MAX) {
			shown((const char *)w->event.data.scalar.value, w->event.data.scalar.length, key->name);
			return next(w);
		}
		if (w->event.type == YAML_SCALAR_EVENT)
			say(w, true, key->mark, "%s...: a key of more than %d bytes",
			    shown((const char *)w->event.data.scalar.value, 16, buf), KEY_MAX - 1);
		else
			say(w, true, key->mark, "a key must be a word");
		skip(w);
		if (next(w))
			skip(w);
	}
	return false;
}

/* --- values ------------------------------------------------------------------------------------ */

static void take_env_vars(struct walk *w, const struct key *key)
{
	struct config *c = w->c;
	const char *s;

	if (!begins(w, YAML_SEQUENCE_START_EVENT, key, "list of names"))
		return;
	c->include_env_vars = calloc(ENTRIES_MAX, sizeof(*c->include_env_vars));
	while (next(w) && w->event.type != YAML_SEQUENCE_END_EVENT) {
		s = scalar(w, key);
		if (!s)
			continue;
		if (!*s || strchr(s, '=')) {
			say(w, true, w->event.start_mark, "%s: not the name of a variable", key->name);
		} else if (!c->include_env_vars || c->n_include_env_vars == ENTRIES_MAX) {
			say(w, true, w->event.start_mark, "%s: more than %d names", key->name, ENTRIES_MAX);
		} else {
			c->include_env_vars[c->n_include_env_vars] = strdup(s);
			c->n_include_env_vars += c->include_env_vars[c->n_include_env_vars] != NULL;
		}
	}
}

static bool is_label_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	return *s && strchr(letters, *s) && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")];
}

static void add_external_label(struct walk *w, const struct key *label, const char *value)
{
	struct config *c = w->c;
	struct config_pair *p;

	if (!c->external_labels || c->n_external_labels == ENTRIES_MAX) {
		say(w, true, label->mark, "external_labels: more than %d", ENTRIES_MAX);
		return;
	}
	p = &c->external_labels[c->n_external_labels];
	p->key = strdup(label->name);
	p->value = strdup(value);
	if (p->key && p->value) {
		c->n_external_labels++;
		return;
	}
	free(p->key);
	free(p->value);
}

static void take_external_labels(struct walk *w, const struct key *key)
{
	struct config *c = w->c;
	struct key label;
	const char *s;

	if (!begins(w, YAML_MAPPING_START_EVENT, key, "map of names to values"))
		return;
	c->external_labels = calloc(ENTRIES_MAX, sizeof(*c->external_labels));
	while (next_key(w, &label)) {
		s = scalar(w, &label);
		if (s && !is_label_name(label.name))
			say(w, true, label.mark, "external_labels: %s: not a label name (letters, digits and _)",
			    label.name);
		else if (s)
			add_external_label(w, &label, s);
	}
}

static void take_otel_attributes(struct walk *w, const struct key *key)
{
	const char *s = scalar(w, key);

	if (!s)
		return;
	if (!strcmp(s, "lenient"))
		w->c->otel_lenient = true;
	else if (strcmp(s, "strict"))
		say(w, true, w->event.start_mark, "%s: must be strict or lenient", key->name);
	else
		w->c->otel_lenient = false;
}

static void take_publish(struct walk *w, const struct key *key)
{
	struct key inner;
	const char *s;
	bool *field;

	if (!begins(w, YAML_MAPPING_START_EVENT, key, "map"))
		return;
	while (next_key(w, &inner)) {
		field = !strcmp(inner.name, "command_line") ? &w->c->publish_command_line :
			!strcmp(inner.name, "working_directory") ? &w->c->publish_working_directory : NULL;
		if (!field) {
			say(w, false, inner.mark, "publish: %s: unknown key; it knows command_line and working_directory",
			    inner.name);
			skip(w);
			continue;
		}
		s = scalar(w, &inner);
		if (s && option_parse_bool(s, field))
			say(w, true, w->event.start_mark, "publish: %s: must be true or false", inner.name);
	}
}

/* --- keys -------------------------------------------------------------------------------------- */

/* Keys that are no option.  Without a function: of later work; told, so that nobody relies on them. */
static const struct { const char *name; value_fn take; } structured[] = {
	{ "include_env_vars",		take_env_vars },
	{ "external_labels",		take_external_labels },
	{ "otel_resource_attributes",	take_otel_attributes },
	{ "publish",			take_publish },
	{ "relabel_configs",		NULL },
	{ "label_ttl",			NULL },
	{ "label_cache_size",		NULL },
	{ "kubernetes",			NULL },
};
#define N_STRUCTURED (sizeof(structured) / sizeof(structured[0]))

/* What is told of an unknown key: the known one that looks most like it. */
static void unknown(struct walk *w, const struct key *key)
{
	unsigned int best = (unsigned int)strlen(key->name) / 2 + 1, d;
	char nearest[KEY_MAX] = "", name[KEY_MAX];

	if (best > 4)
		best = 4;
	for (size_t i = 0; i < N_STRUCTURED + n_options; i++) {
		if (i < N_STRUCTURED)
			snprintf(name, sizeof(name), "%s", structured[i].name);
		else
			option_key(&options[i - N_STRUCTURED], name, sizeof(name));
		if (!name[0] || (i >= N_STRUCTURED && options[i - N_STRUCTURED].command_line_only))
			continue;
		d = text_distance(key->name, name, best);
		if (d < best) {
			best = d;
			memcpy(nearest, name, sizeof(nearest));
		}
	}
	if (nearest[0])
		say(w, false, key->mark, "%s: unknown key; did you mean %s?", key->name, nearest);
	else
		say(w, false, key->mark, "%s: unknown key", key->name);
}

static void take_option(struct walk *w, const struct key *key, const struct option_row *o)
{
	char why[OPTION_WHY_MAX], buf[SHOWN_MAX];
	const char *s;

	if (o->type == OPTION_LATER) {
		say(w, false, key->mark, "%s: not used by this version: %s", key->name, o->later);
		skip(w);
		return;
	}
	s = scalar(w, key);
	if (s && option_set(w->c, o, s, why))
		say(w, true, w->event.start_mark, "%s: %s: %s", key->name, shown(s, strlen(s), buf), why);
}

static void take(struct walk *w, const struct key *key)
{
	const struct option_row *o = option_by_key(key->name);

	for (size_t i = 0; i < N_STRUCTURED; i++) {
		if (strcmp(key->name, structured[i].name))
			continue;
		if (structured[i].take) {
			structured[i].take(w, key);
			return;
		}
		say(w, false, key->mark, "%s: not used by this version", key->name);
		skip(w);
		return;
	}
	if (o && !o->command_line_only) {
		take_option(w, key, o);
		return;
	}
	if (o)
		say(w, true, key->mark, "%s: only on the command line", key->name);
	else
		unknown(w, key);
	skip(w);
}

/* Keys seen so far, to tell a second one: which of the two counts is not for us to guess. */
struct seen { char names[ENTRIES_MAX][KEY_MAX]; uint32_t n; };

static bool seen_before(struct seen *seen, const struct key *key)
{
	for (uint32_t i = 0; i < seen->n; i++)
		if (!strcmp(seen->names[i], key->name))
			return true;
	if (seen->n < ENTRIES_MAX)
		memcpy(seen->names[seen->n++], key->name, KEY_MAX);
	return false;
}

static void walk_root(struct walk *w)
{
	struct seen *seen;
	struct key key = { .name = "" };

	if (w->event.type == YAML_SCALAR_EVENT && !w->event.data.scalar.length)
		return;		/* an empty document: the defaults */
	if (w->event.type != YAML_MAPPING_START_EVENT) {
		die(w, w->event.start_mark, "the file must be a map of keys to values");
		return;
	}
	seen = calloc(1, sizeof(*seen));
	if (!seen) {
		die(w, w->event.start_mark, strerror(ENOMEM));
		return;
	}
	while (next_key(w, &key)) {
		if (seen_before(seen, &key)) {
			say(w, true, key.mark, "%s: a second time", key.name);
			skip(w);
		} else {
			take(w, &key);
		}
	}
	free(seen);
}

static void walk_stream(struct walk *w)
{
	if (!next(w) || !next(w) || w->event.type == YAML_STREAM_END_EVENT)
		return;
	if (!next(w))
		return;
	walk_root(w);
	if (next(w) && next(w) && w->event.type != YAML_STREAM_END_EVENT)
		die(w, w->event.start_mark, "a second document; there must be one");
}

void yaml_config_parse(struct config *c, const char *path, const char *text, size_t n, FILE *out,
		       struct yaml_result *r)
{
	struct walk w = { .c = c, .path = path, .out = out, .result = r };

	if (!yaml_parser_initialize(&w.parser)) {
		die(&w, (yaml_mark_t){ 0 }, strerror(ENOMEM));
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
	char *text;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	text = malloc(YAML_CONFIG_MAX + 1);
	if (text)
		n = read_all(fd, text, YAML_CONFIG_MAX + 1);
	if (n >= 0)
		yaml_config_parse(c, path, text, (size_t)n, out, r);
	free(text);
	close(fd);
	return n < 0 ? (int)n : 0;
}
