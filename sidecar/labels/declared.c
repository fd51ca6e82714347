/* SPDX-License-Identifier: Apache-2.0 */
/* What a process says of itself, and what it is called. */
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/labels.h"
#include "sidecar/labels/text.h"

#define UNKNOWN_SERVICE "unknown_service"

const char *label_comm(const char *comm, char buf[64])
{
	size_t n = comm ? strnlen(comm, 63) : 0;

	text_trim(&comm, &n);
	if (n)
		memcpy(buf, comm, n);
	buf[n] = 0;
	return buf;
}

static bool is_text(const char *s)
{
	return s && s[0];
}

const char *label_service_name(const struct label_process *p, char comm[64])
{
	if (p->context && is_text(p->context->service_name))
		return p->context->service_name;
	if (p->env && is_text(p->env->service_name))
		return p->env->service_name;
	if (label_comm(p->comm, comm)[0])
		return comm;
	return is_text(p->exe_name) ? p->exe_name : UNKNOWN_SERVICE;
}

static bool has(const struct label_declared *d, const char *key)
{
	for (uint32_t i = 0; i < d->n; i++) {
		if (!strcmp(d->labels[i].key, key))
			return true;
	}
	return false;
}

static void add(struct label_declared *d, const struct otel_env *e)
{
	for (uint32_t i = 0; e && i < e->n && d->n < 2 * LABELS_MAX; i++) {
		if (strcmp(e->attributes[i].key, KEY_SERVICE_NAME) &&
		    !has(d, e->attributes[i].key))
			d->labels[d->n++] = e->attributes[i];
	}
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

void label_declared_attributes(const struct label_process *p, struct label_declared *out)
{
	out->n = 0;
	add(out, p->context);
	if (out->n)
		qsort(out->labels, out->n, sizeof(out->labels[0]), by_key);
	add(out, p->env);
}
