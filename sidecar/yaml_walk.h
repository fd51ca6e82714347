/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the configuration: the walk through libyaml's events that yaml_config.c begins and yaml_labels.c
 * takes part in.  A value function finds the value's first event as the current one and leaves its last.
 */
#ifndef RINGSIDE_YAML_WALK_H
#define RINGSIDE_YAML_WALK_H

#include <yaml.h>
#include "sidecar/options.h"

#define YAML_ENTRIES_MAX 256	/* of one list or map that is kept */
#define YAML_KEY_MAX 64
#define YAML_SHOWN_MAX 64

struct yaml_walk {
	yaml_parser_t	parser;
	yaml_event_t	event;		/* the current one */
	bool		have_event, dead; /* dead: no more events, and it has been told */
	unsigned int	depth;
	struct config	*c;
	const char	*path;
	FILE		*out;
	struct yaml_result *result;
};

struct yaml_key { char name[YAML_KEY_MAX]; yaml_mark_t mark; };

void	yaml_say(struct yaml_walk *w, bool error, yaml_mark_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void	yaml_die(struct yaml_walk *w, yaml_mark_t at, const char *what);
/* A word of the file for a message: cut, and nothing in it that moves a cursor. */
const char *yaml_shown(const char *s, size_t n, char buf[YAML_SHOWN_MAX]);
/* The next event becomes the current one; false when the walk is over. */
bool	yaml_next(struct yaml_walk *w);
/* Leaves the value that the current event begins; afterwards its last event is the current one. */
void	yaml_skip(struct yaml_walk *w);
/* The text of the current scalar; NULL after a message when it is not one, or holds what a text cannot. */
const char *yaml_scalar(struct yaml_walk *w, const struct yaml_key *key);
/* The current scalar is a null: nothing, ~ or null without quotes. */
bool	yaml_is_null(const struct yaml_walk *w);
/* The current event is of that type; else false after a message. */
bool	yaml_begins(struct yaml_walk *w, yaml_event_type_t type, const struct yaml_key *key, const char *what);
/* Reads the next key of a mapping; false at its end.  The current event is then the value's first. */
bool	yaml_next_key(struct yaml_walk *w, struct yaml_key *key);
/* The one of names that looks most like word, or NULL. */
const char *yaml_nearest(const char *word, const char *const *names, size_t n);

/* yaml_labels.c */
void	yaml_take_external_labels(struct yaml_walk *w, const struct yaml_key *key);
/* yaml_kubernetes.c */
void	yaml_take_kubernetes(struct yaml_walk *w, const struct yaml_key *key);
void	yaml_take_label_ttl(struct yaml_walk *w, const struct yaml_key *key);
void	yaml_take_label_cache_size(struct yaml_walk *w, const struct yaml_key *key);
void	yaml_take_relabel_configs(struct yaml_walk *w, const struct yaml_key *key);
#endif
