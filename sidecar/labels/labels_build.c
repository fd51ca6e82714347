/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First labels of a process, in the documented order: who it is, where it runs, what it is called, and
 * then what it says of itself, as far as nobody better said it.
 */
#include "sidecar/labels/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/labels/text.h"

#define KEY_SERVICE_NAME	"service.name"
#define KEY_PID			"process.pid"
#define KEY_EXE_PATH		"process.executable.path"
#define KEY_EXE_NAME		"process.executable.name"
#define KEY_CONTAINER_ID	"container.id"
#define KEY_HOST_NAME		"host.name"
#define KEY_NODE_NAME		"k8s.node.name"
#define KEY_COMM		"comm"
#define KEY_COMMAND_LINE	"process.command_line"
#define KEY_WORKING_DIRECTORY	"process.working_directory"
#define KEY_ENVIRONMENT		"process.environment_variable."
#define UNKNOWN_SERVICE		"unknown_service"

/* What a process may not say of itself: it would pass for another host, container or process. */
static const char *const refused[] = {
	"host.", "container.", "k8s.node.", "process.executable.",	/* everything below */
	KEY_PID, "process.parent_pid", KEY_SERVICE_NAME,		/* exactly */
};

struct builder {
	struct label	 labels[LABELS_MAX];
	char		*owned[LABELS_MAX];	/* keys made here */
	uint32_t	 n, n_owned;
};

static bool is_refused(const char *key)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		size_t n = strlen(refused[i]);

		if (refused[i][n - 1] == '.' ? !strncmp(key, refused[i], n) : !strcmp(key, refused[i]))
			return true;
	}
	return false;
}

static bool is_set(const struct builder *b, const char *key)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (!strcmp(b->labels[i].key, key))
			return true;
	}
	return false;
}

static void put(struct builder *b, const char *key, const char *value)
{
	if (value && value[0] && b->n < LABELS_MAX)
		b->labels[b->n++] = (struct label){ .key = key, .string = value };
}

static void put_number(struct builder *b, const char *key, int64_t number)
{
	if (b->n < LABELS_MAX)
		b->labels[b->n++] = (struct label){ .key = key, .number = number, .is_number = true };
}

/* comm without white space around it, as the agent that set the order shows it. */
static const char *trimmed_comm(const char *comm, char buf[64])
{
	size_t n = comm ? strnlen(comm, 63) : 0;

	text_trim(&comm, &n);
	if (n)
		memcpy(buf, comm, n);
	buf[n] = 0;
	return buf;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
	if (a && a[0])
		return a;
	if (b && b[0])
		return b;
	return c && c[0] ? c : UNKNOWN_SERVICE;
}

static int put_environment(struct builder *b, const struct labels_input *in)
{
	for (uint32_t i = 0; i < in->n_environment && b->n < LABELS_MAX; i++) {
		char *key;

		if (asprintf(&key, KEY_ENVIRONMENT "%s", in->environment[i].key) < 0)
			return -ENOMEM;
		b->owned[b->n_owned++] = key;
		put(b, key, in->environment[i].string);
	}
	return 0;
}

/* An empty declared value stands: the process said so. */
static void put_declared(struct builder *b, const struct otel_env *e)
{
	for (uint32_t i = 0; e && i < e->n && b->n < LABELS_MAX; i++) {
		const struct label *l = &e->attributes[i];

		if (!is_refused(l->key) && !is_set(b, l->key))
			b->labels[b->n++] = *l;
	}
}

static char *keep(char **to, const char *s)
{
	char *start = *to;
	size_t n = text_cut(s, strlen(s), LABEL_VALUE_MAX);

	memcpy(start, s, n);
	start[n] = 0;
	*to += n + 1;
	return start;
}

/* One allocation holds the set, its labels and all their text. */
static int finish(const struct builder *b, struct label_set **out)
{
	size_t bytes = sizeof(**out) + b->n * sizeof(struct label);
	struct label_set *s;
	char *text;

	for (uint32_t i = 0; i < b->n; i++) {
		bytes += strlen(b->labels[i].key) + 1;
		if (!b->labels[i].is_number)
			bytes += strlen(b->labels[i].string) + 1;
	}
	s = malloc(bytes);
	if (!s)
		return -ENOMEM;
	s->n = b->n;
	s->labels = (struct label *)(s + 1);
	text = (char *)(s->labels + b->n);
	for (uint32_t i = 0; i < b->n; i++) {
		s->labels[i] = b->labels[i];
		s->labels[i].key = keep(&text, b->labels[i].key);
		if (!b->labels[i].is_number)
			s->labels[i].string = keep(&text, b->labels[i].string);
	}
	*out = s;
	return 0;
}

int labels_build(struct label_set **out, const struct labels_input *in)
{
	struct builder *b = calloc(1, sizeof(*b));
	char comm_buf[64];
	const char *comm = trimmed_comm(in->comm, comm_buf);
	int err;

	if (!b)
		return -ENOMEM;
	put(b, KEY_SERVICE_NAME, first_of(in->env ? in->env->service_name : NULL, comm, in->exe_name));
	put_number(b, KEY_PID, in->pid);
	if (!in->kthread) {
		put(b, KEY_EXE_PATH, in->exe_path);
		put(b, KEY_EXE_NAME, in->exe_name);
		put(b, KEY_CONTAINER_ID, in->container_id);
	}
	put(b, KEY_HOST_NAME, in->node);
	if (in->in_cluster)
		put(b, KEY_NODE_NAME, in->node);
	put(b, KEY_COMM, comm);
	put(b, KEY_COMMAND_LINE, in->command_line);
	put(b, KEY_WORKING_DIRECTORY, in->working_directory);
	err = put_environment(b, in);
	if (!err) {
		put_declared(b, in->env);
		err = finish(b, out);
	}
	for (uint32_t i = 0; i < b->n_owned; i++)
		free(b->owned[i]);
	free(b);
	return err;
}

void label_set_free(struct label_set *s)
{
	free(s);
}
