/* SPDX-License-Identifier: Apache-2.0 */
/* Options, units and the configuration file. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sidecar/config.h"
#include "sidecar/log.h"
#include "sidecar/options.h"
#include "sidecar/units.h"

#define N(t) (sizeof(t) / sizeof((t)[0]))
#define K 1024ull
#define MS 1000000ull
#define S (1000 * MS)

/* --- units --- */

static int size(const char *t, uint64_t *v) { return units_size(t, v); }
static const struct { int (*fn)(const char *, uint64_t *); const char *text; int want; uint64_t value; } units[] = {
	{ size, "0", 0, 0 }, { size, "4096", 0, 4096 }, { size, "16K", 0, 16 * K }, { size, "16k", 0, 16 * K },
	{ size, "64M", 0, 64 * K * K }, { size, "2G", 0, 2 * K * K * K },
	{ size, "17179869183G", 0, 17179869183ull << 30 }, { size, "17179869184G", -ERANGE, 0 },
	{ size, "18446744073709551615", 0, UINT64_MAX }, { size, "18446744073709551616", -ERANGE, 0 },
	{ size, "", -EINVAL, 0 }, { size, "K", -EINVAL, 0 }, { size, "1KB", -EINVAL, 0 }, { size, "1T", -EINVAL, 0 },
	{ size, "-1", -EINVAL, 0 }, { size, "+1", -EINVAL, 0 }, { size, " 1", -EINVAL, 0 }, { size, "1 ", -EINVAL, 0 },
	{ size, "1.5M", -EINVAL, 0 }, { size, "0x10", -EINVAL, 0 },
	{ units_duration, "10", 0, 10 * S }, { units_duration, "250ms", 0, 250 * MS },
	{ units_duration, "5s", 0, 5 * S }, { units_duration, "5m", 0, 300 * S }, { units_duration, "2h", 0, 7200 * S },
	{ units_duration, "0.5", 0, S / 2 }, { units_duration, "1.5h", 0, 5400 * S },
	{ units_duration, "0.000000001s", 0, 1 }, { units_duration, "0.0000000001s", -EINVAL, 0 },
	{ units_duration, "1.25ms", 0, 1250000 }, { units_duration, "0.000001ms", 0, 1 },
	{ units_duration, "18446744073", 0, 18446744073ull * S }, { units_duration, "18446744074", -ERANGE, 0 },
	{ units_duration, "18446744073.709551616", -ERANGE, 0 }, { units_duration, "99999999999999999999h", -ERANGE, 0 },
	{ units_duration, "", -EINVAL, 0 }, { units_duration, "m", -EINVAL, 0 }, { units_duration, "1.", -EINVAL, 0 },
	{ units_duration, ".5", -EINVAL, 0 }, { units_duration, "1h30m", -EINVAL, 0 }, { units_duration, "1M", -EINVAL, 0 },
	{ units_duration, "-1s", -EINVAL, 0 }, { units_duration, "1d", -EINVAL, 0 },
	{ units_octal, "0640", 0, 0640 }, { units_octal, "640", 0, 0640 }, { units_octal, "8", -EINVAL, 0 },
	{ units_octal, "0o640", -EINVAL, 0 }, { units_number, "007", 0, 7 }, { units_number, "1e3", -EINVAL, 0 },
	{ units_number, "9x", -EINVAL, 0 },
};
START_TEST(units_are_whole_or_refused)
{
	uint64_t v = 4711;
	int got = units[_i].fn(units[_i].text, &v);

	ck_assert_msg(got == units[_i].want, "'%s': got %d", units[_i].text, got);
	ck_assert_msg(v == (got ? 4711 : units[_i].value), "'%s': value %" PRIu64, units[_i].text, v);
}
END_TEST

/* --- command line --- */

static char said[65536];

