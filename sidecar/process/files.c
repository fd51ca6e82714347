/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files behind mappings, shared by all processes.  An inode number alone is nobody's
 * identity: two file systems share numbers, and a deleted file's number is soon given to
 * another.  So what is known of both sides (size and mtime, generation, build id) must
 * not contradict.
 */
#include "sidecar/process/table.h"

#include <stdlib.h>
#include <string.h>

#define BUILD_ID_GNU 1			/* enum ringside_build_id_kind */

static uint32_t identity_hash(uint32_t major, uint32_t minor, uint64_t inode)
{
	uint64_t h = (inode ^ ((uint64_t)major << 40) ^ ((uint64_t)minor << 20)) *
		     0x9e3779b97f4a7c15ull;

	return (h >> 40) % FILE_BUCKETS;
}

static uint32_t path_hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h % FILE_BUCKETS;
}

static struct file_own **identity_bucket(struct process_table *t, const struct file *f)
{
	return &t->files_by_identity[identity_hash(f->dev_major, f->dev_minor, f->inode)];
}

static struct file_own **path_bucket(struct process_table *t, const struct file *f)
{
	return &t->files_by_path[path_hash(f->path, strlen(f->path))];
}

#define UNLINK(head, f, next) do {			\
	struct file_own **at_ = (head);			\
	while (*at_ && *at_ != (f))			\
		at_ = &(*at_)->next;			\
	if (*at_)					\
		*at_ = (f)->next;			\
} while (0)

static bool has_path(const struct file *f, const struct file_key *k)
{
	return strlen(f->path) == k->path_len && !memcmp(f->path, k->path, k->path_len);
}

static bool contradicts(const struct file_own *fo, const struct file_key *k)
{
	const struct file *f = &fo->f;

	if (fo->kind != k->kind)
		return true;
	if (k->size && f->size && (k->size != f->size || k->mtime_ns != f->mtime_ns))
		return true;
	if (k->generation && fo->generation && k->generation != fo->generation)
		return true;
	if (k->build_id && f->expect_build_id && strcmp(k->build_id, f->expect_build_id))
		return true;
	return k->build_id && f->build_id && f->build_id_kind == BUILD_ID_GNU &&
	       strcmp(k->build_id, f->build_id);
}

static struct file *find_by_identity(struct process_table *t, const struct file_key *k)
{
	struct file_own *fo =
		t->files_by_identity[identity_hash(k->dev_major, k->dev_minor, k->inode)];

	for (; fo; fo = fo->identity_next) {
		if (fo->f.inode == k->inode && fo->f.dev_major == k->dev_major &&
		    fo->f.dev_minor == k->dev_minor && !fo->private_to_image &&
		    !contradicts(fo, k))
			return &fo->f;
	}
	return NULL;
}

/*
 * By build id and path, from a side-band event.  A build id is a claim that anybody can
 * make, so a file of which more is known is shared only when root owns it.
 */
static struct file *find_by_claim(struct process_table *t, const struct file_key *k)
{
	struct file_own *fo = t->files_by_path[path_hash(k->path, k->path_len)];

	for (; fo; fo = fo->path_next) {
		const struct file *f = &fo->f;

		if (fo->private_to_image || !has_path(f, k) || contradicts(fo, k))
			continue;
		if (k->kind == MAPPING_VDSO && f->size == k->size)
			return &fo->f;
		if (k->build_id && f->expect_build_id && !f->inode)
			return &fo->f;
		if (k->build_id && f->inode && fo->owner_root &&
		    (f->expect_build_id || f->build_id))
			return &fo->f;
	}
	return NULL;
}

struct file *file_find(struct process_table *t, const struct file_key *k)
{
	if (k->alone)
		return NULL;
	return k->inode ? find_by_identity(t, k) : find_by_claim(t, k);
}

/* --- idle files: known, but mapped by nobody now --- */

static void idle_remove(struct process_table *t, struct file_own *fo)
{
	if (fo->newer)
		fo->newer->older = fo->older;
	else
		t->idle_newest = fo->older;
	if (fo->older)
		fo->older->newer = fo->newer;
	else
		t->idle_oldest = fo->newer;
	fo->idle = false;
	t->n_idle--;
}

static void file_free(struct process_table *t, struct file_own *fo)
{
	if (fo->idle)
		idle_remove(t, fo);
	if (t->file_free)
		t->file_free(t->file_free_arg, &fo->f);
	if (fo->f.inode)
		UNLINK(identity_bucket(t, &fo->f), fo, identity_next);
	UNLINK(path_bucket(t, &fo->f), fo, path_next);
	UNLINK(&t->files_by_id[fo->f.id % FILE_BUCKETS], fo, id_next);
	t->counts.files--;
	t->counts.heap_bytes -= sizeof(*fo);
	free(fo->f.path);
	free(fo->f.build_id);
	free(fo->f.expect_build_id);
	free(fo->f.segments);
	free(fo->f.facts);
	free(fo->f.tls);
	free(fo);
}

