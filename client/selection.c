/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/complain.h"
#include "client/regexes.h"
#include "client/selection.h"

struct selection {
	const struct options *o;	/* borrowed */
	struct regexes	 comm, service, include, exclude;
	uint8_t		(*trace_ids)[16];
	uint8_t		(*span_ids)[8];
};

static int hex_value(char c)
{
	const char *digits = "0123456789abcdef", *d;

	if (c >= 'A' && c <= 'F')
		c += 'a' - 'A';
	d = c ? strchr(digits, c) : NULL;
	return d ? (int)(d - digits) : -1;
}

static bool hex_parse(const char *s, uint8_t *out, size_t bytes)
{
	if (strlen(s) != 2 * bytes)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		int hi = hex_value(s[2 * i]), lo = hex_value(s[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

/* All texts of an id option, `bytes` each. */
static int ids_parse(const struct options *o, enum option_id id, size_t bytes, void **out)
{
	const struct option_value *v = &o->value[id];
	uint8_t *ids;

	*out = NULL;
	if (!v->count)
		return 0;
	ids = calloc(v->count, bytes);
	*out = ids;
	if (!ids) {
		complain("out of memory");
		return CLIENT_FAILED;
	}
	for (unsigned i = 0; i < v->count; i++)
		if (!hex_parse(v->list[i], ids + i * bytes, bytes)) {
			complain("--%s: %s: not understood; it takes %zu hex digits",
				 option_row_find(id, IN_ALL)->name, v->list[i],
				 2 * bytes);
			return CLIENT_USAGE;
		}
	return 0;
}

/* KEY=VALUE options: the key must be there. */
static int pairs_check(const struct options *o, enum option_id id)
{
	const struct option_value *v = &o->value[id];

	for (unsigned i = 0; i < v->count; i++)
		if (v->list[i][0] == '=' || !strchr(v->list[i], '=')) {
			complain("--%s: %s: not understood; it takes KEY=VALUE",
				 option_row_find(id, IN_ALL)->name, v->list[i]);
			return CLIENT_USAGE;
		}
	return 0;
}

static int build(struct selection *s, const struct options *o)
{
	void *ids;
	int err;

	err = regexes_init(&s->comm, o, OPTION_COMM);
	if (!err)
		err = regexes_init(&s->service, o, OPTION_SERVICE);
	if (!err)
		err = regexes_init(&s->include, o, OPTION_INCLUDE);
	if (!err)
		err = regexes_init(&s->exclude, o, OPTION_EXCLUDE);
	if (!err)
		err = pairs_check(o, OPTION_SELECTOR);
	if (!err)
		err = pairs_check(o, OPTION_ATTR);
	if (err)
		return err;
	err = ids_parse(o, OPTION_TRACE_ID, 16, &ids);
	s->trace_ids = ids;
	if (err)
		return err;
	err = ids_parse(o, OPTION_SPAN_ID, 8, &ids);
	s->span_ids = ids;
	return err;
}

int selection_create(struct selection **out, const struct options *o)
{
	struct selection *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s) {
		complain("out of memory");
		return CLIENT_FAILED;
	}
	s->o = o;
	err = build(s, o);
	if (err) {
		selection_destroy(s);
		return err;
	}
	*out = s;
	return 0;
}

void selection_destroy(struct selection *s)
{
	if (!s)
		return;
	regexes_fini(&s->comm);
	regexes_fini(&s->service);
	regexes_fini(&s->include);
	regexes_fini(&s->exclude);
	free(s->trace_ids);
	free(s->span_ids);
	free(s);
}

const struct ringside_attribute *attribute_find(const struct ringside_attribute *a,
						uint32_t n, const char *key)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].key && !strcmp(a[i].key, key))
			return &a[i];
	return NULL;
}

const char *resource_string(const struct ringside_resource *r, const char *key)
{
	const struct ringside_attribute *a = attribute_find(r->attributes, r->n, key);

	return a && a->type == RINGSIDE_STRING ? a->string : NULL;
}

static const struct option_value *given(const struct selection *s, enum option_id id)
{
	return s->o->value[id].count ? &s->o->value[id] : NULL;
}

static bool number_matches(const struct option_value *v, uint32_t number)
{
	/* Few, and checked once by the parser: strtoul cannot fail here. */
	for (unsigned i = 0; i < v->count; i++)
		if (strtoul(v->list[i], NULL, 10) == number)
			return true;
	return false;
}

/* The value as it would be written after KEY=. */
static bool attribute_equals(const struct ringside_attribute *a, const char *value)
{
	char number[32];

	switch (a->type) {
	case RINGSIDE_INT:
		snprintf(number, sizeof(number), "%" PRId64, a->number);
		return !strcmp(number, value);
	case RINGSIDE_BOOL:
		return !strcmp(a->number ? "true" : "false", value);
	case RINGSIDE_DOUBLE:
		return strtod(value, NULL) == a->real;
	default:
		return a->string && a->len == strlen(value) &&
		       !memcmp(a->string, value, a->len);
	}
}

/* Any KEY=VALUE of the option among the attributes. */
static bool pair_matches(const struct option_value *v, const struct ringside_attribute *a,
			 uint32_t n)
{
	for (unsigned i = 0; i < v->count; i++) {
		const char *eq = strchr(v->list[i], '=');
		size_t len = (size_t)(eq - v->list[i]);

		for (uint32_t k = 0; k < n; k++)
			if (a[k].key && strlen(a[k].key) == len &&
			    !memcmp(a[k].key, v->list[i], len) &&
			    attribute_equals(&a[k], eq + 1))
				return true;
	}
	return false;
}

