/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where was this program in the last ten seconds?  Call it before a watchdog aborts, from
 * a debug page, or whenever a request took too long.  Needs no right but to read the ring.
 *
 *	cc last10s.c $(pkg-config --cflags --libs ringside)
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <ringside.h>

static void print_sample(const struct ringside_record *rec)
{
	const struct ringside_sample *s = &rec->sample;

	printf("%" PRId64 ".%03d tid %" PRIu32 ":", rec->time_ns / 1000000000,
	       (int)(rec->time_ns / 1000000 % 1000), s->tid);
	for (uint32_t i = 0; i < s->user.n; i++) {
		const struct ringside_frame *f = s->user.frames[i];

		if (f->function)
			printf(" %s", f->function);
		else
			printf(" %" PRIx64, f->address);
	}
	putchar('\n');
}

int main(void)
{
	struct ringside_options options = { .size = sizeof(options), .no_follow = true };
	struct ringside_record rec;
	struct ringside *r;
	int64_t since = ((int64_t)time(NULL) - 10) * 1000000000;
	int err = ringside_open(&r, &options);

	if (err) {
		fprintf(stderr, "%s\n", ringside_open_error());
		return 1;
	}
	err = ringside_seek_time(r, since);
	while (!err && (err = ringside_next(r, &rec)) == 1) {
		err = 0;
		if (rec.kind == RINGSIDE_LOST)
			printf("lost %" PRIu64 " (%s)\n", rec.lost.count,
			       ringside_cause_name(rec.lost.cause));
		if (rec.kind == RINGSIDE_SAMPLE && rec.time_ns >= since &&
		    rec.sample.pid == (uint32_t)getpid())
			print_sample(&rec);
	}
	ringside_close(r);
	return err < 0;
}
