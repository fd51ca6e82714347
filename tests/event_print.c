/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/event_print.h"

#include <ctype.h>

#include "sidecar/collect/decode.h"

/* Names come from tenants: nothing but printable ASCII reaches the terminal. */
static void print_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, " %s=", key);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (isprint(c) && c != ' ' && c != '\\')
			fputc(c, out);
		else
			fprintf(out, "\\x%02x", c);
	}
}

static void print_sample(FILE *out, const struct ev_sample *s, int stack)
{
	unsigned n = s->kernel_frames + s->user_frames;

	print_text(out, "comm", s->comm);
	fprintf(out, " cgroup=%llu kernel=%u user=%u end=%u", s->cgroup_id,
		s->kernel_frames, s->user_frames,
		s->user_end);
	for (unsigned i = 0; stack && i < n; i++)
		fprintf(out, "%s%llx", i ? "," : " stack=", s->frames[i]);
}

static void print_mmap(FILE *out, const struct ev_mmap *e)
{
	fprintf(out, " addr=%llx len=%llx pgoff=%llx", e->addr, e->len, e->pgoff);
	if (e->head.flags & EV_F_MMAP_BUILD_ID) {
		fprintf(out, " build_id=");
		for (unsigned i = 0; i < e->build_id_len; i++)
			fprintf(out, "%02x", e->build_id[i]);
	} else {
		fprintf(out, " dev=%u:%u inode=%llu", e->dev_major, e->dev_minor,
			e->inode);
	}
	print_text(out, "path", e->path);
}

static void print_exec(FILE *out, const struct ev_exec *e)
{
	fprintf(out, " parent=%u cgroup=%llu dev=%u:%u inode=%llu", e->parent_tgid,
		e->cgroup_id, e->dev_major,
		e->dev_minor, e->inode);
	print_text(out, "comm", e->comm);
	print_text(out, "filename", e->filename);
}

void event_print(FILE *out, const struct ev_head *e, int stack)
{
	fprintf(out, "%llu %s pid=%u tid=%u cpu=%u start=%llu exec_id=%llu flags=%x",
		e->boot_ns, event_type_name(e->type), e->tgid, e->tid, e->cpu,
		e->start_ns, e->exec_id, e->flags);
	switch (e->type) {
	case EV_SAMPLE:
		print_sample(out, (const struct ev_sample *)e, stack);
		break;
	case EV_FORK:
		fprintf(out, " parent=%u parent_exec_id=%llu",
			((const struct ev_fork *)e)->parent_tgid,
			((const struct ev_fork *)e)->parent_exec_id);
		print_text(out, "comm", ((const struct ev_fork *)e)->comm);
		break;
	case EV_EXEC:
		print_exec(out, (const struct ev_exec *)e);
		break;
	case EV_CONTEXT:
		fprintf(out, " address=%llx", ((const struct ev_context *)e)->address);
		break;
	case EV_EXIT:
		fprintf(out, " code=%u signal=%u", ((const struct ev_exit *)e)->exit_code,
			((const struct ev_exit *)e)->exit_signal);
		break;
	case EV_MMAP:
		print_mmap(out, (const struct ev_mmap *)e);
		break;
	case EV_KSYMBOL:
		fprintf(out, " addr=%llx len=%x", ((const struct ev_ksymbol *)e)->addr,
			((const struct ev_ksymbol *)e)->len);
		print_text(out, "name", ((const struct ev_ksymbol *)e)->name);
		break;
	case EV_COMM_EXEC:
		print_text(out, "comm", ((const struct ev_comm_exec *)e)->comm);
		break;
	}
	fputc('\n', out);
}