static int load(struct config *c, const char *line)
{
	static char copy[8192];
	char *argv[64], *save = NULL;
	int argc = 0, code;
	FILE *f;

	snprintf(copy, sizeof(copy), "ringsided %s", line);
	for (char *w = strtok_r(copy, " ", &save); w && argc < 63; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	memset(said, 0, sizeof(said));
	f = fmemopen(said, sizeof(said) - 1, "w");
	ck_assert_ptr_nonnull(f);
	code = config_load(c, argc, argv, f);
	fclose(f);
	return code;
}

static const char *config_file(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "check_config.%d.yaml", getpid());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static void no_environment(void)
{
	unsetenv("RINGSIDE_RING");
	unsetenv("RINGSIDE_CONFIG");
	unsetenv("NODE_NAME");
	unsetenv("K8S_NODE_NAME");
}

START_TEST(defaults_are_those_of_the_interface)
{
	struct config c;
	char text[64], host[256] = "";

	ck_assert_msg(load(&c, "") == 0, "%s", said);
	ck_assert_str_eq(said, "");
	ck_assert_int_eq(c.mode, MODE_RUN);
	ck_assert_str_eq(c.ring, "/run/ringside/ring");
	ck_assert_uint_eq(c.ring_size, 16 * K * K);
	ck_assert_uint_eq(c.dict_size, 4 * K * K);
	ck_assert_ptr_null(c.group);
	ck_assert_uint_eq(c.ring_mode, 0640);
	ck_assert_uint_eq(c.frequency, 19);
	ck_assert_str_eq(config_scope_text(&c, text, sizeof(text)), "auto");
	ck_assert_uint_eq(c.duration_ns, 0);
	ck_assert_int_eq(c.io_backend, IO_AUTO);
	ck_assert(!c.low_latency && !c.json_output && !c.log_json && !c.otel_lenient);
	ck_assert_uint_eq(c.memory_limit, 64 * K * K);
	ck_assert_uint_eq(c.stack_depth, 127);
	ck_assert_int_eq(c.ready_fd, -1);
	ck_assert_int_eq(c.log_level, LOG_LEVEL_INFO);
	ck_assert_ptr_null(c.config_path);
	gethostname(host, sizeof(host) - 1);
	ck_assert_str_eq(c.node, host);
	config_free(&c);
	config_free(NULL);
}
END_TEST

START_TEST(every_option_reaches_its_field)
{
	struct config c;
	char text[64];

	ck_assert_msg(load(&c, "--ring /x/r --ring-size 1M --dict-size=256K --group 44 --mode 0444 -F 99 "
		"--scope pid:1,22,333 --duration 1.5s --io-backend plain --low-latency --memory-limit 1G "
		"--stack-depth 64 --node n1 --container-id abc --record-events ev --ready-fd 2 "
		"--log-level debug --log-format json -o json") == 0, "%s", said);
	ck_assert_str_eq(c.ring, "/x/r");
	ck_assert_uint_eq(c.ring_size, K * K);
	ck_assert_uint_eq(c.dict_size, 256 * K);
	ck_assert_str_eq(c.group, "44");
	ck_assert_uint_eq(c.ring_mode, 0444);
	ck_assert_uint_eq(c.frequency, 99);
	ck_assert_int_eq(c.scope, SCOPE_PIDS);
	ck_assert_uint_eq(c.n_scope_pids, 3);
	ck_assert_uint_eq(c.scope_pids[2], 333);
	ck_assert_str_eq(config_scope_text(&c, text, sizeof(text)), "pid:1,22,333");
	ck_assert_str_eq(config_scope_text(&c, text, 7), "pid:1,");
	ck_assert_uint_eq(c.duration_ns, 1500 * MS);
	ck_assert_int_eq(c.io_backend, IO_PLAIN);
	ck_assert(c.low_latency && c.log_json && c.json_output);
	ck_assert_uint_eq(c.memory_limit, K * K * K);
	ck_assert_uint_eq(c.stack_depth, 64);
	ck_assert_str_eq(c.node, "n1");
	ck_assert_str_eq(c.container_id, "abc");
	ck_assert_str_eq(c.record_events, "ev");
	ck_assert_int_eq(c.ready_fd, 2);
	ck_assert_int_eq(c.log_level, LOG_LEVEL_DEBUG);
	config_free(&c);
	ck_assert_int_eq(load(&c, "--scope cgroup:/kubepods/x -q --replay f"), 0);
	ck_assert_str_eq(config_scope_text(&c, text, sizeof(text)), "cgroup:/kubepods/x");
	ck_assert_int_eq(c.log_level, LOG_LEVEL_ERROR);
	ck_assert_str_eq(c.replay, "f");
	config_free(&c);
	ck_assert_int_eq(load(&c, "--scope pidns -v --probe"), 0);
	ck_assert_int_eq(c.scope, SCOPE_PIDNS);
	ck_assert_int_eq(c.log_level, LOG_LEVEL_DEBUG);
	ck_assert_int_eq(c.mode, MODE_PROBE);
	config_free(&c);
}
END_TEST

static const struct { const char *line, *want; } wrong[] = {
	{ "--frequency 0", "--frequency 0: must lie between 1 and 10000" },
	{ "-F 10001", "--frequency 10001: must lie between 1 and 10000" },
	{ "-F 99Hz", "--frequency 99Hz: not a number" },
	{ "-F", "--frequency: it needs an argument" },
	{ "--ring", "--ring: it needs an argument" },
	{ "--ring=", "--ring : empty" },
	{ "--ring-size 16X", "not a size such as" },
	{ "--ring-size 1K", "must lie between 256K and 64G" },
	{ "--dict-size 5G", "must lie between 64K and 512M" },
	{ "--memory-limit 99999999999999999999", "must lie between 8M and 64G" },
	{ "--duration 0", "must lie between 1ms and" },
	{ "--duration fast", "not a duration such as" },
	{ "--mode 0999", "not an octal number" },
	{ "--mode 01777", "must lie between 00 and 0777" },
	{ "--mode 0660", "readers must not be able to write the ring" },
	{ "--io-backend aio", "must be one of auto, uring, plain" },
	{ "--log-level loud", "must be one of error, warn, info, debug" },
	{ "--log-format xml", "must be one of text, json" },
	{ "-o yaml", "must be one of text, json" },
	{ "--scope pods", "must be auto, host, pidns, cgroup:/PATH or pid:N[,N...]" },
	{ "--scope cgroup:", "must be auto" },
	{ "--scope cgroup:relative", "must be auto" },
	{ "--scope pid:", "process ids" },
	{ "--scope pid:0", "process ids" },
	{ "--scope pid:1,", "process ids" },
	{ "--scope pid:1,,2", "process ids" },
	{ "--scope pid:4194304", "process ids" },
	{ "--scope pid:99999999999999999", "process ids" },
	{ "--stack-depth 128", "must lie between 1 and 127" },
	{ "--verify-unwind 100", "--verify-unwind 100: comes with table unwinding" },
	{ "--explain-labels x", "not a process id" },
	{ "--explain-labels 0", "not a process id" },
	{ "--explain-context x", "--explain-context x: not a process id" },
	{ "--frequncy 99", "did you mean --frequency?" },
	{ "--rong=x", "did you mean --ring?" },
	{ "--no-such-thing", "there is no such option" },
	{ "--lo debug", "there is no such option, or more than one" },
	{ "-x", "option -x: there is no such option" },
	{ "--low-latency=yes", "it takes no argument" },
	{ "ring", "argument ring: it takes options only" },
	{ "--config /no/such/file.yaml", "/no/such/file.yaml: No such file or directory" },
	{ "--config /", "Is a directory" },
	{ "--record-events a --replay b", "exclude each other" },
};
START_TEST(wrong_usage_exits_2_and_names_what_is_wrong)
{
	struct config c;
	int code = load(&c, wrong[_i].line);

	ck_assert_msg(code == 2, "%s: code %d", wrong[_i].line, code);
	ck_assert_msg(strstr(said, wrong[_i].want) != NULL, "%s: said %s", wrong[_i].line, said);
	ck_assert_msg(!strncmp(said, "ringsided: ", 11), "said %s", said);
	ck_assert_msg(strchr(said, '\n') == said + strlen(said) - 1, "more than one line: %s", said);
	config_free(&c);
}
END_TEST

START_TEST(environment_stands_between_default_and_option)
{
	struct config c;

	setenv("RINGSIDE_RING", "/env/ring", 1);
	setenv("K8S_NODE_NAME", "knode", 1);
	ck_assert_int_eq(load(&c, ""), 0);
	ck_assert_str_eq(c.ring, "/env/ring");
	ck_assert_str_eq(c.node, "knode");
	config_free(&c);
	setenv("NODE_NAME", "node", 1);
	ck_assert_int_eq(load(&c, "--ring /flag/ring"), 0);
	ck_assert_str_eq(c.ring, "/flag/ring");
	ck_assert_str_eq(c.node, "node");
	config_free(&c);
	setenv("RINGSIDE_CONFIG", "/no/such.yaml", 1);
	ck_assert_int_eq(load(&c, ""), 2);
	config_free(&c);
	setenv("RINGSIDE_CONFIG", config_file("ring: /file/ring\n"), 1);
	ck_assert_int_eq(load(&c, ""), 0);
	ck_assert_str_eq(c.ring, "/file/ring");
	unlink(c.config_path);
	config_free(&c);
}
END_TEST

START_TEST(frequency_above_the_kernels_is_refused_with_the_remedy)
{
	char path[64];
	FILE *f, *out;

	snprintf(path, sizeof(path), "check_config.%d.rate", getpid());
	f = fopen(path, "w");
	fputs("5000\n", f);
	fclose(f);
	memset(said, 0, sizeof(said));
	out = fmemopen(said, sizeof(said) - 1, "w");
	ck_assert_int_eq(config_check_rate(5000, path, out), 0);
	ck_assert_int_eq(config_check_rate(5001, path, out), 2);
	ck_assert_int_eq(config_check_rate(5001, "/no/such/file", out), 0);
	fclose(out);
	ck_assert_str_eq(said, "ringsided: frequency: 5001 Hz: the kernel allows 5000; "
			 "sysctl kernel.perf_event_max_sample_rate=5001, or a lower --frequency\n");
	unlink(path);
}
END_TEST

START_TEST(help_and_version_win_over_what_follows)
{
	struct config c;

	ck_assert_int_eq(load(&c, "--help --frequency 0"), 0);
	ck_assert_int_eq(c.mode, MODE_HELP);
	config_free(&c);
	ck_assert_int_eq(load(&c, "--version"), 0);
	ck_assert_int_eq(c.mode, MODE_VERSION);
	config_free(&c);
	ck_assert_int_eq(load(&c, "--check-config some.yaml"), 0);
	ck_assert_int_eq(c.mode, MODE_CHECK_CONFIG);
	ck_assert_str_eq(c.config_path, "some.yaml");
	config_free(&c);
}
END_TEST

/* Each option has a line of help and an entry in the man page, and the help fits the terminal. */
START_TEST(help_and_man_page_name_every_option)
{
	const char *srcdir = getenv("srcdir");
	char path[512], word[80], *page;
	FILE *f;

	memset(said, 0, sizeof(said));
	f = fmemopen(said, sizeof(said) - 1, "w");
	config_help(f);
	fclose(f);
	for (char *line = said, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		ck_assert_ptr_nonnull(end);
		ck_assert_msg(end - line < 80, "too long: %.*s", (int)(end - line), line);
	}
	snprintf(path, sizeof(path), "%s/man/ringsided.8", srcdir ? srcdir : ".");
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	page = calloc(1, 1 << 20);
	ck_assert_uint_gt(fread(page, 1, (1 << 20) - 1, f), 1000);
	fclose(f);
	for (uint32_t i = 0; i < n_options; i++) {
		snprintf(word, sizeof(word), options[i].name[0] ? "--%s" : "-%s",
			 options[i].name[0] ? options[i].name : (char[]){ options[i].letter, 0 });
		ck_assert_msg(strstr(said, word) != NULL, "--help lacks %s", word);
		snprintf(word, sizeof(word), options[i].name[0] ? "Fl -%s" : "Fl %s",
			 options[i].name[0] ? options[i].name : (char[]){ options[i].letter, 0 });
		ck_assert_msg(strstr(page, word) != NULL, "ringsided(8) lacks %s", word);
		if (options[i].deflt && strcmp(options[i].name, "log-level") && strcmp(options[i].name, "output"))
			ck_assert_msg(strstr(page, options[i].deflt) != NULL, "ringsided(8) lacks default %s of %s",
				      options[i].deflt, options[i].name);
	}
	free(page);
}
END_TEST

/* --- the file --- */

static int check(const char *text)
{
	FILE *f;
	int code;

	memset(said, 0, sizeof(said));
	f = fmemopen(said, sizeof(said) - 1, "w");
	code = config_check_file(config_file(text), f);
	fclose(f);
	unlink(config_file(""));
	return code;
}

/* A pipe in its place would wait for a writer. */
START_TEST(what_is_no_regular_file_is_refused_at_once)
{
	char path[] = "/tmp/check-config-XXXXXX", fifo[64];
	FILE *f = fmemopen(said, sizeof(said) - 1, "w");

	ck_assert_ptr_nonnull(mkdtemp(path));
	snprintf(fifo, sizeof(fifo), "%s/c.yaml", path);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(config_check_file(fifo, f), 2);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(said, "c.yaml:1:1: error: not a regular file"));
	unlink(fifo);
	rmdir(path);
}
END_TEST

