/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tenants may put into names, made harmless.  Any byte but NUL can stand in a comm, a path, a
 * function name or an attribute.
 */
#ifndef CLIENT_ESCAPE_H
#define CLIENT_ESCAPE_H

#include "client/text.h"

/*
 * One code point at s (len > 0 bytes left): returns its length, 1..4, and sets *cp; 0 when the bytes
 * are not well-formed UTF-8 (overlong, surrogate, above U+10FFFF, cut).
 */
unsigned utf8_decode(const unsigned char *s, size_t len, uint32_t *cp);

/*
 * For a terminal: control bytes, DEL, C1 controls, invalid bytes, the separators U+2028/9, and what
 * reorders or hides text (bidirectional controls, zero-width characters) become \n \t \xNN \u{NNNN};
 * a backslash is doubled, so that the result is unambiguous.
 */
void	 escape_terminal(struct text *t, const char *s, size_t len);
void	 escape_terminal_string(struct text *t, const char *s);	/* NULL writes nothing */

/* The same, and every byte of `also` is written as \xNN too (a separator of the output's form). */
void	 escape_terminal_except(struct text *t, const char *s, size_t len, const char *also);

/* Bytes of a JSON string, without the quotes.  Each invalid byte becomes one U+FFFD. */
void	 escape_json(struct text *t, const char *s, size_t len);

/* As UTF-8, each invalid byte as U+FFFD, and with the escapes of escape_terminal() but the doubled
 * backslash: viewers of profiles print names as they are. */
void	 escape_utf8(struct text *t, const char *s, size_t len);

#endif
