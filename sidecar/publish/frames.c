/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/publish/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/process/process.h"
#include "sidecar/publish/names.h"
#include "sidecar/symbols/symbols.h"

#define KERNEL_PATH "[kernel.kallsyms]"
#define ANON_PATH "//anon"

/* What file->user holds: mapping references per segment, of one generation. */
struct file_refs {
	uint32_t	 generation;
	uint32_t	 name_version;	/* build id or segments may have come */
	ringside_ref	 whole;		/* no segment table */
	ringside_ref	 segments[];
};

struct frames {
	struct ring_writer *w;
	struct names	*names;
	uint32_t	 generation;	/* of the two below */
	ringside_ref	 kernel, anon;
};

int frames_create(struct frames **out, struct ring_writer *w, struct names *names)
{
	struct frames *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->w = w;
	f->names = names;
	*out = f;
	return 0;
}

void frames_destroy(struct frames *f)
{
	free(f);
}

void frames_file_free(void *arg, struct file *file)
{
	(void)arg;
	free(file->user);
	file->user = NULL;
}

void site_of_kernel(uint64_t addr, bool leaf, struct site *out)
{
	*out = (struct site){ .file_id = SYMBOLS_KERNEL_FILE,
			      .address = leaf ? addr : addr - 1,
			      .type = RINGSIDE_FRAME_KERNEL };
}

static void site_in_file(const struct mapping *m, uint64_t addr, struct site *out)
{
	struct file *file = m->file;
	uint64_t offset = addr - m->start + m->file_offset;

	out->file = file;
	out->unopened = file->state == FILE_UNKNOWN;
	out->pending = file->state == FILE_OPENING || file->state == FILE_SENT;
	/* Without a segment table the file offset is the best address there is; for most
	 * linkers' layouts of text it is the ELF address too. */
	if (!file->n_segments || !symbols_file_to_vaddr(file->segments, file->n_segments,
							offset, &out->address))
		out->address = offset;
	if (file->state == FILE_READY)
		out->file_id = file->id;
}

void site_of_user(const struct image *image, uint64_t addr, bool leaf, struct site *out)
{
	const struct mapping *m;

	if (!leaf)
		addr--;
	*out = (struct site){ .address = addr, .type = RINGSIDE_FRAME_NATIVE };
	m = image_find(image, addr);
	if (!m) {
		out->unmapped = true;
		return;
	}
	switch (m->kind) {
	case MAPPING_FILE:
	case MAPPING_VDSO:
		if (m->file) {
			site_in_file(m, addr, out);
			return;
		}
		break;
	case MAPPING_JIT:
		out->type = RINGSIDE_FRAME_JIT;
		out->file_id = image->perf_map_id;
		break;
	case MAPPING_ANON:
		out->file_id = image->perf_map_id;
		if (image->perf_map_id)
			out->type = RINGSIDE_FRAME_JIT;
		break;
	}
	out->anonymous = true;
}

static int intern_text(struct frames *f, const char *s, ringside_ref *ref)
{
	*ref = 0;
	return s ? ring_intern_string(f->w, s, strlen(s), ref) : 0;
}

static int intern_mapping(struct frames *f, const struct ringside_mapping *m,
			  ringside_ref *ref)
{
	struct ring_mapping r = { .build_id_kind = m->build_id_kind,
				  .start = m->start,
				  .end = m->end,
				  .file_offset = m->file_offset };
	int err = intern_text(f, m->path, &r.path);

	if (!err)
		err = intern_text(f, m->build_id, &r.build_id);
	return err ? err : ring_intern_mapping(f->w, &r, ref);
}

/* The segment that holds the site's address; n_segments when none does. */
static uint32_t segment_of(const struct site *site)
{
	uint32_t i = 0;

	for (; i < site->file->n_segments; i++) {
		const struct sym_segment *s = &site->file->segments[i];

		if (site->address >= s->vaddr && site->address - s->vaddr < s->memsz)
			break;
	}
	return i;
}

/* The mapping in ELF terms, not the run-time range: that would differ from process to
 * process (ASLR) and make every shared library a new entry for each of them. */
static void plain_mapping(const struct site *site, struct ringside_mapping *m)
{
	uint32_t i;

	memset(m, 0, sizeof(*m));
	if (!site->file) {
		m->path = site->type == RINGSIDE_FRAME_KERNEL ? KERNEL_PATH :
			  site->anonymous ? ANON_PATH : NULL;
		return;
	}
	m->path = site->file->path;
	m->build_id = site->file->build_id;
	m->build_id_kind = site->file->build_id ? site->file->build_id_kind
						: RINGSIDE_BUILD_ID_NONE;
	i = segment_of(site);
	if (i < site->file->n_segments) {
		m->start = site->file->segments[i].vaddr;
		m->end = m->start + site->file->segments[i].memsz;
		m->file_offset = site->file->segments[i].offset;
	}
}

