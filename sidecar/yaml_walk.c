/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml's events, walked so that every complaint has its FILE:LINE:COLUMN.  Aliases are
 * refused: with them a few lines expand to gigabytes.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include "sidecar/yaml_walk.h"

#define DEPTH_MAX 32

void yaml_say(struct yaml_walk *w, bool error, yaml_mark_t at, const char *fmt, ...)
{
	va_list ap;

	fprintf(w->out, "%s:%zu:%zu: %s: ", w->path, at.line + 1, at.column + 1,
		error ? "error" : "warning");
	va_start(ap, fmt);
	vfprintf(w->out, fmt, ap);
	va_end(ap);
	fputc('\n', w->out);
	if (error)
		w->result->errors++;
	else
		w->result->warnings++;
}

void yaml_die(struct yaml_walk *w, yaml_mark_t at, const char *what)
{
	if (!w->dead)
		yaml_say(w, true, at, "%s", what);
	w->dead = true;
}

/* A word of the file for a message: cut, and nothing in it that moves a cursor. */
const char *yaml_shown(const char *s, size_t n, char buf[YAML_SHOWN_MAX])
{
	size_t k = n < YAML_SHOWN_MAX - 1 ? n : YAML_SHOWN_MAX - 1;

	for (size_t i = 0; i < k; i++)
		buf[i] = s[i] >= 0x20 && s[i] < 0x7f ? s[i] : '?';
	buf[k] = '\0';
	return buf;
}

/* The next event becomes the current one; false when the walk is over. */
bool yaml_next(struct yaml_walk *w)
{
	yaml_parser_t *p = &w->parser;

	if (w->have_event)
		yaml_event_delete(&w->event);
	w->have_event = false;
	if (w->dead)
		return false;
	if (!yaml_parser_parse(p, &w->event)) {
		yaml_die(w, p->problem_mark, p->problem ? p->problem : "not YAML");
		return false;
	}
	w->have_event = true;
	switch (w->event.type) {
	case YAML_ALIAS_EVENT:
		yaml_die(w, w->event.start_mark,
			 "aliases are not taken here; write the value out");
		break;
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		if (++w->depth > DEPTH_MAX)
			yaml_die(w, w->event.start_mark, "nested more than 32 deep");
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

/* Leaves the value that the current event begins; afterwards its last event is the
 * current one. */
void yaml_skip(struct yaml_walk *w)
{
	unsigned int outer;

	if (w->dead || (w->event.type != YAML_MAPPING_START_EVENT &&
			w->event.type != YAML_SEQUENCE_START_EVENT))
		return;
	outer = w->depth - 1;
	while (w->depth > outer && yaml_next(w))
		;
}

bool yaml_is_null(const struct yaml_walk *w)
{
	const char *s = (const char *)w->event.data.scalar.value;

	return w->event.type == YAML_SCALAR_EVENT &&
	       w->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!*s || !strcmp(s, "~") || !strcasecmp(s, "null"));
}

/* The text of the current scalar; NULL after a message when it is not one, or holds what
 * a text cannot. */
const char *yaml_scalar(struct yaml_walk *w, const struct yaml_key *key)
{
	const char *s;

	if (w->event.type != YAML_SCALAR_EVENT) {
		yaml_say(w, true, w->event.start_mark, "%s: must be a single value",
			 key->name);
		yaml_skip(w);
		return NULL;
	}
	s = (const char *)w->event.data.scalar.value;
	if (strlen(s) != w->event.data.scalar.length) {
		yaml_say(w, true, w->event.start_mark, "%s: holds a NUL character",
			 key->name);
		return NULL;
	}
	if (yaml_is_null(w)) {
		yaml_say(w, true, w->event.start_mark, "%s: has no value", key->name);
		return NULL;
	}
	return s;
}

bool yaml_begins(struct yaml_walk *w, yaml_event_type_t type, const struct yaml_key *key,
		 const char *what)
{
	if (w->event.type == type)
		return true;
	yaml_say(w, true, w->event.start_mark, "%s: must be a %s", key->name, what);
	yaml_skip(w);
	return false;
}

/* Reads the next key of a mapping; false at its end.  The current event is then the
 * value's first. */
bool yaml_next_key(struct yaml_walk *w, struct yaml_key *key)
{
	char buf[YAML_SHOWN_MAX];

	while (yaml_next(w) && w->event.type != YAML_MAPPING_END_EVENT) {
		key->mark = w->event.start_mark;
		if (w->event.type == YAML_SCALAR_EVENT &&
		    w->event.data.scalar.length < YAML_KEY_MAX) {
			yaml_shown((const char *)w->event.data.scalar.value,
				   w->event.data.scalar.length, key->name);
			return yaml_next(w);
		}
		if (w->event.type == YAML_SCALAR_EVENT)
			yaml_say(w, true, key->mark, "%s...: a key of more than %d bytes",
				 yaml_shown((const char *)w->event.data.scalar.value, 16,
					    buf),
				 YAML_KEY_MAX - 1);
		else
			yaml_say(w, true, key->mark, "a key must be a word");
		yaml_skip(w);
		if (yaml_next(w))
			yaml_skip(w);
	}
	return false;
}

const char *yaml_nearest(const char *word, const char *const *names, size_t n)
{
	unsigned int best = (unsigned int)strlen(word) / 2 + 1, d;
	const char *nearest = NULL;

	if (best > 4)
		best = 4;
	for (size_t i = 0; i < n; i++) {
		d = text_distance(word, names[i], best);
		if (d < best) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}