static bool container_matches(const struct option_value *v,
			      const struct ringside_resource *r)
{
	const char *id = resource_string(r, "container.id");
	const char *name = resource_string(r, "container.name");
	const char *k8s = resource_string(r, "k8s.container.name");

	for (unsigned i = 0; i < v->count; i++) {
		const char *want = v->list[i];

		if ((id && *want && !strncmp(id, want, strlen(want))) ||
		    (name && !strcmp(name, want)) || (k8s && !strcmp(k8s, want)))
			return true;
	}
	return false;
}

static bool namespace_matches(const struct option_value *v,
			      const struct ringside_resource *r)
{
	const char *name = resource_string(r, "k8s.namespace.name");

	for (unsigned i = 0; name && i < v->count; i++)
		if (!strcmp(name, v->list[i]))
			return true;
	return false;
}

/* What samples and process records have in common. */
static bool process_matches(const struct selection *s, uint32_t pid, const char *comm,
			    const struct ringside_resource *r)
{
	char name[17];
	const struct option_value *v;

	snprintf(name, sizeof(name), "%.16s", comm);
	v = given(s, OPTION_PID);
	if (v && !number_matches(v, pid))
		return false;
	if (s->comm.n && !regexes_match(&s->comm, name))
		return false;
	if (s->service.n &&
	    !regexes_match(&s->service, resource_string(r, "service.name")))
		return false;
	v = given(s, OPTION_CONTAINER);
	if (v && !container_matches(v, r))
		return false;
	v = given(s, OPTION_NAMESPACE);
	if (v && !namespace_matches(v, r))
		return false;
	v = given(s, OPTION_SELECTOR);
	return !v || pair_matches(v, r->attributes, r->n);
}

static bool stack_has(const struct regexes *r, const struct ringside_stack *stack)
{
	for (uint32_t i = 0; i < stack->n; i++)
		if (regexes_match(r, stack->frames[i]->function))
			return true;
	return false;
}

static bool id_matches(const uint8_t *ids, unsigned n, size_t bytes, const uint8_t *id)
{
	for (unsigned i = 0; i < n; i++)
		if (!memcmp(ids + i * bytes, id, bytes))
			return true;
	return false;
}

static bool link_matches(const struct selection *s, const struct ringside_sample *sample)
{
	unsigned traces = s->o->value[OPTION_TRACE_ID].count;
	unsigned spans = s->o->value[OPTION_SPAN_ID].count;

	if (!traces && !spans)
		return true;
	if (!sample->has_link)
		return false;
	return (!traces || id_matches(s->trace_ids[0], traces, 16, sample->trace_id)) &&
	       (!spans || id_matches(s->span_ids[0], spans, 8, sample->span_id));
}

static bool sample_matches(const struct selection *s,
			   const struct ringside_sample *sample)
{
	const struct option_value *v;

	if (!process_matches(s, sample->pid, sample->comm, &sample->resource))
		return false;
	v = given(s, OPTION_TID);
	if (v && !number_matches(v, sample->tid))
		return false;
	/* The words of --event stand in the order of enum ringside_event, from 1. */
	v = given(s, OPTION_EVENT);
	if (v && (!sample->event || sample->event > 63 ||
		  !(v->number >> (sample->event - 1) & 1)))
		return false;
	if (!link_matches(s, sample))
		return false;
	v = given(s, OPTION_ATTR);
	if (v && !pair_matches(v, sample->attributes, sample->nattributes))
		return false;
	if (s->include.n && !stack_has(&s->include, &sample->user) &&
	    !stack_has(&s->include, &sample->kernel))
		return false;
	return !s->exclude.n || !(stack_has(&s->exclude, &sample->user) ||
				  stack_has(&s->exclude, &sample->kernel));
}

/* A process record has no thread, link, stack or event: asking for one leaves it out. */
static bool process_record_matches(const struct selection *s,
				   const struct ringside_process *p)
{
	static const enum option_id of_samples[] = { OPTION_TID,     OPTION_TRACE_ID,
						     OPTION_SPAN_ID, OPTION_ATTR,
						     OPTION_EVENT,   OPTION_INCLUDE };

	for (size_t i = 0; i < sizeof(of_samples) / sizeof(*of_samples); i++)
		if (given(s, of_samples[i]))
			return false;
	return process_matches(s, p->pid, p->comm, &p->resource);
}

bool selection_matches(const struct selection *s, const struct ringside_record *rec)
{
	switch (rec->kind) {
	case RINGSIDE_SAMPLE:
		return sample_matches(s, &rec->sample);
	case RINGSIDE_PROCESS:
		return process_record_matches(s, &rec->process);
	default:
		return true;
	}
}

bool selection_in_time(const struct selection *s, const struct ringside_record *rec)
{
	int64_t t;

	if (rec->kind == RINGSIDE_LOST && rec->lost.by_reader)
		return true;
	if (selection_since(s, &t) && rec->time_ns < t)
		return false;
	return !selection_until(s, &t) || rec->time_ns < t;
}

bool selection_since(const struct selection *s, int64_t *ns)
{
	*ns = s->o->value[OPTION_SINCE].time;
	return option_given(s->o, OPTION_SINCE);
}

bool selection_until(const struct selection *s, int64_t *ns)
{
	*ns = s->o->value[OPTION_UNTIL].time;
	return option_given(s->o, OPTION_UNTIL);
}

uint64_t selection_max_events(const struct selection *s)
{
	return s->o->value[OPTION_MAX_EVENTS].number;
}