/* Where the reference of the site's mapping is kept; NULL: nowhere. */
static ringside_ref *mapping_slot(struct frames *f, const struct site *site)
{
	struct file *file = site->file;
	struct file_refs *r;
	size_t bytes;

	if (f->generation != ring_writer_generation(f->w)) {
		f->generation = ring_writer_generation(f->w);
		f->kernel = f->anon = 0;
	}
	if (!file)
		return site->type == RINGSIDE_FRAME_KERNEL ? &f->kernel
		       : site->anonymous		   ? &f->anon
							   : NULL;
	r = file->user;
	if (!r || r->generation != f->generation ||
	    r->name_version != file->name_version) {
		bytes = sizeof(*r) + file->n_segments * sizeof(r->segments[0]);
		free(r);
		file->user = r = calloc(1, bytes);
		if (!r)
			return NULL;
		r->generation = f->generation;
		r->name_version = file->name_version;
	}
	return segment_of(site) < file->n_segments ? &r->segments[segment_of(site)]
						   : &r->whole;
}

static int mapping_ref(struct frames *f, const struct site *site, ringside_ref *ref)
{
	ringside_ref *slot = mapping_slot(f, site);
	struct ringside_mapping m;
	int err;

	*ref = 0;
	if (slot && *slot) {
		*ref = *slot;
		return 0;
	}
	plain_mapping(site, &m);
	if (!m.path)
		return 0;
	err = intern_mapping(f, &m, ref);
	if (!err && slot)
		*slot = *ref;
	return err;
}

static int intern_name(struct frames *f, const struct site *site, const struct name *n,
		       ringside_ref mapping, ringside_ref *ref)
{
	struct ring_frame r = { .type = n->type ? n->type : site->type,
				.inlined = n->inlined,
				.address = site->address,
				.offset = n->offset,
				.mapping = mapping,
				.line = n->line };
	int err = intern_text(f, n->function, &r.function);

	if (!err)
		err = intern_text(f, n->system_name, &r.system_name);
	if (!err)
		err = intern_text(f, n->file, &r.file);
	return err ? err : ring_intern_frame(f->w, &r, ref);
}

static int intern_bare(struct frames *f, const struct site *site, ringside_ref *ref)
{
	struct ring_frame r = { .type = site->type, .address = site->address };
	int err = mapping_ref(f, site, &r.mapping);

	return err ? err : ring_intern_frame(f->w, &r, ref);
}

/* Brings an entry's references up to the current generation. */
static int refresh(struct frames *f, const struct site *site, struct named *e)
{
	uint32_t generation = ring_writer_generation(f->w);
	ringside_ref mapping;
	int err;

	if (e->generation == generation)
		return 0;
	err = mapping_ref(f, site, &mapping);
	for (uint16_t i = 0; !err && i < e->n; i++)
		err = intern_name(f, site, &e->names[i], mapping, &e->names[i].ref);
	if (!err)
		e->generation = generation;
	return err;
}

static int append(struct frame_list *list, ringside_ref ref)
{
	if (list->n == FRAMES_MAX)
		list->cut = true;
	else
		list->refs[list->n++] = ref;
	return 0;
}

static const struct named *known(struct frames *f, const struct site *site)
{
	struct named *e =
		site->file_id ? names_get(f->names, site->file_id, site->address) : NULL;

	return e && e->state == NAMED_READY && e->n ? e : NULL;
}

int frames_intern(struct frames *f, const struct site *site, struct frame_list *list)
{
	struct named *e = (struct named *)known(f, site);
	ringside_ref ref;
	int err;

	if (!e) {
		err = intern_bare(f, site, &ref);
		return err ? err : append(list, ref);
	}
	err = refresh(f, site, e);
	for (uint16_t i = 0; !err && i < e->n; i++)
		append(list, e->names[i].ref);
	return err;
}

void frames_plain(struct frames *f, const struct site *site, struct plain_list *list)
{
	const struct named *e = known(f, site);
	uint32_t levels = e ? e->n : 1;

	for (uint32_t i = 0; i < levels && list->n < FRAMES_MAX; i++) {
		const struct name *name = e ? &e->names[i] : NULL;
		struct ringside_frame *r = &list->frames[list->n];

		plain_mapping(site, &list->mappings[list->n]);
		*r = (struct ringside_frame){ .type = site->type,
					      .address = site->address,
					      .mapping =
						      list->mappings[list->n].path
							      ? &list->mappings[list->n]
							      : NULL };
		if (name) {
			r->type = name->type ? name->type : site->type;
			r->inlined = name->inlined;
			r->offset = name->offset;
			r->function = name->function;
			r->system_name = name->system_name;
			r->file = name->file;
			r->line = name->line;
		}
		list->pointers[list->n++] = r;
	}
}
