/* SPDX-License-Identifier: Apache-2.0 */
/* --explain-labels: what a run did, step by step, for people and for programs. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/explain_text.h"
#include "sidecar/labels/resolver_chain.h"

struct explanation { FILE *out; const struct chain *chain; json_t *rules; };

static void set_text(json_t *o, const char *key, struct text_span s)
{
	json_object_set_new(o, key, explain_text_json(s.p, s.n));
}

static json_t *labels_json(const struct label_builder *b)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < b->n; i++)
		set_text(o, b->labels[i].name.p, b->labels[i].value);
	return o;
}

static json_t *attributes_json(const struct label_set *s)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < s->n; i++) {
		const struct label *l = &s->labels[i];

		json_object_set_new(o, l->key, explain_value_json(l));
	}
	return o;
}

static void labels_text(FILE *out, const struct label_builder *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		fputs("  ", out);
		explain_text(out, b->labels[i].name.p, b->labels[i].name.n);
		fputs(" = ", out);
		explain_text(out, b->labels[i].value.p, b->labels[i].value.n);
		fputc('\n', out);
	}
}

static void attributes_text(FILE *out, const struct label_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		explain_label(out, &s->labels[i]);
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
		explain_text(x->out, name.p, name.n);
		if (value.n) {
			fputs(" = ", x->out);
			explain_text(x->out, value.p, value.n);
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

static int explain_in_text(struct chain *c, const struct label_process *p, FILE *out)
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

static int explain_in_json(struct chain *c, const struct label_process *p, FILE *out)
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
	if (!err && json_dumpf(all, out, JSON_COMPACT | JSON_ENSURE_ASCII))
		err = -EIO;
	fputc('\n', out);
	json_decref(all);
	return err;
}

int chain_explain(struct chain *c, const struct label_process *p, FILE *out, bool json)
{
	return json ? explain_in_json(c, p, out) : explain_in_text(c, p, out);
}
