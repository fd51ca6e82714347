/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps: lines of any length, paths of any bytes, numbers of any width. */
#include "sidecar/process/parse.h"

#include <errno.h>
#include <string.h>

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* A hex number that ends with the byte `stop`, which is taken too. */
static bool take_hex(const char **p, const char *end, char stop, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; s < end && hex_value(*s) >= 0; s++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)hex_value(*s);
	}
	if (s == *p || s == end || *s != stop)
		return false;
	*p = s + 1;
	*out = v;
	return true;
}

static bool take_inode(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	}
	if (s == *p || (s < end && *s != ' '))
		return false;
	*p = s;
	*out = v;
	return true;
}

int maps_line_parse(const char *line, size_t n, struct maps_line *out)
{
	const char *p = line, *end = line + n;
	uint64_t major, minor;

	memset(out, 0, sizeof(*out));
	if (!take_hex(&p, end, '-', &out->start) || !take_hex(&p, end, ' ', &out->end))
		return -EBADMSG;
	if (end - p < 5 || p[4] != ' ')
		return -EBADMSG;
	out->exec = p[2] == 'x';
	p += 5;
	if (!take_hex(&p, end, ' ', &out->offset) || !take_hex(&p, end, ':', &major) ||
	    !take_hex(&p, end, ' ', &minor) || !take_inode(&p, end, &out->inode))
		return -EBADMSG;
	if (out->start >= out->end || major > UINT32_MAX || minor > UINT32_MAX)
		return -EBADMSG;
	out->dev_major = major;
	out->dev_minor = minor;
	while (p < end && *p == ' ')
		p++;
	if (p < end && !memchr(p, 0, end - p)) {
		out->path = p;
		out->path_len = end - p;
	}
	return 0;
}

static int end_of_line(struct maps_stream *s, const char *line, size_t n)
{
	struct maps_line l;

	s->lines++;
	if (maps_line_parse(line, n, &l)) {
		s->malformed++;
		return 0;
	}
	if (s->every)
		s->every(s->arg, &l);
	return l.exec && s->fn ? s->fn(s->arg, &l) : 0;
}

/* Keeps the beginning of a line whose end has not come yet. */
static void keep_part(struct maps_stream *s, const char *data, size_t n)
{
	if (s->skipping)
		return;
	if (n > MAPS_LINE_MAX - s->have) {
		s->skipping = true;
		s->have = 0;
		s->malformed++;
		return;
	}
	memcpy(s->buf + s->have, data, n);
	s->have += n;
}

int maps_stream_feed(struct maps_stream *s, const char *data, size_t n)
{
	int err = 0;

	while (n > 0 && !err) {
		const char *nl = memchr(data, '\n', n);
		size_t part = nl ? (size_t)(nl - data) : n;

		if (nl && !s->have && !s->skipping) {	/* the usual case: no copy */
			err = end_of_line(s, data, part);
		} else {
			keep_part(s, data, part);
			if (nl)
				err = maps_stream_end(s);
		}
		part += nl != NULL;
		data += part;
		n -= part;
	}
	return err;
}

int maps_stream_end(struct maps_stream *s)
{
	size_t have = s->have;
	bool skipped = s->skipping;

	s->have = 0;
	s->skipping = false;
	if (skipped || !have)
		return 0;
	return end_of_line(s, s->buf, have);
}

size_t maps_unescape(char *path, size_t n)
{
	size_t to = 0;

	for (size_t from = 0; from < n; ) {
		if (n - from >= 4 && !memcmp(path + from, "\\012", 4)) {
			path[to++] = '\n';
			from += 4;
		} else {
			path[to++] = path[from++];
		}
	}
	return to;
}

bool path_has_deleted_mark(const char *path, size_t n)
{
	size_t len = strlen(DELETED_MARK);

	return n > len && !memcmp(path + n - len, DELETED_MARK, len);
}

bool path_is_anonymous(const char *path, size_t n)
{
	static const char *const prefixes[] = {
		"/memfd:", "/dev/zero",	  "/SYSV", "/anon_hugepage",
		"//anon",  "anon_inode:", "[anon"
	};

	if (n == 0 || (path[0] != '/' && path[0] != '[' && path[0] != 'a'))
		return n == 0;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (n >= len && !memcmp(path, prefixes[i], len))
			return true;
	}
	/* [heap], [stack], [uprobes]: named by the kernel, but no file.  [vdso] is told
	 * apart before. */
	return path[0] == '[';
}
