/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/context/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/context/context.h"
#include "sidecar/context/protobuf.h"
#include "sidecar/context/value_json.h"
#include "sidecar/labels/text.h"

/* Fields of AnyValue. */
enum { VALUE_STRING = 1, VALUE_BOOL = 2, VALUE_INT = 3, VALUE_DOUBLE = 4, VALUE_ARRAY = 5,
	VALUE_LIST = 6, VALUE_BYTES = 7, VALUE_STRINDEX = 8 };
/* Fields of KeyValue. */
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };

static const struct { uint32_t number; enum pb_wire wire; enum any_kind kind;
} fields[] = {
	{ VALUE_STRING, PB_BYTES, ANY_STRING },
	{ VALUE_BOOL, PB_VARINT, ANY_BOOL },
	{ VALUE_INT, PB_VARINT, ANY_INT },
	{ VALUE_DOUBLE, PB_FIXED64, ANY_DOUBLE },
	{ VALUE_ARRAY, PB_BYTES, ANY_ARRAY },
	{ VALUE_LIST, PB_BYTES, ANY_LIST },
	{ VALUE_BYTES, PB_BYTES, ANY_BYTES },
	{ VALUE_STRINDEX, PB_VARINT, ANY_NONE },
};

static void take_value(const struct pb_field *f, struct any_value *out)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].number != f->number || fields[i].wire != f->wire)
			continue;
		*out = (struct any_value){ .kind = fields[i].kind, .p = f->p, .n = f->n };
		out->number = out->kind == ANY_BOOL ? f->value != 0 : (int64_t)f->value;
		if (out->kind == ANY_DOUBLE)
			memcpy(&out->real, &f->value, sizeof(out->real));
	}
}

int any_value_read(const void *p, size_t n, struct any_value *out)
{
	struct pb_reader r = pb_reader(p, n);
	struct pb_field f;
	int got;

	memset(out, 0, sizeof(*out));
	while ((got = pb_next(&r, &f)) > 0)
		take_value(&f, out);
	return got;
}

int key_value_read(const void *p, size_t n, struct key_value *out)
{
	struct pb_reader r = pb_reader(p, n);
	struct pb_field f;
	int got;

	memset(out, 0, sizeof(*out));
	while ((got = pb_next(&r, &f)) > 0) {
		if (f.wire != PB_BYTES)
			continue;
		if (f.number == PAIR_KEY) {
			out->key = f.p;
			out->key_len = f.n;
		}
		if (f.number == PAIR_VALUE && any_value_read(f.p, f.n, &out->value))
			return -EBADMSG;
	}
	return got;
}

static int check_at(const struct any_value *v, unsigned depth)
{
	struct pb_reader r = pb_reader(v->p, v->n);
	struct pb_field f;
	int got;

	if (v->kind != ANY_ARRAY && v->kind != ANY_LIST)
		return 0;
	if (depth == CONTEXT_DEPTH_MAX)
		return -EBADMSG;
	while ((got = pb_next(&r, &f)) > 0) {
		struct key_value e = { .key = NULL };
		int err;

		if (f.number != 1 || f.wire != PB_BYTES)
			continue;
		if (v->kind == ANY_ARRAY)
			err = any_value_read(f.p, f.n, &e.value);
		else
			err = key_value_read(f.p, f.n, &e);
		if (err || check_at(&e.value, depth + 1))
			return -EBADMSG;
	}
	return got;
}

int any_value_check(const struct any_value *v)
{
	return check_at(v, 0);
}

static int copy_bytes(const struct any_value *v, struct label *out)
{
	char *copy;

	if (!v->n)
		return -ENODATA;
	if (v->n > LABEL_VALUE_MAX)
		return -EMSGSIZE;
	copy = malloc(v->n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, v->p, v->n);
	copy[v->n] = 0;
	out->string = copy;
	out->len = (uint32_t)v->n;
	return 0;
}

static int copy_text(const struct any_value *v, struct label *out)
{
	char *text;
	int err = v->n ? text_valid_utf8((const char *)v->p, v->n, LABEL_VALUE_MAX, &text)
		       : -ENODATA;

	if (!err)
		out->string = text;
	return err;
}

int any_value_label(const struct any_value *v, struct label *out)
{
	static const enum label_type types[] = {
		[ANY_NONE] = LABEL_STRING,  [ANY_STRING] = LABEL_STRING,
		[ANY_BOOL] = LABEL_BOOL,    [ANY_INT] = LABEL_INT,
		[ANY_DOUBLE] = LABEL_DOUBLE, [ANY_ARRAY] = LABEL_JSON,
		[ANY_LIST] = LABEL_JSON,    [ANY_BYTES] = LABEL_BYTES,
	};

	*out = (struct label){ .key = out->key, .type = types[v->kind] };
	switch (v->kind) {
	case ANY_STRING:
		return copy_text(v, out);
	case ANY_BYTES:
		return copy_bytes(v, out);
	case ANY_ARRAY:
	case ANY_LIST:
		return any_value_json(v, LABEL_VALUE_MAX, (char **)&out->string);
	case ANY_DOUBLE:
		out->real = v->real;
		return 0;
	case ANY_BOOL:
	case ANY_INT:
		out->number = v->number;
		return 0;
	default:
		return -ENODATA;
	}
}
