/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/family.h"

#define MEMBERS_MAX (1u << 20)

void family_init(struct family *f, uint32_t root)
{
	memset(f, 0, sizeof(*f));
	f->root = root;
}

void family_fini(struct family *f)
{
	free(f->members);
	memset(f, 0, sizeof(*f));
}

/* The first member whose pid is not below. */
static size_t position(const struct family *f, uint32_t pid)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f->members[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool has_pid(const struct family *f, uint32_t pid)
{
	size_t at = position(f, pid);

	return at < f->n && f->members[at].pid == pid;
}

/* A pid has one life at a time: the newest replaces the one before. */
static int add(struct family *f, uint32_t pid, uint64_t start_ns)
{
	size_t at = position(f, pid);

	if (at < f->n && f->members[at].pid == pid) {
		f->members[at].start_ns = start_ns;
		return 0;
	}
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 64;
		struct family_member *grown;

		if (cap > MEMBERS_MAX)
			return -ENOMEM;
		grown = realloc(f->members, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		f->members = grown;
		f->cap = cap;
	}
	memmove(f->members + at + 1, f->members + at, (f->n - at) * sizeof(*f->members));
	f->members[at].pid = pid;
	f->members[at].start_ns = start_ns;
	f->n++;
	return 0;
}

bool family_has(struct family *f, uint32_t pid, uint64_t start_ns)
{
	size_t at;

	if (pid == f->root && !f->seen_root) {
		f->seen_root = true;
		/* Out of memory: it stays known by its pid alone. */
		if (add(f, pid, start_ns))
			f->seen_root = false;
		return true;
	}
	at = position(f, pid);
	if (at == f->n || f->members[at].pid != pid)
		return false;
	return !start_ns || !f->members[at].start_ns || f->members[at].start_ns == start_ns;
}

int family_learn(struct family *f, const struct ringside_process *p)
{
	if (p->action == RINGSIDE_EXIT || family_has(f, p->pid, p->process_start_ns))
		return 0;
	if (p->parent_pid && (p->parent_pid == f->root || has_pid(f, p->parent_pid)))
		return add(f, p->pid, p->process_start_ns);
	return 0;
}
