/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/process/pods.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_INIT_INODE "cgroup:[4026531835]"	/* fixed in the kernel: PROC_CGROUP_INIT_INO */
#define KEY_BYTES 320				/* prefix and name: a label's key has at most 317 */

void pods_fini(struct pods *p)
{
	free(p->facts_dir);
	free(p->podinfo_dir);
	free(p->own_name);
	free(p->own_namespace);
	free(p->own_uid);
	memset(p, 0, sizeof(*p));
}

int pods_set(char **field, const char *value)
{
	free(*field);
	*field = value && value[0] ? strdup(value) : NULL;
	return *field || !value || !value[0] ? 0 : -ENOMEM;
}

static ssize_t read_at(int dir, const char *name, char *buf, size_t cap)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	while (n < cap && (got = read(fd, buf + n, cap - n)) > 0)
		n += (size_t)got;
	close(fd);
	return got < 0 ? -errno : (ssize_t)n;
}

void pods_look(struct pods *p)
{
	char text[4096], link[64];
	struct cgroup_identity id;
	ssize_t n = readlink("/proc/self/ns/cgroup", link, sizeof(link) - 1);

	if (n > 0) {
		link[n] = 0;
		p->private_cgroups = strcmp(link, CGROUP_INIT_INODE) != 0;
	}
	n = p->own_uid ? 0 : read_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	if (n > 0 && !cgroup_identify(text, (size_t)n, &id) && id.pod_uid[0])
		pods_set(&p->own_uid, id.pod_uid);
}

/* --- whose pod --- */

/* `/`, `/x`: below our own root; `/../NAME`: beside it, another container of our pod. */
static bool path_is_near(const char *path, size_t n)
{
	if (n >= 4 && !memcmp(path, "/../", 4)) {
		path += 4;
		n -= 4;
		return n &&
		       !(n >= 2 && !memcmp(path, "..", 2) && (n == 2 || path[2] == '/'));
	}
	return n && path[0] == '/' && !(n >= 3 && !memcmp(path, "/..", 3));
}

bool pods_is_own(const struct pods *p, const struct cgroup_identity *id,
		 const char *cgroup, size_t n)
{
	const char *v2, *nl;

	if (p->own_uid && id->pod_uid[0])
		return !strcmp(p->own_uid, id->pod_uid);
	if (!p->private_cgroups || id->pod_uid[0])
		return false;
	v2 = n > 3 && !memcmp(cgroup, "0::", 3) ? cgroup : memmem(cgroup, n, "\n0::", 4);
	if (!v2)
		return false;
	v2 += *v2 == '\n';
	v2 += 3;
	nl = memchr(v2, '\n', (size_t)(cgroup + n - v2));
	return path_is_near(v2, nl ? (size_t)(nl - v2) : (size_t)(cgroup + n - v2));
}

/* --- facts --- */

void pod_facts_put(struct pod_facts *f, const char *name, const char *value, size_t n)
{
	size_t name_n = strlen(name) + 1;

	/* A NUL inside would make another pair of it. */
	n = strnlen(value, n);
	if (!n || name_n + n + 1 > f->cap - f->n)
		return;
	memcpy(f->buf + f->n, name, name_n);
	memcpy(f->buf + f->n + name_n, value, n);
	f->n += name_n + n + 1;
	f->buf[f->n - 1] = 0;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

static size_t put_utf8(char *to, uint32_t r)
{
	size_t n = r < 0x80 ? 1 : r < 0x800 ? 2 : r < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; r >>= 6)
		to[i] = (char)(0x80 | (r & 0x3f));
	to[0] = (char)(n == 1 ? r : (0xf00u >> n & 0xff) | r);
	return n;
}

/* One escape of Go's strconv.Quote behind the backslash at *s; writes at most 4 bytes. */
static size_t unescape(const char **s, const char *end, char *to)
{
	static const char letters[] = "abfnrtv", meant[] = "\a\b\f\n\r\t\v";
	char c = *(*s)++;
	const char *at = c ? strchr(letters, c) : NULL;
	int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	uint32_t v = 0;

	if (!digits) {
		*to = at ? meant[at - letters] : c;
		return 1;
	}
	for (; digits && *s < end && hex(**s) >= 0; digits--)
		v = v << 4 | (uint32_t)hex(*(*s)++);
	if (c == 'x') {
		*to = (char)v;
		return 1;
	}
	return put_utf8(to, v <= 0x10ffff ? v : 0xfffd);
}

/* The value behind key="; gives its length in to, and where the line goes on. */
static size_t take_value(const char **s, const char *end, char *to, size_t cap)
{
	size_t n = 0;

	while (*s < end && **s != '"' && n + 4 <= cap) {
		if (**s == '\\' && *s + 1 < end) {
			(*s)++;
			n += unescape(s, end, to + n);
		} else {
			to[n++] = *(*s)++;
		}
	}
	return n;
}

