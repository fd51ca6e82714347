/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ringsided was told: command line over configuration file over defaults.  One option table
 * (options.c) makes the parsing, --help, the YAML keys and the man page's list.
 */
#ifndef RINGSIDE_CONFIG_H
#define RINGSIDE_CONFIG_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "sidecar/labels/relabel.h"

enum config_mode { MODE_RUN, MODE_HELP, MODE_VERSION, MODE_CHECK_CONFIG, MODE_PROBE, MODE_EXPLAIN_LABELS,
	MODE_EXPLAIN_CONTEXT };
enum config_scope { SCOPE_AUTO, SCOPE_HOST, SCOPE_PIDNS, SCOPE_CGROUP, SCOPE_PIDS };
enum config_io { IO_AUTO, IO_URING, IO_PLAIN };

struct config {
	enum config_mode mode;
	char		*ring;			/* path */
	uint64_t	 ring_size, dict_size;	/* bytes */
	char		*group;			/* NULL: ringside, else the directory's group, else root */
	uint32_t	 ring_mode;		/* 0640 */
	uint32_t	 frequency;
	enum config_scope scope;
	char		*scope_cgroup;
	uint32_t	*scope_pids; uint32_t n_scope_pids;
	uint64_t	 duration_ns;		/* 0: none */
	enum config_io	 io_backend;
	bool		 low_latency;
	uint64_t	 memory_limit;
	uint32_t	 stack_depth;
	char		*pod_facts;
	char		*config_path;		/* read; NULL when the default one is absent */
	char		*node;			/* never NULL: --node, else $NODE_NAME, $K8S_NODE_NAME, the host's name */
	char		*container_id;
	char		*record_events, *replay;
	char		*explain_target;	/* as written */
	uint32_t	 explain_pid;
	bool		 json_output;		/* -o json */
	int		 ready_fd;		/* -1 none */
	int		 log_level;		/* enum log_level */
	bool		 log_json;
	bool		 otel_lenient;		/* otel_resource_attributes: lenient */
	char	       **include_env_vars; uint32_t n_include_env_vars;
	bool		 publish_command_line, publish_working_directory;
	struct config_pair { char *key, *value; } *external_labels;
	uint32_t	 n_external_labels;
	struct config_kubernetes {		/* names of variables of our own environment; NULL: the default */
		char	**node_env; uint32_t n_node_env;
		char	*pod_name_env, *namespace_env, *pod_uid_env, *podinfo_dir;
		bool	 local_only;
	}		 kubernetes;
	uint64_t	 label_ttl_ns;
	uint32_t	 label_cache_size;
	struct relabel_rules relabel;		/* relabel_configs */
	int		 argc;			/* a copy of the command line, for config_reload() */
	char		**argv;
};
/*
 * Exit code 0 go on, else the program's exit code (2) after a message on err.  With MODE_CHECK_CONFIG,
 * config_path is the file to check; it is not read.  Either way c is to be freed with config_free().
 */
int	config_load(struct config *c, int argc, char **argv, FILE *err);
/* SIGHUP: reads the file again over the same command line into *fresh; a bad one gives -EINVAL and a message,
 * and nothing to free. */
int	config_reload(const struct config *old, struct config *fresh, FILE *err);
/* --check-config: prints FILE:LINE:COLUMN errors and warnings; 0 or 2. */
int	config_check_file(const char *path, FILE *out);
void	config_help(FILE *out);
void	config_free(struct config *c);
const char *config_scope_text(const struct config *c, char *buf, size_t n);	/* `host`, `pidns`, `cgroup:PATH`, `pid:1,2` */
#endif
