/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/environ and cgroup: only what is wanted is taken out of them. */
#include "sidecar/process/parse.h"

#include <errno.h>
#include <string.h>

/* Index of the wanted name that the entry begins with (NAME=), or -1. */
static int wanted(const char *entry, size_t n, const struct env_filter *f)
{
	const char *eq = memchr(entry, '=', n);

	if (!eq)
		return -1;
	for (uint32_t i = 0; i < f->n; i++) {
		size_t len = strlen(f->names[i]);

		if (len == (size_t)(eq - entry) && !memcmp(entry, f->names[i], len))
			return i;
	}
	return -1;
}

/* Takes an entry of this name out of what was written, so that the later one wins. */
static size_t remove_name(char *out, size_t used, const char *entry, size_t name_len)
{
	for (size_t at = 0; at < used; ) {
		size_t len = strlen(out + at) + 1;

		if (len > name_len && !memcmp(out + at, entry, name_len + 1)) {
			memmove(out + at, out + at + len, used - at - len);
			return used - len;
		}
		at += len;
	}
	return used;
}

int environ_filter(const char *text, size_t n, const struct env_filter *f, char *out,
		   size_t cap)
{
	size_t used = 0;

	while (n > 0) {
		const char *nul = memchr(text, 0, n);
		size_t len = nul ? (size_t)(nul - text) : n;

		/* An entry without its NUL was cut by the bound of the read: a wrong
		 * value, so none. */
		if (nul && wanted(text, len, f) >= 0) {
			used = remove_name(out, used, text,
					   (char *)memchr(text, '=', len) - text);
			if (len + 1 > cap - used)
				return -ENOSPC;
			memcpy(out + used, text, len + 1);
			used += len + 1;
		}
		len += nul != NULL;
		text += len;
		n -= len;
	}
	return used;
}

const char *environ_get(const char *entries, size_t n, const char *name)
{
	size_t len = strlen(name);

	while (n > 0) {
		size_t entry = strnlen(entries, n);

		if (entry == n)			/* not terminated: not ours */
			return NULL;
		if (entry > len && entries[len] == '=' && !memcmp(entries, name, len))
			return entries + len + 1;
		entries += entry + 1;
		n -= entry + 1;
	}
	return NULL;
}

struct cgroup_line { const char *controllers, *path; size_t controllers_len, path_len; };

static bool split_line(const char *line, size_t n, struct cgroup_line *out)
{
	const char *first = memchr(line, ':', n), *second;

	if (!first)
		return false;
	second = memchr(first + 1, ':', line + n - first - 1);
	if (!second)
		return false;
	out->controllers = first + 1;
	out->controllers_len = second - first - 1;
	out->path = second + 1;
	out->path_len = line + n - second - 1;
	return true;
}

static bool starts_with(const char *s, size_t n, const char *prefix)
{
	size_t len = strlen(prefix);

	return n >= len && !memcmp(s, prefix, len);
}

/* One controller is exactly `cpu`, or a name holds `systemd`, or the path is a systemd
 * slice's. */
static bool line_wins(const struct cgroup_line *l)
{
	const char *p = l->controllers, *end = p + l->controllers_len;

	if (starts_with(l->path, l->path_len, "/system.slice/") ||
	    starts_with(l->path, l->path_len, "/user.slice/"))
		return true;
	if (memmem(l->controllers, l->controllers_len, "systemd", 7))
		return true;
	while (p < end) {
		const char *comma = memchr(p, ',', end - p);
		size_t len = comma ? (size_t)(comma - p) : (size_t)(end - p);

		if (len == 3 && !memcmp(p, "cpu", 3))
			return true;
		p += len + 1;
	}
	return false;
}

bool cgroup_choose(const char *text, size_t n, const char **path, size_t *path_len)
{
	struct cgroup_line l, only = { 0 };
	unsigned lines = 0;
	bool found = false;

	while (n > 0 && !found) {
		const char *nl = memchr(text, '\n', n);
		size_t len = nl ? (size_t)(nl - text) : n;

		if (split_line(text, len, &l)) {
			lines++;
			found = line_wins(&l);
			only = l;
		}
		len += nl != NULL;
		text += len;
		n -= len;
	}
	if (!found && lines != 1)
		return false;
	while (starts_with(only.path, only.path_len, "/../")) {
		only.path += 3;
		only.path_len -= 3;
	}
	if (only.path_len == 3 && !memcmp(only.path, "/..", 3))
		only.path_len = 1;
	*path = only.path;
	*path_len = only.path_len;
	return true;
}