static const char whole[] =
	"# all of it\n"
	"ring: /f/ring\nring_size: 32M\ndict_size: 1M\ngroup: adm\nmode: 0600\nfrequency: 99\n"
	"scope: \"pid:5\"\nduration: 2m\nio_backend: uring\nlow_latency: yes\nmemory_limit: 32M\n"
	"stack_depth: 50\nnode: fnode\ncontainer_id: c1\nlog_level: warn\nlog_format: json\n"
	"external_labels: {cluster: prod, region: eu}\n"
	"include_env_vars:\n  - TEAM\n  - VERSION\n"
	"otel_resource_attributes: lenient\n"
	"publish:\n  command_line: true\n  working_directory: false\n";

START_TEST(file_sets_everything_and_an_option_beats_it)
{
	struct config c;
	char line[256];

	snprintf(line, sizeof(line), "--config %s --frequency 49 --scope host", config_file(whole));
	ck_assert_msg(load(&c, line) == 0, "%s", said);
	ck_assert_str_eq(said, "");
	ck_assert_str_eq(c.ring, "/f/ring");
	ck_assert_uint_eq(c.ring_size, 32 * K * K);
	ck_assert_uint_eq(c.ring_mode, 0600);
	ck_assert_uint_eq(c.frequency, 49);
	ck_assert_int_eq(c.scope, SCOPE_HOST);
	ck_assert_uint_eq(c.duration_ns, 120 * S);
	ck_assert_int_eq(c.io_backend, IO_URING);
	ck_assert(c.low_latency && c.log_json && c.otel_lenient);
	ck_assert(c.publish_command_line && !c.publish_working_directory);
	ck_assert_str_eq(c.node, "fnode");
	ck_assert_uint_eq(c.n_include_env_vars, 2);
	ck_assert_str_eq(c.include_env_vars[1], "VERSION");
	ck_assert_uint_eq(c.n_external_labels, 2);
	ck_assert_str_eq(c.external_labels[0].key, "cluster");
	ck_assert_str_eq(c.external_labels[1].value, "eu");
	ck_assert_str_eq(c.config_path, config_file(whole));
	unlink(c.config_path);
	config_free(&c);
}
END_TEST