void pod_facts_lines(struct pod_facts *f, const char *prefix, const char *text, size_t n)
{
	const char *end = text + n, *eq, *nl;
	char name[KEY_BYTES], *value = malloc(PODS_FILE_MAX);
	size_t len;

	for (; value && text < end; text = nl ? nl + 1 : end) {
		nl = memchr(text, '\n', (size_t)(end - text));
		eq = memmem(text, (size_t)((nl ? nl : end) - text), "=\"", 2);
		if (!eq || strlen(prefix) + (size_t)(eq - text) >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%s%.*s", prefix, (int)(eq - text), text);
		eq += 2;
		len = take_value(&eq, nl ? nl : end, value, PODS_FILE_MAX);
		pod_facts_put(f, name, value, len);
	}
	free(value);
}

/* --- files --- */

static const struct file_fact { const char *file, *name;
} pod_files[] = {
	{ "namespace", "namespace" }, { "name", "pod_name" }, { "ip", "pod_ip" }, { "ready", "pod_ready" },
	{ "phase", "pod_phase" }, { "node_name", "pod_node_name" }, { "host_ip", "pod_host_ip" },
	{ "controller_kind", "controller_kind" }, { "controller_name", "controller_name" },
	{ "labels", "label:" }, { "annotations", "annotation:" },
}, container_files[] = {
	{ "name", "container_name" }, { "image", "container_image" }, { "init", "container_init" },
}, docker_files[] = {
	{ "name", "docker_name" }, { "labels", "docker_label:" },
}, containerd_files[] = {
	{ "name", "containerd_name" }, { "namespace", "containerd_namespace" }, { "labels", "containerd_label:" },
}, node_files[] = {
	{ "name", "node_name" }, { "labels", "node_label:" }, { "annotations", "node_annotation:" },
};
#define FILES(t) t, sizeof(t) / sizeof((t)[0])

static void read_files(struct pod_facts *f, int dir, const struct file_fact *files,
		       size_t count)
{
	char *text = malloc(PODS_FILE_MAX);

	for (size_t i = 0; text && i < count; i++) {
		ssize_t n = read_at(dir, files[i].file, text, PODS_FILE_MAX);
		const char *name = files[i].name;

		if (n <= 0)
			continue;
		if (name[strlen(name) - 1] == ':') {
			pod_facts_lines(f, name, text, (size_t)n);
			continue;
		}
		while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
			n--;
		pod_facts_put(f, name, text, (size_t)n);
	}
	free(text);
}

/* One step down, by a name that a cgroup told: never up or elsewhere. */
static int open_below_dir(int dir, const char *name)
{
	if (!name[0] || name[0] == '.' || strchr(name, '/'))
		return -EINVAL;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void read_below(struct pod_facts *f, int dir, const char *name,
		       const struct file_fact *files, size_t count)
{
	int fd = open_below_dir(dir, name);

	if (fd < 0)
		return;
	read_files(f, fd, files, count);
	close(fd);
}

static void read_pod(struct pod_facts *f, int dir, const struct cgroup_identity *id)
{
	int pod = open_below_dir(dir, id->pod_uid), containers;

	if (pod < 0)
		return;
	read_files(f, pod, FILES(pod_files));
	containers = open_below_dir(pod, "containers");
	if (containers >= 0) {
		read_below(f, containers, id->container_id, FILES(container_files));
		close(containers);
	}
	close(pod);
	read_below(f, dir, "node", FILES(node_files));
}

static void read_facts_dir(const struct pods *p, const struct cgroup_identity *id,
			   struct pod_facts *f)
{
	int dir = open(p->facts_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	if (id->pod_uid[0])
		read_pod(f, dir, id);
	else if (!strcmp(id->runtime, "docker"))
		read_below(f, dir, id->container_id, FILES(docker_files));
	else if (!strcmp(id->runtime, "containerd"))
		read_below(f, dir, id->container_id, FILES(containerd_files));
	close(dir);
}

static void put_text(struct pod_facts *f, const char *name, const char *value)
{
	if (value)
		pod_facts_put(f, name, value, strlen(value));
}

static void read_own(const struct pods *p, struct pod_facts *f)
{
	int dir = p->podinfo_dir
			  ? open(p->podinfo_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			  : -1;

	put_text(f, "pod_name", p->own_name);
	put_text(f, "namespace", p->own_namespace);
	put_text(f, "pod_uid", p->own_uid);
	if (dir < 0)
		return;
	read_files(f, dir, FILES(pod_files));
	close(dir);
}

void pods_read(const struct pods *p, const char *cgroup, size_t n, struct pod_facts *out)
{
	struct cgroup_identity id;

	if (p->local_only)
		return;
	cgroup_identify(cgroup, n, &id);
	/* What a helper knows of everybody comes first, what we know of ourselves stays.
	 */
	if (p->facts_dir && (id.pod_uid[0] || id.container_id[0]))
		read_facts_dir(p, &id, out);
	if (pods_is_own(p, &id, cgroup, n))
		read_own(p, out);
}
