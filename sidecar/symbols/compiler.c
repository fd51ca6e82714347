/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers say who they are in different places: Go in its build information, GCC, Clang
 * and GHC in .comment, rustc there or in .debug_str, others only in texts of their
 * run-time library.
 */
#include "sidecar/symbols/compiler.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMENT_MAX 4096u
#define SCAN_MAX (256u << 10)
#define VERSION_MAX 32
#define GO_MAGIC "\xff Go buildinf:"
#define GO_INLINE 2		/* flag: the version follows as a string with its length */

struct bytes { char *p; size_t n; };

/* The beginning of a part, with a NUL behind it; n 0 when there is none. */
static struct bytes load(const struct elf_file *e, const struct elf_part *part,
			 size_t max)
{
	size_t n = part->size < max ? (size_t)part->size : max;
	struct bytes b = { NULL, 0 };

	if (!n || part->compressed)
		return b;
	b.p = malloc(n + 1);
	if (!b.p || source_read(&e->src, part->offset, b.p, n)) {
		free(b.p);
		return (struct bytes){ NULL, 0 };
	}
	b.p[n] = 0;
	b.n = n;
	return b;
}

static const char *find(const struct bytes *b, const char *text)
{
	return b->n ? memmem(b->p, b->n, text, strlen(text)) : NULL;
}

/* Both halves, one after the other: in two, so that they do not stand in this program as
 * one. */
static bool has_both(const struct bytes *b, const char *first, const char *second)
{
	size_t n = strlen(first), left = b->n;
	const char *at = b->p, *found;

	while (left && (found = memmem(at, left, first, n))) {
		if (!strncmp(found + n, second, strlen(second)))
			return true;
		left -= (size_t)(found + 1 - at);
		at = found + 1;
	}
	return false;
}

/* Digits and dots, with a digit first. */
static size_t version_length(const char *s)
{
	size_t n = strspn(s, "0123456789.");

	while (n && s[n - 1] == '.')
		n--;
	return s[0] >= '0' && s[0] <= '9' && n < VERSION_MAX ? n : 0;
}

/* NAME and the version that stands behind text. */
static bool take_behind(const struct bytes *b, const char *text, const char *name,
			char *out)
{
	const char *at = find(b, text);
	size_t n = at ? version_length(at + strlen(text)) : 0;

	if (!n)
		return false;
	snprintf(out, COMPILER_MAX, "%s %.*s", name, (int)n, at + strlen(text));
	return true;
}

/* GCC: (Debian 12.2.0-14) 12.2.0 - what counts is behind the parenthesis. */
static bool take_gcc(const struct bytes *comment, char *out)
{
	const char *at = find(comment, "GCC: ("), *close = at ? strchr(at, ')') : NULL;
	size_t n = close && close[1] == ' ' ? version_length(close + 2) : 0;

	if (!n)
		return false;
	snprintf(out, COMPILER_MAX, "GCC %.*s", (int)n, close + 2);
	return true;
}

static bool take_go(const struct elf_file *e, char *out)
{
	struct bytes b = load(e, &e->go_buildinfo, 256);
	bool found = false;
	const char *at;
	size_t n;

	if (b.n > 36 && !memcmp(b.p, GO_MAGIC, 14) && b.p[15] & GO_INLINE &&
	    !memcmp(b.p + 33, "go", 2)) {
		n = version_length(b.p + 35);
		if (n)
			snprintf(out, COMPILER_MAX, "Go %.*s", (int)n, b.p + 35);
		found = n > 0;
	}
	free(b.p);
	if (found || (!e->go_build_id[0] && !e->go_buildinfo.size))
		return found;
	b = load(e, &e->rodata, SCAN_MAX);
	at = find(&b, "go1.");
	n = at ? version_length(at + 2) : 0;
	if (n)
		snprintf(out, COMPILER_MAX, "Go %.*s", (int)n, at + 2);
	free(b.p);
	if (!n)
		snprintf(out, COMPILER_MAX, "Go");
	return true;
}

static bool take_rust(const struct elf_file *e, const struct bytes *comment,
		      const struct bytes *rodata, char *out)
{
	struct bytes names = load(e, &e->debug[ELF_DEBUG_STR], SCAN_MAX);
	bool found = take_behind(comment, "rustc version ", "Rust", out) ||
		     take_behind(&names, "rustc version ", "Rust", out);
	char gcc[COMPILER_MAX - 8];

	free(names.p);
	/* Stripped: the paths of its library in panic messages stay. */
	if (found || !has_both(rodata, "/rust", "c/"))
		return found;
	if (take_gcc(comment, out)) {
		snprintf(gcc, sizeof(gcc), "%.*s", (int)sizeof(gcc) - 1, out);
		snprintf(out, COMPILER_MAX, "Rust (%s)", gcc);
	} else {
		snprintf(out, COMPILER_MAX, "Rust");
	}
	return true;
}

/* Its standard library holds the version as a string of its own: 4.13.1, 5.2.0. */
static bool take_ocaml(const struct bytes *rodata, const struct bytes *data, char *out)
{
	const char *at = data->p, *end;

	if (!has_both(rodata, "OCAMLRUN", "PARAM"))
		return false;
	end = at ? at + data->n : NULL;
	for (; at && at + 6 < end; at = memchr(at + 1, 0, (size_t)(end - at - 1))) {
		const char *s = *at ? at : at + 1;
		size_t n = version_length(s);

		if (n >= 5 && n <= 7 && !s[n] && s[1] == '.' && strchr(s + 2, '.')) {
			snprintf(out, COMPILER_MAX, "OCaml %.*s", (int)n, s);
			return true;
		}
	}
	snprintf(out, COMPILER_MAX, "OCaml");
	return true;
}

/*
 * It signs nowhere.  But its linker alone leaves four-byte constants in a section of their own, and writes
 * no note.
 */
static bool is_tcc(const struct elf_file *e, const struct bytes *comment)
{
	return find(comment, "TCC") || find(comment, "tcc ") || (e->cst4.size && !e->rodata.size && !e->has_notes);
}

static bool take_name(bool found, const char *name, char *out)
{
	if (found)
		snprintf(out, COMPILER_MAX, "%s", name);
	return found;
}

void compiler_detect(const struct elf_file *e, char out[COMPILER_MAX])
{
	struct bytes comment, rodata, data, dynstr, fpcdata;

	out[0] = 0;
	/* A library is never what a process is called after: it need not be read. */
	if (!e->has_interp && e->type != ET_EXEC)
		return;
	comment = load(e, &e->comment, COMMENT_MAX);
	rodata = load(e, &e->rodata, SCAN_MAX);
	data = load(e, &e->data, SCAN_MAX);
	dynstr = load(e, &e->dynstr, SCAN_MAX);
	fpcdata = load(e, &e->fpcdata, COMMENT_MAX);
	if (!take_go(e, out) &&
	    !take_ocaml(&rodata, &data, out) &&
	    !take_behind(&comment, "GHC ", "GHC", out) &&
	    !take_rust(e, &comment, &rodata, out) &&
	    !take_name(find(&dynstr, "_d_run_main"), "DMD", out) &&
	    !take_behind(&comment, "clang version ", "Clang", out) &&
	    !take_gcc(&comment, out) && !take_behind(&fpcdata, "FPC ", "FPC", out) &&
	    !take_behind(&data, "FPC ", "FPC", out))
		take_name(is_tcc(e, &comment), "TCC", out);
	free(fpcdata.p);
	free(comment.p);
	free(rodata.p);
	free(data.p);
	free(dynstr.p);
}
