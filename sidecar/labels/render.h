/* SPDX-License-Identifier: Apache-2.0 */
/* From labels to the attributes of a resource. */
#ifndef RINGSIDE_LABELS_RENDER_H
#define RINGSIDE_LABELS_RENDER_H

#include "sidecar/labels/label_builder.h"
#include "sidecar/labels/labels.h"
#include "sidecar/labels/providers.h"

/* Attributes while they are put together; large, so on the heap. */
struct attributes;
int	attributes_create(struct attributes **out);
void	attributes_destroy(struct attributes *a);
void	attributes_reset(struct attributes *a);
/* host.name, and k8s.node.name on a cluster; nothing without a node name. */
void	attributes_put_host(struct attributes *a, const struct label_config *c);
/*
 * In the documented order: who it is; the host; its labels, which overwrite both and are renamed to the
 * attribute of the same meaning unless that one is set itself; what it declares, where nothing is set and the
 * key is not one that would let it pass for another host, container or process.
 */
void	attributes_put_process(struct attributes *a, const struct label_config *c, const struct label_process *p,
			       const struct label_builder *labels);
int	attributes_finish(const struct attributes *a, struct label_set **out);	/* 0 or -ENOMEM */
bool	attribute_is_refused(const char *key);	/* a process may not declare it */

#endif
