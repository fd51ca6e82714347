/* SPDX-License-Identifier: Apache-2.0 */
/* An image's labels as a resource in the ring.  Takes an image, gives a dictionary reference. */
#ifndef RINGSIDE_PUBLISH_RESOURCE_H
#define RINGSIDE_PUBLISH_RESOURCE_H

#include "shm/ringside.h"

struct image;
struct ring_writer;

#define RESOURCE_MAX_ATTRIBUTES 256u

struct resource_plain {
	struct ringside_resource resource;
	struct ringside_attribute attributes[RESOURCE_MAX_ATTRIBUTES];
};

/* 0 (*ref is 0 when nothing is known), or -ENOSPC: the dictionary is full. */
int	resource_ref(struct ring_writer *w, struct image *image, ringside_ref *ref);
/* Without the dictionary; strings belong to the image. */
const struct ringside_resource *resource_plain_of(const struct image *image, struct resource_plain *out);
void	resource_image_free(struct image *image);

#endif
