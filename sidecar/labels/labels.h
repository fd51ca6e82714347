/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels and attributes of a process.  Takes what was read of it (struct label_process) and gives OpenTelemetry
 * attributes (struct label_set): providers make labels (providers.h), rules change them (relabel.h), and what
 * is left becomes attributes in the documented order (render.h).  resolver.h does all of it and remembers.
 */
#ifndef RINGSIDE_LABELS_H
#define RINGSIDE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/labels/keys.h"

enum label_type { LABEL_STRING, LABEL_INT, LABEL_BOOL, LABEL_DOUBLE, LABEL_BYTES, LABEL_JSON /* arrays, lists */ };
struct label {
	const char	*key;
	const char	*string;	/* STRING, JSON, BYTES: ends with a NUL, which for BYTES proves nothing */
	int64_t		 number;	/* INT, BOOL */
	double		 real;		/* DOUBLE */
	uint32_t	 len;		/* BYTES: how many */
	enum label_type	 type;
};
/* Immutable once built; owned by whoever built it. */
struct label_set { uint32_t n; struct label *labels; };
void	label_set_free(struct label_set *s);
static inline bool label_is_text(const struct label *l)
{
	return l->type == LABEL_STRING || l->type == LABEL_JSON || l->type == LABEL_BYTES;
}
/* Bytes at string; 0 for what is no text. */
size_t	label_len(const struct label *l);
/* Equal in key, type and value. */
bool	label_same(const struct label *a, const struct label *b);
/* The value in words, as explanations print it: BYTES as hex digits, cut to cap - 1; in buf or in l. */
const char *label_words(const struct label *l, char *buf, size_t cap);
/* The shortest digits that give the same number again; NaN, Infinity, -Infinity. */
#define LABEL_DOUBLE_MAX 32
void	label_double(double v, char buf[LABEL_DOUBLE_MAX]);

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

/* What is known of a file that runs; told by who looked into it. */
struct label_executable {
	const char	*file_id;	/* htlhash, 32 hex digits; NULL unknown */
	const char	*gnu_build_id, *go_build_id, *compiler;	/* NULL absent */
	bool		 is_elf, is_static, stripped;
};

/*
 * Process: all that is known of one process, borrowed.  What is NULL or 0 is not known.  A pure value: from
 * equal ones come equal labels.
 */
struct label_process {
	uint32_t	 pid, parent_pid;
	uint64_t	 start_ns, exec_id;	/* with pid: who it is */
	const char	*comm;			/* of the main thread */
	const char	*exe_path, *exe_name;
	const char	*cgroup;		/* path of the line that names it best */
	const struct cgroup_identity *container; /* of that file */
	const char	*command_line, *working_directory;
	const struct otel_env *context;		/* what it published as its process context */
	const struct otel_env *env;		/* what its environment declares */
	const struct label *environment; uint32_t n_environment;	/* allow-listed names and values */
	const struct label_executable *executable;
	/* Facts of its pod and container: name NUL value NUL, names as in providers.c. */
	const char	*pod_facts; size_t n_pod_facts;
	bool		 kthread;
	bool		 complete;		/* it was read: what is absent then is absent for good */
};

/* What a process says of itself, with published context before environment. */
struct label_declared { uint32_t n; struct label labels[2 * LABELS_MAX]; };
/* Published attributes in ascending order of keys, then those of the environment that the context lacks; never
 * service.name.  Labels point into what p points to. */
void	label_declared_attributes(const struct label_process *p, struct label_declared *out);
/* Published context, OTEL_SERVICE_NAME, its place in OTEL_RESOURCE_ATTRIBUTES, comm, executable name, unknown_service. */
const char *label_service_name(const struct label_process *p, char comm[64]);
/* comm without white space around it, in buf. */
const char *label_comm(const char *comm, char buf[64]);

#endif
