/* SPDX-License-Identifier: Apache-2.0 */
/* --probe: what this kernel and these rights allow, as a list; and how it is printed. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "sidecar/probe.h"

#define REMEDY_MAX 512

void probe_row(struct probe *p, const struct probe_fact *f, const char *remedy, ...)
{
	struct probe_row *r;
	char text[REMEDY_MAX] = "";
	va_list ap;

	if (p->n == PROBE_ROWS_MAX)
		return;
	va_start(ap, remedy);
	if (!f->ok)
		vsnprintf(text, sizeof(text), remedy, ap);
	va_end(ap);
	r = &p->rows[p->n++];
	*r = (struct probe_row){ .name = f->name,
				 .ok = f->ok,
				 .need = f->need,
				 .effect = f->effect,
				 .remedy = strdup(text),
				 .required = f->required,
				 .warn = f->warn && !f->ok };
}

int probe_run(struct probe **out, const struct config *c)
{
	struct probe *p;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->rows = calloc(PROBE_ROWS_MAX, sizeof(*p->rows));
	if (!p->rows) {
		free(p);
		return -ENOMEM;
	}
	probe_kernel(p, c->mode != MODE_PROBE);
	probe_rights(p);
	probe_place(p, c);
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->rows[i].remedy)
			continue;
		probe_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n; i++)
		free((char *)p->rows[i].remedy);
	free(p->rows);
	free(p);
}

bool probe_usable(const struct probe *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->rows[i].required && !p->rows[i].ok)
			return false;
	return true;
}

static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			fprintf(out, "\\u%04x", (unsigned char)*s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

static void put_json(const struct probe_row *r, FILE *out)
{
	fputs("{\"name\":", out);
	put_string(out, r->name);
	fprintf(out, ",\"ok\":%s,\"required\":%s,\"need\":", r->ok ? "true" : "false",
		r->required ? "true" : "false");
	put_string(out, r->need);
	fputs(",\"effect\":", out);
	put_string(out, r->effect);
	fputs(",\"remedy\":", out);
	put_string(out, r->remedy);
	fputc('}', out);
}

/* A place of the ring is named by whoever called us, and may hold anything. */
static void put_text(const char *label, const char *s, FILE *out)
{
	fprintf(out, "        %s: ", label);
	for (; *s; s++)
		fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, out);
	fputc('\n', out);
}

static void put_row(const struct probe_row *r, FILE *out)
{
	fprintf(out, "%-7s %s (%s)\n",
		r->ok	      ? "ok"
		: r->required ? "MISSING"
			      : "no",
		r->name, r->need);
	if (r->ok)
		return;
	put_text("without it", r->effect, out);
	put_text("remedy", r->remedy, out);
}

void probe_print(const struct probe *p, FILE *out, bool json)
{
	if (json)
		fputc('[', out);
	for (uint32_t i = 0; i < p->n; i++) {
		if (!json) {
			put_row(&p->rows[i], out);
			continue;
		}
		fputs(i ? ",\n " : "\n ", out);
		put_json(&p->rows[i], out);
	}
	if (json)
		fputs("\n]\n", out);
}
