/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/idle_time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES	256	/* of one CPU: ten numbers of up to 20 digits */

int idle_time_open(struct idle_time *t, unsigned n)
{
	memset(t, 0, sizeof(*t));
	t->n = n;
	t->text_bytes = (size_t)LINE_BYTES * (n + 1);
	t->ns = calloc(n, sizeof(*t->ns));
	t->text = malloc(t->text_bytes);
	t->fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (t->ns && t->text)
		return 0;
	idle_time_close(t);
	return -ENOMEM;
}

void idle_time_close(struct idle_time *t)
{
	if (t->text && t->fd >= 0)
		close(t->fd);
	free(t->ns);
	free(t->text);
	memset(t, 0, sizeof(*t));
	t->fd = -1;
}

void idle_time_read(struct idle_time *t)
{
	ssize_t got;

	if (t->fd < 0)
		return;
	got = pread(t->fd, t->text, t->text_bytes, 0);
	if (got > 0)
		idle_time_parse(t->text, (size_t)got, (unsigned)sysconf(_SC_CLK_TCK),
				t->ns, t->n);
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* A decimal at *p; false when there is none, or it does not fit. */
static int take_decimal(const char **p, const char *end, uint64_t *out)
{
	const char *s = skip_blanks(*p, end), *first = s;

	for (*out = 0; s < end && *s >= '0' && *s <= '9'; s++) {
		if (*out > UINT64_MAX / 100)
			return 0;
		*out = *out * 10 + (uint64_t)(*s - '0');
	}
	*p = s;
	return s > first;
}

static void parse_line(const char *p, const char *end, unsigned hz, uint64_t *ns,
		       unsigned n)
{
	uint64_t cpu, field[5];		/* user nice system idle iowait */

	if (end - p < 4 || memcmp(p, "cpu", 3) || p[3] == ' ')
		return;
	p += 3;
	if (!take_decimal(&p, end, &cpu) || cpu >= n)
		return;
	for (int i = 0; i < 5; i++)
		if (!take_decimal(&p, end, &field[i]))
			return;
	/* The idle task runs while a CPU waits for a disk, too. */
	if (field[3] < UINT64_MAX / 4000000000ULL &&
	    field[4] < UINT64_MAX / 4000000000ULL)
		ns[cpu] = (field[3] + field[4]) * (1000000000ULL / hz);
}

void idle_time_parse(const char *text, size_t len, unsigned hz, uint64_t *ns, unsigned n)
{
	const char *end = text + len, *eol;

	/* Only whole lines: the last may be cut. */
	for (; (eol = memchr(text, '\n', (size_t)(end - text))); text = eol + 1)
		parse_line(text, eol, hz, ns, n);
}