START_TEST(reload_reads_the_file_again_and_keeps_the_old_one_when_bad)
{
	struct config c, fresh;
	char line[256];
	FILE *out;

	snprintf(line, sizeof(line), "--config %s --stack-depth 10", config_file("frequency: 20\n"));
	ck_assert_int_eq(load(&c, line), 0);
	config_file("frequency: 30\nstack_depth: 99\n");
	memset(said, 0, sizeof(said));
	out = fmemopen(said, sizeof(said) - 1, "w");
	ck_assert_int_eq(config_reload(&c, &fresh, out), 0);
	ck_assert_uint_eq(fresh.frequency, 30);
	ck_assert_uint_eq(fresh.stack_depth, 10);
	config_free(&fresh);
	config_file("frequency: many\n");
	ck_assert_int_eq(config_reload(&c, &fresh, out), -EINVAL);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(said, ":1:12: error: frequency: many: not a number\n"));
	ck_assert_uint_eq(c.frequency, 20);
	unlink(config_file(""));
	config_free(&c);
}
END_TEST

/* want: what is printed, each line without the file's name, in order. */
static const struct { const char *text; int code; const char *want; } files[] = {
	{ "", 0, "" }, { "# nothing\n", 0, "" }, { "---\n...\n", 0, "" }, { "{}\n", 0, "" },
	{ "frequency: 0\n", 2, "1:12: error: frequency: 0: must lie between 1 and 10000\n" },
	{ "\n  frequency: 12x\n", 2, "2:14: error: frequency: 12x: not a number\n" },
	{ "frequency: 5\nlow_latency: maybe\nscope: pods\nring_size: 1\n", 2,
	  "2:14: error: low_latency: maybe: must be true or false\n"
	  "3:8: error: scope: pods: must be auto, host, pidns, cgroup:/PATH or pid:N[,N...]\n"
	  "4:12: error: ring_size: 1: must lie between 256K and 64G\n" },
	{ "frequncy: 5\n", 0, "1:1: warning: frequncy: unknown key; did you mean frequency?\n" },
	{ "relabel_config: []\n", 0, "1:1: warning: relabel_config: unknown key; did you mean relabel_configs?\n" },
	{ "zzz: {a: [1, {b: 2}]}\nring: [x]\n", 2,
	  "1:1: warning: zzz: unknown key\n2:7: error: ring: must be a single value\n" },
	{ "ready_fd: 3\n", 2, "1:1: error: ready_fd: only on the command line\n" },
	{ "config: x\n", 2, "1:1: error: config: only on the command line\n" },
	{ "ring-size: 16M\n", 0, "1:1: warning: ring-size: unknown key; did you mean ring_size?\n" },
	{ "relabel_configs:\n- source_labels: [a]\n  action: drop\nfrequency: 0\n", 2,
	  "4:12: error: frequency: 0: must lie between 1 and 10000\n" },
	{ "label_ttl: 10m\nlabel_cache_size: 5\nkubernetes: {local_only: true, pod_nam_env: X, podinfo_dir: /x}\n", 0,
	  "3:32: warning: kubernetes: pod_nam_env: unknown key; did you mean pod_name_env?\n" },
	{ "kubernetes: {local_only: 3, node_env: X, pod_uid_env: a=b}\n", 2,
	  "1:26: error: kubernetes: local_only: must be true or false\n"
	  "1:39: error: node_env: must be a list of names\n"
	  "1:55: error: kubernetes: pod_uid_env: not a name\n" },
	{ "label_ttl: 10ms\nlabel_cache_size: 0\n", 2,
	  "1:12: error: label_ttl: must be a duration between 1s and a year, such as 10m\n"
	  "2:19: error: label_cache_size: must be a number between 1 and 1048576\n" },
	{ "verify_unwind: 100\npod_facts: /x\n", 0,
	  "1:1: warning: verify_unwind: not used by this version: comes with table unwinding\n" },
	{ "frequency:\n", 2, "1:11: error: frequency: has no value\n" },
	{ "node: ~\n", 2, "1:7: error: node: has no value\n" },
	{ "node: \"\"\n", 2, "1:7: error: node: : empty\n" },
	{ "node: \"a\\0b\"\n", 2, "1:7: error: node: holds a NUL character\n" },
	{ "ring: a\nring: b\n", 2, "2:1: error: ring: a second time\n" },
	{ "- a\n- b\n", 2, "1:1: error: the file must be a map of keys to values\n" },
	{ "just words\n", 2, "1:1: error: the file must be a map of keys to values\n" },
	{ "ring: &x a\nnode: *x\n", 2, "2:7: error: aliases are not taken here; write the value out\n" },
	{ "ring: a\n---\nring: b\n", 2, "2:1: error: a second document; there must be one\n" },
	{ "[a]: b\nring: c\n", 2, "1:1: error: a key must be a word\n" },
	{ "include_env_vars: TEAM\n", 2, "1:19: error: include_env_vars: must be a list of names\n" },
	{ "include_env_vars: [A, [B], 'C=D', E]\n", 2,
	  "1:23: error: include_env_vars: must be a single value\n"
	  "1:28: error: include_env_vars: not the name of a variable\n" },
	{ "external_labels: {1x: y, ok: z, s: [a]}\n", 2,
	  "1:19: error: external_labels: 1x: not a label name (letters, digits, _ and dots)\n"
	  "1:36: error: s: must be a single value\n" },
	{ "external_labels: []\n", 2, "1:18: error: external_labels: must be a map of names to values\n" },
	{ "publish: {command_line: 5, cwd: true}\n", 2,
	  "1:25: error: publish: command_line: must be true or false\n"
	  "1:28: warning: publish: cwd: unknown key; it knows command_line and working_directory\n" },
	{ "publish: yes\n", 2, "1:10: error: publish: must be a map\n" },
	{ "otel_resource_attributes: loose\n", 2,
	  "1:27: error: otel_resource_attributes: must be strict or lenient\n" },
	{ "\"a\\e[31mb\": 1\n", 0, "1:1: warning: a?[31mb: unknown key\n" },
};
START_TEST(file_errors_have_their_place)
{
	char want[4096] = "", *path = strdup(config_file(""));
	size_t n = 0;
	int code = check(files[_i].text);

	for (const char *l = files[_i].want, *end; *l; l = end + 1) {
		end = strchr(l, '\n');
		ck_assert_ptr_nonnull(end);
		n += (size_t)snprintf(want + n, sizeof(want) - n, "%s:%.*s\n", path, (int)(end - l), l);
	}
	ck_assert_msg(!strcmp(said, want), "file <<%s>> said\n%swant\n%s", files[_i].text, said, want);
	ck_assert_msg(code == files[_i].code, "file <<%s>>: code %d", files[_i].text, code);
	free(path);
}
END_TEST

