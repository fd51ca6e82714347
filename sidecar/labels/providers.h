/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers: each adds the labels of one kind.  Beside a label for rules (__meta_...) stands the attribute of
 * the same meaning, which survives when the __meta_ ones go.  Later providers overwrite earlier ones.
 */
#ifndef RINGSIDE_LABELS_PROVIDERS_H
#define RINGSIDE_LABELS_PROVIDERS_H

#include "sidecar/labels/label_builder.h"
#include "sidecar/labels/labels.h"

/* What is the same for all processes; borrowed. */
struct label_config {
	const char	*node;			/* NULL or "": none */
	bool		 in_cluster;		/* node is the name of a Kubernetes node */
	const char	*kernel_release, *kernel_machine;	/* as uname tells; NULL unknown */
	const char	*revision;		/* of ringsided */
	bool		 executables;		/* somebody looks into executables */
	bool		 local_only;		/* the container's id, and nothing of pods */
	bool		 publish_command_line, publish_working_directory;
};

struct label_provider {
	const char	*name;
	/* True: what it gave is all that it will ever give for this process as it is; it may be remembered. */
	bool		(*provide)(const struct label_config *c, const struct label_process *p, struct label_builder *b);
};

extern const struct label_provider label_provider_process, label_provider_executable, label_provider_agent,
	label_provider_container, label_provider_system;
#define LABEL_PROVIDERS_MAX 8
/* Those that c asks for, in their order; gives how many. */
uint32_t label_providers_default(const struct label_config *c, const struct label_provider *out[LABEL_PROVIDERS_MAX]);

/* x86_64 -> amd64 and so on; what is not known stays as it is. */
const char *label_host_arch(const char *machine);

#endif
