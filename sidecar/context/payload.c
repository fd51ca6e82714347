/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a process context: ProcessContext { 1 Resource { 1 KeyValue.. } .., 2 KeyValue.. }.  What
 * stands in field 2 fills keys that the resource lacks; both are read to the end before either is used, so
 * that the order on the wire says nothing.
 */
#include "sidecar/context/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"
#include "sidecar/context/protobuf.h"
#include "sidecar/context/value.h"
#include "sidecar/labels/text.h"

#define THREAD_PREFIX "threadlocal."

enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2 };
enum { RESOURCE_ATTRIBUTES = 1, ARRAY_VALUES = 1 };

/* What one of the two fields holds. */
struct found {
	struct label	 labels[LABELS_MAX];	/* own their text */
	uint32_t	 hashes[LABELS_MAX];	/* of keys: a payload may hold thousands of them */
	uint32_t	 n, left_out;
	char		*service_name;
	struct any_value schema, key_map;	/* ANY_NONE: absent */
};
struct parse { struct found resource, attributes; };

static bool key_is(const struct key_value *e, const char *key)
{
	return e->key_len == strlen(key) && !memcmp(e->key, key, e->key_len);
}

static bool is_thread_key(const struct key_value *e)
{
	size_t n = strlen(THREAD_PREFIX);

	return e->key_len >= n && !memcmp(e->key, THREAD_PREFIX, n);
}

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static struct label *find(struct found *f, const char *key, uint32_t hash)
{
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->hashes[i] == hash && !strcmp(f->labels[i].key, key))
			return &f->labels[i];
	}
	return NULL;
}

/* Takes over key and what v owns. */
static void put(struct found *f, char *key, struct label v)
{
	uint32_t hash = hash_of(key);
	struct label *have = find(f, key, hash);

	if (!have && f->n < LABELS_MAX) {
		f->hashes[f->n] = hash;
		v.key = key;
		f->labels[f->n++] = v;
		return;
	}
	free(key);
	if (have) {				/* the last one wins */
		free((char *)have->string);
		v.key = have->key;
		*have = v;
	} else {
		free((char *)v.string);
		f->left_out++;
	}
}

static void put_service_name(struct found *f, struct label v)
{
	if (v.type != LABEL_STRING) {
		free((char *)v.string);
		f->left_out++;
		return;
	}
	free(f->service_name);
	f->service_name = (char *)v.string;
}

/* An empty value is none: it takes nothing away from one that is known. */
static int take_attribute(struct found *f, const struct key_value *e)
{
	struct label v = { .key = NULL };
	char *key;
	int err;

	if (!e->key_len || e->key_len > LABEL_KEY_MAX) {
		f->left_out++;
		return 0;
	}
	err = any_value_label(&e->value, &v);
	f->left_out += err == -EMSGSIZE;
	if (err)
		return err == -ENOMEM ? err : 0;
	if (key_is(e, KEY_SERVICE_NAME)) {
		put_service_name(f, v);
		return 0;
	}
	err = text_valid_utf8((const char *)e->key, e->key_len, LABEL_KEY_MAX, &key);
	if (err) {
		free((char *)v.string);
		return err;
	}
	put(f, key, v);
	return 0;
}

static int take_pair(struct found *f, const struct pb_field *field)
{
	struct key_value e;

	if (key_value_read(field->p, field->n, &e) || any_value_check(&e.value))
		return -EBADMSG;
	if (!is_thread_key(&e))
		return take_attribute(f, &e);
	if (key_is(&e, OTEL_CTX_KEY_SCHEMA) && e.value.kind != ANY_NONE)
		f->schema = e.value;
	else if (key_is(&e, OTEL_CTX_KEY_MAP) && e.value.kind != ANY_NONE)
		f->key_map = e.value;
	return 0;
}

static int take_resource(struct found *f, const struct pb_field *field)
{
	struct pb_reader r = pb_reader(field->p, field->n);
	struct pb_field in;
	int got, err = 0;

	while (!err && (got = pb_next(&r, &in)) != 0) {
		if (got < 0)
			return got;
		if (in.number == RESOURCE_ATTRIBUTES && in.wire == PB_BYTES)
			err = take_pair(f, &in);
	}
	return err;
}

