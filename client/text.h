/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable piece of text with a cap.  Errors are sticky: after a failed append every later one is a
 * no-op and text_failed() tells, so that a formatter checks once, at its end.
 */
#ifndef CLIENT_TEXT_H
#define CLIENT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_LINE_MAX	(16u << 20)	/* one record, however hostile */

struct text {
	char	*p;		/* NUL-terminated when not NULL */
	size_t	 len, cap, max;
	bool	 failed;	/* out of memory or over max */
};

void	 text_init(struct text *t, size_t max);
void	 text_fini(struct text *t);
void	 text_clear(struct text *t);		/* empties, keeps the memory, forgets a failure */
bool	 text_failed(const struct text *t);
const char *text_string(const struct text *t);	/* never NULL */

void	 text_add(struct text *t, const void *bytes, size_t len);
void	 text_puts(struct text *t, const char *s);
void	 text_putc(struct text *t, char c);
void	 text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void	 text_double(struct text *t, double v);	/* finite: the shortest form that reads back the same */
void	 text_pad(struct text *t, size_t start, size_t width); /* blanks until start + width bytes */

#endif