START_TEST(broken_yaml_is_told_with_its_place_and_ends_there)
{
	ck_assert_int_eq(check("ring: a\nnode: [b\nfrequency: 0\n"), 2);
	ck_assert_ptr_nonnull(strstr(said, ":3:1"));
	ck_assert_int_eq(check("ring: \xff\xfe\n"), 2);
	ck_assert_ptr_nonnull(strstr(said, "error: "));
	ck_assert_int_eq(check("\tring: x\n"), 2);
	ck_assert_ptr_nonnull(strstr(said, ":1:1: error: "));
}
END_TEST

static void nested(char *buf, int depth)
{
	char *p = buf;

	*p++ = 'a';
	*p++ = ':';
	*p++ = ' ';
	for (int i = 0; i < depth; i++)
		*p++ = '[';
	for (int i = 0; i < depth; i++)
		*p++ = ']';
	memcpy(p, "\n", 2);
}

START_TEST(depth_and_size_are_bounded)
{
	char buf[256], *big;

	nested(buf, 31);	/* in the root map: 32 */
	ck_assert_msg(check(buf) == 0, "%s", said);
	nested(buf, 32);
	ck_assert_int_eq(check(buf), 2);
	ck_assert_ptr_nonnull(strstr(said, "1:35: error: nested more than 32 deep"));
	big = malloc(YAML_CONFIG_MAX + 2);
	memset(big, '#', YAML_CONFIG_MAX + 1);
	big[YAML_CONFIG_MAX + 1] = '\0';
	ck_assert_int_eq(check(big), 2);
	ck_assert_ptr_nonnull(strstr(said, "File too large"));
	big[YAML_CONFIG_MAX] = '\0';
	ck_assert_int_eq(check(big), 0);
	free(big);
}
END_TEST

