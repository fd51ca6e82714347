/* SPDX-License-Identifier: Apache-2.0 */
/* The part of ringside.yaml that shapes labels: relabel_configs in Prometheus's form,
 * external_labels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sidecar/labels/relabel.h"
#include "sidecar/units.h"
#include "sidecar/yaml_walk.h"

enum field {
	FIELD_SOURCES,
	FIELD_SEPARATOR,
	FIELD_REGEX,
	FIELD_MODULUS,
	FIELD_TARGET,
	FIELD_REPLACEMENT,
	FIELD_ACTION,
	FIELDS
};
static const char *const field_names[FIELDS] = {
	"source_labels", "separator",	"regex",  "modulus",
	"target_label",	 "replacement", "action",
};

static void take_sources(struct yaml_walk *w, const struct yaml_key *key,
			 struct relabel_rule *r)
{
	const char *s;

	if (!yaml_begins(w, YAML_SEQUENCE_START_EVENT, key, "list of label names"))
		return;
	r->sources_given = true;
	r->sources = calloc(RELABEL_SOURCES_MAX, sizeof(*r->sources));
	while (yaml_next(w) && w->event.type != YAML_SEQUENCE_END_EVENT) {
		if (yaml_is_null(w)) {
			yaml_say(w, false, w->event.start_mark,
				 "source_labels: an entry without a name; left out");
			continue;
		}
		s = yaml_scalar(w, key);
		if (!s)
			continue;
		if (!r->sources || r->n_sources == RELABEL_SOURCES_MAX) {
			yaml_say(w, true, w->event.start_mark,
				 "source_labels: more than %d names",
				 RELABEL_SOURCES_MAX);
			continue;
		}
		r->sources[r->n_sources] = strdup(s);
		r->n_sources += r->sources[r->n_sources] != NULL;
	}
}

static void take_text(struct yaml_walk *w, const struct yaml_key *key, char **field)
{
	const char *s = yaml_scalar(w, key);
	char *copy = s ? strdup(s) : NULL;

	if (!copy)
		return;
	free(*field);
	*field = copy;
}

/* A number, not a text that looks like one. */
static void take_modulus(struct yaml_walk *w, const struct yaml_key *key,
			 struct relabel_rule *r)
{
	const char *s = yaml_scalar(w, key);
	double real;
	char *end;

	if (!s)
		return;
	errno = 0;
	r->modulus = strtoull(s, &end, 0);
	if (w->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && *s >= '0' &&
	    *s <= '9') {
		if (!*end && !errno)
			return;
		real = strtod(s, &end);
		if (!*end && real >= 0 && real < 18446744073709551616.0) {
			r->modulus = (uint64_t)real;
			return;
		}
	}
	yaml_say(w, true, w->event.start_mark,
		 "modulus: must be a number without a sign");
}

static void take_action(struct yaml_walk *w, const struct yaml_key *key,
			struct relabel_rule *r)
{
	const char *s = yaml_scalar(w, key), *nearest;
	char buf[YAML_SHOWN_MAX];
	const char *names[RELABEL_UPPERCASE + 1];

	if (!s || !relabel_action_parse(s, &r->action))
		return;
	for (int i = 0; i <= RELABEL_UPPERCASE; i++)
		names[i] = relabel_action_name((enum relabel_action)i);
	nearest = yaml_nearest(s, names, RELABEL_UPPERCASE + 1);
	yaml_shown(s, strlen(s), buf);
	if (nearest)
		yaml_say(w, true, w->event.start_mark,
			 "action: %s: no such action; did you mean %s?", buf, nearest);
	else
		yaml_say(w, true, w->event.start_mark, "action: %s: no such action", buf);
}

/* An explicit null is as if the key were not there. */
static void take_field(struct yaml_walk *w, const struct yaml_key *key, enum field field,
		       struct relabel_rule *r)
{
	if (yaml_is_null(w)) {
		yaml_say(w, false, w->event.start_mark,
			 "%s: has no value; the default stays", key->name);
		return;
	}
	switch (field) {
	case FIELD_SOURCES:
		take_sources(w, key, r);
		break;
	case FIELD_SEPARATOR:
		take_text(w, key, &r->separator);
		break;
	case FIELD_REGEX:
		r->regex_given = true;
		take_text(w, key, &r->regex_text);
		break;
	case FIELD_MODULUS:
		take_modulus(w, key, r);
		break;
	case FIELD_TARGET:
		take_text(w, key, &r->target);
		break;
	case FIELD_REPLACEMENT:
		take_text(w, key, &r->replacement);
		break;
	case FIELD_ACTION:
		take_action(w, key, r);
		break;
	case FIELDS:
		break;
	}
}

static enum field field_of(const char *name)
{
	int i = 0;

	while (i < FIELDS && strcmp(name, field_names[i]))
		i++;
	return (enum field)i;
}

static void unknown_field(struct yaml_walk *w, const struct yaml_key *key)
{
	const char *nearest = yaml_nearest(key->name, field_names, FIELDS);

	if (nearest)
		yaml_say(w, false, key->mark,
			 "relabel_configs: %s: unknown key; did you mean %s?", key->name,
			 nearest);
	else
		yaml_say(w, false, key->mark, "relabel_configs: %s: unknown key",
			 key->name);
	yaml_skip(w);
}