static void idle_add(struct process_table *t, struct file_own *fo)
{
	fo->newer = NULL;
	fo->older = t->idle_newest;
	if (t->idle_newest)
		t->idle_newest->newer = fo;
	else
		t->idle_oldest = fo;
	t->idle_newest = fo;
	fo->idle = true;
	if (++t->n_idle > IDLE_FILES_MAX)
		file_free(t, t->idle_oldest);
}

struct file *file_get(struct process_table *t, struct file *f)
{
	if (!f)
		return NULL;
	if (file_own(f)->idle)
		idle_remove(t, file_own(f));
	f->refs++;
	return f;
}

void file_put(struct process_table *t, struct file *f)
{
	if (!f || --f->refs)
		return;
	if (file_own(f)->private_to_image)
		file_free(t, file_own(f));
	else
		idle_add(t, file_own(f));
}

void files_trim(struct process_table *t)
{
	for (uint32_t keep = t->n_idle / 2; t->n_idle > keep;)
		file_free(t, t->idle_oldest);
}

void files_destroy(struct process_table *t)
{
	while (t->idle_oldest)
		file_free(t, t->idle_oldest);
}

/* --- new and better known files --- */

static void learn(struct file_own *fo, const struct file_key *k)
{
	if (k->size) {
		fo->f.size = k->size;
		fo->f.mtime_ns = k->mtime_ns;
	}
	if (k->generation)
		fo->generation = k->generation;
	if (k->build_id && !fo->f.expect_build_id)
		fo->f.expect_build_id = strdup(k->build_id);
	/* Shown even when the file can never be opened: a backend may have it. */
	if (k->build_id && !fo->f.build_id) {
		fo->f.build_id = strdup(k->build_id);
		fo->f.build_id_kind = BUILD_ID_GNU;
	}
}

static void link_identity(struct process_table *t, struct file_own *fo)
{
	struct file_own **at = identity_bucket(t, &fo->f);

	fo->identity_next = *at;		/* newest first: it is the likeliest */
	*at = fo;
}

static void link_path(struct process_table *t, struct file_own *fo)
{
	struct file_own **at = path_bucket(t, &fo->f);

	fo->path_next = *at;
	*at = fo;
}

static struct file_own *file_new(struct process_table *t, const struct file_key *k)
{
	struct file_own *fo = calloc(1, sizeof(*fo)), **at;

	if (!fo)
		return NULL;
	fo->f.path = strndup(k->path, k->path_len);
	if (!fo->f.path) {
		free(fo);
		return NULL;
	}
	fo->f.id = ++t->last_file_id;
	fo->f.dev_major = k->dev_major;
	fo->f.dev_minor = k->dev_minor;
	fo->f.inode = k->inode;
	fo->kind = k->kind;
	fo->private_to_image = k->alone;
	learn(fo, k);
	if (k->inode)
		link_identity(t, fo);
	link_path(t, fo);
	at = &t->files_by_id[fo->f.id % FILE_BUCKETS];
	fo->id_next = *at;
	*at = fo;
	t->counts.files++;
	t->counts.heap_bytes += sizeof(*fo);
	return fo;
}

struct file *file_obtain(struct process_table *t, const struct file_key *k)
{
	struct file *f = file_find(t, k);
	struct file_own *fo;

	if (f) {
		learn(file_own(f), k);
		return file_get(t, f);
	}
	fo = file_new(t, k);
	if (!fo)
		return NULL;
	fo->f.refs = 1;
	return &fo->f;
}

void file_identify(struct process_table *t, struct file *f, const struct file_key *k)
{
	struct file_own *fo = file_own(f);

	if (f->inode || !k->inode)
		return;
	f->dev_major = k->dev_major;
	f->dev_minor = k->dev_minor;
	f->inode = k->inode;
	learn(fo, k);
	link_identity(t, fo);
	if (f->state == FILE_FAILED)
		f->state = FILE_UNKNOWN;	/* now it can be found by its identity */
}

void file_rename(struct process_table *t, struct file *f, const char *path, size_t n)
{
	struct file_own *fo = file_own(f);
	char *copy = strndup(path, n);

	if (!copy)
		return;
	UNLINK(path_bucket(t, f), fo, path_next);
	free(f->path);
	f->path = copy;
	link_path(t, fo);
}

bool process_file_confirm(struct process_table *t, struct file *f,
			  const char *gnu_build_id)
{
	if (!f->expect_build_id ||
	    (gnu_build_id && !strcmp(gnu_build_id, f->expect_build_id)))
		return true;
	f->state = FILE_FAILED;
	file_own(f)->retry_ns = t->now_ns + NS_PER_S;
	return false;
}

struct file *file_by_id(struct process_table *t, uint32_t id)
{
	struct file_own *fo = t->files_by_id[id % FILE_BUCKETS];

	while (fo && fo->f.id != id)
		fo = fo->id_next;
	return fo ? &fo->f : NULL;
}

struct file *process_file(struct process_table *t, uint32_t file_id)
{
	return file_by_id(t, file_id);
}

void process_file_tls(struct process_table *t, struct file *f,
		      const struct tls_facts *facts)
{
	struct tls_facts *copy = f->tls ? f->tls : malloc(sizeof(*copy));

	(void)t;
	if (copy)
		*copy = *facts;
	f->tls = copy;
}