START_TEST(more_entries_than_allowed_are_refused)
{
	char *text = malloc(1 << 16);
	size_t n = (size_t)snprintf(text, 1 << 16, "include_env_vars:\n");

	for (int i = 0; i < 257; i++)
		n += (size_t)snprintf(text + n, (1 << 16) - n, "- V%d\n", i);
	ck_assert_int_eq(check(text), 2);
	ck_assert_ptr_nonnull(strstr(said, ":258:3: error: include_env_vars: more than 256 names\n"));
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("config");
	TCase *opts = tcase_create("options"), *file = tcase_create("file");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(opts, no_environment, NULL);
	tcase_add_checked_fixture(file, no_environment, NULL);
	tcase_add_loop_test(opts, units_are_whole_or_refused, 0, N(units));
	tcase_add_test(opts, defaults_are_those_of_the_interface);
	tcase_add_test(opts, every_option_reaches_its_field);
	tcase_add_loop_test(opts, wrong_usage_exits_2_and_names_what_is_wrong, 0, N(wrong));
	tcase_add_test(opts, environment_stands_between_default_and_option);
	tcase_add_test(opts, frequency_above_the_kernels_is_refused_with_the_remedy);
	tcase_add_test(opts, help_and_version_win_over_what_follows);
	tcase_add_test(opts, help_and_man_page_name_every_option);
	tcase_add_test(file, what_is_no_regular_file_is_refused_at_once);
	tcase_add_test(file, file_sets_everything_and_an_option_beats_it);
	tcase_add_test(file, reload_reads_the_file_again_and_keeps_the_old_one_when_bad);
	tcase_add_loop_test(file, file_errors_have_their_place, 0, N(files));
	tcase_add_test(file, broken_yaml_is_told_with_its_place_and_ends_there);
	tcase_add_test(file, depth_and_size_are_bounded);
	tcase_add_test(file, more_entries_than_allowed_are_refused);
	suite_add_tcase(s, opts);
	suite_add_tcase(s, file);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
