/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/publish/resource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/ring_writer.h"
#include "sidecar/labels/labels.h"
#include "sidecar/process/process.h"

/* What image->user holds. */
struct image_refs {
	uint32_t	 generation, label_version;
	ringside_ref	 resource;
};

void resource_image_free(struct image *image)
{
	free(image->user);
	image->user = NULL;
}

static uint32_t n_labels(const struct image *image)
{
	uint32_t n = image->labels ? image->labels->n : 0;

	return n < RESOURCE_MAX_ATTRIBUTES ? n : RESOURCE_MAX_ATTRIBUTES;
}

static uint8_t type_of(const struct label *l)
{
	static const uint8_t types[] = {
		[LABEL_STRING] = RINGSIDE_STRING, [LABEL_INT] = RINGSIDE_INT,
		[LABEL_BOOL] = RINGSIDE_BOOL,	  [LABEL_DOUBLE] = RINGSIDE_DOUBLE,
		[LABEL_BYTES] = RINGSIDE_BYTES,	  [LABEL_JSON] = RINGSIDE_JSON,
	};

	return types[l->type];
}

static int intern(struct ring_writer *w, const struct image *image, ringside_ref *ref)
{
	struct ring_attribute a[RESOURCE_MAX_ATTRIBUTES];
	uint32_t n = n_labels(image);
	ringside_ref schema;
	int err;

	err = ring_intern_string(w, LABELS_SCHEMA_URL, strlen(LABELS_SCHEMA_URL),
				 &schema);
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct label *l = &image->labels->labels[i];

		a[i] = (struct ring_attribute){ .type = type_of(l),
						.number = l->number,
						.real = l->real };
		err = ring_intern_string(w, l->key, strlen(l->key), &a[i].key);
		if (!err && label_is_text(l))
			err = ring_intern_string(w, l->string, label_len(l),
						 &a[i].string);
	}
	return err ? err : ring_intern_resource(w, a, n, schema, ref);
}

int resource_ref(struct ring_writer *w, struct image *image, ringside_ref *ref)
{
	struct image_refs *r = image->user;
	uint32_t generation = ring_writer_generation(w);
	int err;

	*ref = 0;
	if (!n_labels(image))
		return 0;
	if (r && r->resource && r->generation == generation &&
	    r->label_version == image->label_version) {
		*ref = r->resource;
		return 0;
	}
	err = intern(w, image, ref);
	if (err)
		return err;
	if (!r)
		image->user = r = malloc(sizeof(*r));
	if (r)
		*r = (struct image_refs){ generation, image->label_version, *ref };
	return 0;
}

const struct ringside_resource *resource_plain_of(const struct image *image,
						  struct resource_plain *out)
{
	uint32_t n = n_labels(image);

	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &image->labels->labels[i];

		out->attributes[i] = (struct ringside_attribute){
			.key = l->key,
			.type = type_of(l),
			.number = l->number,
			.real = l->real,
			.string = label_is_text(l) ? l->string : NULL,
			.len = (uint32_t)label_len(l),
		};
	}
	out->resource = (struct ringside_resource){ .n = n, .attributes = out->attributes,
						    .schema_url = LABELS_SCHEMA_URL };
	return &out->resource;
}
