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
	free(f->kin.members);
	free(f->strangers.members);
	memset(f, 0, sizeof(*f));
}

/* The first member whose pid is not below. */
static size_t position(const struct family_set *set, uint32_t pid)
{
	size_t low = 0, high = set->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (set->members[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The member of that pid, whatever its start. */
static struct family_member *find_pid(const struct family_set *set, uint32_t pid)
{
	size_t at = position(set, pid);

	return at < set->n && set->members[at].pid == pid ? &set->members[at] : NULL;
}

static bool has(const struct family_set *set, uint32_t pid, uint64_t start_ns)
{
	const struct family_member *m = find_pid(set, pid);

	return m && (!start_ns || !m->start_ns || m->start_ns == start_ns);
}

static int grow(struct family_set *set)
{
	size_t cap = set->cap ? set->cap * 2 : 64;
	struct family_member *grown;

	if (set->n < set->cap)
		return 0;
	if (cap > MEMBERS_MAX)
		return -ENOMEM;
	grown = realloc(set->members, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	set->members = grown;
	set->cap = cap;
	return 0;
}

/* The newest life of a pid replaces the one before. */
static int add(struct family_set *set, uint32_t pid, uint64_t start_ns)
{
	struct family_member *m = find_pid(set, pid);
	size_t at;

	if (m) {
		m->start_ns = start_ns;
		return 0;
	}
	if (grow(set))
		return -ENOMEM;
	at = position(set, pid);
	memmove(set->members + at + 1, set->members + at,
		(set->n - at) * sizeof(*set->members));
	set->members[at] = (struct family_member){ pid, start_ns };
	set->n++;
	return 0;
}

/* The root's number in a record; of another pid namespace it names somebody else. */
static bool is_root(struct family *f, uint64_t start_ns)
{
	if (has(&f->kin, f->root, start_ns))
		return true;
	if (find_pid(&f->kin, f->root) ||
	    (f->is && start_ns && !f->is(f->root, start_ns)))
		return false;
	/* Out of memory: it is asked for again next time. */
	f->seen_root = true;
	add(&f->kin, f->root, start_ns);
	return true;
}

bool family_has(struct family *f, uint32_t pid, uint64_t start_ns)
{
	if (pid == f->root)
		return is_root(f, start_ns);
	if (has(&f->kin, pid, start_ns))
		return true;
	if (!f->descends || has(&f->strangers, pid, start_ns))
		return false;
	if (f->descends(pid, start_ns, f->root)) {
		f->seen_root = true;	/* the numbers are ours: it descends by them */
		add(&f->kin, pid, start_ns);
		return true;
	}
	add(&f->strangers, pid, start_ns);
	return false;
}

int family_learn(struct family *f, const struct ringside_process *p)
{
	if (p->action == RINGSIDE_EXIT || has(&f->kin, p->pid, p->process_start_ns))
		return 0;
	if (p->pid == f->root) {
		is_root(f, p->process_start_ns);
		return 0;
	}
	/* A parent that no record named yet is nobody: of another namespace, its number
	 * is a stranger's. */
	if (p->parent_pid && find_pid(&f->kin, p->parent_pid))
		return add(&f->kin, p->pid, p->process_start_ns);
	return 0;
}
