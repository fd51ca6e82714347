/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sidecar/log.h"
#include "sidecar/options.h"
#include "sidecar/units.h"

#define K 1024ull
#define M (1024 * K)
#define G (1024 * M)
#define MS 1000000ull
#define YEAR (365ull * 86400 * 1000 * MS)
#define PIDS_MAX 1024
#define PID_LIMIT (1u << 22)	/* PID_MAX_LIMIT of the kernel */
#define STRING_MAX 4096

#define AT(field) .offset = offsetof(struct config, field)

static const struct option_choice io_choices[] = {
	{ "auto", IO_AUTO }, { "uring", IO_URING }, { "plain", IO_PLAIN }, { NULL, 0 }
};
static const struct option_choice level_choices[] = { { "error", LOG_LEVEL_ERROR },
						      { "warn", LOG_LEVEL_WARN },
						      { "info", LOG_LEVEL_INFO },
						      { "debug", LOG_LEVEL_DEBUG },
						      { NULL, 0 } };
static const struct option_choice form_choices[] = { { "text", false },
						     { "json", true },
						     { NULL, 0 } };

const struct option_row options[] = {
	{ .name = "ring",
	  .type = OPTION_STRING,
	  .arg = "PATH",
	  AT(ring),
	  .deflt = "/run/ringside/ring",
	  .help = "the ring file (RINGSIDE_RING)" },
	{ .name = "ring-size",
	  .type = OPTION_SIZE,
	  .arg = "SIZE",
	  AT(ring_size),
	  .deflt = "16M",
	  .min = 256 * K,
	  .max = 64 * G,
	  .help = "room for records" },
	{ .name = "dict-size",
	  .type = OPTION_SIZE,
	  .arg = "SIZE",
	  AT(dict_size),
	  .deflt = "4M",
	  .min = 64 * K,
	  .max = 512 * M,
	  .help = "room for the names and stacks that records refer to" },
	{ .name = "group",
	  .type = OPTION_STRING,
	  .arg = "GROUP",
	  AT(group),
	  .help = "who may read the ring: name or number (default ringside, else the group of a "
		  "set-group-ID directory, else root)" },
	{ .name = "mode",
	  .type = OPTION_OCTAL,
	  .arg = "OCTAL",
	  AT(ring_mode),
	  .deflt = "0640",
	  .max = 0777,
	  .help = "mode of the ring" },
	{ .name = "frequency",
	  .letter = 'F',
	  .type = OPTION_NUMBER,
	  .arg = "HZ",
	  AT(frequency),
	  .deflt = "19",
	  .min = 1,
	  .max = 10000,
	  .help = "samples per second and CPU" },
	{ .name = "scope",
	  .type = OPTION_SCOPE,
	  .arg = "SCOPE",
	  .deflt = "auto",
	  .help = "auto, host, pidns, cgroup:PATH or pid:N[,N...]" },
	{ .name = "duration",
	  .type = OPTION_DURATION,
	  .arg = "TIME",
	  AT(duration_ns),
	  .min = MS,
	  .max = YEAR,
	  .help = "stop by itself (250ms, 30s, 5m, 1h)" },
	{ .name = "io-backend",
	  .type = OPTION_CHOICE,
	  .arg = "auto|uring|plain",
	  AT(io_backend),
	  .deflt = "auto",
	  .choices = io_choices,
	  .help = "how the symbol worker and file writers do their file work" },
	{ .name = "low-latency",
	  .type = OPTION_FLAG,
	  AT(low_latency),
	  .help = "samples reach readers in about 5 ms instead of 50, for more wake-ups" },
	{ .name = "memory-limit",
	  .type = OPTION_SIZE,
	  .arg = "SIZE",
	  AT(memory_limit),
	  .deflt = "64M",
	  .min = 8 * M,
	  .max = 64 * G,
	  .help = "cap on caches and tables, worker included, ring excluded" },
	{ .name = "stack-depth",
	  .type = OPTION_NUMBER,
	  .arg = "N",
	  AT(stack_depth),
	  .deflt = "127",
	  .min = 1,
	  .max = 127,
	  .help = "frames of the user and of the kernel part" },
	{ .name = "verify-unwind",
	  .type = OPTION_LATER,
	  .arg = "N",
	  .later = "comes with table unwinding",
	  .help = "check 1 in N samples (not in this version)" },
	{ .name = "pod-facts",
	  .type = OPTION_STRING,
	  .arg = "DIR",
	  AT(pod_facts),
	  .help = "what is known of pods: files of the podinfo form, a folder for each pod uid" },
	{ .name = "node",
	  .type = OPTION_STRING,
	  .arg = "NAME",
	  AT(node),
	  .help = "node name (default NODE_NAME, else K8S_NODE_NAME, else the host's name)" },
	{ .name = "container-id",
	  .type = OPTION_STRING,
	  .arg = "ID",
	  AT(container_id),
	  .help = "the container that ringsided itself is in" },
	{ .name = "config",
	  .type = OPTION_STRING,
	  .arg = "FILE",
	  AT(config_path),
	  .command_line_only = true,
	  .help = "configuration (RINGSIDE_CONFIG; default /etc/ringside/ringside.yaml, when it is there)" },
	{ .name = "check-config",
	  .type = OPTION_ACTION,
	  .arg = "FILE",
	  AT(config_path),
	  .command_line_only = true,
	  .mode = MODE_CHECK_CONFIG,
	  .help = "print errors as FILE:LINE:COLUMN; exit 0 or 2" },
	{ .name = "probe",
	  .type = OPTION_ACTION,
	  .command_line_only = true,
	  .mode = MODE_PROBE,
	  .help = "what this kernel and these rights allow; starts nothing" },
	{ .name = "explain-labels",
	  .type = OPTION_ACTION,
	  .arg = "PID",
	  AT(explain_target),
	  .command_line_only = true,
	  .mode = MODE_EXPLAIN_LABELS,
	  .help = "labels of a process before rules, what each rule did, attributes after" },
	{ .name = "explain-context",
	  .type = OPTION_ACTION,
	  .arg = "PID",
	  AT(explain_target),
	  .command_line_only = true,
	  .mode = MODE_EXPLAIN_CONTEXT,
	  .help = "the context that a process publishes, or why none can be read" },
	{ .name = "output",
	  .letter = 'o',
	  .type = OPTION_CHOICE_BOOL,
	  .arg = "text|json",
	  AT(json_output),
	  .deflt = "text",
	  .choices = form_choices,
	  .command_line_only = true,
	  .help = "form of --probe, --explain-labels and --explain-context" },
	{ .name = "record-events",
	  .type = OPTION_STRING,
	  .arg = "FILE",
	  AT(record_events),
	  .help = "write the stream of events and of what was read" },
	{ .name = "replay",
	  .type = OPTION_STRING,
	  .arg = "FILE",
	  AT(replay),
	  .help = "take it from there: needs no right" },
	{ .name = "ready-fd",
	  .type = OPTION_NUMBER,
	  .arg = "N",
	  AT(ready_fd),
	  .command_line_only = true,
	  .max = 1 << 20,
	  .help = "write \"ready\" to this descriptor when every CPU is armed" },
	{ .name = "log-level",
	  .type = OPTION_CHOICE,
	  .arg = "LEVEL",
	  AT(log_level),
	  .deflt = "info",
	  .choices = level_choices,
	  .help = "error, warn, info or debug" },
	{ .name = "log-format",
	  .type = OPTION_CHOICE_BOOL,
	  .arg = "text|json",
	  AT(log_json),
	  .deflt = "text",
	  .choices = form_choices,
	  .help = "form of the log on standard error" },
	{ .name = "",
	  .letter = 'v',
	  .type = OPTION_VERBOSE,
	  .command_line_only = true,
	  .help = "say more" },
	{ .name = "",
	  .letter = 'q',
	  .type = OPTION_QUIET,
	  .command_line_only = true,
	  .help = "say only errors" },
	{ .name = "help",
	  .letter = 'h',
	  .type = OPTION_ACTION,
	  .mode = MODE_HELP,
	  .command_line_only = true,
	  .help = "this text" },
	{ .name = "version",
	  .type = OPTION_ACTION,
	  .mode = MODE_VERSION,
	  .command_line_only = true,
	  .help = "the version" },
};
const uint32_t n_options = sizeof(options) / sizeof(options[0]);

