/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of pods, and where from: the downward API for our own pod alone, and a directory that an
 * unprivileged helper fills for others.  Read by the door's threads together with the cgroup file, so that an
 * answer holds it and a replay needs no file.
 *
 *	DIR/<pod uid>/namespace name ip ready phase node_name host_ip controller_kind controller_name
 *	DIR/<pod uid>/labels annotations		lines of key="value", as the downward API writes them
 *	DIR/<pod uid>/containers/<container id>/name image init
 *	DIR/<container id>/name namespace labels	outside of pods: docker, containerd
 *	DIR/node/name labels annotations
 */
#ifndef RINGSIDE_PROCESS_PODS_H
#define RINGSIDE_PROCESS_PODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/labels/labels.h"

#define PODS_FACTS_MAX (32u << 10)	/* bytes for one process */
#define PODS_FILE_MAX (16u << 10)

/* Fixed before the first request.  Strings are owned by it. */
struct pods {
	char	*facts_dir, *podinfo_dir;	/* NULL: none */
	char	*own_name, *own_namespace, *own_uid; /* of the pod that we are in; NULL unknown */
	bool	 private_cgroups;		/* our cgroup namespace is not the host's */
	bool	 local_only;
};
void	pods_fini(struct pods *p);
/* Copies; NULL and "" are none. */
int	pods_set(char **field, const char *value);
/* Our cgroup namespace and, when the environment did not tell, our pod's uid. */
void	pods_look(struct pods *p);

/* name NUL value NUL..; cap: PODS_FACTS_MAX. */
struct pod_facts { char *buf; size_t cap, n; };
/* Is the process with that cgroup file one of our own pod?  Pure. */
bool	pods_is_own(const struct pods *p, const struct cgroup_identity *id, const char *cgroup, size_t n);
void	pods_read(const struct pods *p, const char *cgroup, size_t n, struct pod_facts *out);
/* Lines of key="value" with Go's escapes; each becomes PREFIX:key.  Pure. */
void	pod_facts_lines(struct pod_facts *f, const char *prefix, const char *text, size_t n);
void	pod_facts_put(struct pod_facts *f, const char *name, const char *value, size_t n);

#endif
