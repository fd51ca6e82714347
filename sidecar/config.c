/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults, then the file, then the command line. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sidecar/config.h"
#include "sidecar/options.h"
#include "sidecar/units.h"

#define DEFAULT_CONFIG "/etc/ringside/ringside.yaml"
#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"
#define LONG_BASE 256		/* getopt value of options[i] is LONG_BASE + i */
#define OPTIONS_MAX 64
#define EXIT_USAGE 2

struct getopt_table {
	struct option longs[OPTIONS_MAX];
	char shorts[2 * OPTIONS_MAX + 2];
};

/* A leading `:` tells a missing argument from an unknown option. */
static void make_getopt(struct getopt_table *t)
{
	size_t n = 0, s = 0;

	memset(t, 0, sizeof(*t));
	t->shorts[s++] = ':';
	for (uint32_t i = 0; i < n_options && n < OPTIONS_MAX - 1; i++) {
		if (options[i].name[0])
			t->longs[n++] = (struct option){ options[i].name,
							 options[i].arg
								 ? required_argument
								 : no_argument,
							 NULL, LONG_BASE + (int)i };
		if (!options[i].letter)
			continue;
		t->shorts[s++] = options[i].letter;
		if (options[i].arg)
			t->shorts[s++] = ':';
	}
}

static const struct option_row *row_of(int opt)
{
	if (opt >= LONG_BASE)
		return &options[opt - LONG_BASE];
	for (uint32_t i = 0; i < n_options; i++)
		if (options[i].letter == opt)
			return &options[i];
	return NULL;
}

static void name_of(const struct option_row *o, char *buf, size_t n)
{
	if (o->name[0])
		snprintf(buf, n, "--%s", o->name);
	else
		snprintf(buf, n, "-%c", o->letter);
}

static const char *nearest_option(const char *word)
{
	const char *nearest = NULL;
	unsigned int best, d;
	char plain[64];

	if (strncmp(word, "--", 2))
		return NULL;
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	best = (unsigned int)strlen(plain) / 2 + 1;
	if (best > 4)
		best = 4;
	for (uint32_t i = 0; i < n_options; i++) {
		d = options[i].name[0] ? text_distance(plain, options[i].name, best)
				       : best;
		if (d < best) {
			best = d;
			nearest = options[i].name;
		}
	}
	return nearest;
}

static int usage_error(int opt, char **argv, FILE *err)
{
	const char *word = argv[optind - 1], *near;
	char name[64];

	if (opt == ':') {
		name_of(row_of(optopt), name, sizeof(name));
		fprintf(err, "ringsided: option %s: it needs an argument; see --help\n",
			name);
		return EXIT_USAGE;
	}
	if (optopt >= LONG_BASE) {
		name_of(row_of(optopt), name, sizeof(name));
		fprintf(err, "ringsided: option %s: it takes no argument; see --help\n",
			name);
		return EXIT_USAGE;
	}
	if (optopt) {
		fprintf(err,
			"ringsided: option -%c: there is no such option; see --help\n",
			optopt);
		return EXIT_USAGE;
	}
	near = nearest_option(word);
	if (near)
		fprintf(err,
			"ringsided: option %s: there is no such option; did you mean --%s?\n",
			word, near);
	else
		fprintf(err,
			"ringsided: option %s: there is no such option, or more than one; see --help\n",
			word);
	return EXIT_USAGE;
}

