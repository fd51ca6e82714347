/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/collect/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES	(64 * 1024)

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
struct journal_header {
	char		 magic[8];
	uint32_t	 version;
	uint32_t	 endian;
	uint32_t	 frequency, ncpu, stack_depth, scope;
	uint32_t	 text_bytes;	/* scope NUL node NUL, before padding */
	uint32_t	 pad0;
};

struct entry_header {
	uint32_t	 type;
	uint32_t	 len;
};
#pragma GCC diagnostic pop

_Static_assert(sizeof(struct journal_header) == 40, "the header is format");

struct journal {
	int		 fd;
	bool		 writing;
	int		 err;		/* first error of a recording */
	uint8_t		*buffer;	/* writing: BUFFER_BYTES; reading: one entry */
	size_t		 used;		/* writing: bytes in it; reading: its size */
	uint64_t	 pos, size;	/* reading: of the file */
	uint64_t	 truncated;
	struct journal_facts facts;
	char		*text;		/* reading: what facts points into */
};

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static int journal_alloc(struct journal **out, int fd, bool writing)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->fd = fd;
	j->writing = writing;
	j->buffer = malloc(BUFFER_BYTES);
	if (!j->buffer) {
		free(j);
		return -ENOMEM;
	}
	*out = j;
	return 0;
}

/* --- writing --- */

static int write_all(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int journal_flush(struct journal *j)
{
	if (!j->err)
		j->err = write_all(j->fd, j->buffer, j->used);
	j->used = 0;
	return j->err;
}

static void put(struct journal *j, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n && !j->err) {
		size_t room = BUFFER_BYTES - j->used, take = n < room ? n : room;

		memcpy(j->buffer + j->used, p, take);
		j->used += take;
		p += take;
		n -= take;
		if (j->used == BUFFER_BYTES)
			journal_flush(j);
	}
}

static void put_padding(struct journal *j, size_t n)
{
	static const uint8_t zeroes[8];

	put(j, zeroes, padded(n) - n);
}

int journal_append2(struct journal *j, uint32_t type, const void *a, size_t alen,
		    const void *b, size_t blen)
{
	struct entry_header h = { .type = type };

	if (alen > JOURNAL_ENTRY_MAX || blen > JOURNAL_ENTRY_MAX - alen)
		return -EMSGSIZE;
	h.len = (uint32_t)(alen + blen);
	put(j, &h, sizeof(h));
	put(j, a, alen);
	put(j, b, blen);
	put_padding(j, h.len);
	return j->err;
}

int journal_append(struct journal *j, uint32_t type, const void *data, size_t len)
{
	return journal_append2(j, type, data, len, NULL, 0);
}

static int put_header(struct journal *j, const struct journal_facts *f)
{
	const char *scope = f->scope_text ? f->scope_text : "",
		   *node = f->node ? f->node : "";
	size_t scope_n = strlen(scope) + 1, node_n = strlen(node) + 1;
	struct journal_header h = {
		.magic = JOURNAL_MAGIC,
		.version = JOURNAL_VERSION,
		.endian = JOURNAL_ENDIAN,
		.frequency = f->frequency,
		.ncpu = f->ncpu,
		.stack_depth = f->stack_depth,
		.scope = f->scope,
	};

	if (scope_n > JOURNAL_TEXT_MAX || node_n > JOURNAL_TEXT_MAX)
		return -ENAMETOOLONG;
	h.text_bytes = (uint32_t)(scope_n + node_n);
	put(j, &h, sizeof(h));
	put(j, scope, scope_n);
	put(j, node, node_n);
	put_padding(j, h.text_bytes);
	return journal_flush(j);
}

int journal_create(struct journal **out, const char *path,
		   const struct journal_facts *facts)
{
	struct journal *j = NULL;
	int fd, err;

	/* A recording holds what processes are called and do: for its owner's eyes. */
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return -errno;
	err = journal_alloc(&j, fd, true);
	if (err) {
		close(fd);
		return err;
	}
	err = put_header(j, facts);
	if (err) {
		journal_close(j);
		return err;
	}
	*out = j;
	return 0;
}

/* --- reading --- */

