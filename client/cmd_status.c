/* SPDX-License-Identifier: Apache-2.0 */
/* ringside status: the ring, its writer, what was lost and what it costs. */
#include <string.h>
#include <unistd.h>

#include "client/command.h"
#include "client/complain.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "client/status_view.h"

enum { FORM_TEXT, FORM_JSON };	/* order of --output's words */

static int print(const struct status_view *v, const struct options *o)
{
	struct text t;
	int err;

	text_init(&t, TEXT_LINE_MAX);
	if (o->value[OPTION_FORM].number == FORM_JSON)
		status_json(&t, v);
	else
		status_text(&t, v, option_given(o, OPTION_UTC));
	err = write_all(STDOUT_FILENO, text_string(&t), t.len);
	if (err)
		complain("writing: standard output: %s", strerror(-err));
	text_fini(&t);
	return err ? CLIENT_FAILED : CLIENT_OK;
}

int cmd_status(const struct command *c, const struct options *o)
{
	struct ring_flags flags = { .no_follow = true, .no_resolve = true };
	struct status_view v;
	struct ring ring;
	int err;

	if (o->noperands) {
		complain("status: %s: takes no operand; see 'ringside %s --help'",
			 o->operands[0], c->name);
		return CLIENT_USAGE;
	}
	err = ring_open(&ring, o, &flags);
	if (err)
		return err;
	err = status_view_read(&v, &ring);
	if (err)
		err = ring_complain(&ring, err);
	else
		err = print(&v, o);
	if (!err && !v.liveness.alive) {
		complain_note("%s: no live writer holds this ring; start ringsided",
			      ring.path);
		err = CLIENT_FAILED;
	}
	ring_close(&ring);
	return interrupt_exit(err);
}
