/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON writer: compact, one line, keys in the order of the calls.  Commas are its business.
 * 64-bit values that may not survive a double are written as strings (json_u64_string).
 */
#ifndef CLIENT_JSON_H
#define CLIENT_JSON_H

#include "client/text.h"

struct json {
	struct text	*t;
	bool		 comma;		/* the next value needs one */
};

void	 json_init(struct json *j, struct text *t);
void	 json_open(struct json *j, char bracket);	/* '{' or '[' */
void	 json_close(struct json *j, char bracket);	/* '}' or ']' */
void	 json_key(struct json *j, const char *key);	/* hostile keys are fine */

void	 json_string_n(struct json *j, const char *s, size_t len);
void	 json_u64(struct json *j, uint64_t v);
void	 json_i64(struct json *j, int64_t v);
void	 json_bool(struct json *j, bool v);
void	 json_double(struct json *j, double v);		/* NaN and infinities as OTLP's strings */
void	 json_base64(struct json *j, const void *bytes, size_t len);
/* JSON text from a tenant: re-written compactly when it is valid, else written as a string. */
void	 json_embed(struct json *j, const char *s, size_t len);

/* Key and value in one call; a NULL string writes nothing. */
void	 json_put_string(struct json *j, const char *key, const char *s);
void	 json_put_u64(struct json *j, const char *key, uint64_t v);
void	 json_put_u64_string(struct json *j, const char *key, uint64_t v);
void	 json_put_i64_string(struct json *j, const char *key, int64_t v);
void	 json_put_bool(struct json *j, const char *key, bool v);
void	 json_put_hex(struct json *j, const char *key, const uint8_t *bytes, size_t len);

#endif
