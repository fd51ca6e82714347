/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/text.h"

/* What a process may not say of itself: it would pass for another host, container or
 * process. */
static const char *const refused[] = {
	"host.", "container.", "k8s.node.", "process.executable.", "__",	/* everything below */
	KEY_PID, KEY_PARENT_PID, KEY_SERVICE_NAME,			/* exactly */
};

/* Names that operators use, and the attribute that means the same. */
static const struct { const char *label, *key;
} renames[] = {
	{ "namespace", KEY_NAMESPACE },
	{ "pod", KEY_POD_NAME },
	{ "container", KEY_K8S_CONTAINER },
};

struct attributes { struct label labels[LABELS_MAX]; uint32_t n; char comm[64]; };

int attributes_create(struct attributes **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void attributes_destroy(struct attributes *a)
{
	free(a);
}

void attributes_reset(struct attributes *a)
{
	a->n = 0;
}

bool attribute_is_refused(const char *key)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		size_t n = strlen(refused[i]);

		if (refused[i][n - 1] == '.' || refused[i][n - 1] == '_' ? !strncmp(key, refused[i], n)
					     : !strcmp(key, refused[i]))
			return true;
	}
	return false;
}

static struct label *find(struct attributes *a, const char *key)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (!strcmp(a->labels[i].key, key))
			return &a->labels[i];
	}
	return NULL;
}

static void put(struct attributes *a, struct label l)
{
	struct label *have = find(a, l.key);

	if (have)
		*have = l;
	else if (a->n < LABELS_MAX)
		a->labels[a->n++] = l;
}

static void put_text(struct attributes *a, const char *key, const char *value)
{
	if (value && value[0])
		put(a, (struct label){ .key = key, .string = value });
}

void attributes_put_host(struct attributes *a, const struct label_config *c)
{
	put_text(a, KEY_HOST_NAME, c->node);
	if (c->in_cluster)
		put_text(a, KEY_NODE_NAME, c->node);
}

static void put_identity(struct attributes *a, const struct label_process *p,
			 const char *service)
{
	put_text(a, KEY_SERVICE_NAME, service);
	put(a, (struct label){ .key = KEY_PID, .number = p->pid, .type = LABEL_INT });
	if (p->kthread)
		return;
	put_text(a, KEY_EXE_PATH, p->exe_path);
	put_text(a, KEY_EXE_NAME, p->exe_name);
	if (p->container)
		put_text(a, KEY_CONTAINER_ID, p->container->container_id);
}

/* Where a label goes; NULL: nowhere, since the key that it would become is a label
 * itself. */
static const char *key_of(const struct label_config *c,
			  const struct label_builder *labels, const char *name)
{
	const char *key = NULL;

	for (size_t i = 0; i < sizeof(renames) / sizeof(renames[0]); i++) {
		if (!strcmp(name, renames[i].label))
			key = renames[i].key;
	}
	if (!strcmp(name, LABEL_NODE))
		key = c->in_cluster ? KEY_NODE_NAME : KEY_HOST_NAME;
	if (!key)
		return name;
	return label_builder_find(labels, key) ? NULL : key;
}

/* These are numbers in the schema; a rule may have made them something else. */
static bool as_number(const char *key, const char *value, int64_t *number)
{
	char *end;

	if (strcmp(key, KEY_PID) && strcmp(key, KEY_PARENT_PID))
		return false;
	*number = strtoll(value, &end, 10);
	return value[0] >= '0' && value[0] <= '9' && !*end && strlen(value) < 10;
}

static void put_label(struct attributes *a, const struct label_config *c,
		      const struct label_builder *labels, const struct builder_label *l)
{
	const char *key = l->name.n ? key_of(c, labels, l->name.p) : NULL;
	int64_t number;

	if (!key || !strncmp(l->name.p, META, strlen(META)))
		return;
	if (as_number(key, l->value.p, &number))
		put(a, (struct label){ .key = key, .number = number, .type = LABEL_INT });
	else
		put_text(a, key, l->value.p);
}

/* An empty declared value stands: the process said so. */
static void put_declared(struct attributes *a, const struct label_process *p)
{
	struct label_declared *d = malloc(sizeof(*d));

	if (!d)
		return;
	label_declared_attributes(p, d);
	for (uint32_t i = 0; i < d->n; i++) {
		if (!attribute_is_refused(d->labels[i].key) && !find(a, d->labels[i].key))
			put(a, d->labels[i]);
	}
	free(d);
}

void attributes_put_process(struct attributes *a, const struct label_config *c,
			    const struct label_process *p,
			    const struct label_builder *labels)
{
	put_identity(a, p, label_service_name(p, a->comm));
	attributes_put_host(a, c);
	for (uint32_t i = 0; i < labels->n; i++)
		put_label(a, c, labels, &labels->labels[i]);
	put_declared(a, p);
}

/* Only words are cut to fit: half of an array is none. */
static size_t kept_len(const struct label *l)
{
	size_t n = label_len(l);

	return l->type == LABEL_STRING ? text_cut(l->string, n, LABEL_VALUE_MAX) : n;
}

static char *keep(char **to, const char *s, size_t n)
{
	char *start = *to;

	memcpy(start, s, n);
	start[n] = 0;
	*to += n + 1;
	return start;
}

/* One allocation holds the set, its labels and all their text. */
int attributes_finish(const struct attributes *a, struct label_set **out)
{
	size_t bytes = sizeof(**out) + a->n * sizeof(struct label);
	struct label_set *s;
	char *text;

	for (uint32_t i = 0; i < a->n; i++) {
		bytes += strlen(a->labels[i].key) + 1;
		if (label_is_text(&a->labels[i]))
			bytes += kept_len(&a->labels[i]) + 1;
	}
	s = malloc(bytes);
	if (!s)
		return -ENOMEM;
	s->n = a->n;
	s->labels = (struct label *)(s + 1);
	text = (char *)(s->labels + a->n);
	for (uint32_t i = 0; i < a->n; i++) {
		const struct label *l = &a->labels[i];

		s->labels[i] = *l;
		s->labels[i].key = keep(&text, l->key, text_cut(l->key, strlen(l->key),
								LABEL_VALUE_MAX));
		if (label_is_text(l))
			s->labels[i].string = keep(&text, l->string, kept_len(l));
	}
	*out = s;
	return 0;
}

void label_set_free(struct label_set *s)
{
	free(s);
}