static int apply_options(struct config *c, int argc, char **argv, FILE *err)
{
	const struct option_row *o;
	struct getopt_table t;
	char why[OPTION_WHY_MAX], name[64];
	int opt;

	make_getopt(&t);
	optind = 0;		/* a second pass in one process */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		if (opt == '?' || opt == ':')
			return usage_error(opt, argv, err);
		o = row_of(opt);
		if (option_set(c, o, optarg, why)) {
			name_of(o, name, sizeof(name));
			fprintf(err, "ringsided: option %s%s%s: %s\n", name,
				optarg ? " " : "", optarg ? optarg : "", why);
			return EXIT_USAGE;
		}
		if (c->mode == MODE_HELP || c->mode == MODE_VERSION)
			return 0;
	}
	if (optind < argc) {
		fprintf(err,
			"ringsided: argument %s: it takes options only; see --help\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	return 0;
}

static int copy_command_line(struct config *c, int argc, char **argv)
{
	c->argv = calloc((size_t)argc + 1, sizeof(*c->argv));
	if (!c->argv)
		return -ENOMEM;
	for (; c->argc < argc; c->argc++) {
		c->argv[c->argc] = strdup(argv[c->argc]);
		if (!c->argv[c->argc])
			return -ENOMEM;
	}
	return 0;
}

static int set_defaults(struct config *c, FILE *err)
{
	const char *ring = getenv("RINGSIDE_RING");
	char why[OPTION_WHY_MAX];

	memset(c, 0, sizeof(*c));
	c->ready_fd = -1;
	for (uint32_t i = 0; i < n_options; i++)
		if (options[i].deflt && option_set(c, &options[i], options[i].deflt, why))
			goto out_error;
	if (ring && *ring && option_set(c, option_by_key("ring"), ring, why)) {
		fprintf(err, "ringsided: RINGSIDE_RING: %s\n", why);
		return EXIT_USAGE;
	}
	return 0;
out_error:
	fprintf(err, "ringsided: defaults: %s\n", why);
	return EXIT_USAGE;
}

/* 0 also when the default file is absent; then c->config_path is NULL. */
static int apply_file(struct config *c, const char *path, FILE *err)
{
	struct yaml_result r = { 0 };
	const char *env = getenv("RINGSIDE_CONFIG");
	bool optional = false;
	int e;

	if (!path && env && *env)
		path = env;
	if (!path) {
		path = DEFAULT_CONFIG;
		optional = true;
	}
	e = yaml_config_read(c, path, err, &r);
	if (e == -ENOENT && optional)
		return 0;
	if (e) {
		fprintf(err,
			"ringsided: configuration: %s: %s; correct --config or RINGSIDE_CONFIG\n",
			path, strerror(-e));
		return EXIT_USAGE;
	}
	if (r.errors) {
		fprintf(err,
			"ringsided: configuration: %s: %u wrong; correct it, --check-config %s tells when "
			"it is right\n",
			path, r.errors, path);
		return EXIT_USAGE;
	}
	free(c->config_path);
	c->config_path = strdup(path);
	return c->config_path ? 0 : EXIT_USAGE;
}

static int default_node(struct config *c)
{
	static const char *const usual[] = { "NODE_NAME", "K8S_NODE_NAME" };
	const char *const *env = c->kubernetes.node_env
					 ? (const char *const *)c->kubernetes.node_env
					 : usual;
	uint32_t n_env = c->kubernetes.node_env ? c->kubernetes.n_node_env : 2;
	char host[256] = "";
	const char *name = NULL;

	for (uint32_t i = 0; i < n_env && !(name && *name); i++)
		name = getenv(env[i]);
	if (!name || !*name) {
		gethostname(host, sizeof(host) - 1);
		name = *host ? host : "localhost";
	}
	c->node = strdup(name);
	return c->node ? 0 : EXIT_USAGE;
}

int config_check_rate(uint32_t frequency, const char *sysctl, FILE *err)
{
	char text[32] = "";
	uint64_t max;
	FILE *f;

	f = fopen(sysctl, "re");
	if (!f)			/* the kernel will tell */
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	if (units_number(text, &max) || frequency <= max)
		return 0;
	fprintf(err,
		"ringsided: frequency: %u Hz: the kernel allows %llu; "
		"sysctl kernel.perf_event_max_sample_rate=%u, or a lower --frequency\n",
		frequency, (unsigned long long)max, frequency);
	return EXIT_USAGE;
}

static int check_whole(struct config *c, FILE *err)
{
	uint64_t pid;

	if (c->mode == MODE_EXPLAIN_LABELS || c->mode == MODE_EXPLAIN_CONTEXT) {
		if (units_number(c->explain_target, &pid) || pid < 1 || pid >= 1u << 22) {
			fprintf(err, "ringsided: option --explain-%s %s: not a process id\n",
				c->mode == MODE_EXPLAIN_LABELS ? "labels" : "context",
				c->explain_target);
			return EXIT_USAGE;
		}
		c->explain_pid = (uint32_t)pid;
	}
	if (c->record_events && c->replay) {
		fprintf(err,
			"ringsided: options: --record-events and --replay exclude each other\n");
		return EXIT_USAGE;
	}
	if (c->ready_fd >= 0 && fcntl(c->ready_fd, F_GETFD) < 0) {
		fprintf(err, "ringsided: option --ready-fd %d: %s; open it for ringsided, as in `3>FILE`\n",
			c->ready_fd, strerror(errno));
		return EXIT_USAGE;
	}
	if (c->mode == MODE_RUN && !c->replay)
		return config_check_rate(c->frequency, MAX_RATE, err);
	return 0;
}

/* The command line is read twice: first to know the file, then over what the file says.
 */
int config_load(struct config *c, int argc, char **argv, FILE *err)
{
	struct config first;
	int code;

	code = set_defaults(&first, err);
	if (!code)
		code = apply_options(&first, argc, argv, err);
	if (code || (first.mode != MODE_RUN && first.mode != MODE_PROBE &&
		     first.mode != MODE_EXPLAIN_LABELS && first.mode != MODE_EXPLAIN_CONTEXT)) {
		*c = first;
		return code;
	}
	code = set_defaults(c, err);
	if (!code)
		code = apply_file(c, first.config_path, err);
	config_free(&first);
	if (!code)
		code = apply_options(c, argc, argv, err);
	if (!code && copy_command_line(c, argc, argv)) {
		fprintf(err, "ringsided: command line: %s\n", strerror(ENOMEM));
		code = EXIT_USAGE;
	}
	if (!code && !c->node && !c->replay)	/* a recording names its own node */
		code = default_node(c);
	return code ? code : check_whole(c, err);
}

int config_reload(const struct config *old, struct config *fresh, FILE *err)
{
	if (!config_load(fresh, old->argc, old->argv, err))
		return 0;
	config_free(fresh);
	return -EINVAL;
}

int config_check_file(const char *path, FILE *out)
{
	struct yaml_result r = { 0 };
	struct config c;
	int code, e;

	code = set_defaults(&c, out);
	if (!code) {
		e = yaml_config_read(&c, path, out, &r);
		if (e)
			fprintf(out, "%s:1:1: error: %s\n", path, strerror(-e));
		code = e || r.errors ? EXIT_USAGE : 0;
	}
	config_free(&c);
	return code;
}

static void free_strings(char **s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(s[i]);
	free(s);
}

void config_free(struct config *c)
{
	if (!c)
		return;
	free(c->ring);
	free(c->group);
	free(c->scope_cgroup);
	free(c->scope_pids);
	free(c->pod_facts);
	free(c->config_path);
	free(c->node);
	free(c->explain_target);
	free(c->container_id);
	free(c->record_events);
	free(c->replay);
	free_strings(c->include_env_vars, c->n_include_env_vars);
	for (uint32_t i = 0; i < c->n_external_labels; i++) {
		free(c->external_labels[i].key);
		free(c->external_labels[i].value);
	}
	free(c->external_labels);
	relabel_rules_fini(&c->relabel);
	free_strings(c->kubernetes.node_env, c->kubernetes.n_node_env);
	free(c->kubernetes.pod_name_env);
	free(c->kubernetes.namespace_env);
	free(c->kubernetes.pod_uid_env);
	free(c->kubernetes.podinfo_dir);
	free_strings(c->argv, (uint32_t)c->argc);
	memset(c, 0, sizeof(*c));
}

const char *config_scope_text(const struct config *c, char *buf, size_t n)
{
	static const char *const names[] = {
		[SCOPE_AUTO] = "auto", [SCOPE_HOST] = "host", [SCOPE_PIDNS] = "pidns"
	};
	size_t used;

	switch (c->scope) {
	case SCOPE_CGROUP:
		snprintf(buf, n, "cgroup:%s", c->scope_cgroup);
		break;
	case SCOPE_PIDS:
		used = (size_t)snprintf(buf, n, "pid:");
		for (uint32_t i = 0; i < c->n_scope_pids && used < n; i++)
			used += (size_t)snprintf(buf + used, n - used, "%s%u",
						 i ? "," : "", c->scope_pids[i]);
		break;
	default:
		snprintf(buf, n, "%s", names[c->scope]);
	}
	return buf;
}
