/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "client/output.h"

#define HELD_MAX (32u << 10)

int write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

void output_init(struct output *o, int fd)
{
	o->fd = fd;
	o->error = 0;
	text_init(&o->held, HELD_MAX + TEXT_LINE_MAX);
}

void output_fini(struct output *o)
{
	output_flush(o);
	text_fini(&o->held);
}

int output_flush(struct output *o)
{
	int err;

	if (!o->error && o->held.len) {
		err = write_all(o->fd, text_string(&o->held), o->held.len);
		o->error = -err;
	}
	text_clear(&o->held);
	return -o->error;
}

int output_lines(struct output *o, const struct text *lines)
{
	if (text_failed(lines))
		return -ENOMEM;
	text_add(&o->held, text_string(lines), lines->len);
	if (text_failed(&o->held))
		return -ENOMEM;
	if (o->held.len >= HELD_MAX)
		return output_flush(o);
	return -o->error;
}
