/* SPDX-License-Identifier: Apache-2.0 */
/* Running of rules. */
#include "sidecar/labels/relabel.h"

#include <errno.h>
#include <inttypes.h>
#include <md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/unicode.h"

#define JOINED_MAX REGEX_INPUT_MAX

struct pass {
	struct relabel_rules *all;
	struct relabel_rule *rule;
	struct label_builder *b;
	const struct relabel_trace *trace;
};

static void tell(struct pass *p, struct text_span name, struct text_span value,
		 bool drops)
{
	if (p->trace)
		p->trace->fn(p->trace->arg, p->rule, name, value, drops);
}

static bool verdict(struct pass *p, bool keep)
{
	tell(p, text_span_of(""), text_span_of(""), !keep);
	return keep;
}

static void set(struct pass *p, struct text_span name, struct text_span value)
{
	label_builder_set(p->b, name, value);
	tell(p, name, value, false);
}

static bool matches(struct pass *p, struct text_span value, struct regex_span *spans)
{
	int found =
		regex_match(p->rule->regex, &p->all->scratch, value.p, value.n, spans);

	if (found < 0)
		p->all->limit_hits++;
	p->rule->matched += found == 1;
	return found == 1;
}

/* --- templates ---------------------------------------------------------------------- */

struct expansion {
	char *to;
	size_t n;
	const struct regex *regex;
	const struct regex_span *spans;
	struct text_span from;
};

static void append(struct expansion *e, const char *s, size_t n)
{
	if (e->to)
		memcpy(e->to + e->n, s, n);
	e->n += n;
}

static void append_group(struct expansion *e, uint32_t i)
{
	if (i <= regex_groups(e->regex) && e->spans[i].start >= 0 && e->spans[i].end >= 0)
		append(e, e->from.p + e->spans[i].start,
		       (size_t)(e->spans[i].end - e->spans[i].start));
}

/* Of several groups of one name, the first that took part. */
static void append_named(struct expansion *e, const char *name, size_t n)
{
	for (uint32_t i = 1; i <= regex_groups(e->regex); i++) {
		const char *have = regex_group_name(e->regex, i);

		if (strlen(have) != n || memcmp(have, name, n) || e->spans[i].start < 0)
			continue;
		append_group(e, i);
		return;
	}
}

static size_t name_length(const char *s, const char *end)
{
	const char *at = s;
	uint32_t rune;
	bool valid;

	while (at < end) {
		size_t len = unicode_decode(at, (size_t)(end - at), &rune, &valid);

		if (rune != '_' && !unicode_is_letter_or_digit(rune))
			break;
		at += len;
	}
	return (size_t)(at - s);
}

/* All digits, no leading zero: a number.  -1: a name. */
static int64_t group_number(const char *s, size_t n)
{
	int64_t v = 0;

	if (n > 1 && s[0] == '0')
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || v >= 100000000)
			return -1;
		v = v * 10 + s[i] - '0';
	}
	return v;
}

/* After a $: gives what is behind the reference; s itself when there is none. */
static const char *expand_reference(struct expansion *e, const char *s, const char *end)
{
	bool brace = s < end && *s == '{';
	const char *name = s + brace;
	size_t n = name_length(name, end);
	int64_t number;

	if (!n || (brace && (name + n == end || name[n] != '}')))
		return s;
	number = group_number(name, n);
	if (number >= 0)
		append_group(e, (uint32_t)number);
	else
		append_named(e, name, n);
	return name + n + brace;
}

/* Goes through the template; what cannot be read as a reference stands for itself. */
static void expand(struct expansion *e, const char *s)
{
	const char *end = s + strlen(s), *dollar, *next;

	e->n = 0;
	while ((dollar = memchr(s, '$', (size_t)(end - s)))) {
		append(e, s, (size_t)(dollar - s));
		s = dollar + 1;
		if (s < end && *s == '$') {
			append(e, "$", 1);
			s++;
			continue;
		}
		next = expand_reference(e, s, end);
		if (next == s)
			append(e, "$", 1);
		s = next;
	}
	append(e, s, (size_t)(end - s));
}

static bool expanded(struct pass *p, const char *text, struct text_span from,
		     const struct regex_span *spans, struct text_span *out)
{
	struct expansion e = { .regex = p->rule->regex, .spans = spans, .from = from };
	char *room;

	expand(&e, text);
	room = e.n <= RELABEL_EXPANDED_MAX ? label_builder_room(p->b, e.n + 1) : NULL;
	if (!room) {
		p->all->limit_hits++;
		return false;
	}
	e.to = room;
	expand(&e, text);
	*out = (struct text_span){ room, e.n };
	return true;
}

/* --- actions ------------------------------------------------------------------------ */

static struct text_span current(const struct pass *p, const char *name)
{
	const struct builder_label *l = label_builder_get(p->b, text_span_of(name));

	return l ? l->value : text_span_of("");
}

static bool joined(struct pass *p, struct text_span *out)
{
	const struct relabel_rule *r = p->rule;
	size_t separator = strlen(r->separator), n = 0;
	char *at;

	*out = r->n_sources ? current(p, r->sources[0]) : text_span_of("");
	if (r->n_sources < 2)
		return true;
	for (uint32_t i = 0; i < r->n_sources; i++)
		n += current(p, r->sources[i]).n + (i ? separator : 0);
	at = n <= JOINED_MAX ? label_builder_room(p->b, n) : NULL;
	if (!at) {
		p->all->limit_hits++;
		return false;
	}
	*out = (struct text_span){ at, n };
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct text_span v = current(p, r->sources[i]);

		if (i)
			at = mempcpy(at, r->separator, separator);
		at = mempcpy(at, v.p, v.n);
	}
	return true;
}

