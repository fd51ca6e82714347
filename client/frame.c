/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/escape.h"
#include "client/frame.h"

uint32_t stack_depth(const struct ringside_sample *s)
{
	return s->kernel.n + s->user.n;
}

const struct ringside_frame *stack_frame(const struct ringside_sample *s, uint32_t i)
{
	return i < s->kernel.n ? s->kernel.frames[i] : s->user.frames[i - s->kernel.n];
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void frame_name(struct text *raw, const struct ringside_frame *f)
{
	const char *base;

	if (f->function && *f->function) {
		text_puts(raw, f->function);
		return;
	}
	base = f->mapping && f->mapping->path && *f->mapping->path
		       ? base_name(f->mapping->path)
		       : "unknown";
	text_printf(raw, *base == '[' ? "%s+0x%" PRIx64 : "[%s]+0x%" PRIx64, base,
		    f->address);
}

void frame_name_escaped(struct text *t, const struct ringside_frame *f, const char *also)
{
	struct text raw;

	if (f->function && *f->function) {
		escape_terminal_except(t, f->function, strlen(f->function), also);
		return;
	}
	text_init(&raw, TEXT_LINE_MAX);
	frame_name(&raw, f);
	escape_terminal_except(t, text_string(&raw), raw.len, also);
	t->failed |= text_failed(&raw);
	text_fini(&raw);
}

const char *name_or_number(const char *name, uint32_t value, char buf[NAME_BUF])
{
	if (name)
		return name;
	snprintf(buf, NAME_BUF, "unknown_%" PRIu32, value);
	return buf;
}

void attribute_print(struct text *t, const struct ringside_attribute *a)
{
	escape_terminal_string(t, a->key);
	text_putc(t, '=');
	switch (a->type) {
	case RINGSIDE_INT:
		text_printf(t, "%" PRId64, a->number);
		break;
	case RINGSIDE_BOOL:
		text_puts(t, a->number ? "true" : "false");
		break;
	case RINGSIDE_DOUBLE:
		text_double(t, a->real);
		break;
	default:
		if (a->string)
			escape_terminal(t, a->string, a->len);
	}
}
