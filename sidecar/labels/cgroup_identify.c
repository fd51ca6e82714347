/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container and pod out of the cgroup file of a process.  No list of runtimes' top
 * directories: the last path segment that has the shape of an id wins, so that nested
 * runtimes give the innermost container.
 */
#include "sidecar/labels/labels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ID_HEX 64
#define LINES_MAX 256
#define SEGMENTS_MAX 64

struct span { const char *p; size_t n; };

static bool equals(struct span s, const char *text)
{
	return s.n == strlen(text) && !memcmp(s.p, text, s.n);
}

static bool begins(struct span s, const char *text)
{
	size_t n = strlen(text);

	return s.n >= n && !memcmp(s.p, text, n);
}

static bool strip_end(struct span *s, const char *text)
{
	size_t n = strlen(text);

	if (s->n < n || memcmp(s->p + s->n - n, text, n))
		return false;
	s->n -= n;
	return true;
}

static bool is_hex(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
			return false;
	}
	return true;
}

static bool is_digits(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
	}
	return n > 0;
}

/* 8-4-4-4-LAST hex digits. */
static bool is_uuid(struct span s, size_t last)
{
	static const size_t groups[] = { 8, 4, 4, 4 };
	size_t at = 0;

	if (s.n != 24 + last)
		return false;
	for (int i = 0; i < 4; i++) {
		if (!is_hex(s.p + at, groups[i]) || s.p[at + groups[i]] != '-')
			return false;
		at += groups[i] + 1;
	}
	return is_hex(s.p + at, last);
}

static void copy(char *to, size_t cap, struct span s)
{
	size_t n = s.n < cap ? s.n : cap - 1;

	memcpy(to, s.p, n);
	to[n] = 0;
}

/* Everything of a path but its slashes. */
static size_t split_path(struct span path, struct span *seg)
{
	size_t n = 0;

	while (path.n > 0) {
		const char *slash = memchr(path.p, '/', path.n);
		size_t len = slash ? (size_t)(slash - path.p) : path.n;

		if (len) {
			/* The last segments matter most: a very deep path loses its
			 * beginning. */
			if (n == SEGMENTS_MAX)
				memmove(seg, seg + 1, --n * sizeof(*seg));
			seg[n++] = (struct span){ path.p, len };
		}
		len += slash != NULL;
		path.p += len;
		path.n -= len;
	}
	return n;
}

/* pod<uid> at the start or after a dash; `_` reads `-`. */
static bool pod_uid(struct span s, char out[64])
{
	char uid[37];
	struct span u;

	strip_end(&s, ".slice");
	for (size_t i = 0; i + 3 < s.n; i++) {
		if (memcmp(s.p + i, "pod", 3) || (i > 0 && s.p[i - 1] != '-'))
			continue;
		u = (struct span){ uid, s.n - i - 3 };
		if (u.n > 36)
			continue;
		for (size_t k = 0; k < u.n; k++)
			uid[k] = s.p[i + 3 + k] == '_' ? '-' : s.p[i + 3 + k];
		if (is_uuid(u, 12) || (u.n == 32 && is_hex(u.p, 32))) {
			copy(out, 64, u);
			return true;
		}
	}
	return false;
}

static bool segment_pod_uid(struct span s, char out[64])
{
	while (s.n > 0) {
		const char *colon = memchr(s.p, ':', s.n);
		size_t len = colon ? (size_t)(colon - s.p) : s.n;

		if (pod_uid((struct span){ s.p, len }, out))
			return true;
		len += colon != NULL;
		s.p += len;
		s.n -= len;
	}
	return false;
}

static const struct { const char *name, *runtime; } runtimes[] = {
	{ "docker", "docker" },		{ "cri-containerd", "containerd" },
	{ "containerd", "containerd" },	{ "nerdctl", "containerd" },
	{ "k8s.io", "containerd" },	{ "crio", "cri-o" },
	{ "libpod", "podman" },		{ "libpod-payload", "podman" },
	{ "ecs", "ecs" },		{ "garden", "garden" },
	{ "buildkit", "docker" },
};

static const char *runtime_of(struct span name)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		if (equals(name, runtimes[i].name))
			return runtimes[i].runtime;
	}
	return NULL;
}

struct line_match { struct span id; const char *runtime; bool monitor; };

/* <prefix>-<64 hex>; a prefix that ends in conmon names the container's monitor, not the
 * container. */
