/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key map: append-only, so whoever looks a name up needs no lock; only adding takes
 * it.  Thread attributes by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/otel_ctx_abi.h"
#include "ctx/otelctx.h"
#include "ctx/process_context.h"
#include "ctx/protobuf_write.h"

_Static_assert(OTELCTX_NAMES_MAX == OTEL_THREAD_CTX_KEYS_MAX, "OTEP 4947");
_Static_assert(OTELCTX_VALUE_MAX == OTEL_THREAD_CTX_VALUE_MAX, "OTEP 4947");
_Static_assert(OTELCTX_ATTRIBUTES_MAX == OTEL_THREAD_CTX_ATTRS_MAX, "OTEP 4947");

struct otelctx_names {
	size_t	 n;		/* stored last: pairs with otelctx_names_count() */
	size_t	 pending;	/* n, or one more: a name being published */
	char	*keys[OTELCTX_NAMES_MAX];
};

/* One block: the attributes, then the values of the map. */
struct snapshot {
	struct otelctx_attribute	attributes[2];
	struct otelctx_value		keys[];
};

size_t otelctx_names_count(const struct otelctx_names *names)
{
	return __atomic_load_n(&names->n, __ATOMIC_ACQUIRE);
}

int otelctx_names_find(const struct otelctx_names *names, const char *key)
{
	size_t n = otelctx_names_count(names);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(names->keys[i], key))
			return (int)i;
	return -ENOENT;
}

/* Not to be found yet.  Under the lock, or before anybody knows the names. */
static int add_pending(struct otelctx_names *names, const char *key)
{
	size_t n = names->n;

	if (!key || !key[0])
		return -EINVAL;
	if (utf8_check(key, strlen(key)))
		return -EILSEQ;
	if (n == OTELCTX_NAMES_MAX)
		return -ENOSPC;
	names->keys[n] = strdup(key);
	if (!names->keys[n])
		return -ENOMEM;
	names->pending = n + 1;
	return (int)n;
}

static void show_pending(struct otelctx_names *names)
{
	__atomic_store_n(&names->n, names->pending, __ATOMIC_RELEASE);
}

int otelctx_names_create(struct otelctx_names **out, const char *const *keys, size_t n)
{
	struct otelctx_names *names;
	int err = 0;

	if (!keys && n)
		return -EINVAL;
	names = calloc(1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n && err >= 0; i++) {
		err = keys[i] && otelctx_names_find(names, keys[i]) >= 0 ? -EINVAL :
			add_pending(names, keys[i]);
		show_pending(names);
	}
	if (err < 0) {
		otelctx_names_destroy(names);
		return err;
	}
	*out = names;
	return 0;
}

void otelctx_names_destroy(struct otelctx_names *names)
{
	if (!names)
		return;
	process_context_lock();
	process_context_forget(names);
	process_context_unlock();
	for (size_t i = 0; i < names->n; i++)
		free(names->keys[i]);
	free(names);
}

/*
 * The name is published before anybody can find it, and so before any record has its
 * index.
 */
int otelctx_names_add(struct otelctx_names *names, const char *key)
{
	int at = key ? otelctx_names_find(names, key) : -EINVAL, err;

	if (at != -ENOENT)
		return at;
	process_context_lock();
	at = otelctx_names_find(names, key);
	if (at < 0)
		at = add_pending(names, key);
	if (at >= 0 && names->pending > names->n) {
		err = process_context_renew(names);
		if (err) {
			names->pending = names->n;
			free(names->keys[at]);
			at = err;
		}
		show_pending(names);
	}
	process_context_unlock();
	return at;
}

static void set_string(struct otelctx_value *v, const char *s)
{
	v->type = OTELCTX_STRING;
	v->reserved = 0;
	v->n = OTELCTX_NUL;
	v->u.data = s;
}

static int take_snapshot(const struct otelctx_names *names, size_t keys,
			 struct otelctx_attribute **out, size_t *n)
{
	struct snapshot *s = calloc(1, sizeof(*s) + keys * sizeof(s->keys[0]));

	if (!s)
		return -ENOMEM;
	s->attributes[0].key = OTEL_CTX_KEY_SCHEMA;
	set_string(&s->attributes[0].value, OTEL_CTX_SCHEMA_TLSDESC);
	s->attributes[1].key = OTEL_CTX_KEY_MAP;
	s->attributes[1].value.type = OTELCTX_ARRAY;
	s->attributes[1].value.n = keys;
	s->attributes[1].value.u.values = s->keys;
	for (size_t i = 0; i < keys; i++)
		set_string(&s->keys[i], names->keys[i]);
	*out = s->attributes;
	*n = 2;
	return 0;
}

int otelctx_names_attributes(const struct otelctx_names *names,
			     struct otelctx_attribute **out, size_t *n)
{
	return take_snapshot(names, otelctx_names_count(names), out, n);
}

int names_pending_attributes(const struct otelctx_names *names,
			     struct otelctx_attribute **out, size_t *n)
{
	return take_snapshot(names, names->pending, out, n);
}

void otelctx_names_attributes_free(struct otelctx_attribute *attributes)
{
	free(attributes);	/* the first member of its snapshot */
}

int otelctx_names_thread_append(struct otelctx_names *names, struct otelctx_thread *t,
				const char *key, const void *value, size_t n)
{
	int at = otelctx_names_add(names, key);

	return at < 0 ? at : otelctx_thread_append(t, (uint32_t)at, value, n);
}

int otelctx_names_thread_create(struct otelctx_names *names, struct otelctx_thread **out,
				const uint8_t *trace_id, const uint8_t *span_id,
				uint8_t flags,
				const struct otelctx_named_attribute *attributes,
				size_t n)
{
	struct otelctx_thread_attribute *byindex = calloc(n ? n : 1, sizeof(*byindex));
	int at, err = 0;

	if (!byindex)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		at = otelctx_names_add(names, attributes[i].key);
		err = at < 0 ? at : 0;
		byindex[i].key = (uint32_t)at;
		byindex[i].value = attributes[i].value;
		byindex[i].n = attributes[i].n;
	}
	if (!err)
		err = otelctx_thread_create(out, trace_id, span_id, flags, byindex, n);
	free(byindex);
	return err;
}

const char *otelctx_version(void)
{
	return PACKAGE_VERSION;
}