static void take_fields(struct yaml_walk *w, struct relabel_rule *r)
{
	struct yaml_key key;
	uint32_t seen = 0;

	while (yaml_next_key(w, &key)) {
		enum field field = field_of(key.name);

		if (field == FIELDS) {
			unknown_field(w, &key);
		} else if (seen & 1u << field) {
			yaml_say(w, true, key.mark,
				 "relabel_configs: %s: a second time in one rule",
				 key.name);
			yaml_skip(w);
		} else {
			seen |= 1u << field;
			take_field(w, &key, field, r);
		}
	}
}

/* The default replacement wants a group; without one the rule silently deletes. */
static void warn_of_groups(struct yaml_walk *w, const struct relabel_rule *r,
			   yaml_mark_t at)
{
	if (r->action == RELABEL_REPLACE &&
	    !strcmp(r->replacement, RELABEL_REPLACEMENT) && r->regex &&
	    !regex_groups(r->regex))
		yaml_say(
			w, false, at,
			"relabel_configs: the regex has no group, so that replacement $1 is empty and "
			"deletes target_label");
}

static void take_rule(struct yaml_walk *w, struct relabel_rules *rules)
{
	struct relabel_rule *r = &rules->rules[rules->n];
	yaml_mark_t at = w->event.start_mark;
	uint32_t errors = w->result->errors;
	char why[RELABEL_WHY_MAX];

	if (relabel_rule_init(r)) {
		yaml_die(w, at, strerror(ENOMEM));
		return;
	}
	r->line = (uint32_t)at.line + 1;
	r->column = (uint32_t)at.column + 1;
	take_fields(w, r);
	if (w->result->errors == errors && !w->dead &&
	    relabel_rule_check(r, rules->legacy_names, why))
		yaml_say(w, true, at, "relabel_configs: %s", why);
	if (w->result->errors != errors || w->dead) {
		relabel_rule_fini(r);
		return;
	}
	warn_of_groups(w, r, at);
	rules->n++;
}

void yaml_take_relabel_configs(struct yaml_walk *w, const struct yaml_key *key)
{
	struct relabel_rules *rules = &w->c->relabel;

	if (yaml_is_null(w) ||
	    !yaml_begins(w, YAML_SEQUENCE_START_EVENT, key, "list of rules"))
		return;
	rules->rules = calloc(RELABEL_RULES_MAX, sizeof(*rules->rules));
	while (yaml_next(w) && w->event.type != YAML_SEQUENCE_END_EVENT) {
		if (!rules->rules || rules->n == RELABEL_RULES_MAX) {
			yaml_say(w, true, w->event.start_mark,
				 "relabel_configs: more than %d rules",
				 RELABEL_RULES_MAX);
			yaml_skip(w);
		} else if (yaml_begins(w, YAML_MAPPING_START_EVENT, key,
				       "list of maps")) {
			take_rule(w, rules);
		}
	}
}

static void add_external_label(struct yaml_walk *w, const struct yaml_key *label,
			       const char *value)
{
	struct config *c = w->c;
	struct config_pair *p;

	if (!c->external_labels || c->n_external_labels == YAML_ENTRIES_MAX) {
		yaml_say(w, true, label->mark, "external_labels: more than %d",
			 YAML_ENTRIES_MAX);
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

/* Dots are fine, as in service.namespace: only names that Prometheus would have to quote
 * are not taken. */
static bool is_external_name(const char *s)
{
	static const char first[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	return *s && strchr(first, *s) &&
	       !s[strspn(
		       s,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.")];
}

void yaml_take_external_labels(struct yaml_walk *w, const struct yaml_key *key)
{
	struct config *c = w->c;
	struct yaml_key label;
	const char *s;

	if (!yaml_begins(w, YAML_MAPPING_START_EVENT, key, "map of names to values"))
		return;
	c->external_labels = calloc(YAML_ENTRIES_MAX, sizeof(*c->external_labels));
	while (yaml_next_key(w, &label)) {
		s = yaml_scalar(w, &label);
		if (s && !is_external_name(label.name))
			yaml_say(
				w, true, label.mark,
				"external_labels: %s: not a label name (letters, digits, _ and dots)",
				label.name);
		else if (s)
			add_external_label(w, &label, s);
	}
}

#define SECOND_NS 1000000000ull
#define TTL_MAX_NS (365 * 86400 * SECOND_NS)
#define CACHE_MAX 1048576u

void yaml_take_label_ttl(struct yaml_walk *w, const struct yaml_key *key)
{
	const char *s = yaml_scalar(w, key);
	uint64_t v;

	if (s && (units_duration(s, &v) || v < SECOND_NS || v > TTL_MAX_NS))
		yaml_say(
			w, true, w->event.start_mark,
			"label_ttl: must be a duration between 1s and a year, such as 10m");
	else if (s)
		w->c->label_ttl_ns = v;
}

void yaml_take_label_cache_size(struct yaml_walk *w, const struct yaml_key *key)
{
	const char *s = yaml_scalar(w, key);
	uint64_t v;

	if (s && (units_number(s, &v) || v < 1 || v > CACHE_MAX))
		yaml_say(w, true, w->event.start_mark,
			 "label_cache_size: must be a number between 1 and %u",
			 CACHE_MAX);
	else if (s)
		w->c->label_cache_size = (uint32_t)v;
}