static bool match_prefixed(struct span s, struct line_match *m)
{
	struct span prefix;

	if (s.n < ID_HEX + 2 || s.p[s.n - ID_HEX - 1] != '-' ||
	    !is_hex(s.p + s.n - ID_HEX, ID_HEX))
		return false;
	prefix = (struct span){ s.p, s.n - ID_HEX - 1 };
	m->runtime = runtime_of(prefix);
	m->id = (struct span){ s.p + s.n - ID_HEX, ID_HEX };
	m->monitor = strip_end(&prefix, "conmon");
	return true;
}

static bool match_lxc(struct span s, struct span parent, struct line_match *m)
{
	static const char *const prefixes[] = { "lxc.payload.", "lxc.monitor." };

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(prefixes[i]);

		if (begins(s, prefixes[i]) && s.n > n) {
			m->id = (struct span){ s.p + n, s.n - n };
			m->runtime = "lxc";
			return true;
		}
	}
	if (!equals(parent, "lxc"))
		return false;
	m->id = s;
	m->runtime = "lxc";
	return true;
}

static bool match_segment(struct span s, struct span parent, bool alone,
			  struct line_match *m)
{
	const char *colon = memrchr(s.p, ':', s.n);
	const char *from = runtime_of(parent);
	struct span before = { s.p, 0 };

	if (colon) {
		before.n = colon - s.p;
		s.n -= colon + 1 - s.p;
		s.p = colon + 1;
		colon = memrchr(before.p, ':', before.n);
		if (colon) {
			before.n -= colon + 1 - before.p;
			before.p = colon + 1;
		}
		from = runtime_of(before);
	}
	strip_end(&s, ".scope");
	if (match_prefixed(s, m))
		return true;
	m->id = s;
	m->runtime = from;
	if (s.n == ID_HEX && is_hex(s.p, s.n))
		return true;
	if (s.n >= 34 && s.n <= 43 && is_hex(s.p, 32) && s.p[32] == '-' &&
	    is_digits(s.p + 33, s.n - 33)) {
		m->runtime = "ecs";
		return true;
	}
	if ((is_uuid(s, 4) || is_uuid(s, 12)) && (equals(parent, "garden") || alone)) {
		m->runtime = "garden";
		return true;
	}
	if (equals(parent, "buildkit") && s.n > 0)
		return true;
	return match_lxc(s, parent, m);
}

/* One line's path: true when it names a container. */
static bool identify_path(struct span path, struct cgroup_identity *out)
{
	struct span seg[SEGMENTS_MAX], none = { "", 0 };
	struct line_match m;
	size_t n = split_path(path, seg);
	bool ecs = n > 0 && equals(seg[0], "ecs");

	for (size_t i = n; i-- > 0 && !out->pod_uid[0]; )
		segment_pod_uid(seg[i], out->pod_uid);
	for (size_t i = n; i-- > 0; ) {
		m = (struct line_match){ .runtime = NULL };
		if (!match_segment(seg[i], i ? seg[i - 1] : none, n == 1, &m))
			continue;
		if (m.monitor || m.id.n >= sizeof(out->container_id))
			return false;
		copy(out->container_id, sizeof(out->container_id), m.id);
		if (!m.runtime)
			m.runtime = ecs ? "ecs" : out->pod_uid[0] ? "kubernetes" : "";
		snprintf(out->runtime, sizeof(out->runtime), "%s", m.runtime);
		return true;
	}
	return false;
}

static bool identify_line(struct span line, struct cgroup_identity *out)
{
	const char *first, *second;
	struct span path;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	first = memchr(line.p, ':', line.n);
	if (!first || !is_digits(line.p, first - line.p))
		return false;
	second = memchr(first + 1, ':', line.p + line.n - first - 1);
	if (!second)
		return false;
	path = (struct span){ second + 1, line.p + line.n - second - 1 };
	strip_end(&path, " (deleted)");
	return identify_path(path, out);
}

int cgroup_identify(const char *text, size_t n, struct cgroup_identity *out)
{
	memset(out, 0, sizeof(*out));
	for (int lines = 0; n > 0 && lines < LINES_MAX; lines++) {
		const char *nl = memchr(text, '\n', n);
		size_t len = nl ? (size_t)(nl - text) : n;

		if (identify_line((struct span){ text, len }, out))
			return 0;
		len += nl != NULL;
		text += len;
		n -= len;
	}
	if (out->pod_uid[0])
		snprintf(out->runtime, sizeof(out->runtime), "kubernetes");
	return 0;
}