static void run_replace(struct pass *p, struct text_span value)
{
	struct regex_span spans[REGEX_GROUPS_MAX + 1];
	struct text_span name, fresh;

	if (!matches(p, value, spans)) {
		tell(p, (struct text_span){ NULL, 0 }, text_span_of(""), false);
		return;
	}
	if (expanded(p, p->rule->target, value, spans, &name) &&
	    relabel_is_name(name.p, name.n, p->all->legacy_names) &&
	    expanded(p, p->rule->replacement, value, spans, &fresh))
		set(p, name, fresh);
}

static void run_hashmod(struct pass *p, struct text_span value)
{
	uint8_t digest[MD5_DIGEST_LENGTH];
	uint64_t v = 0;
	char text[24];
	MD5_CTX md5;

	MD5Init(&md5);
	MD5Update(&md5, (const uint8_t *)value.p, value.n);
	MD5Final(digest, &md5);
	for (int i = 8; i < 16; i++)
		v = v << 8 | digest[i];
	snprintf(text, sizeof(text), "%" PRIu64, v % p->rule->modulus);
	p->rule->matched++;
	set(p, text_span_of(p->rule->target), text_span_of(text));
}

/* One code point for one; a byte that is not UTF-8 becomes U+FFFD. */
static void run_case(struct pass *p, struct text_span value)
{
	char *to = label_builder_room(p->b, value.n * 3 + 1);
	size_t n = 0;
	uint32_t rune;
	bool valid;

	if (!to) {
		p->all->limit_hits++;
		return;
	}
	while (value.n) {
		size_t len = unicode_decode(value.p, value.n, &rune, &valid);
		uint32_t mapped = p->rule->action == RELABEL_LOWERCASE
					  ? unicode_lower(rune)
					  : unicode_upper(rune);

		n += unicode_encode(mapped, to + n);
		value.p += len;
		value.n -= len;
	}
	p->rule->matched++;
	set(p, text_span_of(p->rule->target), (struct text_span){ to, n });
}

/* A copy of the list: what a rule sets, it does not see itself. */
static struct builder_label *snapshot(struct pass *p, uint32_t *n)
{
	struct builder_label *copy = malloc((p->b->n + 1) * sizeof(*copy));

	*n = copy ? p->b->n : 0;
	if (!copy)
		p->all->limit_hits++;
	else if (*n)
		memcpy(copy, p->b->labels, *n * sizeof(*copy));
	return copy;
}

static void run_on_names(struct pass *p)
{
	struct regex_span spans[REGEX_GROUPS_MAX + 1];
	enum relabel_action action = p->rule->action;
	struct text_span name;
	uint32_t n;
	struct builder_label *labels = snapshot(p, &n);

	for (uint32_t i = 0; i < n; i++) {
		const struct builder_label *l = &labels[i];
		bool match = matches(p, l->name, spans);

		if (action == RELABEL_LABELMAP && match &&
		    expanded(p, p->rule->replacement, l->name, spans, &name))
			set(p, name, l->value);
		else if ((action == RELABEL_LABELDROP && match) ||
			 (action == RELABEL_LABELKEEP && !match))
			set(p, l->name, text_span_of(""));
	}
	free(labels);
}

/* KEEP.., DROP..: does the condition of the rule hold? */
static bool holds(struct pass *p, struct text_span value)
{
	struct text_span other;
	bool equal;

	if (p->rule->action == RELABEL_KEEP || p->rule->action == RELABEL_DROP)
		return matches(p, value, NULL);
	other = current(p, p->rule->target);
	equal = other.n == value.n && !memcmp(other.p, value.p, value.n);
	p->rule->matched += equal;
	return equal;
}

/* False: the process is dropped. */
static bool run_rule(struct pass *p)
{
	enum relabel_action action = p->rule->action;
	struct text_span value;

	if (action == RELABEL_LABELMAP || action == RELABEL_LABELDROP ||
	    action == RELABEL_LABELKEEP) {
		run_on_names(p);
		return true;
	}
	if (!joined(p, &value))
		return true;
	switch (action) {
	case RELABEL_REPLACE:
		run_replace(p, value);
		return true;
	case RELABEL_HASHMOD:
		run_hashmod(p, value);
		return true;
	case RELABEL_LOWERCASE:
	case RELABEL_UPPERCASE:
		run_case(p, value);
		return true;
	case RELABEL_KEEP:
	case RELABEL_KEEPEQUAL:
		return verdict(p, holds(p, value));
	default:
		return verdict(p, !holds(p, value));
	}
}

bool relabel_run(struct relabel_rules *rules, struct label_builder *b,
		 const struct relabel_trace *trace)
{
	struct pass p = { .all = rules, .b = b, .trace = trace };

	rules->runs++;
	for (uint32_t i = 0; i < rules->n; i++) {
		p.rule = &rules->rules[i];
		if (!run_rule(&p))
			return false;
	}
	return true;
}