/* Exactly n bytes, or -EIO: the caller has checked against the file's size. */
static int read_all(struct journal *j, void *to, size_t n)
{
	uint8_t *p = to;

	while (n) {
		ssize_t got = read(j->fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		p += got;
		n -= (size_t)got;
		j->pos += (size_t)got;
	}
	return 0;
}

/* The two strings of the header. */
static int read_text(struct journal *j, size_t n)
{
	const char *end;
	int err;

	if (n < 2 || n > 2 * JOURNAL_TEXT_MAX || padded(n) > j->size - j->pos)
		return -EBADMSG;
	j->text = malloc(padded(n));
	if (!j->text)
		return -ENOMEM;
	err = read_all(j, j->text, padded(n));
	if (err)
		return err;
	end = memchr(j->text, 0, n);
	if (!end || end + 1 == j->text + n || j->text[n - 1])
		return -EBADMSG;
	j->facts.scope_text = j->text;
	j->facts.node = end + 1;
	return 0;
}

static int read_header(struct journal *j, char *why, size_t n)
{
	struct journal_header h;
	int err;

	if (j->size < sizeof(h) || read_all(j, &h, sizeof(h)) ||
	    memcmp(h.magic, JOURNAL_MAGIC, 8)) {
		snprintf(why, n, "not a ringsided event recording");
		return -EBADMSG;
	}
	if (h.endian != JOURNAL_ENDIAN) {
		snprintf(why, n, "recorded on a host of the other byte order");
		return -EBADMSG;
	}
	if (h.version != JOURNAL_VERSION) {
		snprintf(why, n, "version %u of the recording, this program reads %u",
			 h.version, JOURNAL_VERSION);
		return -EPROTONOSUPPORT;
	}
	j->facts.frequency = h.frequency;
	j->facts.ncpu = h.ncpu;
	j->facts.stack_depth = h.stack_depth;
	j->facts.scope = h.scope;
	err = read_text(j, h.text_bytes);
	if (err)
		snprintf(why, n, "header damaged");
	return err;
}

int journal_open(struct journal **out, const char *path, char *why, size_t n)
{
	struct journal *j = NULL;
	struct stat st;
	int fd, err;

	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
		snprintf(why, n, "%s", strerror(-err));
		goto out_close;
	}
	if (!S_ISREG(st.st_mode)) {
		err = -EINVAL;
		snprintf(why, n, "not a regular file");
		goto out_close;
	}
	err = journal_alloc(&j, fd, false);
	if (err) {
		snprintf(why, n, "%s", strerror(-err));
		goto out_close;
	}
	j->used = BUFFER_BYTES;
	j->size = (uint64_t)st.st_size;
	err = read_header(j, why, n);
	if (err) {
		journal_close(j);
		return err;
	}
	*out = j;
	return 0;
out_close:
	if (fd >= 0)
		close(fd);
	return err;
}

const struct journal_facts *journal_facts(const struct journal *j)
{
	return &j->facts;
}

/* The end.  Whatever is left makes no entry. */
static int journal_end(struct journal *j, uint64_t left)
{
	j->truncated = left;
	j->pos = j->size;
	return 0;
}

static int room_for(struct journal *j, size_t n)
{
	uint8_t *p;

	if (n <= j->used)
		return 0;
	p = realloc(j->buffer, n);	/* n is within the file's size and JOURNAL_ENTRY_MAX */
	if (!p)
		return -ENOMEM;
	j->buffer = p;
	j->used = n;
	return 0;
}

int journal_next(struct journal *j, uint32_t *type, const void **data, size_t *len)
{
	uint64_t left = j->size - j->pos;
	struct entry_header h;
	int err;

	if (left < sizeof(h))
		return left ? journal_end(j, left) : 0;
	err = read_all(j, &h, sizeof(h));
	if (err)
		return err;
	if (!h.type || h.len > JOURNAL_ENTRY_MAX)
		return -EBADMSG;
	if (padded(h.len) > left - sizeof(h))
		return journal_end(j, left);
	err = room_for(j, padded(h.len));
	if (!err)
		err = read_all(j, j->buffer, padded(h.len));
	if (err)
		return err;
	*type = h.type;
	*data = j->buffer;
	*len = h.len;
	return 1;
}

uint64_t journal_truncated(const struct journal *j)
{
	return j->truncated;
}

int journal_close(struct journal *j)
{
	int err;

	if (!j)
		return 0;
	if (j->writing)
		journal_flush(j);
	err = j->err;
	if (close(j->fd) && !err && j->writing)
		err = -errno;
	free(j->buffer);
	free(j->text);
	free(j);
	return err;
}
