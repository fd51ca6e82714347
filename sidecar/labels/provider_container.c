/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container and pod.  Who it is comes from the cgroup; what it is called from facts that
 * the door read: the downward API for our own pod, files of an unprivileged helper for
 * others.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/labels/providers.h"

#define NAME_MAX_BYTES 512

/* A fact's name, the label for rules, the attribute.  A name that ends with a colon has a
 * key behind it. */
static const struct fact { const char *name, *meta, *key;
} facts[] = {
	{ "namespace", META_K8S "namespace", KEY_NAMESPACE },
	{ "pod_name", META_K8S "pod_name", KEY_POD_NAME },
	{ "pod_uid", META_K8S "pod_uid", KEY_POD_UID },
	{ "pod_ip", META_K8S "pod_ip", NULL },
	{ "pod_ready", META_K8S "pod_ready", NULL },
	{ "pod_phase", META_K8S "pod_phase", NULL },
	{ "pod_node_name", META_K8S "pod_node_name", NULL },
	{ "pod_host_ip", META_K8S "pod_host_ip", NULL },
	{ "controller_kind", META_K8S "pod_controller_kind", NULL },
	{ "controller_name", META_K8S "pod_controller_name", NULL },
	{ "container_name", META_K8S "pod_container_name", KEY_K8S_CONTAINER },
	{ "container_image", META_K8S "pod_container_image", NULL },
	{ "container_init", META_K8S "pod_container_init", NULL },
	{ "label:", META_K8S "pod_label", KEY_POD_LABEL },
	{ "annotation:", META_K8S "pod_annotation", KEY_POD_ANNOTATION },
	{ "node_name", META_K8S "node_name", NULL },
	{ "node_label:", META_K8S "node_label", KEY_NODE_LABEL },
	{ "node_annotation:", META_K8S "node_annotation", KEY_NODE_ANNOTATION },
	{ "docker_name", META_DOCKER "container_name", KEY_CONTAINER_NAME },
	{ "docker_label:", META_DOCKER "container_label", KEY_CONTAINER_LABEL },
	{ "containerd_name", META_CONTAINERD "container_name", KEY_CONTAINER_NAME },
	{ "containerd_label:", META_CONTAINERD "container_label", KEY_CONTAINER_LABEL },
	{ "containerd_namespace", META_CONTAINERD "pod_name", NULL },
};

static void put(struct label_builder *b, const char *meta, const char *key,
		const char *value)
{
	label_builder_put(b, meta, value);
	if (key)
		label_builder_put(b, key, value);
}

/* Prometheus's names: every code point that is no letter, digit or _ becomes one _. */
static void sanitize(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (((unsigned char)*s & 0xc0) == 0x80)
			continue;
		*to++ = isalnum((unsigned char)*s) && (unsigned char)*s < 0x80 ? *s : '_';
	}
	*to = 0;
}

/* label_<k> = value, labelpresent_<k> = true, and the attribute with the key as it was.
 */
static void put_keyed(struct label_builder *b, const struct fact *f, const char *k,
		      const char *value)
{
	char name[NAME_MAX_BYTES], clean[256];

	if (!k[0] || strlen(k) >= sizeof(clean))
		return;
	snprintf(clean, sizeof(clean), "%s", k);
	sanitize(clean);
	snprintf(name, sizeof(name), "%s_%s", f->meta, clean);
	label_builder_put(b, name, value);
	snprintf(name, sizeof(name), "%spresent_%s", f->meta, clean);
	label_builder_put(b, name, "true");
	snprintf(name, sizeof(name), "%s%s", f->key, k);
	label_builder_put(b, name, value);
}

/* registry:5000/app:1.2@sha256:..: the tag is what follows the last colon behind the last
 * slash. */
static void put_image(struct label_builder *b, const char *image)
{
	const char *slash = strrchr(image, '/'), *digest = strchr(image, '@');
	size_t n = digest ? (size_t)(digest - image) : strlen(image);
	const char *base = slash && slash < image + n ? slash : image;
	const char *colon = memrchr(base, ':', (size_t)(image + n - base));

	label_builder_set(
		b, text_span_of(KEY_IMAGE_NAME),
		(struct text_span){ image, colon ? (size_t)(colon - image) : n });
	if (colon)
		label_builder_set(
			b, text_span_of(KEY_IMAGE_TAGS),
			(struct text_span){ colon + 1, (size_t)(image + n - colon - 1) });
}

/* A pod of a ReplicaSet: k8s.replicaset.name. */
static void put_controller(struct label_builder *b)
{
	static const struct { const char *kind, *key;
	} kinds[] = {
		{ "ReplicaSet", "k8s.replicaset.name" },
		{ "StatefulSet", "k8s.statefulset.name" },
		{ "DaemonSet", "k8s.daemonset.name" },
		{ "Job", "k8s.job.name" },
	};
	const char *kind = label_builder_find(b, META_K8S "pod_controller_kind");
	const char *name = label_builder_find(b, META_K8S "pod_controller_name");

	for (size_t i = 0; kind && name && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kind, kinds[i].kind))
			label_builder_put(b, kinds[i].key, name);
	}
}

static void put_fact(struct label_builder *b, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		size_t n = strlen(facts[i].name);
		bool keyed = facts[i].name[n - 1] == ':';

		if (keyed && !strncmp(name, facts[i].name, n))
			put_keyed(b, &facts[i], name + n, value);
		else if (!keyed && !strcmp(name, facts[i].name))
			put(b, facts[i].meta, facts[i].key, value);
	}
	if (!strcmp(name, "container_image"))
		put_image(b, value);
}

static void put_container(struct label_builder *b, const struct cgroup_identity *id)
{
	const char *runtime = id->runtime;

	if (id->pod_uid[0]) {
		put(b, META_K8S "pod_uid", KEY_POD_UID, id->pod_uid);
		label_builder_put(b, META_K8S "pod_container_id", id->container_id);
	} else if (!strcmp(runtime, "docker")) {
		/* Build containers have short names, not ids. */
		bool buildkit = strlen(id->container_id) != 64;

		label_builder_put(b, buildkit ? META_BUILDKIT_ID : META_DOCKER "container_id",
				  id->container_id);
	} else if (!strcmp(runtime, "containerd")) {
		label_builder_put(b, META_CONTAINERD "container_id", id->container_id);
		label_builder_put(b, META_CONTAINERD "container_name", id->container_id);
	} else if (!strcmp(runtime, "lxc")) {
		label_builder_put(b, META_LXC_ID, id->container_id);
	}
	label_builder_put(b, KEY_CONTAINER_ID, id->container_id);
}

static bool provide_container(const struct label_config *c, const struct label_process *p,
			      struct label_builder *b)
{
	const char *at = p->pod_facts, *end = at ? at + p->n_pod_facts : NULL;

	if (p->container)
		put_container(b, p->container);
	/* Checked when they came: pairs of strings, each with its NUL. */
	while (!c->local_only && at < end) {
		const char *value = at + strlen(at) + 1;

		put_fact(b, at, value);
		at = value + strlen(value) + 1;
	}
	put_controller(b);
	if (c->in_cluster && c->node && c->node[0] && p->n_pod_facts)
		label_builder_put(b, META_K8S "node_name", c->node);
	/* A pod whose facts are not there yet may still get them. */
	return p->complete && (c->local_only || !p->container ||
			       !p->container->pod_uid[0] || p->n_pod_facts);
}

const struct label_provider label_provider_container = { "container", provide_container };