static int take_payload(struct parse *s, const void *payload, size_t n)
{
	struct pb_reader r = pb_reader(payload, n);
	struct pb_field f;
	int got, err = 0;

	while (!err && (got = pb_next(&r, &f)) != 0) {
		if (got < 0)
			return got;
		if (f.wire != PB_BYTES)
			continue;
		if (f.number == CONTEXT_RESOURCE)
			err = take_resource(&s->resource, &f);
		else if (f.number == CONTEXT_ATTRIBUTES)
			err = take_pair(&s->attributes, &f);
	}
	return err;
}

/* --- what is made of it --- */

static enum context_schema schema_of(const char *name)
{
	static const struct { const char *name; enum context_schema schema; } known[] = {
		{ OTEL_CTX_SCHEMA_TLSDESC, CONTEXT_SCHEMA_TLS },
		{ "tls_v1", CONTEXT_SCHEMA_TLS },
		{ "nodejs_v1_dev", CONTEXT_SCHEMA_NODEJS },
		{ "nodejs_v1", CONTEXT_SCHEMA_NODEJS },
		{ "go_pprof_labels_v1", CONTEXT_SCHEMA_GO_LABELS },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(name, known[i].name))
			return known[i].schema;
	}
	return CONTEXT_SCHEMA_UNKNOWN;
}

static int set_schema(struct process_context *c, const struct any_value *v)
{
	int err;

	if (v->kind != ANY_STRING || !v->n)
		return 0;
	err = text_valid_utf8((const char *)v->p, v->n, LABEL_KEY_MAX, &c->schema_name);
	if (!err)
		c->schema = schema_of(c->schema_name);
	return err;
}

static uint32_t count_elements(const struct any_value *v)
{
	struct pb_reader r = pb_reader(v->p, v->n);
	struct pb_field f;
	uint32_t n = 0;

	while (n < OTEL_THREAD_CTX_KEYS_MAX && pb_next(&r, &f) > 0)
		n += f.number == ARRAY_VALUES && f.wire == PB_BYTES;
	return n;
}

/* Position in the array is the key's index, whatever stands there. */
static int set_keys(struct process_context *c, const struct any_value *v)
{
	struct pb_reader r = pb_reader(v->p, v->n);
	uint32_t n = v->kind == ANY_ARRAY ? count_elements(v) : 0;
	struct any_value e;
	struct pb_field f;
	int err = 0;

	c->keys = n ? calloc(n, sizeof(*c->keys)) : NULL;
	if (n && !c->keys)
		return -ENOMEM;
	while (!err && c->n_keys < n && pb_next(&r, &f) > 0) {
		if (f.number != ARRAY_VALUES || f.wire != PB_BYTES)
			continue;
		if (!any_value_read(f.p, f.n, &e) && e.kind == ANY_STRING && e.n)
			err = text_valid_utf8((const char *)e.p, e.n, LABEL_KEY_MAX,
					      &c->keys[c->n_keys]);
		c->n_keys++;
	}
	return err;
}

