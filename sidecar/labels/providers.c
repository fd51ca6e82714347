/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/labels/providers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A label for rules and its attribute. */
static void put(struct label_builder *b, const char *meta, const char *key,
		const char *value)
{
	if (!value || !value[0])
		return;
	label_builder_put(b, meta, value);
	if (key)
		label_builder_put(b, key, value);
}

static void put_bool(struct label_builder *b, const char *meta, bool value)
{
	label_builder_put(b, meta, value ? "true" : "false");
}

static void put_number(struct label_builder *b, const char *meta, const char *key,
		       uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	put(b, meta, key, text);
}

static bool provide_process(const struct label_config *c, const struct label_process *p,
			    struct label_builder *b)
{
	char comm[64];

	put_number(b, META_PID, KEY_PID, p->pid);
	put(b, META_CMDLINE, c->publish_command_line ? KEY_COMMAND_LINE : NULL,
	    p->command_line);
	label_builder_put(b, LABEL_COMM, label_comm(p->comm, comm));
	put(b, META_CGROUP, KEY_CGROUP, p->cgroup);
	if (p->parent_pid || p->complete)
		put_number(b, META_PPID, p->parent_pid ? KEY_PARENT_PID : NULL,
			   p->parent_pid);
	if (c->publish_working_directory && p->working_directory)
		label_builder_put(b, KEY_WORKING_DIRECTORY, p->working_directory);
	return p->complete || p->kthread;
}

/* Nothing is said of a file that nobody looked into yet: "false" would be a guess. */
static bool provide_executable(const struct label_config *c,
			       const struct label_process *p, struct label_builder *b)
{
	const struct label_executable *e = p->executable;

	(void)c;
	if (p->kthread)
		return true;
	if (!e)
		return false;
	put(b, META_EXE_FILE_ID, KEY_EXE_HTLHASH, e->file_id);
	put(b, META_EXE_NAME, NULL, p->exe_name);
	put(b, META_EXE_BUILD_ID, KEY_EXE_GNU, e->gnu_build_id);
	if (e->go_build_id)
		label_builder_put(b, KEY_EXE_GO, e->go_build_id);
	if (e->is_elf) {
		label_builder_put(b, META_EXE_COMPILER,
				  e->compiler ? e->compiler : "unknown");
		put_bool(b, META_EXE_STATIC, e->is_static);
		put_bool(b, META_EXE_STRIPPED, e->stripped);
	}
	return e->file_id != NULL;
}

static bool provide_agent(const struct label_config *c, const struct label_process *p,
			  struct label_builder *b)
{
	(void)p;
	put(b, META_REVISION, NULL, c->revision);
	return true;
}

static const struct { const char *machine, *arch;
} arches[] = {
	{ "x86_64", "amd64" },	{ "aarch64", "arm64" }, { "armv7l", "arm32" },
	{ "armv6l", "arm32" },	{ "i686", "x86" },	{ "i386", "x86" },
	{ "ppc64le", "ppc64" },
};

const char *label_host_arch(const char *machine)
{
	for (size_t i = 0; machine && i < sizeof(arches) / sizeof(arches[0]); i++) {
		if (!strcmp(machine, arches[i].machine))
			return arches[i].arch;
	}
	return machine;
}

static bool provide_system(const struct label_config *c, const struct label_process *p,
			   struct label_builder *b)
{
	const char *arch = label_host_arch(c->kernel_machine);

	(void)p;
	put(b, META_KERNEL_RELEASE, KEY_OS_VERSION, c->kernel_release);
	put(b, META_KERNEL_MACHINE, NULL, c->kernel_machine);
	if (arch && arch[0])
		label_builder_put(b, KEY_HOST_ARCH, arch);
	return true;
}

const struct label_provider label_provider_process = { "process", provide_process };
const struct label_provider label_provider_executable = { "executable",
							  provide_executable };
const struct label_provider label_provider_agent = { "agent", provide_agent };
const struct label_provider label_provider_system = { "system", provide_system };

uint32_t label_providers_default(const struct label_config *c,
				 const struct label_provider *out[LABEL_PROVIDERS_MAX])
{
	uint32_t n = 0;

	out[n++] = &label_provider_process;
	if (c->executables)
		out[n++] = &label_provider_executable;
	out[n++] = &label_provider_agent;
	out[n++] = &label_provider_container;
	out[n++] = &label_provider_system;
	return n;
}
