/* SPDX-License-Identifier: Apache-2.0 */
/* ringside list: the processes that the records held now refer to, with their resource.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/command.h"
#include "client/complain.h"
#include "client/follow.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "client/process_table.h"

enum { FORM_TEXT, FORM_JSON };	/* order of --output's words */

struct list {
	const struct selection *selection;
	struct process_table table;
};

static int list_record(void *arg, const struct ringside_record *rec)
{
	struct list *l = arg;

	if (rec->kind != RINGSIDE_SAMPLE && rec->kind != RINGSIDE_PROCESS)
		return 0;
	if (!selection_matches(l->selection, rec))
		return 0;
	return process_table_add(&l->table, rec) ? -ENOMEM : 1;
}

static int print(struct list *l, const struct options *o)
{
	struct output out;
	struct text line;
	int err = process_table_sort(&l->table);

	output_init(&out, STDOUT_FILENO);
	text_init(&line, TEXT_LINE_MAX);
	if (!err && o->value[OPTION_FORM].number == FORM_TEXT && l->table.n)
		process_text_head(&line);
	for (size_t i = 0; !err && i < l->table.n; i++) {
		if (o->value[OPTION_FORM].number == FORM_JSON)
			process_json(&line, l->table.sorted[i]);
		else
			process_text(&line, l->table.sorted[i],
				     option_given(o, OPTION_UTC));
		err = output_lines(&out, &line);
		text_clear(&line);
	}
	if (!err)
		err = output_flush(&out);
	output_fini(&out);
	text_fini(&line);
	if (!err || err == -EPIPE)
		return CLIENT_OK;
	complain("writing: standard output: %s", strerror(-err));
	return CLIENT_FAILED;
}

static int read_ring(struct list *l, const struct options *o)
{
	struct ring_flags flags = { .from_oldest = true, .no_follow = true };
	struct ring ring;
	struct follow f = { .ring = &ring, .selection = l->selection, .no_follow = true,
			    .record = list_record, .arg = l };
	int err = ring_open(&ring, o, &flags);

	if (err)
		return err;
	err = follow_start(&f);
	if (!err)
		err = follow_run(&f);
	err = err ? ring_complain(&ring, err) : print(l, o);
	if (l->table.left_out)
		complain("list: %" PRIu64
			 " records of processes beyond the first %d were left out; "
			 "select fewer",
			 l->table.left_out, PROCESS_TABLE_MAX);
	else if (!l->table.n && !err)
		complain_note("%s: no held record matches", ring.path);
	ring_close(&ring);
	return err ? err : interrupt_exit(CLIENT_OK);
}

int cmd_list(const struct command *c, const struct options *o)
{
	struct selection *selection;
	struct list l;
	int err;

	if (o->noperands) {
		complain("list: %s: takes no operand; see 'ringside %s --help'",
			 o->operands[0], c->name);
		return CLIENT_USAGE;
	}
	err = selection_create(&selection, o);
	if (err)
		return err;
	l.selection = selection;
	process_table_init(&l.table, o->value[OPTION_FORM].number == FORM_JSON);
	err = read_ring(&l, o);
	process_table_fini(&l.table);
	selection_destroy(selection);
	return err;
}
