/* SPDX-License-Identifier: Apache-2.0 */
/* --explain-labels: what a run did, step by step, for people and for programs. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/resolver_chain.h"
#include "sidecar/labels/text.h"

struct explanation { FILE *out; const struct chain *chain; json_t *rules; };

/* Tenants' text for a terminal: nothing in it that moves a cursor. */
static void print_text(FILE *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] < 0xa0))
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
}

static json_t *json_text(const char *s, size_t n)
{
	char *valid = NULL;
	json_t *v;

	if (text_valid_utf8(s, n, n * 3, &valid))
		return NULL;
	v = json_string(valid);
	free(valid);
	return v;
}

static void set_text(json_t *o, const char *key, struct text_span s)
{
	json_object_set_new(o, key, json_text(s.p, s.n));
}

static json_t *labels_json(const struct label_builder *b)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < b->n; i++)
		set_text(o, b->labels[i].name.p, b->labels[i].value);
	return o;
}

static json_t *value_json(const struct label *l)
{
	char words[2 * LABEL_VALUE_MAX + 1];
	const char *text;
	json_t *list;

	switch (l->type) {
	case LABEL_INT:
		return json_integer(l->number);
	case LABEL_BOOL:
		return json_boolean(l->number);
	case LABEL_DOUBLE:
		if (isfinite(l->real))
			return json_real(l->real);
		break;
	case LABEL_JSON:
		list = json_loads(l->string, 0, NULL);
		if (list)
			return list;
		break;
	default:
		break;
	}
	text = label_words(l, words, sizeof(words));
	return json_text(text, strlen(text));
}

static json_t *attributes_json(const struct label_set *s)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < s->n; i++) {
		const struct label *l = &s->labels[i];

		json_object_set_new(o, l->key, value_json(l));
	}
	return o;
}

static void labels_text(FILE *out, const struct label_builder *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		fputs("  ", out);
		print_text(out, b->labels[i].name.p, b->labels[i].name.n);
		fputs(" = ", out);
		print_text(out, b->labels[i].value.p, b->labels[i].value.n);
		fputc('\n', out);
	}
}

static void attributes_text(FILE *out, const struct label_set *s)
{
	char words[2 * LABEL_VALUE_MAX + 1];
	const char *text;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct label *l = &s->labels[i];

		fputs("  ", out);
		print_text(out, l->key, strlen(l->key));
		fputs(" = ", out);
		text = label_words(l, words, sizeof(words));
		print_text(out, text, strlen(text));
		fputc('\n', out);
	}
}

static const char *what(struct text_span name, struct text_span value, bool drops)
{
	if (!name.p)
		return "no match";
	if (!name.n && !value.n)
		return drops ? "dropped" : "kept";
	return value.n ? "set" : "deleted";
}

static void on_rule_text(void *arg, const struct relabel_rule *r, struct text_span name,
			 struct text_span value, bool drops)
{
	struct explanation *x = arg;

	fprintf(x->out, "  %u (line %u) %s: %s",
		(unsigned)(r - x->chain->rules->rules) + 1, r->line,
		relabel_action_name(r->action), what(name, value, drops));
	if (name.p && (name.n || value.n)) {
		fputc(' ', x->out);
		print_text(x->out, name.p, name.n);
		if (value.n) {
			fputs(" = ", x->out);
			print_text(x->out, value.p, value.n);
		}
	}
	fputc('\n', x->out);
}

static void on_rule_json(void *arg, const struct relabel_rule *r, struct text_span name,
			 struct text_span value, bool drops)
{
	struct explanation *x = arg;
	json_t *step = json_pack(
		"{sI,sI,ss,ss}", "rule", (json_int_t)(r - x->chain->rules->rules) + 1,
		"line", (json_int_t)r->line, "action", relabel_action_name(r->action),
		"did", what(name, value, drops));

	if (name.p && (name.n || value.n)) {
		set_text(step, "label", name);
		if (value.n)
			set_text(step, "value", value);
	}
	json_array_append_new(x->rules, step);
}

static int explain_text(struct chain *c, const struct label_process *p, FILE *out)
{
	struct explanation x = { .out = out, .chain = c };
	struct relabel_trace trace = { on_rule_text, &x };
	struct label_set *s;
	int err;

	chain_begin(c, p);
	fputs("labels before rules:\n", out);
	labels_text(out, &c->builder);
	fputs("rules:\n", out);
	if (!c->rules || !c->rules->n)
		fputs("  none\n", out);
	if (!chain_rules(c, &trace)) {
		fputs("dropped: no samples of this process are published\n", out);
		return 0;
	}
	err = chain_finish(c, p, &s);
	if (err)
		return err;
	fputs("attributes:\n", out);
	attributes_text(out, s);
	label_set_free(s);
	return 0;
}

static int explain_json(struct chain *c, const struct label_process *p, FILE *out)
{
	struct explanation x = { .out = out, .chain = c, .rules = json_array() };
	struct relabel_trace trace = { on_rule_json, &x };
	struct label_set *s = NULL;
	json_t *all = json_object();
	bool keep;
	int err = 0;

	chain_begin(c, p);
	json_object_set_new(all, "pid", json_integer(p->pid));
	json_object_set_new(all, "labels", labels_json(&c->builder));
	keep = chain_rules(c, &trace);
	json_object_set_new(all, "rules", x.rules);
	json_object_set_new(all, "dropped", json_boolean(!keep));
	if (keep)
		err = chain_finish(c, p, &s);
	if (s) {
		json_object_set_new(all, "attributes", attributes_json(s));
		json_object_set_new(all, "schema_url", json_string(LABELS_SCHEMA_URL));
	}
	label_set_free(s);
	if (!err && json_dumpf(all, out, JSON_COMPACT))
		err = -EIO;
	fputc('\n', out);
	json_decref(all);
	return err;
}

int chain_explain(struct chain *c, const struct label_process *p, FILE *out, bool json)
{
	return json ? explain_json(c, p, out) : explain_text(c, p, out);
}