/* Where they belong first; else where some released writers put them. */
static int set_thread_keys(struct process_context *c, const struct parse *s)
{
	const struct found *right = &s->attributes, *wrong = &s->resource;
	bool schema = right->schema.kind == ANY_NONE && wrong->schema.kind != ANY_NONE;
	bool keys = right->key_map.kind == ANY_NONE && wrong->key_map.kind != ANY_NONE;
	int err = set_schema(c, schema ? &wrong->schema : &right->schema);

	c->keys_in_resource = schema || keys;
	return err ? err : set_keys(c, keys ? &wrong->key_map : &right->key_map);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

/* Labels move: what was taken is cleared in f. */
static void move_labels(struct process_context *c, struct found *f, struct found *before)
{
	for (uint32_t i = 0; i < f->n; i++) {
		struct label *l = &f->labels[i];

		if (before && find(before, l->key, f->hashes[i]))
			continue;
		if (c->resource.n == LABELS_MAX) {
			c->left_out++;
			continue;
		}
		c->resource.attributes[c->resource.n++] = *l;
		if (before)
			*l = (struct label){ .key = NULL };
	}
}

static int set_resource(struct process_context *c, struct parse *s)
{
	struct otel_env *to = &c->resource;

	c->left_out = s->resource.left_out + s->attributes.left_out;
	to->service_name = s->resource.service_name;
	s->resource.service_name = NULL;
	if (!to->service_name) {
		to->service_name = s->attributes.service_name;
		s->attributes.service_name = NULL;
	}
	if (!(s->resource.n + s->attributes.n))
		return 0;
	to->attributes = calloc(s->resource.n + s->attributes.n, sizeof(*to->attributes));
	if (!to->attributes)
		return -ENOMEM;
	move_labels(c, &s->resource, NULL);
	move_labels(c, &s->attributes, &s->resource);
	s->resource.n = 0;
	qsort(to->attributes, to->n, sizeof(*to->attributes), by_key);
	return 0;
}

static void found_fini(struct found *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		free((char *)f->labels[i].key);
		free((char *)f->labels[i].string);
	}
	free(f->service_name);
}

static size_t text_bytes(const char *s)
{
	return s ? strlen(s) + 17 : 0;		/* and what malloc adds */
}

static size_t bytes_of(const struct process_context *c)
{
	const struct otel_env *e = &c->resource;
	size_t n = sizeof(*c) + e->n * sizeof(*e->attributes) +
		   c->n_keys * sizeof(*c->keys) + text_bytes(e->service_name) +
		   text_bytes(c->schema_name);

	for (uint32_t i = 0; i < e->n; i++)
		n += text_bytes(e->attributes[i].key) + label_len(&e->attributes[i]) + 17;
	for (uint32_t i = 0; i < c->n_keys; i++)
		n += text_bytes(c->keys[i]);
	return n;
}

static int make(struct process_context **out, struct parse *s, uint64_t published_ns)
{
	struct process_context *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->refs = 1;
	c->published_ns = published_ns;
	err = set_resource(c, s);
	if (!err)
		err = set_thread_keys(c, s);
	if (err) {
		process_context_put(c);
		return err;
	}
	c->bytes = bytes_of(c);
	*out = c;
	return 0;
}

int process_context_parse(struct process_context **out, const void *payload, size_t n,
			  uint64_t published_ns)
{
	struct parse *s;
	int err;

	if (!n || n > CONTEXT_PAYLOAD_MAX)
		return -EBADMSG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = take_payload(s, payload, n);
	if (!err)
		err = make(out, s, published_ns);
	found_fini(&s->resource);
	found_fini(&s->attributes);
	free(s);
	return err;
}

struct process_context *process_context_get(struct process_context *c)
{
	if (c)
		c->refs++;
	return c;
}

void process_context_put(struct process_context *c)
{
	if (!c || --c->refs)
		return;
	otel_env_free(&c->resource);
	for (uint32_t i = 0; i < c->n_keys; i++)
		free(c->keys[i]);
	free(c->keys);
	free(c->schema_name);
	free(c);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool process_context_same(const struct process_context *a,
			  const struct process_context *b)
{
	const struct otel_env *x = &a->resource, *y = &b->resource;

	if (a->schema != b->schema || a->n_keys != b->n_keys || x->n != y->n ||
	    a->keys_in_resource != b->keys_in_resource || a->left_out != b->left_out ||
	    !same_text(a->schema_name, b->schema_name) ||
	    !same_text(x->service_name, y->service_name))
		return false;
	for (uint32_t i = 0; i < x->n; i++) {
		if (!label_same(&x->attributes[i], &y->attributes[i]))
			return false;
	}
	for (uint32_t i = 0; i < a->n_keys; i++) {
		if (!same_text(a->keys[i], b->keys[i]))
			return false;
	}
	return true;
}
