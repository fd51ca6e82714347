/* SPDX-License-Identifier: Apache-2.0 */
/* Reads single words of a process's memory, at addresses that the table was told. */
#include "sidecar/process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sidecar/context/tls_plan.h"

static void read_words(int fd, const struct door_request *r, struct tls_word *words,
		       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		words[i] = (struct tls_word){ .address = r->words[i] };
		words[i].ok = words[i].address <= INT64_MAX &&
			      pread(fd, &words[i].value, sizeof(words[i].value),
				    (off_t)words[i].address) ==
				      sizeof(words[i].value);
		if (!words[i].ok)
			words[i].value = 0;
	}
}

int door_read_words(struct answer_writer *w, const struct door_request *r)
{
	struct answer_head *h = (struct answer_head *)w->buf;
	uint32_t n = r->n_words < DOOR_WORDS_MAX ? r->n_words : DOOR_WORDS_MAX;
	struct tls_word words[DOOR_WORDS_MAX];
	struct target t;
	int err = target_open(&t, r->pid, r->start_ns), fd;

	if (err)
		return err;
	h->begin_ns = t.begin_ns;
	fd = openat(t.base, "mem", O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	if (!err) {
		read_words(fd, r, words, n);
		answer_put(w, TAG_WORDS, words, n * sizeof(words[0]));
		close(fd);
		err = target_check(&t);
	}
	target_close(&t);
	return err;
}