void option_key(const struct option_row *o, char *buf, size_t n)
{
	snprintf(buf, n, "%s", o->name);
	for (char *p = buf; *p; p++)
		if (*p == '-')
			*p = '_';
}

const struct option_row *option_by_key(const char *key)
{
	char buf[64];

	for (uint32_t i = 0; i < n_options; i++) {
		option_key(&options[i], buf, sizeof(buf));
		if (buf[0] && !strcmp(buf, key))
			return &options[i];
	}
	return NULL;
}

int option_parse_bool(const char *text, bool *out)
{
	static const char *const yes[] = { "true", "yes", "on" }, *const no[] = { "false",
										  "no",
										  "off" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcasecmp(text, yes[i]) && strcasecmp(text, no[i]))
			continue;
		*out = !strcasecmp(text, yes[i]);
		return 0;
	}
	return -EINVAL;
}

static int set_string(char **field, const char *value, char *why)
{
	char *copy;

	if (!*value || strlen(value) >= STRING_MAX) {
		snprintf(why, OPTION_WHY_MAX, *value ? "longer than %d bytes" : "empty",
			 STRING_MAX - 1);
		return -EINVAL;
	}
	copy = strdup(value);
	if (!copy) {
		snprintf(why, OPTION_WHY_MAX, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	free(*field);
	*field = copy;
	return 0;
}

static const char *form_of(enum option_type type)
{
	switch (type) {
	case OPTION_SIZE:
		return "a size such as 512K, 16M or 1G";
	case OPTION_DURATION:
		return "a duration such as 250ms, 30s, 5m or 1h";
	case OPTION_OCTAL:
		return "an octal number such as 0640";
	default:
		return "a number";
	}
}

static int parse_quantity(enum option_type type, const char *value, uint64_t *v)
{
	switch (type) {
	case OPTION_SIZE:
		return units_size(value, v);
	case OPTION_DURATION:
		return units_duration(value, v);
	case OPTION_OCTAL:
		return units_octal(value, v);
	default:
		return units_number(value, v);
	}
}

/* v in the form of its type, for messages. */
static const char *quantity_text(enum option_type type, uint64_t v, char *buf, size_t n)
{
	if (type == OPTION_SIZE)
		snprintf(buf, n, "%llu%s",
			 (unsigned long long)(v % G == 0   ? v / G
					      : v % M == 0 ? v / M
							   : v / K),
			 v % G == 0   ? "G"
			 : v % M == 0 ? "M"
				      : "K");
	else if (type == OPTION_DURATION)
		snprintf(buf, n, "%llums", (unsigned long long)(v / MS));
	else
		snprintf(buf, n, type == OPTION_OCTAL ? "0%llo" : "%llu",
			 (unsigned long long)v);
	return buf;
}

static int set_quantity(struct config *c, const struct option_row *o, const char *value,
			char *why)
{
	void *field = (char *)c + o->offset;
	char low[32], high[32];
	uint64_t v = 0;
	int err;

	err = parse_quantity(o->type, value, &v);
	if (err == -EINVAL) {
		snprintf(why, OPTION_WHY_MAX, "not %s", form_of(o->type));
		return -EINVAL;
	}
	if (err || v < o->min || v > o->max) {
		snprintf(why, OPTION_WHY_MAX, "must lie between %s and %s",
			 quantity_text(o->type, o->min, low, sizeof(low)),
			 quantity_text(o->type, o->max, high, sizeof(high)));
		return -EINVAL;
	}
	if (o->type == OPTION_OCTAL && (v & 022)) {
		snprintf(why, OPTION_WHY_MAX,
			 "readers must not be able to write the ring; 0640 or 0644");
		return -EINVAL;
	}
	if (o->type == OPTION_SIZE || o->type == OPTION_DURATION)
		*(uint64_t *)field = v;
	else
		*(uint32_t *)field = (uint32_t)v;
	return 0;
}

static int set_choice(struct config *c, const struct option_row *o, const char *value,
		      char *why)
{
	void *field = (char *)c + o->offset;
	size_t n;

	for (const struct option_choice *h = o->choices; h->name; h++) {
		if (strcmp(h->name, value))
			continue;
		if (o->type == OPTION_CHOICE_BOOL)
			*(bool *)field = h->value;
		else
			*(int *)field = h->value;
		return 0;
	}
	n = (size_t)snprintf(why, OPTION_WHY_MAX, "must be one of");
	for (const struct option_choice *h = o->choices; h->name; h++)
		n += (size_t)snprintf(why + n, OPTION_WHY_MAX - n, "%s %s",
				      h == o->choices ? "" : ",", h->name);
	return -EINVAL;
}

static int parse_pids(const char *text, uint32_t *pids, uint32_t *n)
{
	char one[16];
	uint64_t pid;
	size_t len;

	for (*n = 0; ; text += len + 1) {
		len = strcspn(text, ",");
		if (len >= sizeof(one) || *n == PIDS_MAX)
			return -EINVAL;
		memcpy(one, text, len);
		one[len] = '\0';
		if (units_number(one, &pid) || pid < 1 || pid >= PID_LIMIT)
			return -EINVAL;
		pids[(*n)++] = (uint32_t)pid;
		if (!text[len])
			return 0;
	}
}

static int set_scope_pids(struct config *c, const char *text, char *why)
{
	uint32_t *pids = malloc(PIDS_MAX * sizeof(*pids)), n;

	if (!pids) {
		snprintf(why, OPTION_WHY_MAX, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	if (parse_pids(text, pids, &n)) {
		snprintf(why, OPTION_WHY_MAX,
			 "pid: takes 1 to %d process ids, such as pid:17,42", PIDS_MAX);
		free(pids);
		return -EINVAL;
	}
	free(c->scope_pids);
	c->scope_pids = pids;
	c->n_scope_pids = n;
	c->scope = SCOPE_PIDS;
	return 0;
}

static int set_scope(struct config *c, const char *value, char *why)
{
	static const struct option_choice names[] = { { "auto", SCOPE_AUTO },
						      { "host", SCOPE_HOST },
						      { "pidns", SCOPE_PIDNS },
						      { NULL, 0 } };
	int err;

	for (const struct option_choice *h = names; h->name; h++) {
		if (strcmp(h->name, value))
			continue;
		c->scope = (enum config_scope)h->value;
		return 0;
	}
	if (!strncmp(value, "pid:", 4))
		return set_scope_pids(c, value + 4, why);
	if (!strncmp(value, "cgroup:", 7) && value[7] == '/') {
		err = set_string(&c->scope_cgroup, value + 7, why);
		if (!err)
			c->scope = SCOPE_CGROUP;
		return err;
	}
	snprintf(why, OPTION_WHY_MAX,
		 "must be auto, host, pidns, cgroup:/PATH or pid:N[,N...]");
	return -EINVAL;
}

static int set_flag(bool *field, const char *value, char *why)
{
	if (!value) {
		*field = true;
		return 0;
	}
	if (!option_parse_bool(value, field))
		return 0;
	snprintf(why, OPTION_WHY_MAX, "must be true or false");
	return -EINVAL;
}

static int set_mode(struct config *c, const struct option_row *o, const char *value,
		    char *why)
{
	c->mode = o->mode;
	return o->arg ? set_string((char **)((char *)c + o->offset), value, why) : 0;
}

int option_set(struct config *c, const struct option_row *o, const char *value,
	       char why[OPTION_WHY_MAX])
{
	switch (o->type) {
	case OPTION_STRING:
		return set_string((char **)((char *)c + o->offset), value, why);
	case OPTION_SIZE:
	case OPTION_DURATION:
	case OPTION_NUMBER:
	case OPTION_OCTAL:
		return set_quantity(c, o, value, why);
	case OPTION_FLAG:
		return set_flag((bool *)((char *)c + o->offset), value, why);
	case OPTION_CHOICE:
	case OPTION_CHOICE_BOOL:
		return set_choice(c, o, value, why);
	case OPTION_SCOPE:
		return set_scope(c, value, why);
	case OPTION_ACTION:
		return set_mode(c, o, value, why);
	case OPTION_VERBOSE:
		c->log_level = LOG_LEVEL_DEBUG;
		return 0;
	case OPTION_QUIET:
		c->log_level = LOG_LEVEL_ERROR;
		return 0;
	case OPTION_LATER:
		snprintf(why, OPTION_WHY_MAX, "%s", o->later);
		return -EINVAL;
	}
	return -EINVAL;
}
