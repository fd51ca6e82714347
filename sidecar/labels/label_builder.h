/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of one process while they are made: providers set them, rules change them.  A name stands once,
 * never with an empty value: setting "" deletes.  Text is copied in; what a get gave stays valid until reset.
 */
#ifndef RINGSIDE_LABELS_LABEL_BUILDER_H
#define RINGSIDE_LABELS_LABEL_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILDER_LABELS_MAX 1024
#define BUILDER_BYTES_MAX (8u << 20)	/* all text ever set since the last reset */

struct text_span { const char *p; size_t n; };

struct builder_label {
	struct text_span name, value;
	bool		 original;	/* was there before the rules, and no rule changed it */
};

struct builder_chunk;
struct label_builder {
	struct builder_label *labels;
	uint32_t	 n, cap;
	bool		 ruled;
	uint32_t	 refused;	/* labels that found no room since the last reset */
	struct builder_chunk *chunks;
	size_t		 bytes;
};

/* A zeroed builder is an empty one. */
void	label_builder_fini(struct label_builder *b);
void	label_builder_reset(struct label_builder *b);
/* No room counts in refused, and leaves what was there. */
void	label_builder_set(struct label_builder *b, struct text_span name, struct text_span value);
void	label_builder_delete(struct label_builder *b, struct text_span name);
/* NULL: not set. */
const struct builder_label *label_builder_get(const struct label_builder *b, struct text_span name);
/*
 * Before rules run.  Rules see the process's labels in the order of their names, and then what rules set, in
 * the order of setting, as in Prometheus: where labelmap gives several labels one name, the last one stays.
 */
void	label_builder_begin_rules(struct label_builder *b);
/* Room for n bytes that lives as long as the labels; NULL none. */
char	*label_builder_room(struct label_builder *b, size_t n);

void	label_builder_put(struct label_builder *b, const char *name, const char *value);	/* NULL is "" */
const char *label_builder_find(const struct label_builder *b, const char *name);	/* C string or NULL */

static inline struct text_span text_span_of(const char *s)
{
	return (struct text_span){ s, __builtin_strlen(s) };
}
#endif
