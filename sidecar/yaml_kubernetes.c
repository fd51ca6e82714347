/* SPDX-License-Identifier: Apache-2.0 */
/* The part of ringside.yaml that tells where facts of our own pod and node come from. */
#include <stdlib.h>
#include <string.h>
#include "sidecar/yaml_walk.h"

#define NODE_ENV_MAX 16u

static const char *const names[] = {
	"node_env",    "pod_name_env", "namespace_env",
	"pod_uid_env", "podinfo_dir",  "local_only",
};

static void take_text(struct yaml_walk *w, const struct yaml_key *key, char **field)
{
	const char *s = yaml_scalar(w, key);

	if (!s)
		return;
	if (!*s || (field != &w->c->kubernetes.podinfo_dir && strchr(s, '='))) {
		yaml_say(w, true, w->event.start_mark, "kubernetes: %s: not a name",
			 key->name);
		return;
	}
	free(*field);
	*field = strdup(s);
}

static void take_node_env(struct yaml_walk *w, const struct yaml_key *key)
{
	struct config_kubernetes *k = &w->c->kubernetes;

	if (!yaml_begins(w, YAML_SEQUENCE_START_EVENT, key, "list of names"))
		return;
	k->node_env = calloc(NODE_ENV_MAX, sizeof(*k->node_env));
	while (yaml_next(w) && w->event.type != YAML_SEQUENCE_END_EVENT) {
		if (!k->node_env || k->n_node_env == NODE_ENV_MAX) {
			yaml_say(w, true, w->event.start_mark,
				 "kubernetes: node_env: more than %u names",
				 NODE_ENV_MAX);
			yaml_skip(w);
			continue;
		}
		take_text(w, key, &k->node_env[k->n_node_env]);
		k->n_node_env += k->node_env[k->n_node_env] != NULL;
	}
}

static void take_local_only(struct yaml_walk *w, const struct yaml_key *key)
{
	const char *s = yaml_scalar(w, key);

	if (s && option_parse_bool(s, &w->c->kubernetes.local_only))
		yaml_say(w, true, w->event.start_mark,
			 "kubernetes: local_only: must be true or false");
}

static void unknown(struct yaml_walk *w, const struct yaml_key *key)
{
	const char *nearest =
		yaml_nearest(key->name, names, sizeof(names) / sizeof(names[0]));

	yaml_say(w, false, key->mark, "kubernetes: %s: unknown key%s%s%s", key->name,
		 nearest ? "; did you mean " : "", nearest ? nearest : "",
		 nearest ? "?" : "");
	yaml_skip(w);
}

void yaml_take_kubernetes(struct yaml_walk *w, const struct yaml_key *key)
{
	struct config_kubernetes *k = &w->c->kubernetes;
	struct yaml_key inner;

	if (!yaml_begins(w, YAML_MAPPING_START_EVENT, key, "map"))
		return;
	while (yaml_next_key(w, &inner)) {
		if (!strcmp(inner.name, "node_env"))
			take_node_env(w, &inner);
		else if (!strcmp(inner.name, "pod_name_env"))
			take_text(w, &inner, &k->pod_name_env);
		else if (!strcmp(inner.name, "namespace_env"))
			take_text(w, &inner, &k->namespace_env);
		else if (!strcmp(inner.name, "pod_uid_env"))
			take_text(w, &inner, &k->pod_uid_env);
		else if (!strcmp(inner.name, "podinfo_dir"))
			take_text(w, &inner, &k->podinfo_dir);
		else if (!strcmp(inner.name, "local_only"))
			take_local_only(w, &inner);
		else
			unknown(w, &inner);
	}
}
