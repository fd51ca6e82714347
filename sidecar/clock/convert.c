/* SPDX-License-Identifier: Apache-2.0 */
/* Pure: boot stamps to wall time over the anchors that were fed.  Reads no clock. */
#include <errno.h>
#include <string.h>
#include "sidecar/clock/clock.h"

#define NS_PER_S 1000000000ll
#define YEAR_2000_NS (946684800ll * NS_PER_S)
#define YEAR_2200_NS (7258118400ll * NS_PER_S)

void clock_converter_init(struct clock_converter *c)
{
	memset(c, 0, sizeof(*c));
	c->next_epoch = 1;
}

int clock_boot_to_wall(const struct clock_anchor *a, uint64_t boot_ns, int64_t *wall_ns)
{
	int64_t wall;

	if (boot_ns > INT64_MAX ||
	    __builtin_add_overflow((int64_t)boot_ns, a->offset_ns, &wall))
		return -ERANGE;
	if (wall < YEAR_2000_NS || wall >= YEAR_2200_NS)
		return -ERANGE;
	*wall_ns = wall;
	return 0;
}

static void push_epoch(struct clock_converter *c, const struct clock_anchor *a)
{
	if (c->n == CLOCK_EPOCHS) {
		memmove(&c->epochs[0], &c->epochs[1],
			sizeof(c->epochs[0]) * (CLOCK_EPOCHS - 1));
		c->n--;
		c->dropped++;
	}
	c->epochs[c->n].anchor = *a;
	c->epochs[c->n].epoch = c->next_epoch++;
	c->n++;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* new - old; saturates: an anchor is a reading, but also a line of a replayed journal. */
static int64_t difference(int64_t new, int64_t old)
{
	int64_t d;

	if (__builtin_sub_overflow(new, old, &d))
		return new < old ? INT64_MIN : INT64_MAX;
	return d;
}

static uint64_t magnitude(int64_t d)
{
	return d < 0 ? -(uint64_t)d : (uint64_t)d;
}

/*
 * Both brackets hold the true offset, so it lies where they overlap; the overlap's far
 * end is the new bound of the offset that we keep.  The offset itself stays: within an
 * epoch, order by boot time and order by wall time are the same.
 */
static void narrow(struct clock_anchor *cur, const struct clock_anchor *a,
		   uint64_t distance)
{
	uint64_t reach = saturating_add(distance, a->bound_ns);

	if (reach < cur->bound_ns)
		cur->bound_ns = reach;
}

enum clock_change clock_converter_feed(struct clock_converter *c,
				       const struct clock_anchor *a, bool stepped,
				       int64_t *step_ns)
{
	struct clock_anchor *cur;
	int64_t delta;

	*step_ns = 0;
	if (!c->n) {
		push_epoch(c, a);
		return CLOCK_FIRST;
	}
	cur = &c->epochs[c->n - 1].anchor;
	if (a->boot_ns < cur->boot_ns)	/* older than what we know already */
		return CLOCK_SAME;
	delta = difference(a->offset_ns, cur->offset_ns);
	/* A better kind of source is worth an epoch of its own even where it agrees. */
	if (!stepped && a->source >= cur->source &&
	    magnitude(delta) <= saturating_add(cur->bound_ns, a->bound_ns)) {
		narrow(cur, a, magnitude(delta));
		return CLOCK_SAME;
	}
	*step_ns = delta;
	push_epoch(c, a);
	return CLOCK_STEPPED;
}

int clock_convert(const struct clock_converter *c, uint64_t boot_ns,
		  struct clock_stamp *out)
{
	uint32_t i = c->n;
	int err;

	if (!c->n)
		return -ENODATA;
	while (i > 0 && c->epochs[i - 1].anchor.boot_ns > boot_ns)
		i--;
	if (!i && c->dropped)
		return -ERANGE;		/* its epoch is forgotten: no wall time is better than a wrong one */
	i = i ? i - 1 : 0;
	err = clock_boot_to_wall(&c->epochs[i].anchor, boot_ns, &out->wall_ns);
	if (err)
		return err;
	out->boot_ns = boot_ns;
	out->epoch = c->epochs[i].epoch;
	out->error_ns = c->epochs[i].anchor.bound_ns;
	return 0;
}

const struct clock_anchor *clock_current(const struct clock_converter *c, uint32_t *epoch)
{
	if (!c->n)
		return NULL;
	if (epoch)
		*epoch = c->epochs[c->n - 1].epoch;
	return &c->epochs[c->n - 1].anchor;
}

uint64_t clock_suspended_between(const struct clock_anchor *before,
				 const struct clock_anchor *after)
{
	int64_t slept;

	if (!before->monotonic_ns || !after->monotonic_ns)	/* only paired readings know it */
		return 0;
	slept = difference((int64_t)(after->boot_ns - after->monotonic_ns),
			   (int64_t)(before->boot_ns - before->monotonic_ns));
	/* The two clocks are read one after the other: less is an interruption, not a
	 * sleep. */
	return slept > CLOCK_SUSPEND_MIN_NS ? (uint64_t)slept : 0;
}
