/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource attributes of a process.  Takes what was read of it, gives OpenTelemetry attributes in the
 * documented order.  First labels only: the provider and relabel chain comes on top of these.
 */
#ifndef RINGSIDE_LABELS_H
#define RINGSIDE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABELS_SCHEMA_URL "https://opentelemetry.io/schemas/1.37.0"

struct label { const char *key; const char *string; int64_t number; bool is_number; };
/* Immutable once built; owned by whoever built it. */
struct label_set { uint32_t n; struct label *labels; };
void	label_set_free(struct label_set *s);

#define LABEL_VALUE_MAX 4096	/* bytes; longer values are cut on a code point */
#define LABEL_KEY_MAX	255	/* declared keys beyond it are errors */
#define LABELS_MAX	192	/* per process; declared ones beyond it are left out */

/* cgroup file of a process -> container id and pod uid (facts: labels 1.5).  Pure, bounded. */
struct cgroup_identity { char container_id[129]; char pod_uid[64]; char runtime[32]; };
int	cgroup_identify(const char *text, size_t n, struct cgroup_identity *out);

/* Environment: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES (strict: any error drops the whole variable). */
struct otel_env { char *service_name; uint32_t n; struct label *attributes; bool error; };
/* 0 or -ENOMEM.  error: the list was malformed (and, strictly, dropped whole). */
int	otel_env_parse(const char *resource_attributes, const char *service_name, bool lenient, struct otel_env *out);
void	otel_env_free(struct otel_env *e);

struct labels_input {
	uint32_t pid; const char *comm, *exe_path, *exe_name, *container_id, *node;
	const struct otel_env *env;		/* may be NULL */
	const char *command_line, *working_directory;	/* NULL unless allowed */
	const struct label *environment; uint32_t n_environment;	/* allow-listed names and values */
	bool kthread;
	bool in_cluster;		/* KUBERNETES_SERVICE_HOST is set in our own environment */
};
int	labels_build(struct label_set **out, const struct labels_input *in);
#endif
