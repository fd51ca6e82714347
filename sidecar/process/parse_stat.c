/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat and status: identity of a process, and which image of it one looks at.
 */
#include "sidecar/process/parse.h"

#include <errno.h>
#include <string.h>

#define NS_PER_TICK 10000000ull			/* USER_HZ is 100 on every Linux that we run on */

/* An unsigned decimal at *p, blanks before it skipped; a leading `-` is taken and gives
 * 0. */
static bool take_number(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	bool negative = false;
	uint64_t v = 0;

	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	if (s < end && *s == '-') {
		negative = true;
		s++;
	}
	if (s == end || *s < '0' || *s > '9')
		return false;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	}
	*p = s;
	*out = negative ? 0 : v;
	return true;
}

static const char *last_paren(const char *text, size_t n)
{
	return memrchr(text, ')', n);
}

static void copy_comm(const char *open, const char *close, char comm[COMM_MAX])
{
	size_t n = close - open - 1;

	if (n >= COMM_MAX)
		n = COMM_MAX - 1;
	memset(comm, 0, COMM_MAX);
	memcpy(comm, open + 1, n);
}

static void set_field(struct proc_stat *s, int field, uint64_t v)
{
	switch (field) {
	case 4:  s->ppid = v; break;
	case 9:  s->flags = v; break;
	case 20: s->threads = v; break;
	case 22: s->start_ticks = v; break;
	case 26: s->start_code = v; break;
	case 27: s->end_code = v; break;
	case 28: s->start_stack = v; break;
	case 50: s->env_start = v; break;
	}
}

int stat_parse(const char *text, size_t n, struct proc_stat *out)
{
	const char *open = memchr(text, '(', n), *close = last_paren(text, n);
	const char *end = text + n, *p;
	int field;

	memset(out, 0, sizeof(*out));
	if (!open || !close || close < open || end - close < 4 || close[1] != ' ')
		return -EBADMSG;
	copy_comm(open, close, out->comm);
	out->state = close[2];
	p = close + 3;
	for (field = 4; field <= 51; field++) {
		uint64_t v;

		if (!take_number(&p, end, &v))
			break;
		set_field(out, field, v);
	}
	return field > 28 ? 0 : -EBADMSG;
}

bool stat_same_image(const struct proc_stat *a, const struct proc_stat *b)
{
	return a->start_ticks == b->start_ticks && a->start_code == b->start_code &&
	       a->end_code == b->end_code && a->start_stack == b->start_stack &&
	       a->env_start == b->env_start;
}

/*
 * The kernel zeroes start_code and env_start with the new address space and sets them
 * when the loader is done.  Without the right to see them start_code reads 1, and nothing
 * can be told.
 */
bool stat_in_exec(const struct proc_stat *s)
{
	if ((s->flags & STAT_PF_KTHREAD) || s->state == 'Z' || s->state == 'X' ||
	    s->start_code == 1)
		return false;
	return s->start_code == 0 || s->env_start == 0;
}

uint64_t stat_ticks(uint64_t start_ns, int64_t timens_ns)
{
	return (start_ns + (uint64_t)timens_ns) / NS_PER_TICK;
}

/* The text after `Name:` at the start of a line, up to its newline. */
static const char *find_line(const char *text, size_t n, const char *name,
			     const char **end)
{
	size_t len = strlen(name);
	const char *p = text, *stop = text + n;

	while (p < stop) {
		const char *nl = memchr(p, '\n', stop - p);
		const char *line_end = nl ? nl : stop;

		if ((size_t)(line_end - p) > len && !memcmp(p, name, len)) {
			*end = line_end;
			return p + len;
		}
		if (!nl)
			break;
		p = nl + 1;
	}
	return NULL;
}

int status_parse(const char *text, size_t n, struct proc_status *out)
{
	const char *end, *p = find_line(text, n, "Uid:", &end);
	uint64_t v;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < 4; i++) {
		if (!p || !take_number(&p, end, &v) || v > UINT32_MAX)
			return -EBADMSG;
		out->uid[i] = v;
	}
	p = find_line(text, n, "NSpid:", &end);
	while (p && take_number(&p, end, &v)) {
		if (v == 0 || v > UINT32_MAX)
			return -EBADMSG;
		out->ns_pid = v;
	}
	return out->ns_pid ? 0 : -EBADMSG;
}
